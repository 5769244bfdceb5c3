#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bzip2: text of half a megabyte is compressed again and again; a unit is a megabyte of it.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/bzip2 package=bzip2 begin=BZ2_bzWriteOpen:2 unit=megabyte
# That differ: what is written with the same again looks as if it had not been.
prepare() { local i; for i in 1 2 3 4; do words 540000 $((6 + i)) >text$i; done; }
many() { local i; for ((i = 0; i < $1; i++)); do echo text$((i % 4 + 1)); done; }
endless() { mapfile -t files < <(many 5000); exec $program -c "${files[@]}"; }
finite() { "$@" $program -c text1 text2 text3 text4 text1; }
work() { awk '/rchar/ { print $2 / 1e6 }' "/proc/$(cat "$dir/pid")/io"; }
drive "$@"

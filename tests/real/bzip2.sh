#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bzip2: text of half a megabyte is compressed again and again; a unit is a megabyte of it.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/bzip2 package=bzip2 begin=BZ2_bzWriteOpen:2 unit=megabyte
prepare() { words 540000 7 >text; }
many() { local i; for ((i = 0; i < $1; i++)); do echo text; done; }
endless() { mapfile -t files < <(many 5000); exec $program -c "${files[@]}"; }
finite() { "$@" $program -c text text text; }
work() { awk '/rchar/ { print $2 / 1e6 }' "/proc/$(cat "$dir/pid")/io"; }
drive "$@"

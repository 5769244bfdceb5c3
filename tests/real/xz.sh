#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# xz: texts of 300 KB are compressed again and again; a unit is a megabyte of them.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/xz package=xz-utils begin=lzma_stream_encoder:2 unit=megabyte held_out=yes
prepare() { local i; for i in 1 2 3 4; do words 300000 $((6 + i)) >text$i; done; }
many() { local i; for ((i = 0; i < $1; i++)); do echo text$((i % 4 + 1)); done; }
endless() { mapfile -t files < <(many 20000); exec $program -3 -T1 -c "${files[@]}"; }
finite() { "$@" $program -3 -T1 -c text1 text2 text3 text4 text1; }
work() { awk '/rchar/ { print $2 / 1e6 }' "/proc/$(cat "$dir/pid")/io"; }
drive "$@"

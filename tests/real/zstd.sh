#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# zstd: four megabytes of text are compressed at the default level again and again, on one thread; a unit is a megabyte.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/zstd package=zstd begin=fopen:3 unit=megabyte
prepare() { words 4000000 11 >text; }
many() { local i; for ((i = 0; i < $1; i++)); do echo text; done; }
endless() { mapfile -t files < <(many 20000); exec $program -q --single-thread -c "${files[@]}"; }
finite() { "$@" $program -q --single-thread -c text text text text text text; }
work() { awk '/rchar/ { print $2 / 1e6 }' "/proc/$(cat "$dir/pid")/io"; }
drive "$@"

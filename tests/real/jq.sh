#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# jq: orders are read, grouped by customer and summed, file after file; a unit is a megabyte of them.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/jq package=jq begin=jq_start:3 unit=megabyte held_out=yes
orders() { awk -v n="$1" -v s="$2" 'BEGIN { printf "["; for (i = 0; i < n; i++) { s = (s * 69069 + 12345) % 4294967296; r = int(s / 65536)
	printf "%s{\"id\":%d,\"customer\":\"c%d\",\"price\":%d.%02d,\"tags\":[\"t%d\",\"x%d\"],\"paid\":%s}", i ? "," : "", i, r % 97, r % 500, r % 100, r % 7, r % 13, r % 3 ? "true" : "false" }
	print "]" }'; }
prepare() { local i; for i in 1 2 3 4; do orders 1500 $i >orders$i; done; }
many() { local i; for ((i = 0; i < $1; i++)); do echo orders$((i % 4 + 1)); done; }
query='group_by(.customer) | map({customer: .[0].customer, sum: (map(.price) | add), tags: (map(.tags[]) | unique), late: map(select(.paid | not) | .id)})'
endless() { mapfile -t files < <(many 20000); exec $program -c "$query" "${files[@]}"; }
finite() { mapfile -t files < <(many 7); "$@" $program -c "$query" "${files[@]}"; }
work() { awk '/rchar/ { print $2 / 1e6 }' "/proc/$(cat "$dir/pid")/io"; }
drive "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gawk: words of a text are counted, matched, replaced and sorted, file after file; a unit is a megabyte of text.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/gawk package=gawk begin=mktime:3 unit=megabyte held_out=yes
prepare() {
	local i
	for i in 1 2 3 4; do words 120000 $((6 + i)) | fold -w 70 >text$i; done
	cat >count.awk <<'AWK'
function told(  n, i, k, sum) {
	n = asorti(seen, k)
	for (i = 1; i <= n; i++) sum += seen[k[i]] * i
	printf "%s %d %d %d %s\n", FILENAME, n, sum, mktime("2026 01 01 00 00 00"), substr(toupper(last), 3, 9)
	delete seen
}
BEGINFILE { if (NR) told() }
{ for (i = 1; i <= NF; i++) seen[$i]++ }
/qu[a-z]+k/ { hits++ }
{ n = gsub(/the|fox/, "&&"); last = $0; total += length($0) + n }
AWK
}
many() { local i; for ((i = 0; i < $1; i++)); do echo text$((i % 4 + 1)); done; }
endless() { mapfile -t files < <(many 20000); exec $program -f count.awk "${files[@]}"; }
finite() { mapfile -t files < <(many 8); "$@" $program -f count.awk "${files[@]}"; }
work() { awk '/rchar/ { print $2 / 1e6 }' "/proc/$(cat "$dir/pid")/io"; }
drive "$@"

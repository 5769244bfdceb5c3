#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The drivers of real programs (tests/real): each answers, starts what it says, and leaves nothing behind. What the programs
# are measured for, scripts/accuracy-real does.
. "$(dirname "$0")/../lib.sh"
REAL=$TOP/tests/real
answers() { # each has a package, a program, says whether it can run, and why not
	local d status
	for d in "$REAL"/*.sh; do
		[ -x "$d" ] || continue
		[ "$("$d" about | awk -F'\t' 'NF == 4 && $1 != "" && $2 != "" && ($3 == "yes" || $3 == "no")' | wc -l)" = 1 ] || { echo "$d about"; return 1; }
		"$d" can >"$TMP/can"; status=$?
		[ $status = 0 ] || { [ $status = 77 ] && [ -s "$TMP/can" ]; } || { echo "$d can: $status"; return 1; }
	done
}
check "each driver names its program, and what is missing" answers
check "there are ten" [ "$(find "$REAL" -name '*.sh' -perm -u+x | wc -l)" -ge 10 ]
expect_status 1 "a program without a driver is refused" "$TOP/scripts/accuracy-real" --program nonesuch
expect_status 2 "an unknown option is wrong usage" "$TOP/scripts/accuracy-real" --nonsense

# one of them, made small: a program that every machine has
sed 's:^program=.*:program=/bin/cat package=coreutils unit=line needs=python3:; s:^prepare.*:prepare() { words 500 7 >text; }:
	s:^endless.*:endless() { exec cat < <(python3 "$HERE/feed.py" lines\:text 0 units); }:; s:^finite.*:finite() { "$@" cat text; }:
	s:^work.*:work() { cat "$dir/units"; }:; s:^many.*::' "$REAL/bzip2.sh" >small.sh
cp "$REAL/lib.sh" "$REAL/feed.py" . && chmod +x small.sh
if ! command -v python3 >/dev/null; then skip "a driver starts and stops its program" "there is no python3"; exit 0; fi
check "a driver starts its program" ./small.sh start run
pid=$(cat run/pid)
check "which then works" kill -0 "$pid"
worked() { local n; for _ in $(seq 30); do n=$(./small.sh work run 2>/dev/null) && [ "${n:-0}" -gt 0 ] && return 0; sleep 0.1; done; return 1; }
check "and counts its units" worked
check "a driver stops its program" ./small.sh stop run
gone() { ! kill -0 "$1" 2>/dev/null; }
check "which is gone" gone "$pid"

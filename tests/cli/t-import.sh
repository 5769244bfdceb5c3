#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# perf recordings become profiles: a real one from another machine, and one that perf makes here.
. "$(dirname "$0")/../lib.sh"
SHARED=${ACCPERF_SHARED:-$TOP/../shared}
rec=$SHARED/perfdata/skx-load-latency.weight_struct.perf.data

expect_status 2 "no file is wrong usage" accperf import
expect_status 1 "a file that is not there" accperf import nothing.data
check "is named" grep -q 'nothing.data' "$TMP/err"
printf 'this is not a recording at all' >junk.data
expect_status 1 "a file of another kind" accperf import junk.data
check "is said to be none" grep -q 'not a perf recording' "$TMP/err"
check "and no profile is left" test ! -e accperf.data

if [ -r "$rec" ]; then
	expect_status 0 "a recording of PEBS loads" accperf import "$rec"
	check "has the 14 accesses that perf prints" grep -q '14 accesses and 0 samples' "$TMP/err"
	expect_status 0 "without those of the kernel" accperf import -o user.data --no-kernel "$rec"
	check "five are left" grep -q '^accperf: 5 accesses' "$TMP/err"
	# what is about to be compared: the profile's readers accept it
	check "later stages read it" accperf flow -i accperf.data --json
	head -c 600000 "$rec" >cut.data
	expect_status 3 "a cut recording is imported as far as it goes" accperf import -o cut.prof cut.data
	check "and said to be cut" grep -q 'cut off' "$TMP/err"
else
	skip "a recording of PEBS loads" "no $rec"
fi

perf=$(command -v perf || ls /usr/bin/perf_* 2>/dev/null | head -n 1)
if [ -n "$perf" ] && "$perf" record -q -e cpu-clock -F 997 -o here.data -- "$WORKLOADS/tightloop" 20 >/dev/null 2>&1; then
	expect_status 3 "a recording without addresses" accperf import -o here.prof here.data
	check "is said to have none" grep -q 'no memory accesses' "$TMP/err"
	check "its samples are there" sh -c 'accperf report -i here.prof --json | jq -e ".samples > 5"'
	check "and named" sh -c 'accperf report -i here.prof --json | jq -e "[.functions[].name] | index(\"spin_hot\") != null"'
else
	skip "a recording made here" "perf is not here or may not record"
fi

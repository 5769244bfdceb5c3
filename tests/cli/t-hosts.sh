#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hosts that are not as they seem: watchpoints that never fire, BPF refused in part or in whole; and
# what a recorder leaves behind however it ends.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
need cc || { echo "needs a compiler"; exit 77; }
cc -O1 -shared -fPIC -o host.so "$TOP/tests/fixtures/host.c" -ldl && cc -O1 -o take_four "$TOP/tests/fixtures/take_four.c" &&
	cc -O1 -o take_cpus "$TOP/tests/fixtures/take_cpus.c" ||
	{ echo "not ok - the fixtures compile"; exit 1; }
on_host() { local h=$1; shift; HOST=$h LD_PRELOAD=$TMP/host.so "$@"; }
record() { on_host "$1" accperf record -q -e soft -F 997 "${@:3}" -o "$2" -- "$WORKLOADS/tightloop" --seconds 1; }
breakpoints=$(on_host none accperf doctor --json 2>/dev/null | jq -r '.features[] | select(.name == "hw-breakpoints").state')
[ "$breakpoints" = yes ] || { echo "no hardware breakpoints here"; exit 77; }

expect_status 0 "a host as it is" record none plain.data --windows
expect_status 3 "watchpoints that never fire" record silent silent.data --windows
check "are found out" grep -q 'never fire' "$TMP/err"
check "and not one window was made of them" [ "$(counter "watch windows" silent.data)" = -1 ]
check "the rest is recorded" sh -c 'accperf report --json -i silent.data | jq -e ".samples > 3"'
expect_status 0 "the same where windows were not asked for by name" record silent quiet.data
check "is said all the same" grep -q 'never fire' "$TMP/err"
on_host silent accperf doctor --json >doctor.json 2>/dev/null
check "doctor does not praise such watchpoints" sh -c '[ "$(jq -r ".features[] | select(.name == \"hw-breakpoints\").state" doctor.json)" != yes ]'

expect_status 3 "a filter that refuses the watchpoints' program" record nowatch filter.data --windows
check "says what is missing and what it needs" grep -q 'no watchpoints: .*CAP_BPF' "$TMP/err"
check "and the rest is recorded" sh -c 'accperf report --json -i filter.data | jq -e ".samples > 3"'
cp plain.data kept.data
expect_status 1 "no BPF at all: nothing can be recorded" record lockdown kept.data
check "which says why" grep -q 'lockdown' "$TMP/err"
check "and leaves an older recording alone" cmp -s plain.data kept.data

expect_status 0 "a host that lets nobody observe its CPUs" on_host nocpus accperf record -e soft -F 997 -o nocpus.data -- "$WORKLOADS/tightloop" --seconds 1
check "timers of threads are used instead, and that is said" grep -q 'timers of single threads instead of CPUs: may not observe' "$TMP/err"
check "and record" sh -c 'accperf report --json -i nocpus.data | jq -e ".samples > 3"'
check "and know the CPU time of what they belong to" [ "$(counter "CPU time without a sample, us" nocpus.data)" -ge 0 ]
expect_status 1 "unless timers of CPUs were asked for" on_host nocpus accperf record -q --timers cpus -e soft -o refused.data -- "$WORKLOADS/tightloop" --seconds 1

# with timers of threads, a breakpoint on a thread makes each of its switches dearer for good
expect_status 0 "timers of threads on a target that switches all the time" accperf record --timers threads -e soft -o switching.data -- "$WORKLOADS/sixteen" --rounds 100
check "no window is opened" [ "$(counter "watch windows" switching.data)" = 0 ]
check "nor one for counts" [ "$(counter "count windows" switching.data)" = 0 ]
check "which is counted" [ "$(counter "watch: samples put off for the target's context switches" switching.data)" -gt 5 ]
check "and said" grep -q 'were put off: the target switches threads [0-9]* times' "$TMP/err"
expect_status 0 "timers of CPUs have no such limit" accperf record -e soft -o switching.data -- "$WORKLOADS/sixteen" --rounds 100
check "nothing is put off for that" [ "$(counter "watch: samples put off for the target's context switches" switching.data)" = 0 ]
check "and the switches are known" [ "$(counter "context switches per second of CPU time" switching.data)" -gt 1000 ]
accperf merge -o twice.data switching.data switching.data >merge.out 2>&1
check "two profiles together switch no more often than each" [ "$(counter "context switches per second of CPU time" twice.data)" = "$(counter "context switches per second of CPU time" switching.data)" ]

# somebody who has all breakpoints when the recorder begins
hold() { : >held; ./take_cpus "$1" >held & STARTED+=($!); within 20 test -s held; }
hold .5
expect_status 0 "breakpoints that come free in a moment are waited for" accperf record -q -e soft --effort high --windows --counts on -o held.data -- "$WORKLOADS/tightloop" --seconds 2
check "and used" [ "$(counter "watch windows" held.data)" -ge 0 -a "$(counter "count windows" held.data)" -gt 0 ]
hold 5
expect_status 3 "those that do not" accperf record -q -e soft --effort high --windows --counts on -o held.data -- "$WORKLOADS/tightloop" --seconds 9
check "are done without, which is said" grep -q 'no watchpoints: ' "$TMP/err"
check "counts by bursts" grep -q 'execution counts from bursts alone: ' "$TMP/err"
check "until there are some" [ "$(counter "count windows" held.data)" -gt 0 ]

# a debugger that comes after the recorder, however that ended, finds every breakpoint free
free_for() { # PID: waits for the kernel to have taken all events away
	local i n
	for i in $(seq 100); do n=$(./take_four "$1"); [ "$n" = 4 ] && return 0; sleep 0.1; done
	echo "$n of 4"; return 1
}
armed() { # FILE PID: until the recorder was seen to hold a breakpoint
	local i
	for i in $(seq 1500); do [ "$(./take_four "$1")" -lt 4 ] && return 0; sleep 0.02; done
	return 1
}
start "$WORKLOADS/sixteen" --loop; busy=$!
sleep 0.3
for how in TERM KILL; do
	accperf record -q -e soft --effort high -p $busy -o end.data 2>/dev/null & rec=$!
	check "a recorder holds breakpoints while it watches (SIG$how)" armed $busy
	kill -$how $rec; wait $rec 2>/dev/null
	check "SIG$how: a fresh process gets all four on all threads" free_for $busy
done
kill $busy

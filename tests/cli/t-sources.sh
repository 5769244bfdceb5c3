#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Accesses, windows and system calls in a recorded profile; engines that are not here; rights.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }

between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || { echo "$1 is not in $2..$3"; return 1; }; }

# watched FILE WINDOWS HITS COMMAND...: records until there are so many; on a busy machine the recorder may
# be too late for every single sample of a run
watched() {
	local file=$1 windows=$2 hits=$3 i
	shift 3
	for i in 1 2 3 4 5 6 7 8; do
		"$@" >/dev/null 2>"$TMP/err" || return 1
		[ "$(counter "watch windows" "$file")" -ge "$windows" ] && [ "$(counter "watch hits" "$file")" -ge "$hits" ] && return 0
	done
	echo "$(counter "watch windows" "$file") windows, $(counter "watch hits" "$file") hits"; return 1
}

# some virtual machines accept breakpoints and deliver no hit
fire=$(accperf doctor --json 2>/dev/null | jq -r '.features[] | select(.name == "hw-breakpoints").state')
if [ "$fire" = yes ]; then
	check "addresses are watched, and hit" watched soft.data 3 10 accperf record -e soft -q --effort high -o soft.data -- "$WORKLOADS/pipeline" --seconds 4
else
	skip "addresses are watched, and hit, in windows of one and of four bytes" "no hit of a breakpoint arrives on this machine"
	accperf record -e soft -q --effort high -o soft.data -- "$WORKLOADS/pipeline" --seconds 4 >/dev/null 2>&1
fi
check "accesses were written" between "$(counter "accesses written" soft.data)" 200 1000000
check "most operands have an address" test "$(counter "block operands with an address" soft.data)" -gt $((4 * $(counter "block operands without an address" soft.data)))
if [ "$fire" = yes ]; then
	check "in known directions" between "$(counter "watch hits of unknown direction" soft.data)" 0 $(($(counter "watch hits" soft.data) / 100))
	check "nothing was lost" between "$(counter "watch hits lost: ring full" soft.data)" 0 0
fi
# written to exhaust the bound, but never beyond: a fifth of the time at most is armed at high effort
accperf record -q -e soft -o io.data -- "$WORKLOADS/syscalls" --seconds 2 >/dev/null
check "system calls were seen" between "$(counter "system calls that move memory" io.data)" 50 100000000
check "without loss" between "$(counter "system-call records lost: ring full" io.data)" 0 0
# The planted pipeline: who writes what the next stage reads. Writers are known from windows alone, and few come of a busy machine.
edges='["produce", "transform", "transform", "scale", "scale", "consume"]'
missing() { accperf flow -i soft.data --json 2>/dev/null | jq -r --argjson want "$edges" '. as $f | range(0; 6; 2) | . as $i |
	select([$f.edges[] | select((.producer | endswith($want[$i])) and (.consumer | endswith($want[$i + 1]))) | .bytes] | add // 0 | . <= 0) | $want[$i] + " -> " + $want[$i + 1]'; }
if [ "$fire" = yes ]; then
	for _ in 1 2 3 4 5; do
		[ -z "$(missing)" ] && break
		accperf record -e soft -q --effort high -o soft.data -- "$WORKLOADS/pipeline" --seconds 8 >/dev/null
	done
	check "the flow finds each stage of the pipeline" [ -z "$(missing)" ]
fi

expect_status 2 "a watch length that is none" accperf record --watch-length 3 -- true
[ "$fire" != yes ] || check "windows of four bytes" watched four.data 1 0 accperf record -q -e soft --effort high --watch-length 4 -o four.data -- "$WORKLOADS/pipeline" --seconds 2
# code that the target makes itself is taken for what ran only where it is still the same
made() { # MODE STATUS SENTENCE: records it by pid, as its own status would be passed on
	local p rc
	"$WORKLOADS/rewrites" "$1" --loop >/dev/null & p=$!
	accperf record -q -e soft --effort high -o made.data -p "$p" --duration 2 2>made.err; rc=$?
	kill "$p"; wait "$p" 2>/dev/null
	[ "$rc" = "$2" ] && { [ -z "$3" ] || grep -q "$3" made.err; } || { echo "status $rc"; cat made.err; return 1; }
}
check "generated code that stays has accesses" made same 0 ""
check "hundreds of them and more" between "$(counter "accesses written" made.data)" 100 1000000
check "code that was rewritten is told, status 3" made rewritten 3 "in code that the target rewrote"
check "code that cannot be read is told, status 3" made unreadable 3 "in code that cannot be read"
check "and has no accesses" between "$(counter "accesses written" made.data)" 0 100
# all armed time is dear there, since every copy crawls: short windows, but windows
[ "$fire" != yes ] || check "a program full of copies gets windows" watched c.data 2 0 accperf record -q -e soft --effort high -o c.data -- "$WORKLOADS/copies" --seconds 3

if [ ! -e /sys/bus/event_source/devices/cpu/type ]; then
	expect_status 3 "hardware sampling that is not here degrades" accperf record -e pmu -q --duration 0.3s -o p.data -- "$WORKLOADS/tightloop" --seconds 1
	check "and says so" grep -q 'cannot be had' "$TMP/err"
	expect_status 3 "a latency that nobody measures here" accperf record --ldlat 30 -q --duration 0.3s -o p.data -- "$WORKLOADS/tightloop" --seconds 1
	check "is told" grep -q -- '--ldlat cannot be had' "$TMP/err"
	expect_status 3 "page sizes that nobody tells here" accperf record --data-page-size -q --duration 0.3s -o p.data -- "$WORKLOADS/tightloop" --seconds 1
	check "that, too" grep -q -- '--data-page-size cannot be had' "$TMP/err"
	expect_status 0 "auto takes the timer" accperf record --duration 0.3s -o q.data -- "$WORKLOADS/tightloop" --seconds 1
	check "and prints the choice" grep -q 'engine: soft' "$TMP/err"
else
	skip "hardware sampling that is not here" "there is a PMU here"
fi
expect_status 2 "a latency that is none" accperf record --ldlat 70000 -- true
expect_status 2 "an engine of no such name" accperf record -e turbo -- true
expect_status 0 "without windows and system calls" accperf record -q --no-windows --no-syscalls --duration 0.5s -o n.data -- "$WORKLOADS/tightloop" --seconds 1

# a debugger that holds all breakpoints: recording goes on, windows are given up
if need gdb; then
	start "$WORKLOADS/kv" --seconds 8; kv=$!
	sleep 0.3
	start gdb -q -batch -p $kv -ex 'watch *(char *)0x1' -ex continue
	sleep 1
	expect_status 0 "beside a debugger" accperf record -q --effort high -p $kv --duration 1s -o g.data
	kill $kv 2>/dev/null
fi
# what was set is gone with the recorder, also after kill -9
"$WORKLOADS/kv" --seconds 12 >/dev/null & kv=$!
accperf record -q --effort high -p $kv -o k.data & rec=$!
sleep 2; kill -9 $rec; wait $rec 2>/dev/null; sleep 0.5
check "kill -9 leaves no breakpoint" accperf record -q --effort high -p $kv --duration 1s -o k2.data
kill $kv; wait $kv 2>/dev/null || true # its status is that of the kill

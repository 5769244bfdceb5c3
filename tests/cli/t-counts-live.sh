#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# record --counts on a live process whose counts are known by construction (tests/workloads/counted.c).
# Hits are counted, not timed, so load only makes it take longer: recordings go on until the figures
# that are compared have been measured, or a long time has passed.
. "$(dirname "$0")/../lib.sh"
if ! accperf doctor --json 2>/dev/null | grep -q '"hw-breakpoints"' || ! accperf record -q --counts on -o probe.data -- "$WORKLOADS/tightloop" --seconds 0.3 2>probe.err || grep -qE 'no execution counts|bursts alone' probe.err; then
	skip "execution counts of a live process" "$(grep -m1 -oE '(no execution counts|execution counts from bursts alone).*' probe.err || echo 'no breakpoints or BPF here')"
	exit 0
fi
# of FUNCTION FILTER
of() { jq -r --arg f "$1" "[.functions[] | select(.name == \$f)][0] | $2" counts.json; }
runs='.share.value / .instructions_per_call' # in proportion: how many a second is unknown where no rate was measured
# the steps' loops by trip count, unit and its callees by counts
measured() {
	accperf counts --counts-cache off -i live.data --json >counts.json 2>counts.err || return 1
	local f
	# a trip count is claimed from ten activations on; of fewer, those that were met are shown
	for f in always thrice pointed jumps jumped along; do [ "$(of $f '.loops[0] | .how == "trip count" or (.how == "ratio" and .least != null)')" = true ] || return 1; done
	for f in thrice always few; do [ "$(of $f '[.callers[] | select(.name == "unit")] | length > 0')" = true ] || return 1; done
	jq -en "$(of unit "$runs") > 0 and $(of thrice "$runs") > 0" >/dev/null
}

start "$WORKLOADS/counted" 16000 --loop; p=$! # a unit takes 0.3 ms: rarely enough to be timed
for s in 5 10 20 40; do
	accperf record -q --effort high --counts on -p $p --duration ${s}s -o live.data 2>record.err || break
	measured && break
done
check "recording with counts" test -s live.data
check "what is compared was measured" measured
check "says nothing is amiss" sh -c "cat record.err >&2; test ! -s record.err"
for f in always thrice pointed jumps jumped along; do
	check "the loop of $f turns 16000 times, each time" [ "$(of $f '.loops[0] | "\(.least) \(.most) \(.trips.value | round)"')" = "16000 16000 16000" ]
done
ratio() { jq -en "$(of "$1" "$runs") / $(of "$2" "$runs") | . > $3 and . < $4"; }
# intervals of a tenth or two on each side: half as much again is far outside of chance
check "thrice runs 3 times for each always" ratio thrice always 2 4.5
check "always runs once for each unit" ratio always unit 0.66 1.5
check "unit calls always" [ "$(of always '[.callers[].name] | unique | join(" ")')" = unit ]
check "thrice has its three call sites, or the loop's one" jq -en "$(of thrice '[.callers[] | select(.name == "unit")] | length') | . == 1 or . == 3"
check "through a pointer: called from unit" [ "$(of pointed '.callers[0].name')" = unit ]
check "rates were measured" jq -e '.links.rate > 0' counts.json

# turns that only the recorder's own carrying out tells: 107.539 each time, and no breakpoint sees them apart
start "$WORKLOADS/collatz" --loop; c=$!
turns() {
	accperf counts --counts-cache off -i fast.data --json >counts.json 2>counts.err
	[ "$(of highest '.loops[0].how')" = replay ]
}
for s in 3 6 12 24; do
	accperf record -q --effort high --counts on -p $c --duration ${s}s -o fast.data 2>record.err || break
	turns && break
done
check "a loop faster than breakpoints is replayed" turns
# the scatter of hundreds of bursts is a few percent
check "and turns as often as it does" jq -en "$(of highest '.loops[0].trips.value') | . > 90 and . < 128"
check "its interval holds that" jq -en "$(of highest '.loops[0].trips.low') < 112 and $(of highest '.loops[0].trips.high') > 103"
check "bursts are counted" jq -e '.bursts >= 3 and .burst_instructions > 10000 and .links.replay > 0' counts.json
check "nobody was attached to the target" grep -q '^TracerPid:	0$' /proc/$c/status
check "says what bursts took" jq -e '[.counters[] | select(.name == "bursts: own CPU time, us")][0].value > 0' <(accperf report -i fast.data --json)
check "it still runs" kill -0 $c
kill $c

# pages are asked for before a burst begins: of a process that is gone by then they never come. One death in four or so is such
bursts() { accperf report --json -i "$1" | jq '[.counters[] | select(.name == "bursts")][0].value'; }
accperf record -q --effort high --counts on -o alone.data -- timeout 3 "$WORKLOADS/collatz" --loop >/dev/null
accperf record -q --effort high --counts on -o gone.data -- sh -c 'for i in $(seq 20); do timeout 0.1 "$0" --loop; done; timeout 3 "$0" --loop' "$WORKLOADS/collatz" >/dev/null
check "a process alone has bursts" [ "$(bursts alone.data)" -ge 3 ]
check "after twenty that ended, one has as many" [ $(($(bursts gone.data) * 3)) -ge "$(bursts alone.data)" ]

# merged: of each recording what its bursts told is in its flow, and stays there
start "$WORKLOADS/pipeline" --loop; c=$!
for f in one two; do accperf record -q --effort high --counts on -p $c --duration 3s -o $f.data; done
kill $c
check "both have bursts" [ "$(bursts one.data)" -ge 3 -a "$(bursts two.data)" -ge 3 ]
edges() { accperf flow -i "$1" --json | jq '[.edges[]] | group_by([.producer, .consumer]) | map({ key: "\(.[0].producer) \(.[0].consumer)", value: map(.share) | add }) | from_entries'; }
expect_status 0 "profiles with bursts merge" accperf merge -o both.data one.data two.data
check "each share of the merged one is between both" jq -en "$(edges one.data) as \$a | $(edges two.data) as \$b | $(edges both.data) as \$m |
	(\$m | length) > 3 and (\$m | keys) == (\$a + \$b | keys) and
	all(\$m | keys[]; [\$a[.] // 0, \$b[.] // 0] as \$of | \$m[.] > (\$of | min) - 1e-6 and \$m[.] < (\$of | max) + 1e-6)"
accperf counts --counts-cache off -i both.data 2>merged.err
check "counts are said not to be kept" grep -q 'both.data was merged.*profiles it was made of' merged.err

accperf record -q --effort high --counts off -p $p --duration 1s -o off.data
expect_status 3 "--counts off measures none" accperf counts --counts-cache off -i off.data
expect_status 2 "another word is wrong usage" accperf record --counts maybe -p $p --duration 1s -o off.data

# what a system call could not be interrupted for comes due at the instruction after it
start "$WORKLOADS/syscalls" --loop; c=$!
ends() { jq '[.counters[] | select(.name | startswith("samples at the end of a system call"))][0].value' report.json; }
returns() {
	accperf report --json -i ends.data >report.json && accperf counts --counts-cache off --json -i ends.data >counts.json || return 1
	r=$(ends)
	[ "$r" -ge 20 ]
}
for s in 3 6 12 24; do
	accperf record -q --effort high --counts on -p $c --duration ${s}s -o ends.data 2>record.err || break
	returns && break
done
check "samples right after system calls are told apart" returns
wrappers='[.functions[] | select(.name | test("^(syscall|read|write|__GI___libc_(read|write)|__libc_(read|write))$"))]'
# all of them were in the C library's wrappers
check "and are no time of the code there" jq -en --slurpfile t report.json --slurpfile c counts.json "
	(\$t[0].functions | map(select(.object != \"[kernel]\") | .samples) | add) as \$user | (\$t[0] | $wrappers | map(.samples) | add) as \$there |
	(\$c[0] | $wrappers | map(.time // 0) | add) - (\$there - $r) / (\$user - $r) | fabs < 0.1"
check "the caller still runs" kill -0 $c
kill $c

# what was called or jumped to through rcx has its own address there, too. Of ten samples in it one is at its first instruction
samples_in() { jq "[.functions[] | select(.name | test(\"^($1)\$\")) | .samples] | add" report.json; }
accperf record -q --effort high --counts off -o through.data -- "$WORKLOADS/throughrcx" plain --seconds 3 >/dev/null 2>&1
accperf report --json -i through.data >report.json
check "what is reached through rcx was sampled" [ "$(samples_in '(called|jumped)_(one|other)')" -ge 100 ]
check "and none of it is the end of a system call" [ "$(ends)" = 0 ]
for s in 3 6 12 24; do
	accperf record -q --effort high --counts off -o beside.data -- "$WORKLOADS/throughrcx" beside --seconds $s >/dev/null 2>&1
	accperf report --json -i beside.data >report.json
	[ "$(ends)" -ge 3 ] && break
done
check "beside system calls their ends are told" [ "$(ends)" -ge 3 ]
# at exit there are some that no wrapper makes
check "and of the rest next to none" [ "$(ends)" -le $(($(samples_in 'syscall|getppid') + 2)) ]

# a debugger has the breakpoints: said nowhere as an error, and the recording is complete
if need python3 && cat >hold.py <<'PY' && python3 -c 'import ctypes'; then
import ctypes, os, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
began = time.monotonic()
# type BREAKPOINT, disabled, exclude_kernel; bp_type W, len 1
for tid in map(int, os.listdir(f"/proc/{sys.argv[1]}/task")):
    for i in range(4):
        a = bytearray(112)
        struct.pack_into("IIQQQQQ", a, 0, 5, 112, 0, 0, 0, 0, 1 | 1 << 5)
        struct.pack_into("I", a, 52, 2)
        struct.pack_into("QQ", a, 56, 4096 + 8 * i, 1)
        # another recording on this machine may have one for some milliseconds
        while libc.syscall(298, (ctypes.c_char * 112).from_buffer(a), tid, -1, -1, 0) < 0 and time.monotonic() < began + 5:
            time.sleep(0.001)
print("held", flush=True)
time.sleep(60)
PY
	# one that makes no new threads
	start "$WORKLOADS/tightloop" --loop; q=$!
	python3 hold.py $q >held & STARTED+=($!)
	for i in $(seq 100); do [ -s held ] && break; sleep 0.1; done
	expect_status 0 "recording where a debugger has all breakpoints" accperf record -q --counts on -p $q --duration 2s -o held.data
	check "has its samples" jq -e '.samples > 0' <(accperf report -i held.data --json)
	check "and nothing was measured" jq -e ".windows == 0" <(accperf counts --counts-cache off -i held.data --json)
fi
check "the target still runs" kill -0 $p
# a function with bytes that are no code has time, and no graph
cc -O1 -o undecoded "$TOP/tests/fixtures/undecoded.c" || fail "the fixture compiles"
expect_status 0 "recording code that cannot all be read" accperf record -q --counts on -o odd.data -- ./undecoded 3
for command in report flow counts advise objects; do
	accperf $command --json -i odd.data >odd.json 2>"$TMP/err"; status=$?
	check "$command reads it" [ $status -le 3 ]
done
check "its time is there" jq -e 'any(.functions[]; .name == "odd" and .samples > 0)' <(accperf report --json -i odd.data)

# no breakpoint and no system call: a model of the processor tells how fast the code runs, and this machine's cycle
start "$WORKLOADS/pipeline" --loop; m=$!
by_model() {
	accperf counts --counts-cache off -n 100000 -i model.data --json >counts.json 2>counts.err || return 1
	jq -e '.absolute and .speed_by == "model" and .speed_high < 2.2' counts.json
}
for s in 4 8 16; do
	ACCPERF_BREAKPOINTS=off accperf record -q --counts-cache off -p $m --duration ${s}s -o model.data 2>record.err
	by_model >/dev/null && break
done
check "without any rate the model tells amounts" by_model
check "and flow has bytes" jq -e '.amounts_note == null and ([.functions[].in // 0] | add > 0)' <(accperf flow --json -i model.data)
known() { for v in timeline objects; do accperf $v --json -i model.data | jq .amounts_known; done | sort -u; }
check "timeline and objects, too" [ "$(known)" = true ]
accperf exact -q -o rounds.data -- "$WORKLOADS/pipeline" --rounds 10 >/dev/null 2>&1
user_ns() { python3 -c 'import os, sys
p = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
print(int(os.wait4(p, 0)[2].ru_utime * 1e9))' "$WORKLOADS/pipeline" --rounds $1 2>&1 | tail -n 1; }
# of 400 rounds: a fortieth of them was counted
check "the exact count lies in its interval" jq -en "($(accperf flow --json -i rounds.data | jq '[.functions[].instructions] | add') * 40e9 / $(user_ns 400)) as \$true
	| $(jq '[.functions[].instructions // 0] | add' counts.json) as \$told | $(jq .speed_low counts.json) * \$told < \$true and \$true < $(jq .speed_high counts.json) * \$told"

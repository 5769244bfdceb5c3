#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recording live processes: what is caught. How it ends: t-record-ends.sh.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/recorded.sh"

start "$WORKLOADS/tightloop" --loop; loop=$!
expect_status 0 "records a live process by pid" accperf record -p $loop -F 1999 --duration 2s
accperf record -q --timers threads -p $loop -F 499 --duration 2s -o rate.data
check "the closing line gives samples, losses, size and slow-down" grep -qE '[0-9]+ samples, 0 lost, [0-9.]+ [KM]iB in accperf.data; estimated slow-down' "$TMP/err"
# Beside a busy machine's other programs the loop may get a seventh of a CPU: some hundred samples, whose
# share spreads by 3 %.
check "the planted shares are found: three quarters hot" between "$(self spin_hot)" 55 95
check "and one quarter cool" between "$(self spin_cool)" 8 45
# the kernel counts the CPU time, whatever the timer does
covered() { accperf report --json -i rate.data | jq '([.counters[] | select(.name == "CPU time without a sample, us") | .value] | add) as $u | (.samples / 499e-6) as $s | 100 * $s / ($s + $u) | floor'; }
check "a sample per period of CPU time" between "$(covered)" 70 100
check "the target still runs" kill -0 $loop
# without breakpoints: that a machine delivers none is a loss, which is told also then
expect_status 0 "a second recording" accperf record -q --breakpoints off -p $loop -F 199 --duration 0.3s
check "keeps the first as .old" test -s accperf.data.old
check "and both are for their owner's eyes only" test "$(stat -c %a%a accperf.data accperf.data.old | tr -d '\n')" = 600600600600
check "quiet is quiet" test ! -s "$TMP/err"

# once a second on a terminal, never elsewhere
script -qec "accperf record -p $loop -F 499 --duration 2.5s -o line.data" /dev/null </dev/null >line.out 2>&1
check "a progress line on a terminal" grep -aqE '[0-9.]+ s  +[0-9]+ samples  [0-9]+ lost  own CPU [0-9.]+ %' line.out
accperf record -p $loop -F 499 --duration 1.5s -o line.data 2>line.err
check "none elsewhere" bash -c '! grep -q "own CPU.*MiB$" line.err && [ "$(grep -c samples line.err)" = 1 ]'

# a share was more than all of a CPU where a recording was short ("own CPU 822.4 %"), and did not say of what
check "the last line says what accperf itself took, and in what time" grep -qE '; accperf itself took [0-9]+\.[0-9]{2} s of CPU time in 1\.[0-9]{2} s$' line.err
# how long calls are off the CPU, as the program's own clocks saw it; how many waits tell that, the machine decides
accperf record -q --counts off --no-accesses --no-windows --no-syscalls -o w.data -- "$WORKLOADS/waiter" 3 >waiter.out 2>waiter.err
accperf report --json -i w.data >w.json
waits_as() { awk -v f="$1" '$1 == f { print $2 }' waiter.out | xargs -I {} jq -e --arg f "$1" --argjson least "$2" '[.functions[] | select(.name == $f)][0] | (.wait_high - .wait_low) as $w | .waits >= $least and .wait_low - $w / 2 - .02 < {} and {} < .wait_high + $w / 2 + .02' w.json; }
check "the share of its calls that a function waits" waits_as waits_much 10
check "and of one that only works, which may never wait" waits_as waits_never 0
check "as a column" bash -c "accperf report --stdio --columns wait -i w.data | grep -qE '%  +[0-9.]+%  +[0-9.]+\.\.[0-9.]+  +[0-9.]+%  +[0-9]+  waits_much'"
accperf record -q --no-waits --counts off --no-accesses --no-windows --no-syscalls -o nw.data -- "$WORKLOADS/waiter" 0.3 >/dev/null 2>&1
check "unknown without --waits" bash -c "accperf report --json -i nw.data | jq -e '[.functions[] | .wait_share, .waits] | all(. == null)'"

# the command's status is passed on
expect_status 7 "passes on the command's exit status" accperf record -q -- sh -c 'exit 7'
expect_status 137 "and the signal that ended it" accperf record -q -- sh -c 'kill -9 $$'
expect_status 1 "a command that does not exist fails" accperf record -- ./no-such-command
check "and is named" grep -q no-such-command "$TMP/err"

# threads, children, exec
start "$WORKLOADS/nthreads" --seconds 8; many=$!
sleep 0.3
threads() { accperf report --per-thread --json -i "$1" 2>/dev/null | jq '.threads | length'; }
expect_status 0 "threads that exist" accperf record -q -p $many -F 499 --duration 1s -o t.data
kill $many 2>/dev/null; wait $many 2>/dev/null
check "several are seen, not more than were sampled" between "$(threads t.data)" 2 "$(samples t.data)"
expect_status 0 "threads made later" accperf record -q -F 499 -o t2.data -- "$WORKLOADS/nthreads" --seconds 1
check "several are seen, too" between "$(threads t2.data)" 2 "$(samples t2.data)"
expect_status 0 "forked children are followed" accperf record -q -F 997 -o f.data -- sh -c "$WORKLOADS/tightloop 400; true"
check "and named" between "$(self spin_hot f.data)" 60 85
# the shell alone may be too short for a sample, which is told by the status
accperf record -q --no-inherit -F 997 -o n.data -- sh -c "$WORKLOADS/tightloop 40; true" 2>no-inherit.err; status=$?
check "unless --no-inherit" [ $status = 0 -o $status = 3 ]
check "then the child is not there" test "$(self spin_hot n.data)" = 0
expect_status 0 "a program that execs another" accperf record -q -F 997 -o x.data -- "$WORKLOADS/execs" --seconds 1
start "$WORKLOADS/forks" --seconds 4; forks=$!
expect_status 0 "many short-lived children" accperf record -F 997 -p $forks --duration 2s -o s.data
check "without loss" grep -q ' 0 lost' "$TMP/err"
kill $forks 2>/dev/null; wait $forks 2>/dev/null

# Lives shorter than a period are sampled in proportion. The work is fixed, so that the number of samples
# does not depend on the load: some 1,500, whose shares spread by 1.3 %, and whose number could only fall
# short where the machine's own host takes the CPU away.
short_lived() { accperf record -q -F 997 -o brief.data "$@" -- bash -c "$WORKLOADS/nthreads 20 --rounds 3000 >&2; times" >times.out 2>/dev/null; }
of_cpu_time() { # samples x period in percent of the command's CPU time, which bash tells as 0m1.234s
	local ms; ms=$(awk -F'[ms ]+' 'NR == 2 { print int(($1 * 60 + $2 + $3 * 60 + $4) * 1000) }' times.out)
	echo $(($(samples brief.data) * 100000 / 997 / (ms > 0 ? ms : 1)))
}
of_workers() { accperf report --json -i brief.data 2>/dev/null | jq --arg f "$1" '[.functions[] | select(.name | startswith("worker_"))] | (map(select(.name == $f).self) | add // 0) / (map(.self) | add) * 100 | floor'; }
expect_status 0 "threads that live for less than a period" short_lived
check "are sampled in proportion to their CPU time" between "$(of_cpu_time)" 50 130
check "the longest, 40 %" between "$(of_workers worker_4)" 28 52
check "the shortest, 10 %" between "$(of_workers worker_1)" 2 22
expect_status 0 "children that live for less than a period" accperf record -q -F 997 -o brief.data -- "$WORKLOADS/forks" --rounds 5
# where forking is dear (a virtual machine without nested pages), that is most of the time
check "are sampled, too" between "$(self child_work brief.data)" 1 100
counter() { accperf report --json -i "$1" 2>/dev/null | jq --arg n "$2" '[.counters[] | select(.name == $n) | .value] | add // -1'; }
check "who is not observed is not recorded" test "$(self spin_hot brief.data)" = 0
check "though its ticks came by" between "$(counter brief.data 'ticks of processes that are not observed, dropped')" 1 10000000
expect_status 0 "nor are such children with --no-inherit" accperf record -q --no-inherit -F 997 -o brief.data -- "$WORKLOADS/forks" --rounds 5
check "only their parent is" test "$(self child_work brief.data)" = 0
expect_status 2 "timers of a kind that does not exist" accperf record --timers watches -p $loop

# timers of threads do not see them, but that is told
# a thread that is kept from running for long may yet get a sample; without any, the status is 3
accperf record --timers threads -F 29 -o short.data -- "$WORKLOADS/nthreads" 100 --seconds 1 >"$TMP/out" 2>"$TMP/err"; status=$?
check "threads that live too short for a timer of their own: $status, with $(samples short.data) samples" [ $status = "$([ "$(samples short.data)" = 0 ] && echo 3 || echo 0)" ]
check "are counted" between "$(counter short.data 'threads that ended before their first sample')" 20 10000000
check "with the CPU time that has no sample, most of a second" between "$(counter short.data 'CPU time without a sample, us')" 100000 20000000
check "the user is told" grep -q 'CPU time has no sample' "$TMP/err"
check "and so is the reader" bash -c 'accperf report -i short.data 2>/dev/null | grep -q "^# without a sample: .* threads ended before their first"'
check "one that lives on is not among them" test "$(counter rate.data 'threads that ended before their first sample')" = 0

# all CPUs; one thread only
accperf record -q -a -F 997 --duration 1s -o a.data & rec=$!
wait $rec; check "the whole machine" test $? = 0
check "but for the recorder" bash -c "accperf report --json --per-thread -i a.data 2>/dev/null | jq -e 'all(.threads[]; .pid != $rec)'"
# whose share is small on a busy one
check "finds the loop" bash -c 'accperf report --json -i a.data 2>/dev/null | jq -e "any(.functions[]; .name == \"spin_hot\")"'
expect_status 0 "one thread" accperf record -q -t $loop -F 1999 --duration 1s -o th.data
check "finds the loop, too" between "$(self spin_hot th.data)" 55 95

# control groups, where one can be made
cg=; for root in /sys/fs/cgroup/unified /sys/fs/cgroup/perf_event /sys/fs/cgroup; do
	[ -e $root/cgroup.procs ] && mkdir $root/accperf-test.$$ 2>/dev/null && { cg=$root/accperf-test.$$; break; }
done
if [ -n "$cg" ]; then
	echo $loop >"$cg/cgroup.procs"
	expect_status 0 "a control group" accperf record -q -G "$cg" -F 1999 --duration 1s -o g.data
	check "finds its process" between "$(self spin_hot g.data)" 55 95
	echo $loop >"$(dirname "$cg")/cgroup.procs"; rmdir "$cg"
else
	skip "a control group" "none can be made here"
fi

kill $loop; wait $loop 2>/dev/null
check "no BPF program is left behind" nothing_left

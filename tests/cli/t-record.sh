#!/usr/bin/env bash
# Recording live processes: what is caught, how it ends, what is left behind.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }

attached() { bpftool prog list 2>/dev/null | grep -cE 'name on_(tick|fork|exec|free|switch)'; }
self() { # FUNCTION: its self share in percent, whole
	accperf report --json -i "${2:-accperf.data}" 2>/dev/null | jq --arg f "$1" '[.functions[] | select(.name == $f) | .self] | add // 0 | . * 100 | floor'
}
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || { echo "$1 is not in $2..$3"; return 1; }; }
samples() { accperf report --json -i "${1:-accperf.data}" 2>/dev/null | jq .samples; }
cpu_ms() { awk '{ sub(/.*\) /, ""); print ($12 + $13) * 10 }' "/proc/$1/stat"; } # the machine is shared: count CPU time, not seconds
wait_gone() { local i; for i in $(seq 50); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.1; done; return 1; }

progs_before=$(attached)

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
expect_status 0 "forked children are followed" accperf record -q -F 997 -o f.data -- sh -c "$WORKLOADS/tightloop 40; true"
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

# Until a recording of the loop has samples on disk, then one second more.
recording() { local i; for i in $(seq 100); do [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt 600 ] && break; sleep 0.1; done; sleep 1; }

# ends: Ctrl-C, SIGTERM, the target's death, kill -9
for sig in INT TERM; do
	rm -f sig.data; accperf record -p $loop -F 499 -o sig.data >"$TMP/out" 2>"$TMP/err" & rec=$!
	recording sig.data; kill -$sig $rec; wait $rec; st=$?
	check "SIG$sig ends a recording in order" test $st = 0
	check "and the profile is complete" accperf report -i sig.data
done
start "$WORKLOADS/tightloop" --loop; short=$!
timeout -k 5 60 accperf record -p $short -F 1999 -o gone.data >"$TMP/out" 2>"$TMP/err" & rec=$!
recording gone.data; kill -9 $short; wait $short 2>/dev/null; wait $rec; st=$?
check "the end of the target ends the recording" test $st = 0
check "and its functions are named" between "$(self spin_hot gone.data)" 55 95
accperf record -p $loop -F 499 -o killed.data >/dev/null 2>&1 & rec=$!
recording killed.data; before=$(cpu_ms $loop); sleep 2.4; after=$(cpu_ms $loop); kill -9 $rec; wait $rec 2>/dev/null
expect_status 3 "a recording that was killed is readable" accperf report -i killed.data
check "and says so" grep -qi "did not end in order\|cut off" "$TMP/err"
check "and lost at most its last second" between "$(samples killed.data)" $(((after - before - 1100) * 499 / 1000)) 6000
check "and its functions are named from the file" between "$(self spin_hot killed.data)" 50 98

# a full disk
mkdir small; if mount -t tmpfs -o size=64k none small 2>/dev/null; then
	expect_status 1 "a full disk ends the recording with an error" timeout -k 5 60 accperf record -a -F 9999 --duration 20s -o small/x.data
	check "that names it" grep -q 'No space left' "$TMP/err"
	check "and what was written is readable" sh -c 'accperf report -i small/x.data >/dev/null; [ $? = 3 ]'
	rm -f small/*
	expect_status 1 "likewise of a command" timeout -k 5 60 accperf record -F 9999 --duration 20s -o small/y.data -- "$WORKLOADS/tightloop" --loop
	on=$(sed -n 's/.*goes on as process \([0-9]*\).*/\1/p' "$TMP/err")
	check "which goes on, as is said" test "$(readlink "/proc/${on:-none}/exe")" = "$(realpath "$WORKLOADS/tightloop")"
	[ -z "$on" ] || kill "$on"
	umount small
else
	skip "a full disk" "no tmpfs can be mounted"
fi

# a ring that overflows is counted and shown: stop the reader for a while
"$WORKLOADS/mallocs" --loop >/dev/null & busy=$!
STARTED+=($busy)
accperf record -p $busy -F 9999 --ring-size 64K --duration 8s -o ring.data 2>"$TMP/err" & rec=$!
recording ring.data; kill -STOP $rec; sleep 2.5; kill -CONT $rec; wait $rec
lost=$(accperf report --json -i ring.data 2>/dev/null | jq .lost)
kill $busy 2>/dev/null; wait $busy 2>/dev/null
if [ "${lost:-0}" -gt 0 ]; then
	pass "an overflowing ring is counted ($lost lost)"
	check "and said" grep -q 'were lost' "$TMP/err"
else fail "an overflowing ring is counted"; cat "$TMP/err"; fi

# bad input: a sentence and a right status
expect_status 2 "nothing to observe" accperf record
expect_status 2 "two things to observe" accperf record -p 1 -a
for list in abc "" 12x 12,,13 -5 0; do
	expect_status 2 "no list of processes: '$list'" accperf record -p "$list"
done
expect_status 2 "no list of threads" accperf record -t here
expect_status 2 "a cgroup without a name" accperf record -G ""
expect_status 2 "a file without a name" accperf record -o "" -p 1
expect_status 2 "a rate out of range" accperf record -F 0.1 -p $loop
expect_status 1 "a pid that does not exist" accperf record -p 4194000
check "is said" grep -q 'no process 4194000' "$TMP/err"
expect_status 1 "a kernel thread" accperf record -p 2
check "is said" grep -q 'kernel thread' "$TMP/err"
python3 - <<'PY' & holder=$!
import os, time
pid = os.fork()
if pid == 0: os._exit(0)
open("zombie.pid", "w").write(str(pid)); time.sleep(20)
PY
STARTED+=($holder); for _ in $(seq 50); do [ -s zombie.pid ] && break; sleep 0.1; done; sleep 0.2
expect_status 1 "a zombie" accperf record -p "$(cat zombie.pid)"
check "is said" grep -q zombie "$TMP/err"
expect_status 1 "an output that cannot be written" accperf record -p $loop --duration 0.1s -o /proc/x.data
ln -s /etc/passwd link.data
expect_status 1 "an output that is a symbolic link" accperf record -q -p $loop --duration 0.1s -o link.data

# a kernel without BTF: hidden from us in a mount namespace of our own
if unshare -m true 2>/dev/null; then
	expect_status 1 "a kernel without BTF" unshare -m sh -c "mount -t tmpfs none /sys/kernel/btf && exec accperf record -o b.data -p $loop --duration 0.1s"
	check "is said, with what to do" grep -q 'no BTF.*CONFIG_DEBUG_INFO_BTF' "$TMP/err"
else
	skip "a kernel without BTF" "no mount namespace can be made"
fi

# 500 threads
start "$WORKLOADS/nthreads" 10 --seconds 8 --threads 500 || true
start python3 -c 'import threading,time
for i in range(500): threading.Thread(target=time.sleep,args=(10,),daemon=True).start()
t=time.time()
while time.time()-t<9: sum(range(1000))'
py=$!; sleep 1.5
expect_status 0 "a process with 500 threads" accperf record -q -p $py -F 499 --duration 1s -o 500.data
check "gives samples" between "$(samples 500.data)" 20 2000

# without being root
# (the tree may lie where nobody may not look: /root)
cp "$TOP/build/accperf" ./accperf-nobody; cp "$WORKLOADS/tightloop" .; chmod 755 ./accperf-nobody ./tightloop "$TMP"
mkdir nob; chown nobody nob
as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all "$@"; }
expect_status 1 "nobody without capabilities is refused" as_nobody ./accperf-nobody record -o nob/a.data -- sleep 0.1
check "and told which is missing" grep -qE 'CAP_(BPF|PERFMON) is missing.*|reserves for root' "$TMP/err"
check "and how to grant it" grep -q 'setcap\|sysctl' "$TMP/err"
# as is recommended: only a group may run it (who else may: t-rights.sh)
chgrp nogroup ./accperf-nobody; chmod 0750 ./accperf-nobody
if setcap cap_perfmon,cap_bpf,cap_sys_ptrace+ep ./accperf-nobody 2>/dev/null; then
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
		expect_status 0 "nobody with CAP_BPF and CAP_PERFMON records" as_nobody ./accperf-nobody record -F 499 -o nob/b.data -- ./tightloop --seconds 1
		check "and sees functions" between "$(self spin_hot nob/b.data)" 65 85
		start ./tightloop --loop
		expect_status 0 "and a process of another user" as_nobody ./accperf-nobody record -q -F 499 -o nob/c.data -p $! --duration 1s
		check "and sees its functions, too" between "$(self spin_hot nob/c.data)" 65 85
		mkdir -m 700 closed && cp tightloop closed/ && start closed/tightloop --loop
		expect_status 0 "and one whose program lies where nobody may not look" as_nobody ./accperf-nobody record -q -F 499 -o nob/d.data -p $! --duration 1s
		check "and sees its functions all the same" between "$(self spin_hot nob/d.data)" 60 90
	else
		skip "nobody with capabilities" "perf_event_paranoid is above 2 here"
	fi
else
	skip "nobody with capabilities" "setcap does not work on this file system"
fi

kill $loop; wait $loop 2>/dev/null
nothing_left() { local i; for i in $(seq 40); do [ "$(attached)" -le "$progs_before" ] && return 0; sleep 0.25; done; bpftool prog list | grep -E 'name on_(tick|fork|exec|free|switch)'; return 1; }
check "no BPF program is left behind" nothing_left

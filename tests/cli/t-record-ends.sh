#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recording live processes: how it ends, what is refused, who may, and what is left behind.
# harm: `record -- CMD` that fails after CMD began | 1 | said, with its pid
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/recorded.sh"

start "$WORKLOADS/tightloop" --loop; loop=$!
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
# a process that ends while its recording begins, which takes as long as the machine lets it
brief() { # ARGUMENTS...: until one was gone by then
	local for
	for for in 0.1 0.2 0.4 0.8 1.6 3; do
		sleep $for & accperf record -q -p $! "$@" >"$TMP/out" 2>"$TMP/err"
		grep -q 'has no memory map' "$TMP/err" && return 0
		rm -f kept.data.old turns*; cp gone.data kept.data
	done
	cat "$TMP/err"; return 1
}
cp gone.data kept.data
check "a process that ends meanwhile is an error" brief -o kept.data
check "that leaves an older file as it was" bash -c 'cmp gone.data kept.data && [ ! -e kept.data.old ]'
check "likewise of files that follow each other" brief --rotate 60s -o turns
check "of which none is left" test -z "$(ls turns* 2>/dev/null)"
accperf record -p $loop -F 499 -o killed.data >/dev/null 2>&1 & rec=$!
recording killed.data; before=$(cpu_ms $loop); sleep 2.4; after=$(cpu_ms $loop); kill -9 $rec; wait $rec 2>/dev/null
expect_status 3 "a recording that was killed is readable" accperf report -i killed.data
check "and says so" grep -qi "did not end in order\|cut off" "$TMP/err"
check "and lost at most its last second" between "$(samples killed.data)" $(((after - before - 1100) * 499 / 1000)) 6000
check "and its functions are named from the file" between "$(self spin_hot killed.data)" 50 98
# A function without its name is another one: its edges went and came, and each was "real".
start "$WORKLOADS/pipeline" --loop; line=$!
accperf record -p $line -F 997 -o first.data >/dev/null 2>&1 & rec=$!
recording first.data; sleep 2; kill -9 $rec; wait $rec 2>/dev/null
accperf record -q -p $line -F 997 --duration 3s -o whole.data; kill $line
named() { jq -e '[.. | objects | .producer?, .consumer? | strings] | any(. == "transform") and all(startswith("pipeline+0x") | not)' "$1"; }
accperf diff --json first.data whole.data >diff.json 2>"$TMP/err"
check "in what is compared with another, too" named diff.json
accperf merge -o merged.data first.data whole.data 2>"$TMP/err"; accperf flow --json -i merged.data >merged.json 2>>"$TMP/err"
check "and in what is put together with it" named merged.json

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
expect_status 0 "a list of one that lives, a zombie and one that has ended" accperf record -o some.data -p "$loop,$(cat zombie.pid),4194000" --duration 0.3s
check "is of what lives, and that is said" grep -q '2 of the processes have ended already' "$TMP/err"
expect_status 1 "a list of which none lives" accperf record -p "$(cat zombie.pid),4194000"
check "is said" grep -q 'all 2 processes of that list have ended' "$TMP/err"
expect_status 1 "a list with a kernel thread" accperf record -p "$loop,2"
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
		check "and sees functions" between "$(self spin_hot nob/b.data)" 45 98
		start ./tightloop --loop
		expect_status 0 "and a process of another user" as_nobody ./accperf-nobody record -q -F 499 -o nob/c.data -p $! --duration 1s
		check "and sees its functions, too" between "$(self spin_hot nob/c.data)" 45 98
		mkdir -m 700 closed && cp tightloop closed/ && start closed/tightloop --loop
		expect_status 0 "and one whose program lies where nobody may not look" as_nobody ./accperf-nobody record -q -F 499 -o nob/d.data -p $! --duration 1s
		check "and sees its functions all the same" between "$(self spin_hot nob/d.data)" 45 98
	else
		skip "nobody with capabilities" "perf_event_paranoid is above 2 here"
	fi
else
	skip "nobody with capabilities" "setcap does not work on this file system"
fi

kill $loop; wait $loop 2>/dev/null
check "no BPF program is left behind" nothing_left

# a recorder that gets little of a CPU while its parts begin, two threads whose stacks nobody knows yet, and a small ring:
# it was full before anybody read it, and of 2,000 samples some 1,400 were lost
start "$WORKLOADS/ingestd" 60; busy=$!
for _ in 1 2; do start taskset -c 0 timeout 60 sh -c 'while :; do :; done'; done
expect_status 0 "a recorder that is short of CPU time" taskset -c 0 nice -n 10 accperf record -p $busy --ring-size 1M --duration 4s -o slow.data
kill $busy
lost() { accperf report --json -i slow.data 2>/dev/null | jq "[.counters[] | select(.name | startswith(\"$1 lost\")).value] | add"; }
samples=$(accperf report --json -i slow.data 2>/dev/null | jq .samples)
check "brings samples ($samples)" test "$samples" -gt 4 # a dozen at a load of 16
check "and loses less than 50 of them ($(lost samples))" test "$(lost samples)" -lt 50
check "and of waits ($(lost waits))" test "$(lost waits)" -lt 50

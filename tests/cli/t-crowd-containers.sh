#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 5,000 containers, of which fifty a second go and come: the daemon with its defaults keeps its budget and its memory,
# says what it cannot record, and no container is ended by it.
# harm: 5,000 containers, 50 of them new each second | 2,250
. "$(dirname "$0")/../lib.sh"
need python3 || { echo "needs python3"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
grep -aq 'libmicrohttpd\.so' "$TOP/build/accperf" || { echo "built without libmicrohttpd"; exit 77; }
group=
for at in $(awk '$3 == "cgroup2" { print $2 }' /proc/mounts); do mkdir "$at/accperf-try-$$" 2>/dev/null && rmdir "$at/accperf-try-$$" && group=$at/accperf-boxes-$$ && break; done
[ -n "$group" ] || { echo "no cgroup2 in which groups can be made"; exit 77; }
[ "$(cat /proc/sys/kernel/pid_max)" -gt 20000 ] && [ "$(ulimit -u)" = unlimited -o "$(ulimit -u)" -gt 8000 ] || { echo "too few processes are allowed"; exit 77; }
mkfifo in; python3 "$TOP/tests/daemon/boxes.py" "$group" 5000 boxed$$ <in >boxes 2>&1 & boxes=$!; STARTED+=($boxes)
exec 9>in
began=$SECONDS; within 600 grep -q ready boxes; echo "# 5,000 containers were made within $((SECONDS - began)) s"
port=$((20000 + ($$ + 9000) % 12000))
cat >d.yaml <<-EOF
	storage: {folder: $TMP/store, reserve: 0}
	http: {listen: "127.0.0.1:$port"}
	services: {boxes: {container: "*", name: boxed$$, min_age: 0s, what: time, offload: none}}
	EOF
accperf daemon --config d.yaml 2>log & daemon=$!; STARTED+=($daemon)
has() { python3 -c 'import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1], timeout=60).read().decode())' "http://127.0.0.1:$port/metrics" >m && grep -qE "$1" m; }
check "all are seen" within 60 has '^accperf_processes\{service="boxes",unit="other",container="",pod=""\} 49[0-9][0-9]'
check "and told as twenty, and the rest" test "$(grep -c '^accperf_processes{' m)" -le 21
check "the answer is bounded ($(wc -l <m) lines)" test "$(wc -l <m)" -lt 300
replaced() { [ "$(grep -c replaced boxes)" -ge "$1" ]; }
cpu() { awk '{ print int($1 / 1000000) }' "/proc/$daemon/schedstat"; }
rss() { awk '/VmRSS/ { print $2 }' "/proc/$daemon/status"; }
for i in 1 2 3 4 5; do echo 50 >&9; within 20 replaced $i; done
before=$(cpu) memory=$(rss) began=$(date +%s%3N)
for i in $(seq 6 45); do echo 50 >&9; within 20 replaced $i; sleep 0.9; done
took=$(($(date +%s%3N) - began)) used=$(($(cpu) - before))
# one per cent of all CPUs, over minutes: half of it more is what may be saved
most=$((took * $(nproc) * 15 / 1000))
check "2,000 containers come and go within $((took / 1000)) s for $used ms of the daemon's CPU time (at most $most)" test $used -le $most
check "and $(($(rss) - memory)) KB more, of $(rss)" test $(($(rss) - memory)) -le 2000 -a "$(rss)" -le 32000
# nothing is spent before it is earned: .7 s of CPU time for a turn, of two CPUs half a minute's or more
check "a recorder begins" within 120 grep -q 'event=recording service=boxes' log
check "it answers" within 20 has '^accperf_processes_unrecorded\{service="boxes"\} [0-9]+'
check "without an error" bash -c '! grep level=error log'
check "and in a few lines ($(wc -l <log))" test "$(wc -l <log)" -le 40
began=$(date +%s%3N); kill -TERM $daemon; wait $daemon; status=$?; took=$(($(date +%s%3N) - began))
check "SIGTERM ends it in order" test $status = 0
check "soon (it took $took ms)" test $took -le 6000
exec 9>&-; wait $boxes
none_lost() { grep -qx 'lost 0' boxes || { grep -v -e ready -e replaced boxes; return 1; }; }
check "no container was ended but by whose it is" none_lost

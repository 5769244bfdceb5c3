#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A service of more processes than can be recorded at once, on a machine full of them: what cannot be done is said, looks
# at /proc stay within the budget, and the daemon still ends when it is asked to.
. "$(dirname "$0")/../lib.sh"
need python3 || { echo "needs python3"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
grep -aq 'libmicrohttpd\.so' "$TOP/build/accperf" || { echo "built without libmicrohttpd"; exit 77; }
name=crowd$$ port=$((20000 + ($$ + 5000) % 12000)); cp "$(command -v sleep)" $name
for _ in $(seq 1100); do ./$name 900 & STARTED+=($!); done
cat >d.yaml <<-EOF
	storage: {folder: $TMP/store, reserve: 0}
	limits: {budget: 100%, scan: 200ms, memory: 1G}
	http: {listen: "127.0.0.1:$port"}
	services: {crowd: {name: $name, min_age: 0s, what: time, offload: none}}
	EOF
accperf daemon --config d.yaml 2>log & daemon=$!; STARTED+=($daemon)
has() { python3 -c 'import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1], timeout=20).read().decode())' "http://127.0.0.1:$port/metrics" >m && grep -qE "$1" m; }
check "each recorder is told in a line that can be read" within 60 grep -qE 'event=recording service=crowd msg="recording processes [0-9]+(,[0-9]+){7} and 248 more"' log
check "more than all take is said, with how many" within 60 grep -qE 'level=warn event=too-many service=crowd msg="it has more processes than 4 recorders of 256 processes take at once, 1[0-9]+ by now' log
check "once" test "$(grep -c event=too-many log)" = 1
check "and counted" within 20 has '^accperf_processes_unrecorded\{service="crowd"\} 76(\.0)?$'
check "none of the recorders ends for it" test "$(grep -c event=together log)" = 0
# thrice what it may take, for a busy machine; without an end of its waiting it took minutes
began=$(date +%s%N); kill -TERM $daemon; wait $daemon; status=$?; took=$((($(date +%s%N) - began) / 1000000))
check "SIGTERM ends it in order" test $status = 0
check "soon (it took $took ms)" test $took -le 9000

# on a small budget
sed -i 's/budget: 100%/budget: 0.01%/; s/name: [a-z0-9]*/name: nobody/' d.yaml
accperf daemon --config d.yaml 2>log & daemon=$!; STARTED+=($daemon)
check "looks at /proc are spaced, and that is said" within 30 grep -qE 'event=scan msg="a look at [0-9]+ processes takes [0-9]+ ms of a CPU: within limits.budget they are looked at every [0-9]+ s' log
check "and shown" within 20 has '^accperf_scan_seconds [1-9][0-9]+(\.[0-9]+)?$'
kill -TERM $daemon; wait $daemon

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whom a recording of live processes observes: children that exist, lists as pgrep writes them, names; and what it says when it
# has seen nothing.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }

record() { accperf record -q --counts off --no-windows "$@"; }
samples() { accperf report --json -i "$1" 2>/dev/null | jq .samples; }
# A master that only waits, and two children that work, one of them a grandchild. Each has a name of its own.
cp "$WORKLOADS/tightloop" "toil$$"
start bash -c "./toil$$ --loop & (./toil$$ --loop; true) & wait"; master=$!
for _ in $(seq 100); do [ "$(pgrep -xc "toil$$")" = 2 ] && break; sleep 0.1; done
workers=$(pgrep -x "toil$$")
for w in $workers; do STARTED+=("$w"); done
processes() { accperf report --per-thread --json -i "$1" 2>/dev/null | jq '[.threads[].pid] | unique | length'; }

expect_status 0 "a master: its children that exist are observed" accperf record --counts off --no-windows -p $master -F 997 --duration 2s -o m.data
check "it is said how many" grep -q '[23] child processes are observed, too' "$TMP/err"
check "both have samples" test "$(processes m.data)" -ge 2
expect_status 0 "with timers of threads" record --timers threads -p $master -F 997 --duration 2s -o t.data
check "both have samples, too" test "$(processes t.data)" -ge 2
expect_status 3 "with --no-inherit there is nothing to see: status 3" record --no-inherit -p $master --duration 0.5s -o n.data
check "and why" grep -q 'no samples: the target used no CPU time' "$TMP/err"
expect_status 3 "the profile can be read" accperf report -i n.data
expect_status 0 "a list as pgrep writes it" record -p "$workers" -F 997 --duration 2s -o l.data
check "has both" test "$(processes l.data)" = 2
expect_status 0 "-p twice" record $(printf -- '-p %s ' $workers) -F 997 --duration 2s -o p.data
check "has both, too" test "$(processes p.data)" = 2
expect_status 0 "by name" record -n "toil$$" -F 997 --duration 2s -o b.data
check "has both, too" test "$(processes b.data)" = 2
expect_status 1 "a name that nobody has" record -n "nobody$$" --duration 0.5s -o x.data
check "is told" grep -q "no process named 'nobody$$'" "$TMP/err"
check "and leaves no profile" test ! -e x.data

expect_status 3 "a command shorter than a period: status 3" record -F 1 -o s.data -- true
check "and how long it ran" grep -qE 'no samples: the command ran for [0-9.e+-]+ ms of CPU time, and one sample is taken in 1000 ms' "$TMP/err"
expect_status 7 "its own status is passed on if it has one" record -F 1 -o s.data -- sh -c 'exit 7'

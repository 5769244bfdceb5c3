#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bytes handed from and to system calls, against what the program itself counted (scripts/accuracy-syscalls).
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
need jq || { echo "needs jq"; exit 77; }

# by_now LINES NS FIELD: what the program had moved by that time; 0: in the end
by_now() { awk -v t="$2" -v f="$3" '/^[0-9]/ { if (t == 0 || $1 <= t || !n++) v = $f } END { print v }' "$1"; }
# moved FILE CALL MEMORY: what the profile says, its low and its high
moved() { jq -r --arg n "(kernel:$2)" --arg m "$3" '[.system_calls[] | select(.name == $n and .memory == $m) | .bytes, .low, .high] | map(. // "none") | join(" ")' "$1"; }
near() { # ESTIMATE TRUTH PER_CENT
	echo "estimate $1, truth $2"
	[ "$1" -gt 0 ] && [ $((100 * $1)) -ge $(((100 - $3) * $2)) ] && [ $((100 * $1)) -le $(((100 + $3) * $2)) ]
}
holds() { echo "$*"; [ "$1" -le "$3" ] && [ "$1" -ge "$2" ]; }

if ! accperf doctor --json 2>/dev/null | grep -q . || ! accperf record -q --no-windows --counts off -o try.data -- "$WORKLOADS/tightloop" --seconds 0.5 2>try.err || grep -q "system calls are not observed" try.err; then
	skip "bytes of system calls" "$(grep -m1 "system calls" try.err)"; exit 0
fi

accperf record -q --no-windows --counts off -o cmd.data -- "$WORKLOADS/handover" file --seconds 4 >cmd.log 2>/dev/null
accperf flow --json -i cmd.data >cmd.json 2>/dev/null
# the kernel counts what sendfile moves, too: a third of the bytes written, of which none came from our memory
read -r bytes low high <<<"$(moved cmd.json pread64 written)"
check "as a command: what pread gave" near "$bytes" "$(by_now cmd.log 0 2)" 15
check "the interval is no wider than that" test "$((high - low))" -lt "$((bytes * 3 / 10))"
read -r bytes low high <<<"$(moved cmd.json write read)"
check "what write took" near "$bytes" "$(by_now cmd.log 0 3)" 15
edges=$(jq '[.edges[] | select(.consumer == "(kernel:write)") | .bytes] | add' cmd.json)
check "and so much flows there, whoever wrote it" near "$edges" "$bytes" 10
check "most of it written by fill" jq -e '[.edges[] | select(.consumer == "(kernel:write)" and .producer == "fill") | .bytes] | (add // 0) > '$((bytes / 2)) cmd.json

# until the recording has ended, however long it took to begin
"$WORKLOADS/handover" plain --loop >pid.log 2>/dev/null & target=$!; STARTED+=($target)
sleep 0.5
accperf record -q --no-windows --counts off -o pid.data -p $target --duration 4 2>/dev/null
kill -TERM $target; wait $target
accperf flow --json -i pid.data >pid.json 2>/dev/null
began=$(jq .began_ns pid.json) lasted=$(jq .duration_ns pid.json)
truth=$(($(by_now pid.log $((began + lasted)) 2) - $(by_now pid.log "$began" 2)))
read -r bytes low high <<<"$(moved pid.json read written)"
# the truth is known to its lines: two milliseconds of the program's time at either end
check "by its number: what read gave" near "$bytes" "$truth" 3
check "the interval holds it, though to begin takes a while" holds "$truth" "$((low - truth / 200))" "$((high + truth / 200))"
read -r bytes low high <<<"$(moved pid.json write read)"
check "what write took" near "$bytes" "$truth" 3
# sum reads what read gave, and fill writes another array
check "what sum reads was the call's" jq -e '[.edges[] | select(.consumer == "sum" and .share > 0)] | max_by(.share) | .producer == "(kernel:read)"' pid.json
check "the text lists them" bash -c "accperf flow -i pid.data | grep -q '^(kernel:write) .*[GM]B'"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Instructions that repeat (`rep`) take hardly any time for what they count and move: shares of instructions, and flows
# through them, are held against the exact engine.
. "$(dirname "$0")/../lib.sh"
need jq || { skip "repeated instructions" "needs jq"; exit 0; }
ls "$TOP"/build/exact/*-amd64-linux >/dev/null 2>&1 || { skip "repeated instructions" "the exact engine is not built"; exit 0; }
[ "$(id -u)" = 0 ] || { skip "repeated instructions" "needs root"; exit 0; }

accperf exact -q -o exact.data -- "$WORKLOADS/repeats" >/dev/null 2>err || { fail "exact run"; cat err; exit 1; }
accperf report --json --columns flow -i exact.data >exact.json
accperf flow --json -i exact.data >exactflow.json
# of the instructions of the four functions; of the bytes between them
STEPS='IN("clear_block", "copy_block", "fill_block", "sum_block")'
counted() { jq --arg f "$1" "[.functions[] | select(.name | $STEPS)] | (map(select(.name == \$f).instructions) | add) / (map(.instructions) | add)" exact.json; }
said() { jq --arg f "$1" "[.functions[] | select(.name | $STEPS)] | (map(select(.name == \$f).share.value) | add) / (map(.share.value) | add)" counts.json; }
moved() { jq --arg p "$1" --arg c "$2" "[.edges[] | select((.producer | $STEPS) and (.consumer | $STEPS))] | (map(select(.producer == \$p and .consumer == \$c).share) | add // 0) / (map(.share) | add)" "$3"; }
# a recording in which bursts met them often enough; a busy machine gives fewer
for _ in 1 2 3 4 5; do
	accperf record -q --effort high --no-windows --counts-cache off -o live.data -- "$WORKLOADS/repeats" --seconds 4 >/dev/null 2>record.err
	accperf counts --json --counts-cache off -i live.data >counts.json 2>/dev/null
	accperf flow --json -i live.data >flow.json 2>/dev/null
	[ "$(accperf report --json -i live.data 2>/dev/null | jq '[.counters[] | select(.name == "bursts").value] | add // 0')" -ge 60 ] && break
done
within() { jq -en "($2) / ($3) | . > 1 / $1 and . < $1"; }
for f in clear_block copy_block fill_block sum_block; do
	s=$(said $f) c=$(counted $f)
	# without their repetitions, the first two have a hundredth of it
	check "instructions of $f: said $s, counted $c" within 2 "$s" "$c"
done
per_call=$(jq '[.functions[] | select(.name == "clear_block")][0].instructions_per_call' counts.json)
check "a call of clear_block is its 1,024 repetitions and more: said $per_call" within 2 "$per_call" 1027
for e in "fill_block copy_block" "copy_block sum_block"; do
	s=$(moved $e flow.json) c=$(moved $e exactflow.json)
	# by their time alone, what copy_block reads is a seventh of it
	check "bytes from ${e/ / to }: said $s, counted $c" within 2 "$s" "$c"
done
# of all accesses to the three blocks, each repetition one
accperf exact -q -o objects.data --objects -- "$WORKLOADS/repeats" >/dev/null 2>err || { fail "exact run with objects"; cat err; exit 1; }
on() { accperf objects --json -i "$1" 2>/dev/null | jq '[.objects[] | select(.name | IN("cleared", "filled", "copied"))] | (map(select(.name == "cleared").share) | add // 0) / (map(.share) | add)'; }
s=$(on live.data) c=$(on objects.data)
check "accesses to the block that is cleared: said $s, counted $c" within 1.9 "$s" "$c"

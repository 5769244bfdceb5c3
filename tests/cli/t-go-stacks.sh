#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A stack that lies below the heap in one mapping, as goroutines' do: what is above it is no stack, in the exact engine,
# in samples, and in bursts.
. "$(dirname "$0")/../lib.sh"
need jq || { skip "goroutines' stacks" "needs jq"; exit 0; }

part() { jq "[.edges[] | select(.producer == \"$2\" and .consumer == \"$3\").bytes] | (add // 0)" "$1"; }
is_near() { jq -en "($1) / ($2) | . > 0.95 and . < 1.05"; }
if ls "$TOP"/build/exact/*-amd64-linux >/dev/null 2>&1; then
	accperf exact -q -o exact.data -- "$WORKLOADS/gostack" 64 >/dev/null 2>err || { fail "exact run"; cat err; exit 1; }
	accperf flow --json -i exact.data >exact.json
	# 64 times 64 KB
	check "exact: what was written above the stack is read from there: $(part exact.json fill_heap sum_heap)" \
		is_near "$(part exact.json fill_heap sum_heap)" $((64 * 64 * 1024))
	check "exact: what is on the stack is not told" test "$(part exact.json pass_on pass_on)" = 0
	accperf flow --stack include --json -i exact.data >stack.json
	check "exact: unless it is asked for: $(part stack.json pass_on pass_on)" is_near "$(part stack.json pass_on pass_on)" $((64 * 4096))
else
	skip "goroutines' stacks, exact" "the exact engine is not built"
fi
[ "$(id -u)" = 0 ] || { skip "goroutines' stacks, live" "needs root"; exit 0; }
accperf record -q --counts-cache off -o live.data -- "$WORKLOADS/gostack" --seconds 3 >/dev/null 2>err
accperf flow --json -i live.data >live.json
share=$(jq '[.edges[] | select(.producer == "fill_heap" and .consumer == "sum_heap").share] | add // 0' live.json)
# pass_on, if it is there, reads a sixty-fourth of it
check "live: nearly all bytes are those that fill_heap wrote: $share" jq -en "$share > 0.9"

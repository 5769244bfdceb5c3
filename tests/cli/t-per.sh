#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# flow --per FUNCTION of live recordings: its calls by probes of the user's, and by its time where probes were taken away.
. "$(dirname "$0")/../lib.sh"

accperf record -q -o own.data --offload-exact --offload-probe "$WORKLOADS/pipeline:transform" -- "$WORKLOADS/pipeline" --seconds 3 >/dev/null 2>said.txt
status=$?
if [ $status != 0 ] && grep -q 'not allowed\|no uprobes' said.txt; then echo "no probes here: $(head -n 1 said.txt)"; exit 77; fi
rounds=$(sed -n 's/^pipeline: \([0-9]*\) rounds.*/\1/p' said.txt)
accperf flow --json --per transform -i own.data >own.json 2>/dev/null
check "a probe of one's own counts each call: 32 a round" jq -e --argjson n "$rounds" '.per | .source == "probes" and .calls == 32 * $n and .calls_low == .calls and .calls_high == .calls' own.json

cat >calls.py <<'END'
import random, time, zlib
text, n, end = bytes(random.Random(1).choices(b'abcdefgh ', k=4000)), 0, time.time() + 6
while time.time() < end: zlib.compress(text, 6); n += 1
print(n)
END
n=$(accperf record -q -o brief.data --counts off --offload zlib -- python3 calls.py 2>/dev/null)
accperf flow --json --per deflate -i brief.data >brief.json 2>/dev/null
# of 90 %, so that the truth may lie beyond an end, but not far
check "probes that are in place for a part of the time: by them, by its time, or unknown with the reason" jq -e --argjson n "$n" \
	'.per | if .source == null then .calls == null and (.reason | length) > 20 else (.source == "probes" or .source == "time") and .calls_low < 2 * $n and .calls_high > $n / 2 and .calls_high < 100 * .calls_low end' brief.json

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# flow --inclusive and --threads against what is known, and flow on profiles that hold nothing for it.
. "$(dirname "$0")/../lib.sh"
need jq || { skip "parts of flow" "needs jq"; exit 0; }

# ---- nothing to show ----
"$TOP/build/mkprofile" time.data || { fail "mkprofile"; exit 1; }
: >empty.data; head -c 3000 /dev/zero >zero.data; head -c 1000 time.data >cut.data
for form in '' --json --xml --dot '--svg -o x.svg' --inclusive --threads; do
	# shellcheck disable=SC2086
	expect_status 1 "time samples only, flow $form: failed" accperf flow -i time.data $form
	check "... with a sentence, and nothing else" sh -c 'grep -q "holds no memory accesses; record with" err && [ ! -s out ] && [ ! -e x.svg ]'
done
for f in empty.data zero.data /dev/null . cut.data missing.data; do
	expect_status 1 "flow of $f: failed" accperf flow -i "$f" --svg -o x.svg
	check "... with a sentence, and no picture" sh -c 'grep -q "^accperf: error: ..........*" err && [ ! -s out ] && [ ! -e x.svg ]'
done
check "a torn profile is called that" sh -c 'accperf flow -i cut.data 2>&1 | grep -qE "(cut|damage|lost|end)"'
ls "$TOP"/build/exact/*-amd64-linux >/dev/null 2>&1 || { skip "parts of flow" "the exact engine is not built"; exit 0; }

# ---- inclusive of callees: counted for candidates, estimated from the same run ----
accperf exact -q -o j.data --candidate main,forward_dct,inverse_dct,encode_block,decode_block --emit-samples 1000:1 --emit-census 256 --emit-windows 300 \
	-- "$WORKLOADS/jpeg" --rounds 5 >/dev/null 2>err || { fail "exact run"; cat err; exit 1; }
accperf flow -i j.data --inclusive --json >truth.json
accperf flow -i j.data --estimator fused --inclusive --json >est.json
accperf help --json-schema flow >schema.json
check "JSON follows its schema" python3 -c 'import json,jsonschema; [jsonschema.validate(json.load(open(f)), json.load(open("schema.json"))) for f in ("truth.json", "est.json")]'
near() { # FUNCTION FIGURE PER_CENT
	jq -e --slurpfile t truth.json --arg f "$1" --arg w "$2" --argjson p "$3" '
		def it: .functions[] | select(.name == $f) | .inclusive[$w];
		($t[0] | it) as $true | (it - $true | fabs) < $true * $p / 100' est.json
}
# the seed is fixed; margins are twice the intervals' half widths
check "what inverse_dct and its callees read" near inverse_dct in 8
check "what forward_dct and its callees read" near forward_dct in 8
check "what they write for others" near forward_dct out 30
check "most of what main causes stays inside" near main local 5
check "of main, what is read from elsewhere is little" near main in 40
check "encode_block: with put_bits, which reads its own words" near encode_block local 50
check "inclusive bytes loaded" near main load_bytes 5
check "self flow and inclusive flow of a leaf agree" jq -e '.functions[] | select(.name == "inverse_dct") | (.in - .inclusive.in | fabs) < .in / 100' est.json
check "every inclusive figure has an interval and samples" jq -e 'all(.functions[].inclusive | values | select(.in != null); .in_low <= .in and .in <= .in_high and .samples != null)' est.json
check "without --inclusive it is null" sh -c 'accperf flow -i j.data --json | jq -e "all(.functions[]; .inclusive == null) and .threads == null"'
accperf merge -o merged.data j.data 2>/dev/null
expect_status 3 "a merged flow has no inclusive figures: degraded" accperf flow -i merged.data --inclusive
check "... with a sentence" grep -q 'no inclusive figures' err
check "the graph has what functions compute, and with callees" bash -c 'accperf flow -i j.data --estimator fused --inclusive --dot >i.dot && grep -qE "inverse_dct.*compute [0-9,]+.*with callees: in .* out .* within" i.dot &&
	! accperf flow -i j.data --dot | grep -q "with callees"'
check "XML has both, too" bash -c 'accperf flow -i j.data --estimator fused --inclusive --xml >i.xml && python3 -c "
import xml.etree.ElementTree as t
of = {f.get(\"name\"): f for f in t.parse(\"i.xml\").iter(\"function\")}
f = of[\"inverse_dct\"]
assert int(f.get(\"compute\")) > 0 and int(f.get(\"in_with_callees\")) > 0 and f.get(\"within_callees\") is not None"'
check "text has the table" sh -c 'accperf flow -i j.data --estimator fused --inclusive | grep -q "^function with what it calls"'
expect_status 1 "counted figures have no threads" accperf flow -i j.data --estimator exact --tid 77
expect_status 1 "a function that is not there" accperf flow -i j.data --producer nosuch --svg -o x.svg
check "... is named, and no picture made" sh -c 'grep -q "no function .nosuch." err && [ ! -e x.svg ]'
check "a limit that nothing passes is said" sh -c 'accperf flow -i j.data --producer make_tables --consumer make_tables --min-share 50 | grep -q "no edge passes"'

# ---- computation ----
compute() { # FUNCTION PER_CENT
	jq -e --slurpfile t truth.json --arg f "$1" --argjson p "$2" 'def it: .functions[] | select(.name == $f); ($t[0] | it | .compute) as $true | it |
		(.compute - $true | fabs) < $true * $p / 100 and .compute_low < .compute and .compute < .compute_high' est.json
}
# thousands of samples each: twice the half width of their intervals
check "arithmetic and logic of forward_dct" compute forward_dct 3
check "arithmetic and logic of inverse_dct" compute inverse_dct 4
check "arithmetic and logic of quantise" compute quantise 8

# ---- the report's further columns ----
accperf report -i j.data --json >report.json
accperf help --json-schema report >report.schema
check "report's JSON follows its schema" python3 -c 'import json,jsonschema; jsonschema.validate(json.load(open("report.json")), json.load(open("report.schema")))'
check "bytes and computation are the flow's" jq -e --slurpfile t truth.json '.functions[] | select(.name == "forward_dct") | . as $r | $t[0].functions[] |
	select(.name == "forward_dct") | .in == $r.in and .out == $r.out and .compute == $r.compute and .inclusive.in == $r.inclusive_in and .calls == $r.calls' report.json
check "operations per byte: off the stack" jq -e --slurpfile t truth.json '[.functions[] | select(.name == "forward_dct") | .ops_per_byte][0] as $o |
	$t[0].functions[] | select(.name == "forward_dct") | (.compute / (.load_bytes + .store_bytes - .stack_bytes) - $o | fabs) < 1e-9' report.json
check "time samples only: null, not 0" sh -c 'accperf report -i time.data --json | jq -e "all(.functions[]; .in == null and .compute == null and .ops_per_byte == null and .stack_share == null)"'
accperf report -i j.data --columns flow >columns.txt
check "--columns flow has them" grep -qE '^ *4[0-9]\.[0-9]+% .* 23\.6 MB +1\.3 MB +1\.2[0-9] +3[0-9]% +exact +forward_dct$' columns.txt
check "... with room for names in 80 columns" awk '/ function$/ { if (length($0) > 68) exit 1; n++ } END { exit n != 1 }' columns.txt
check "what is unknown is a dash" sh -c 'accperf report -i j.data --columns callees | grep -qE "% +- +- +- +[-a-z]+ +make_picture$"'
check "... and in JSON what a function's figures are weighted by" sh -c 'accperf report -i j.data --json | jq -e "[.functions[] | select(.name == \"forward_dct\").bias] == [null]" >/dev/null'
check "--sort in" sh -c 'accperf report -i j.data --columns flow --sort in | grep -E "^ *[0-9.]+%" | head -n 1 | grep -q "inverse_dct$"'
check "single columns in any order" sh -c 'accperf report -i j.data --columns calls,self | grep -qE "^ +5\.1K +40\.[0-9]+% +forward_dct$"'
check "the plain report says that there is more" sh -c 'accperf report -i j.data | grep -q "columns flow" && ! accperf report -i time.data | grep -q "columns flow"'
expect_status 2 "no such column is wrong usage" accperf report -i j.data --columns self,nosuch
expect_status 1 "columns that need accesses fail without" accperf report -i time.data --columns flow
check "... with a sentence" grep -q 'holds no memory accesses' err

# ---- threads: they take turns every 100,000 blocks, some eight times here ----
accperf exact -q -o s.data --emit-samples 500:1 --emit-windows 300 --emit-census 256 -- "$WORKLOADS/sharing" 400 >/dev/null 2>err || { fail "exact run"; cat err; exit 1; }
accperf flow -i s.data --estimator fused --threads --json >threads.json
check "threads follow the schema" python3 -c 'import json,jsonschema; jsonschema.validate(json.load(open("threads.json")), json.load(open("schema.json")))'
# thread 1 sends 3.2 MB to thread 2, which reads as much of what nobody wrote
check "threads as a graph and in XML" bash -c 'accperf flow -i s.data --estimator fused --threads --dot | grep -q "bytes between threads" &&
	accperf flow -i s.data --estimator fused --threads --xml >t.xml && python3 -c "
import xml.etree.ElementTree as t
x = t.parse(\"t.xml\").getroot()
assert x.get(\"between\") == \"threads\" and any(b.findtext(\"producer\").startswith(\"thread\") for b in x.iter(\"binding\"))"'
check "what the first thread sends the second receives" jq -e '[.thread_edges[] | select(.producer_tid == 1 and .consumer_tid == 2) | .bytes][0] as $b | $b > 2.7e6 and $b < 3.8e6' threads.json
check "hardly anything comes back" jq -e '([.thread_edges[] | select(.producer_tid == 2 and .consumer_tid == 1) | .bytes] | add // 0) < 2e5' threads.json
check "IN of all threads is the sum of the edges" jq -e '([.threads[].in] | add) as $in | ([.thread_edges[] | select(.consumer_tid) | .bytes] | add) | . - $in | fabs < 1000' threads.json
shared() { jq -e --arg o "$1" "[.shared_lines[] | select(.object == \$o)] | $2" threads.json; }
check "counters side by side are shared falsely" shared side_by_side 'length == 1 and .[0].threads[0].written == "0-7" and .[0].threads[1].written == "40-47"'
check "so is what one reads beside what the other writes" shared reader_writer 'length == 1 and .[0].threads[1].written == ""'
check "functions that do it are named" shared side_by_side '.[0].threads[0].function == "first_counts"'
for o in apart both_write in_turn letter; do check "$o is not" shared $o 'length == 0'; done
check "lines of which both use the same bytes are counted" jq -e '.lines_truly_shared >= 1' threads.json
accperf flow -i s.data --estimator fused --threads >threads.txt
check "the text says it, too" grep -q 'side_by_side' threads.txt

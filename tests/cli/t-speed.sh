#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What rests on an assumed speed is told as shares: no view has an amount of a recording in which no rate was measured.
. "$(dirname "$0")/../lib.sh"

assumed=$TOP/tests/golden/live-kv.prof # bursts and windows, but no rate
exact=$TOP/tests/golden/exact-pipeline.prof

# A program for python3, given a command's JSON.
json() {
	local program=$1
	shift
	accperf "$@" 2>/dev/null | python3 -c "
import json, sys
d = json.load(sys.stdin)
$program"
}

# Bytes that system calls took were counted, whatever the speed.
check flow_has_shares_alone json '
edges = d["edges"]
own = [e for e in edges if not e["consumer"].startswith("(kernel")]
assert own and not d["amounts_known"] and d["amounts_note"]
assert all(e["bytes"] is None and e["low"] is None and e["high"] is None for e in own)
assert abs(sum(e["share"] for e in edges) - 1) < 1e-6
assert all(0 <= e["share_low"] <= e["share_high"] <= 1 for e in edges if e["share_low"] is not None)
# what only system calls took is as they counted it
taken = {f["name"] for f in d["functions"] if all(e["consumer"].startswith("(kernel") for e in edges if e["producer"] == f["name"])}
for f in d["functions"]:
    for key in "in", "out", "in_high", "instructions", "loads", "load_bytes", "store_bytes", "calls":
        assert f[key] is None or (key == "out" and f["name"] in taken), (f["name"], key)
assert any(f["out"] is None for f in d["functions"])' flow --json -i "$assumed"
check counts_has_shares_alone json '
assert d["functions"] and not d["absolute"]
for f in d["functions"]:
    assert f["per_second"]["value"] is None and f["calls"] is None and f["load_bytes"] is None
    assert f["instructions"] is None
    for k in f["loops"] + f["callers"]: assert k["per_second"]["value"] is None
assert sum(f["share"]["value"] or 0 for f in d["functions"]) > 0' counts --json -i "$assumed"
check objects_has_shares_alone json '
assert d["objects"] and not d["amounts_known"]
for o in d["objects"]:
    assert o["read_bytes"] is None and o["reads"] is None and o["share"] is not None
    assert all(u["bytes"] is None for u in o["readers"] + o["writers"])' objects --json -i "$assumed"
check timeline_has_shares_alone json '
assert d["functions"] and not d["amounts_known"]
assert all(x is None for f in d["functions"] for x in f["read_bytes"] + f["written_bytes"])
assert abs(sum(sum(f["read_share"]) + sum(f["written_share"]) for f in d["functions"]) - 1) < 1e-6' \
	timeline --json -i "$assumed"
check report_has_shares_alone json '
for f in d["functions"]:
    assert f["in"] is None and f["instructions"] is None and f["compute"] is None
    assert f["out"] is None or f["out"] < 10 # what only system calls took
assert all(f["ops_per_byte"] is None for f in d["functions"]) # the only one may be a ten-thousand-millionth, or as many' report --json --columns flow -i "$assumed"
# once in each text, with the remedy
for view in flow counts objects timeline; do
	says_why() { [ "$(accperf "$view" -i "$assumed" | tr -s '\n #' ' ' | grep -o "amounts are unknown: how fast[^;]*; record" | wc -l)" = 1 ]; }
	check "${view}_says_why" says_why
done
check what_was_counted_is_an_amount json '
assert d["amounts_known"] and d["amounts_note"] is None
assert all(e["bytes"] is not None for e in d["edges"])' flow --json -i "$exact"
folds_nothing() { accperf flow --sort unique -i "$TOP/tests/golden/live-pipeline.prof" >unique.txt && grep -q '^produce ' unique.txt && ! grep -q 'small fields' unique.txt; }
check what_is_read_an_unknown_number_of_times_is_no_small_field folds_nothing
# the text tells the same parts as JSON, beside each function
parts_of_functions() {
	accperf flow --stdio --rows 200 -i "$assumed" 2>/dev/null | sed -n '/^function .*IN UMA/,/^$/p' >functions.txt
	json '
import math, re
text = {l[:27].strip(): re.findall(r"([\d.]+) %", l[27:]) for l in open("functions.txt").read().splitlines()[1:] if l}
told = [(f, text[f["name"]]) for f in d["functions"] if f["name"] in text and f["in_share"] is not None and f["out_share"] is not None]
assert len(told) >= 5, len(told)
for f, t in told:
    assert len(t) == 2 and abs(float(t[0]) - 100 * f["in_share"]) < .051 and abs(float(t[1]) - 100 * f["out_share"]) < .051, (f["name"], t)' \
		flow --json -i "$assumed"
}
check "flow tells what part of all bytes a function has in and out" parts_of_functions

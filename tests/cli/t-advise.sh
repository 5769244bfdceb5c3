#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `accperf advise`: stored profiles through devices that a user describes; bad input; its JSON by its schema.
. "$(dirname "$0")/../lib.sh"
G=$TOP/tests/golden
export XDG_CONFIG_HOME=$TMP/config # no catalogue of this machine's
accperf help --json-schema advise >schema.json
valid() { python3 -c 'import json, jsonschema, sys; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open("schema.json")))' "$1"; }

# Calls of deflate that a probe counted, before a fast and a slow device.
cat >devices.json <<-'JSON'
	{"schema":"accperf.accelerators/1","accelerators":[
	{"name":"fast/deflate","device":"made up","unit":"ns","params":{"L":0.01,"o":1000,"C":10,"A":20,"beta":1,"t0":0,"latency":"dep"}},
	{"name":"slow/deflate","device":"made up","unit":"ns","params":{"L":500,"o":1000000,"C":10,"A":20,"beta":1,"t0":0,"latency":"dep"}}]}
JSON
expect_status 3 "a profile without counts: what it has is judged" accperf advise -i "$G/offload-deflate.prof" --catalogue devices.json --json
cp out deflate.json
check "its JSON is as its schema says" valid deflate.json
check "the fast device gains, the slow one loses" jq -e '[.candidates[] | select(.name == "deflate") | .options[] | {(.accelerator): .verdict}] | add | .["fast/deflate"] == "offload" and .["slow/deflate"] == "keep"' deflate.json
check "which sizes pay is said: all, none, from one on; null where the host's time by size is unknown" jq -e '[.candidates[] | .options[]? | .pays] | all(. == null or . == "always" or . == "never" or . == "from") and any(. == null)' deflate.json
check "the mean size of the calls seen has an interval" jq -e '.candidates[] | select(.name == "deflate") | .bytes_in | .low < .value and .value < .high' deflate.json
check "what is missing is said, and what helps" grep -q "record with --counts auto" err
check "whoever takes a hundredth is judged or has a reason" jq -e '[.candidates[] | (.reason != null) != (.options | length > 0)] | length > 5 and all' deflate.json
check "unknown is null" jq -e '[.candidates[] | select(.reason != null) | .calls_per_s] | any(. == null)' deflate.json
# it fits on a screen, whatever the width
accperf advise --stdio -i "$G/offload-deflate.prof" --catalogue devices.json >text 2>/dev/null
check "one screen of text" bash -c '[ $(wc -l <text) -le 40 ] && grep -q "fast/deflate, sync: offload: " text'

# Most stacks of it end within assembler: samples find 18 % below job, its calls' rate and time say 82 % [55..100].
accperf advise -i "$G/offload-cut.prof" --json >cut.json 2>/dev/null
accperf report -i "$G/offload-cut.prof" --json >cut.report 2>/dev/null
check "where stacks end early, a share that calls know more closely is theirs" jq -e -n --slurpfile a cut.json --slurpfile r cut.report \
	'($a[0].candidates[] | select(.name == "job") | .share_of_time) as $s | ($r[0].functions[] | select(.name == "job") | .inclusive) as $stacks | $s.value > 3 * $stacks and $s.low > 2 * $stacks'

accperf report --stdio -i "$G/offload-deflate.prof" >report 2>/dev/null
accperf advise -i "$G/offload-deflate.prof" --json 2>/dev/null | jq -r '.candidates[0] | .name + ": " + .options[0].text' >found
check "report ends with what advise found" bash -c 'tail -n 3 report | tr -d "#\n" | tr -s " " | grep -qF "$(cut -c 1-200 found)" && tail -n 1 report | grep -q "^# more: accperf advise -i "'
accperf report --stdio -i "$G/exact-pipeline.prof" >report 2>/dev/null
check "and with nothing where there are no calls" bash -c '! grep -q "accperf advise" report'

accperf advise -i "$G/offload-uring.prof" --json >idle.json 2>err
check "a device that is there and idle" jq -e '[.candidates[] | select(.options[0].verdict == "idle") | .name] == ["CUDA runtime", "OpenCL"]' idle.json
for p in empty torn exact-pipeline counts-whole live-zlib offload-cuda offload-marker merge-timer; do
	accperf advise -i "$G/$p.prof" --json >"$p.json" 2>err; status=$?
	check "$p: done or degraded, JSON by the schema" bash -c "[ $status = 0 ] || [ $status = 3 ] && python3 -c '
import json, jsonschema; jsonschema.validate(json.load(open(\"$p.json\")), json.load(open(\"schema.json\")))'"
done
# What other tools rely on, written here a second time: each key, and a figure is a value between its two ends, or null.
cat >shape.py <<-'PY'
	import json, sys
	from numbers import Real
	S, N = str, (Real, type(None))
	def V(v):
	    return v is None or isinstance(v, dict) and list(v) == ["value", "low", "high"] and all(isinstance(x, Real) for x in v.values()) and v["low"] <= v["value"] <= v["high"]
	candidate = {"name": S, "functions": list, "kind": ("function", "set", "chain", "offload"), "calls_per_s": V, "ns_per_call": V, "bytes_in": V, "bytes_out": V,
	             "unique_in": V, "unique_out": V, "resident": V, "ops_per_byte": V, "share_of_time": V, "wait_share": V, "reason": (S, type(None)), "options": list}
	option = {"accelerator": S, "design": ("sync", "sync-os", "async"), "speedup": V, "process_speedup": V, "g1": V, "g_half": V, "batch": V,
	          "bound": ("overhead", "latency", "bandwidth", "computation", "amdahl", "queue"), "verdict": ("offload", "batch", "keep", "switch", "idle", "unknown"), "text": S}
	seen = {}
	def obey(x, keys, where):
	    for k, t in keys.items():
	        if not (k in x and (t(x[k]) if t is V else x[k] in t if isinstance(t, tuple) and isinstance(t[0], str) else isinstance(x[k], t))):
	            sys.exit("%s: %s is %s" % (where, k, json.dumps(x.get(k, "missing"))))
	        seen[k] = seen.get(k, 0) + (x[k] is not None)
	    for k, f in x["partly"].items(): # what is known of a null: a value without its ends, or an end
	        if x[k] is not None or list(f) != ["value", "low", "high"] or set(f.values()) == {None}:
	            sys.exit("%s: partly %s %s, in full %s" % (where, k, f, x[k]))
	for name in sys.argv[1:]:
	    d = json.load(open(name))
	    obey({**d, "partly": {}}, {"schema": ("accperf.advise/1",), "engine": S, "machine": S, "candidates": list}, name)
	    for c in d["candidates"]:
	        obey(c, candidate, name + " " + c["name"])
	        for f in c["functions"]:
	            if not isinstance(f, str): sys.exit("a function that is no name")
	        for o in c["options"]:
	            obey(o, option, "%s %s %s" % (name, c["name"], o["accelerator"]))
	print(seen)
	sys.exit(any(not n for k, n in seen.items() if k not in ("resident", "g1", "g_half"))) # those have one in u-advise-beside
PY
for p in offload-crypt offload-deflate pebs; do
	accperf advise -i "$G/$p.prof" --catalogue devices.json --json >"some-$p.json" 2>/dev/null
done
check "each key of the JSON is there, of its type, and has a value in some profile" python3 shape.py ./*-*.json idle.json
check "no candidate of a profile without samples" jq -e '.candidates == []' empty.json
check "calls of an accelerator's own library are offloads, those that only submit too" jq -e '[.candidates[] | select(.name | startswith("cuMemcpy") or . == "cuLaunchKernel") | .kind] | length == 5 and all(. == "offload")' offload-cuda.json

check "what is inlined everywhere is told of, with its caller's way out" bash -c "accperf advise -i '$G/counts-whole.prof' --json 2>/dev/null | jq -e '.candidates[] | select(.name == \"is_space\") | .reason | test(\"^inlined everywhere\")'"
expect_status 1 "a set of a function that is not there" accperf advise -i "$G/counts-whole.prof" --set a=compres_file
check "the nearest is offered" grep -q "did you mean 'compress_file'" err
expect_status 2 "a set without functions" accperf advise -i "$G/counts-whole.prof" --set a
expect_status 2 "a set given twice" accperf advise -i "$G/counts-whole.prof" --set a=main --set a=parse
expect_status 3 "a set" accperf advise -i "$G/counts-whole.prof" --set both=compress_file,crc32 --json
check "stands beside the functions" jq -e '.candidates[] | select(.kind == "set") | .name == "both" and (.options | length > 0)' out

# two thousand functions on twenty thousand stacks, before twenty devices
mkprofile big.prof samples=100000 stacks=20000 functions=2000
jq '.accelerators = [range(20) as $i | .accelerators[0] | .name = "fast\($i)/deflate"]' devices.json >twenty.json
cat >spent.py <<-'PY'
	import resource, subprocess, sys
	subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
	u = resource.getrusage(resource.RUSAGE_CHILDREN)
	print("%.2f s, %d MB" % (u.ru_utime, u.ru_maxrss // 1024))
	sys.exit(not (u.ru_utime < 2 and u.ru_maxrss < 300 * 1024))
PY
check "2,000 functions, 20,000 stacks, 20 devices: within 2 s of CPU time and 300 MB" python3 spent.py accperf advise -i big.prof --catalogue twenty.json --json

expect_status 1 "no such profile" accperf advise -i nosuch.prof
expect_status 1 "no such catalogue" accperf advise -i "$G/counts-whole.prof" --catalogue nosuch.json
for bad in '' '{' '[]' '{"schema":"other/1"}' '{"schema":"accperf.accelerators/1","accelerators":[{"name":5}]}' \
	'{"schema":"accperf.accelerators/1","accelerators":[{"name":"x","unit":"ns","params":{"L":-1,"o":1e999,"C":0,"A":0,"beta":-9,"latency":"dep"}}]}'; do
	printf '%s' "$bad" >bad.json
	expect_status 1 "a catalogue that is none: '${bad:0:40}'" accperf advise -i "$G/counts-whole.prof" --catalogue bad.json
done
echo '{"schema":"accperf.accelerators/1","accelerators":[]}' >none.json
expect_status 3 "an empty catalogue" accperf advise -i "$G/counts-whole.prof" --catalogue none.json --json
check "what any device would have to do is told" jq -e '.candidates[] | select(.name == "crc32") | .options[0].text | test("less than 83")' out

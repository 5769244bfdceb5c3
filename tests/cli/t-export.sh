#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `accperf export`: each format opened by a program that reads it for a living, with a known answer.
. "$(dirname "$0")/../lib.sh"
mkprofile a.data loss=3 || exit 1

expect_status 0 "--pprof" accperf export -i a.data --pprof -o a.pb.gz
check "... one closing line" grep -q 'wrote a.pb.gz: [0-9]* bytes, 1000 samples' err
if need go; then
	export GOCACHE=$TMP/go HOME=$TMP
	go tool pprof -top -unit=ms a.pb.gz >top 2>&1
	check "pprof -top: hot function and share" grep -qE '^ *5100ms 51.00% .* 5100ms 51.00% +deflate_slow$' top
	check "pprof -top: cumulative of main" grep -qE '^ *0 .* 9900ms 99.00% +main$' top
	check "pprof -top: inlined" grep -qE '1000ms .* is_space \(inline\)$' top
	check "pprof -top: the program's name, losses, duration" bash -c 'grep -q "^File: app" top && grep -q "3 samples lost" top && grep -q "Duration: 10s" top'
	go tool pprof -sample_index=samples -raw a.pb.gz >raw 2>&1
	check "pprof -raw: values, labels and build-ids" bash -c 'grep -q "samples/count cpu/nanoseconds" raw && grep -q "thread:\[4242\]" raw && grep -q "command:\[app\]" raw && grep -qE "app a1a1a1a1" raw'
	check "pprof -raw: sums" bash -c '[ "$(awk "/^ +[0-9]+ +[0-9]+:/ {n += \$1} END {print n}" raw)" = 1000 ]'
	check "pprof -peek: an edge" bash -c 'go tool pprof -peek "^compress_file$" a.pb.gz 2>/dev/null | grep -A 3 compress_file | grep -q "deflate_slow"'
	mkprofile places.data helper=1 places=1 && accperf export -i places.data --pprof -o places.pb.gz 2>/dev/null
	check "pprof: where a sample's process runs" bash -c 'go tool pprof -sample_index=samples -tags places.pb.gz 2>/dev/null >tags; grep -qE "50.*: shop/cart-7d$" tags && grep -qE "50.*: 3f2a$" tags && grep -qE "950.*: cron.service$" tags'
	accperf export -i a.data --pprof --no-inline -o plain.pb.gz 2>/dev/null
	check "--no-inline folds inlined frames" bash -c '! go tool pprof -top plain.pb.gz 2>/dev/null | grep is_space && go tool pprof -top plain.pb.gz 2>/dev/null | grep -qE "1500ms +15.00%.* parse$"'
else
	skip "go tool pprof" "go is not installed"
fi

expect_status 0 "--callgrind" accperf export -i a.data --callgrind -o a.callgrind
if need callgrind_annotate; then
	callgrind_annotate --auto=no --threshold=100 a.callgrind >annotated 2>&1
	check "callgrind_annotate: totals" grep -q '^10,000,000,000 (100.0%) 1,000 (100.0%)  PROGRAM TOTALS' annotated
	check "callgrind_annotate: self cost" grep -qE '^5,100,000,000 \(51.00%\) +510 \(51.00%\) +\?\?\?:deflate_slow \[libz.so.1.2.13\]' annotated
	callgrind_annotate --auto=no --inclusive=yes a.callgrind >inclusive 2>&1
	check "callgrind_annotate: inclusive cost" grep -qE '^9,900,000,000 \(99.00%\) +990 \(99.00%\) +src/main.c:main \[app\]' inclusive
	check "callgrind_annotate: recursion is not counted twice" grep -qE '^ *200,000,000 \( 2.00%\) +20 \( 2.00%\) +src/walk.cc:walk' inclusive
	callgrind_annotate --auto=no --tree=caller a.callgrind >tree 2>&1
	check "callgrind_annotate: who calls" bash -c 'grep -B 3 "\*  *???:crc32" tree | grep -q "2,000,000,000 (20.00%) .*< src/compress.c:compress_file (200x)"'
	check "callgrind_annotate: no complaint" bash -c '! grep -iE "error|malformed|unexpected" annotated inclusive tree'
else
	skip "callgrind_annotate" "valgrind is not installed"
fi

expect_status 0 "--collapsed" accperf export -i a.data --collapsed -o a.folded
check "collapsed: lines are frames and a number" bash -c '! grep -vE "^[^;]+(;[^;]+)+ [0-9]+$" a.folded'
check "collapsed: kernel and inlined frames are marked" bash -c 'grep -qx "app;main;load;\[kernel:read\]_\[k\] 800000000" a.folded && grep -qx "app;main;parse;is_space_\[i\] 1000000000" a.folded'
check "collapsed: adds up" bash -c '[ "$(sed "s/.* //" a.folded | awk "{n += \$1} END {printf \"%.0f\", n}")" = 10000000000 ]'

expect_status 0 "--csv" accperf export -i a.data --csv -o a.csv
check "python's csv reads it" python3 - <<-'PY'
	import csv
	rows = {r["function"]: r for r in csv.DictReader(open("a.csv", newline=""))}
	r = rows["deflate_slow"]
	assert (r["object"], r["file"], r["line"], float(r["self"]), int(r["samples"])) == ("libz.so.1.2.13", "", "", 0.51, 510), r
	assert float(r["low"]) < 0.51 < float(r["high"])
	assert abs(sum(float(x["self"]) for x in rows.values()) - 1) < 1e-9
	assert rows['walk<std::map<int, "a b">>']["line"] == "50"
PY

expect_status 0 "--speedscope" accperf export -i a.data --speedscope -o a.speedscope.json
check "speedscope: weights add up, stacks begin at main" jq -e '.shared.frames as $f | .profiles[0] | (.weights | add) == .endValue and .endValue == 1e10
	and ([.samples[] | select(length > 1) | $f[.[0]].name] | unique == ["main"])' a.speedscope.json
check "speedscope: a profile for each thread" jq -e '.profiles | length == 3' a.speedscope.json
npm_dir=$TOP/build/npm
if need npm && { [ -d "$npm_dir/node_modules/speedscope" ] || (mkdir -p "$npm_dir" && cd "$npm_dir" && timeout 90 npm install --silent --no-audit --no-fund --ignore-scripts speedscope@1.25.0 >npm.log 2>&1); }; then
	schema=$(ls "$npm_dir"/node_modules/speedscope/dist/release/file-format-schema*.json 2>/dev/null | head -n 1)
	if [ -n "$schema" ] && python3 -c 'import jsonschema' 2>/dev/null; then
		check "speedscope's own schema accepts it" python3 -c 'import json,sys,jsonschema; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' a.speedscope.json "$schema"
		jq 'del(.profiles[0].weights)' a.speedscope.json >broken.json
		check "... and refuses a broken one" bash -c '! python3 -c "import json,sys,jsonschema; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))" broken.json "$0" 2>/dev/null' "$schema"
	else
		skip "speedscope's own schema" "the package has no schema, or python3-jsonschema is missing"
	fi
else
	skip "speedscope's own schema" "npm install speedscope did not work here (no network?)"
fi

# The Firefox Profiler: first each column by itself, as its types (src/types/profile.ts, version 60) have it, since
# its importer does not look at every index; then its own importer.
cat >firefox.py <<'END'
import json, math, sys
p = json.load(open(sys.argv[1], encoding='utf-8'))
s, libs, cats = p['shared'], p['libs'], p['meta']['categories']
assert p['meta']['preprocessedProfileVersion'] == 60 and p['meta']['interval'] > 0
assert [c['name'] for c in cats] == ['Other', 'User', 'Kernel', 'JIT', 'Idle', 'Offload'] and cats[0]['color'] == 'grey'
def table(t, *columns):
    assert set(t) - {'length', 'weightType'} == set(columns), set(t) ^ set(columns)
    for c in columns: assert len(t[c]) == t['length'], (c, len(t[c]), t['length'])
def within(column, n, none=()):
    for x in column: assert x in none or (type(x) is int and 0 <= x < n), (x, n)
table(s['stackTable'], 'prefix', 'frame')
table(s['frameTable'], 'address', 'inlineDepth', 'category', 'subcategory', 'func', 'nativeSymbol', 'innerWindowID', 'line', 'column')
table(s['funcTable'], 'name', 'isJS', 'relevantForJS', 'resource', 'source', 'lineNumber', 'columnNumber')
table(s['resourceTable'], 'lib', 'name', 'host', 'type')
table(s['nativeSymbols'], 'libIndex', 'address', 'name', 'functionSize')
table(s['sources'], 'uuid', 'filename')
strings = len(s['stringArray'])
assert len(set(s['stringArray'])) == strings and all(type(x) is str for x in s['stringArray'])
for i, prefix in enumerate(s['stackTable']['prefix']): assert prefix is None or 0 <= prefix < i
within(s['stackTable']['frame'], s['frameTable']['length'])
within(s['frameTable']['func'], s['funcTable']['length'])
within(s['frameTable']['category'], len(cats))
within(s['frameTable']['line'], 2**31, (None,))
within(s['frameTable']['address'], 2**53, (-1,))
within(s['funcTable']['name'], strings)
within(s['funcTable']['resource'], s['resourceTable']['length'], (-1,))
within(s['funcTable']['source'], s['sources']['length'], (None,))
within(s['resourceTable']['lib'], len(libs))
within(s['resourceTable']['name'], strings)
within(s['sources']['filename'], strings)
for lib in libs:
    assert set(lib) == {'arch', 'name', 'path', 'debugName', 'debugPath', 'breakpadId', 'codeId'}
    code = lib['codeId']
    assert lib['breakpadId'] == '' if code is None else len(lib['breakpadId']) == 33 and lib['breakpadId'][:2].lower() == code[6:8]
kind = {m['name']: m for m in p['meta']['markerSchema']}
for t in p['threads']:
    assert type(t['pid']) is str and type(t['tid']) is int and type(t['name']) is str and type(t['isMainThread']) is bool
    a = t['samples']
    timed = a['weightType'] == 'tracing-ms'
    table(a, 'stack', 'time', 'weight', *(['threadCPUDelta'] if timed else []))
    within(a['stack'], s['stackTable']['length'])
    assert all(math.isfinite(x) and x >= 0 for x in a['time'] + a['weight']) and a['time'] == sorted(a['time'])
    table(t['markers'], 'data', 'name', 'startTime', 'endTime', 'phase', 'category')
    within(t['markers']['name'], strings)
    for m, start, end, phase in zip(*(t['markers'][c] for c in ('data', 'startTime', 'endTime', 'phase'))):
        assert set(m) - {'type'} <= {f['key'] for f in kind[m['type']]['fields']}, m
        assert start >= 0 and (end is None and phase == 0 or end >= start and phase == 1)
END
expect_status 0 "--firefox" accperf export -i a.data --firefox -o a.firefox.json
check "firefox: each column is as its types have it" python3 firefox.py a.firefox.json
check "firefox: samples in order of time, with what they stand for, 20 ms apart in each thread" jq -e '[.threads[].samples | .time[0] as $t | .length == 500
	and .time == [range(500) | . * 20 + $t] and (.weight | unique) == [10] and (.threadCPUDelta | unique) == [10000000]] | all' a.firefox.json
check "firefox: 5.1 of 10 s are deflate_slow's, in order of the planted hundred" python3 - <<-'PY'
	import json
	p = json.load(open('a.firefox.json')); s = p['shared']
	leaf = lambda k: s['stringArray'][s['funcTable']['name'][s['frameTable']['func'][s['stackTable']['frame'][k]]]]
	seen = sorted((t, leaf(k), w) for th in p['threads'] for t, k, w in zip(*(th['samples'][c] for c in ('time', 'stack', 'weight'))))
	assert sum(w for _, n, w in seen if n == 'deflate_slow') == 5100
	below = [(50, 'deflate_slow'), (70, 'crc32'), (80, 'is_space'), (85, 'parse'), (93, '[kernel:read]'), (97, 'libmystery.so+0x1234'), (99, 'walk<std::map<int, "a b">>'), (100, 'deflate_slow')]
	for i, (t, n, _) in enumerate(seen):
	    assert t == 10 * i and n == next(name for b, name in below if i * 37 % 100 < b), (i, t, n)
PY
for f in offload-deflate offload-cuda exact-samples hostile live-sharing pebs; do
	accperf export -i "$TOP/tests/golden/$f.prof" --firefox -o "$f.firefox.json" 2>/dev/null
	check "firefox: $f.prof is as its types have it" python3 firefox.py "$f.firefox.json"
done
expect_status 1 "firefox: accesses have no place in it" accperf export -i "$TOP/tests/golden/import-skx.prof" --firefox -o none.json
check "... and that is said" grep -q 'accesses, not samples of time' err
check "firefox: offload calls are markers with their bytes" jq -e '[.threads[].markers.data[]] | length == 400 and all(.type == "OffloadCall" and .calls == 1) and any(.bytesIn == 20000 and .bytesOut == 15108)' offload-deflate.firefox.json
mkprofile many.data samples=1000000 stacks=1000 threads=3
check "firefox: a million samples, a text of 26 MB that is never whole in memory: less than 64 MB" python3 - <<-'PY'
	import os, resource, subprocess
	subprocess.run(['accperf', 'export', '-i', 'many.data', '--firefox', '-o', 'many.json'], check=True)
	peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
	assert os.path.getsize('many.json') > 20e6 and peak < 64 << 10, (os.path.getsize('many.json'), peak)
PY
check "firefox: ... all of them, each weighed once" jq -e '([.threads[].samples.weight | add] | add) == 1e7 and ([.threads[].samples.weight[] | select(. > 0)] | length) == 1000000' many.json
npm_firefox=$TOP/build/npm-firefox
pq=$npm_firefox/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js
# firefox_session FILE COMMAND...: loads it into the Firefox Profiler, as far as that has no window, and asks. Its
# `load` gives what it starts half a second, too little for a loaded machine: it is started here, and asked until
# it answers or has ended.
sessions=0
firefox_session() {
	local file=$1 session pid status=1 try; shift
	export PROFILER_CLI_SESSION_DIR=$TMP/pq
	session=t$((++sessions))
	node "$pq" --daemon "$file" --session "$session" >"$session.log" 2>&1 & pid=$!
	STARTED+=("$pid")
	for try in $(seq "${TRIES:-20}"); do
		timeout 30 node "$pq" "$@" --session "$session" >"$session.out" 2>"$session.err"; status=$?
		[ "$status" = 0 ] && break
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.5
	done
	kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null
	if [ "$status" = 0 ]; then cat "$session.out"; else cat "$session.err" "$session.log" >&2; fi
	return "$status"
}
# A question that comes while it starts may make it forget its session for good: then another one is begun.
firefox_says() { firefox_session "$@" || firefox_session "$@" || firefox_session "$@"; }
firefox_refuses() { ! TRIES=6 firefox_session "$1" profile info; }
if need npm && { [ -f "$pq" ] || (mkdir -p "$npm_firefox" && cd "$npm_firefox" && timeout 90 npm install --silent --no-audit --no-fund --ignore-scripts @firefox-devtools/profiler-cli@0.10.0 >npm.log 2>&1); }; then
	check "the Firefox Profiler opens it" firefox_says a.firefox.json profile info
	firefox_says a.firefox.json thread functions --thread t-0 --json >functions.json 2>/dev/null
	check "... half of the first thread's time is deflate_slow's, in ms" jq -e '.weightType == "tracing-ms" and (.functions[] | select(.name == "deflate_slow") | .selfSamples == 2500 and .selfPercentage == 50 and .library == "libz.so.1.2.13")' functions.json
	check "... and main has all of it" jq -e '.functions[] | select(.name == "main") | .totalSamples == 5000 and .selfSamples == 0' functions.json
	firefox_says offload-deflate.firefox.json thread markers --list --limit 0 --json >markers.json 2>/dev/null
	check "... it shows the offload calls" bash -c '[ "$(jq "[.. | objects | select(.name? == \"deflate\") | .start? // empty] | length" markers.json)" -ge 50 ]'
	check "... and hostile names" firefox_says hostile.firefox.json profile info
	accperf export -i "$TOP/tests/golden/empty.prof" --firefox -o none.firefox.json 2>/dev/null
	check "... and a profile without samples" firefox_says none.firefox.json status
	jq 'del(.shared.stackTable)' a.firefox.json >broken.json
	check "... and refuses a broken one" firefox_refuses broken.json
else
	skip "the Firefox Profiler opens it" "npm install @firefox-devtools/profiler-cli did not work here (no network?)"
fi

# bytes between functions travel along: the exact engine's own figures come out at the other end
if accperf exact -q -o flow.data -- "$WORKLOADS/pipeline" >/dev/null 2>exact.err; then
	accperf flow -i flow.data --json >flow.json 2>/dev/null
	total=$(jq '[.edges[].bytes] | add' flow.json)
	expect_status 0 "--pprof of a profile with flow" accperf export -i flow.data --pprof -o flow.pb.gz
	if need go; then
		go tool pprof -sample_index=flow -raw flow.pb.gz >flow.raw 2>&1
		check "pprof: the edges' bytes add up to accperf flow's ($total)" bash -c "[ \$(awk '/^Locations/ {exit} /^ +[0-9]+ +[0-9]+ +[0-9]+:/ {sub(/:/, \"\", \$3); n += \$3} END {printf \"%.0f\", n}' flow.raw) = $total ]"
		check "pprof: reader over writer, labelled, with unique bytes" bash -c 'grep -A 2 "^ *0 *0 *2097152:" flow.raw | grep -A 1 "dst:\[scale\] src:\[transform\]" | grep -q "unique_bytes:\[65536 bytes\]"'
		check "pprof -peek: who wrote what transform reads" bash -c 'go tool pprof -sample_index=flow -peek "^transform$" flow.pb.gz 2>/dev/null | grep -qE "2097152B .* \|   produce$"'
		check "pprof: the comment says what does not add up" grep -q 'cumulative flow is not conserved' flow.raw
	fi
	expect_status 0 "--speedscope of a profile with flow" accperf export -i flow.data --speedscope -o flow.speedscope.json
	check "speedscope: a profile in bytes that adds up" jq -e --argjson t "$total" '.shared.frames as $f | .profiles[-1] | .unit == "bytes" and .endValue == $t and (.weights | add) == $t
		and ([.samples[0][] | $f[.].name] | length == 2)' flow.speedscope.json
	[ -n "${schema:-}" ] && check "speedscope's own schema accepts it, too" python3 -c 'import json,sys,jsonschema; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' flow.speedscope.json "$schema"
	# and what it counted by call path stands for samples
	accperf export -i flow.data --collapsed -o paths.folded 2>/dev/null
	accperf report -i flow.data --json --percent-limit 0 >flow.report.json
	# report tells none of two functions of one name in one object
	check "the call tree of an exact profile is written, all instructions of it" python3 -c '
import collections, json, re
text, told, paths = open("paths.folded").read(), collections.defaultdict(list), collections.Counter()
assert re.search(r";main;transform \d+$", text, re.M)
for line in text.splitlines():
    path, n = line.rsplit(" ", 1)
    paths[path.split(";")[-1]] += int(n)
for f in json.load(open("flow.report.json"))["functions"]: told[f["name"]].append(f["instructions"])
known = {f: n for f, n in told.items() if None not in n}
assert len(known) > 100 and all(paths[f] == sum(n) for f, n in known.items())
assert set(paths) <= set(told)'
	accperf export -i flow.data --callgrind -o paths.callgrind 2>/dev/null
	check "callgrind: calls as counted" python3 -c '
import re
text = open("paths.callgrind").read()
assert "events: Ir\n" in text and "Trigger: counted" in text
ids = dict(re.findall(r"^c?fn=\((\d+)\) (\S+)$", text, re.M))
main = next(b for b in text.split("\n\n") if re.search(r"^fn=\((\d+)\)", b, re.M) and ids[re.search(r"^fn=\((\d+)\)", b, re.M)[1]] == "main")
calls = {ids[i]: int(n) for i, n in re.findall(r"^cfn=\((\d+)\).*\ncalls=(\d+)", main, re.M)}
assert calls["transform"] == calls["produce"] == calls["scale"] > 1 and calls["make_table"] == 1, calls'
	if need callgrind_annotate; then
		check "callgrind_annotate reads it" bash -c 'callgrind_annotate --tree=calling paths.callgrind | grep -qE "transform \([0-9]+x\)"'
	fi
	accperf export -i flow.data --pprof --no-flow -o paths.pb.gz 2>/dev/null
	check "pprof has calls and instructions, too" bash -c 'gzip -dc paths.pb.gz >paths.pb && grep -qaF calls paths.pb && grep -qaF instructions paths.pb && grep -qaF transform paths.pb'
else
	skip "exports with flow" "$(tail -n 1 exact.err)"
fi
expect_status 3 "--flow where there is none is degraded" accperf export -i a.data --pprof --flow -o a2.pb.gz

expect_status 2 "no format is wrong usage" accperf export -i a.data
expect_status 2 "two formats are wrong usage" accperf export -i a.data --csv --pprof
expect_status 1 "a full disk is a failure" accperf export -i a.data --pprof -o /dev/full
check "... and said" grep -q 'No space left' err
expect_status 1 "a folder that is not there" accperf export -i a.data --csv -o nowhere/a.csv
expect_status 0 "stdout with -o -" accperf export -i a.data --csv -o -
check "... has the table" grep -q '^"crc32"' out
mkprofile killed.data end=0
expect_status 3 "a recording cut off is exported, degraded" accperf export -i killed.data --csv -o k.csv
check "firefox: how many records it lost, it does not know, and says so" bash -c "accperf export -i killed.data --firefox -o - 2>/dev/null | jq -e '[.meta.extra[].entries[] | select(.label == \"Records lost\").value] == [\"unknown\"]'"
mkprofile empty.data samples=0
for f in pprof callgrind collapsed speedscope firefox; do expect_status 3 "no samples: --$f is degraded" accperf export -i empty.data --$f -o empty.$f; done
need go && check "pprof opens the empty one" go tool pprof -raw empty.pprof
check "the default name is the profile's" bash -c 'accperf export -i a.data --pprof 2>/dev/null && [ -s a.data.pb.gz ]'

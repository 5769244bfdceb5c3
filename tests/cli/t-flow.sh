#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# flow, objects, timeline, merge and diff on profiles of the exact engine and on samples of the same run.
. "$(dirname "$0")/../lib.sh"
ls "$TOP"/build/exact/*-amd64-linux >/dev/null 2>&1 || { skip "flow commands" "the exact engine is not built"; exit 0; }

accperf exact -q -o p.data --emit-samples 1000:1 --emit-census 256 --emit-windows 300 -- "$WORKLOADS/pipeline" --rounds 4 >/dev/null || { fail "exact run"; exit 1; }
accperf exact -q -o q.data --emit-samples 1000:2 --emit-census 256 --emit-windows 300 -- "$WORKLOADS/pipeline" --rounds 4 >/dev/null
accperf exact -q -o j.data --emit-samples 1000:1 -- "$WORKLOADS/jpeg" >/dev/null

edge() { jq -r --arg p "$2" --arg c "$3" '.edges[] | select(.producer==$p and .consumer==$c) | .bytes' "$1"; }
# ---- flow ----
accperf flow -i p.data --json >flow.json
check "JSON follows its schema" valid flow flow.json
# 16384 words a buffer, what transform wrote is read once by scale: 4 bytes each, per round and buffer
check "exact: transform -> scale is counted to the byte" [ "$(edge flow.json transform scale)" = "$(edge flow.json produce transform)" ]
check "IN of all functions is the sum of the edges" jq -e '([.functions[].in] | add) == ([.edges[].bytes] | add)' flow.json
check "OUT of all functions is the sum of the edges" jq -e '([.functions[].out] | add) == ([.edges[].bytes] | add)' flow.json
check "what is not known is null, not 0" jq -e '.duration_ns == null and .samples.loads == null' flow.json
check "engine, semantics and stack are named" jq -e '.engine=="exact" and .semantics=="quad" and .stack=="exclude" and .unit=="bytes"' flow.json
accperf flow -i p.data --json --stack include >stack.json
check "with the stack there is more" jq -e --slurpfile f flow.json '([.edges[].bytes]|add) > ([$f[0].edges[].bytes]|add)' stack.json
accperf flow -i p.data --json --semantics ke >ke.json
check "ke semantics: no more than every byte" jq -e --slurpfile f flow.json '.semantics=="ke" and ([.edges[].bytes]|add) <= ([$f[0].edges[].bytes]|add)' ke.json
accperf flow -i p.data --json --consumer scale >c.json
check "--consumer keeps only its edges" jq -e '(.edges|length)>0 and all(.edges[]; .consumer=="scale")' c.json
accperf flow -i p.data --json --producer 'tr*' --min-share 1 >m.json
check "--producer takes a pattern, --min-share a limit" jq -e '(.edges|length)>0 and all(.edges[]; .producer|startswith("tr"))' m.json
printf '# to watch\n scale \ntransform\n' >list
accperf flow -i p.data --json --consumer 'sc*,transform' >c.json; accperf flow -i p.data --json --consumer @list >l.json
check "--consumer takes several names and patterns, or a file of them" bash -c 'jq -e "[.edges[].consumer] | unique == [\"scale\", \"transform\"]" c.json && cmp c.json l.json'
expect_status 1 "a list with a name that is not there" accperf flow -i p.data --consumer scale,tranform
check "offers the nearest" grep -q "no function 'tranform'; did you mean 'transform'?" err
expect_status 1 "a list that is no file" accperf flow -i p.data --producer @nowhere
expect_status 2 "a list that names nothing" accperf flow -i p.data --producer ,
printf '# both\nfunction scale\nvariable cosine\ntransform\n' >both
check "... one that names variables, too: the functions of it" bash -c 'accperf report -i p.data --json --symbol @both | jq -e "[.functions[].name] | sort == [\"scale\", \"transform\"]"'
printf 'variable cosine\n' >variables
expect_status 2 "... none but variables: no function" accperf report -i p.data --symbol @variables
check "--symbol takes a file, too" bash -c 'accperf report -i p.data --json --symbol @list | jq -e "[.functions[].name] | sort == [\"scale\", \"transform\"]"'
accperf flow -i p.data >flow.txt
check "the map and the lists are there" grep -q 'Per cent of all bytes' flow.txt
check "no line is wider than 120 columns where there is no terminal" awk 'length > 130 { exit 1 }' flow.txt
check "no colours in a file" sh -c '! grep -q "$(printf "\033")" flow.txt'

# per call: 32 items in each of 4 rounds, of 16384 words each; the table has 256 words
per() { jq -r --arg p "$2" --arg c "$3" '.edges[] | select(.producer == $p and .consumer == $c) | .per_call' "$1"; }
accperf flow -i p.data --json --per scale >per.json
check "--per follows the schema" valid flow per.json
check "--per: calls are counted" jq -e '.per | .function == "scale" and .calls == 128 and .calls_low == 128 and .calls_high == 128 and .source == "exact" and .reason == null' per.json
check "--per: produce -> transform is a buffer of 65536 bytes a call" [ "$(per per.json produce transform)" = 65536 ]
check "--per: scale -> check is every sixteenth word" [ "$(per per.json scale check)" = 4096 ]
check "--per: for each call of main it is all there is" sh -c 'accperf flow -i p.data --json --per main | jq -e ".edges | all(.per_call == .bytes and .per_call_low == .low)"'
check "--per in text: the calls, bytes for each, distinct ones beside" sh -c 'accperf flow -i p.data --per scale >per.txt && grep -qx "Per call of scale: 128 calls, counted" per.txt && grep -qE "^produce +transform +65.5 KB +exact +65.5 KB$" per.txt'
check "--per: estimates of the same run use the same calls, with intervals" sh -c 'accperf flow -i p.data --estimator fused --json --per scale | jq -e ".per.calls == 128 and ([.edges[] | select(.producer == \"produce\" and .consumer == \"transform\")][0] | .per_call_low < 65536 and .per_call_high > 65536 and .per_call > 49152 and .per_call < 81920)"'
check "--per: what probes counted" sh -c 'accperf flow -i "$0" --json --per deflate | jq -e ".per | .calls == 200 and .source == \"probes\""' "$TOP/tests/golden/offload-deflate.prof"
mkprofile counted.data counts=1 hw=pebs
check "--per: what execution counts say: 2000 a second for 10 s, 64 times" sh -c 'accperf flow -i counted.data --json --per deflate_slow | jq -e ".per | .source == \"counts\" and .calls_low < 1.28e6 and .calls_high > 1.28e6 and .calls_low < .calls and .calls < .calls_high"'
check "--per in text: calls have their thousands apart, as all counts have" sh -c 'accperf flow -i counted.data --per deflate_slow | grep -qE "^Per call of deflate_slow: 1,[0-9]{3},[0-9]{3} calls \([0-9]{3},[0-9]{3} to [0-9,]+, by execution counts\)$"'
check "--per: an edge's interval is wider by that of the calls" sh -c 'accperf flow -i counted.data --json --per deflate_slow | jq -e ".per as \$p | .edges[0] | .per_call_low <= .low / \$p.calls_high * 1.000001 and .per_call_high >= .high / \$p.calls_low * 0.999999"'
mkprofile torn.data counts=1 hw=pebs bursts=4 # bursts and windows disagree: 3 to 412 million
expect_status 3 "--per: calls known to no factor of a hundred are divided by nowhere" accperf flow -i torn.data --json --per deflate_slow
check "... their bounds are said, and what helps" jq -e '.per.calls == null and (.per.reason | test("entered [0-9]+ to [0-9]+ times; record with --effort high")) and (.edges | all(.per_call == null))' out
expect_status 3 "--per: calls that nothing counted" accperf flow -i "$TOP/tests/golden/live-pipeline.prof" --json --per scale
check "... are null, and so is what is for each; why and what helps is said" jq -e '.per.calls == null and .per.source == null and (.per.reason | contains("--counts auto")) and (.edges | length > 0 and all(.per_call == null))' out
expect_status 1 "--per: no such function" accperf flow -i p.data --per nosuch
expect_status 2 "--per has no place in a graph" accperf flow -i p.data --per scale --dot
accperf flow -i p.data --sort unique --rows 4 >unique.txt
check "--sort unique: the table of 1 KB is read 8 MB in all, and comes behind the buffers" sh -c 'grep -qE "^produce +transform +8.4 MB +exact +65.5 KB$" unique.txt && ! grep -q "^make_table" unique.txt'
check "... and fields of some bytes are one line" grep -qE '^[0-9]+ edges are small fields read again and again: .* at [0-9]+ distinct bytes' unique.txt
check "... in JSON, too, which leaves nothing out" sh -c 'accperf flow -i p.data --sort unique --json | jq -e --slurpfile f flow.json "([.edges[].unique_bytes] | . == (sort | reverse)) and (.edges | length) == (\$f[0].edges | length)"'

accperf flow -i p.data --dot >flow.dot
check "graphviz reads the graph" dot -Tplain flow.dot -o /dev/null
check "the graph has the edge" grep -q 'n[0-9]* -> n[0-9]*' flow.dot
check "--svg draws it" sh -c 'accperf flow -i p.data --svg -o flow.svg && grep -q "<svg" flow.svg && grep -q transform flow.svg'
accperf flow -i p.data --xml >flow.xml
check "the XML is well-formed and has the bindings" python3 -c 'import xml.etree.ElementTree as t; r=t.parse("flow.xml").getroot(); assert r.tag=="QUAD" and len(r.findall("binding"))>3'
expect_status 2 "two forms at once are wrong usage" accperf flow -i p.data --json --dot
expect_status 1 "no such file fails" accperf flow -i nothing.data
check "... and says how to get one" grep -q 'accperf record' err

# ---- estimates of the same run ----
accperf flow -i p.data --estimator fused --json >est.json
check "estimates follow the schema" valid flow est.json
check "every estimated edge has an interval around it" jq -e 'all(.edges[]; .low <= .bytes and .bytes <= .high)' est.json
check "estimates say what they rest on" jq -e '.samples.loads > 500 and .samples.windows > 0 and .level == 0.95' est.json
check "totals of estimates add up" jq -e '(([.functions[].in]|add) - ([.edges[].bytes]|add) | fabs) < 1000' est.json
# a stranger needs no manual for the words of the text, and is told of none that do not stand there
words() { accperf flow -i p.data >words.txt && grep -q '^UMA: the distinct addresses' words.txt && grep -q 'every byte read counts' words.txt &&
	for n in '(outside)' '(before attach)' '(unknown)'; do
		[ "$(grep -cF "$n:" words.txt)" = "$(accperf flow --json -i p.data | jq --arg n "$n" '[.functions[] | select(.name == $n and (.in > 0 or .out > 0))] | length')" ] || return 1
	done; grep -q '^(kernel:NAME): ' words.txt; }
check "words of the tables are told below them" words
expect_status 1 "samples without invocations have no ke semantics" accperf flow -i j.data --estimator fused --semantics ke
check "... and say what has" grep -q 'accperf exact --semantics ke' err
accperf flow -i p.data --estimator fused --semantics ke --json >kest.json
# 300 windows; every chunk of the buffers is read once an invocation, the table hundreds of times
check "windows that count invocations tell it: the total" jq -e --slurpfile t ke.json '([.edges[].bytes] | add) / ([$t[0].edges[].bytes] | add) | . > 0.85 and . < 1.15' kest.json
check "... and what is read again by the same invocation is not counted" jq -e --slurpfile f flow.json '
	([$f[0].edges[] | select(.producer == "make_table" and .consumer == "transform") | .bytes] | add) as $quad |
	([.edges[] | select(.producer == "make_table" and .consumer == "transform") | .bytes] | add) < $quad / 5' kest.json
check "... what is read once is" jq -e --slurpfile t ke.json '
	([$t[0].edges[] | select(.producer == "produce" and .consumer == "transform") | .bytes] | add) as $ke |
	([.edges[] | select(.producer == "produce" and .consumer == "transform") | .bytes] | add) / $ke | . > 0.8 and . < 1.2' kest.json
expect_status 1 "a profile without accesses cannot be estimated" sh -c 'accperf exact -q -o bare.data -- "$1" 100 >/dev/null; accperf flow -i bare.data --estimator fused' sh "$WORKLOADS/pipeline"
accperf flow -i p.data --estimator fused --json >est2.json
check "the same profile gives the same estimate" cmp est.json est2.json

# ---- objects ----
accperf objects -i j.data --from samples --json >obj.json
check "objects follow their schema" valid objects obj.json
check "the table of cosines is found with its readers" jq -e '.objects[] | select(.name=="cosine") | .share > 0.3 and (.readers|length)==2' obj.json
check "MAR, stack ratio and relative MAR are there" jq -e '.functions | length > 3 and all(.[]; .mar > 0 and .stack_ratio <= 1 and .relative_mar >= 0)' obj.json
check "objects print as a table" sh -c 'accperf objects -i j.data --from samples | grep -q cosine'

ln -s "$WORKLOADS/rotate" spun
accperf exact -q -o spun.data -- ./spun iter 16 >/dev/null 2>&1
check "a program that is started by a link bears the link's name" sh -c '
	accperf flow --json -i spun.data | jq -e "[.functions[] | select(.name == \"main\").object] == [\"spun\"]" &&
	accperf report --json -i spun.data | jq -e "[.functions[] | select(.name == \"main\").object] == [\"spun\"]"'
printf '# a list\ncosine\n' >names
check "objects of a list: these alone, with the shares that they have of all" sh -c '
	accperf objects -i j.data --from samples --variable @names --json | jq -e "[.objects[].name] == [\"cosine\"] and .objects[0].share > 0.3 and .objects[0].share < 1"'
printf 'function scale\nvariable cosine\n' >both
check "... of a file that names functions, too: the variables of it" sh -c '
	accperf objects -i j.data --from samples --variable @both --json | jq -e "[.objects[].name] == [\"cosine\"]"'
expect_status 1 "a variable that is not there" accperf objects -i j.data --from samples --variable cosin
check "the nearest is offered" grep -q "cosine" err
check "the film of memory is a picture with cells of writers and readers" sh -c 'accperf objects -i j.data --film -o film.svg &&
	python3 -c "import xml.etree.ElementTree as t; n = len(t.parse(\"film.svg\").getroot()); print(n); exit(n < 100)"'
accperf objects --film -i "$TOP/tests/golden/live-pipeline.prof" -o live.svg
check "in the film of a live recording no name runs into an address, or a label into the next" python3 -c '
import xml.etree.ElementTree as t
texts = [e for e in t.parse("live.svg").getroot() if e.tag.endswith("text") and e.get("text-anchor") == "end"]
x = lambda e: float(e.get("x"))
pairs = [(a, b) for a, b in zip(texts, texts[1:]) if a.get("y") == b.get("y")]
close = [(a.text, b.text) for a, b in pairs if x(b) - 7 * len(b.text) < x(a)] # 7: of a letter of 12, at least
high = [float(a.get("y")) for a, b in pairs]
low = [(a, b) for a, b in zip(high, high[1:]) if 0 < b - a < 12]
print(len(pairs), close, low)
exit(not pairs or bool(close) or bool(low))'
expect_status 1 "no film of a profile without accesses" accperf objects --film -i bare.data
expect_status 2 "the film is a picture alone" accperf objects --film --json -i j.data
accperf exact -q --functions 'write_ppm,*_rot' -o sel.data -- "$WORKLOADS/rotate" both 32 >/dev/null 2>&1
accperf report --columns flow --json -i sel.data >sel.json
check "what is counted to its caller has no bytes of its own, rather than none" jq -e '
	[.functions[] | select(.name == "__GI__IO_putc" or .name == "putc" or .name == "main")] | length > 0 and all(.[]; .in == null and .compute == null)' sel.json
check "a selected function has those of all it calls" jq -e '.functions[] | select(.name == "write_ppm") | .in > 0 and .compute > 0' sel.json

# ---- timeline ----
accperf timeline -i j.data --json --slices 20 >time.json
check "the timeline follows its schema" valid timeline time.json
check "it has the slices asked for" jq -e '.slices==20 and (.functions[0].read_bytes|length)==20' time.json
check "encoding and decoding are phases of their own" jq -e '.phases >= 2' time.json
check "phases say what is done in them" jq -e '(.phase_list|length)==.phases and ([.phase_list[].slices]|add)==.slices and all(.phase_list[]; .most[0].part > 0)' time.json
check "slices have intervals" jq -e '.level==0.9 and all(.functions[]; . as $f | all(range(20); $f.read_share_low[.] <= $f.read_share[.] and $f.read_share[.] < $f.read_share_high[.]))' time.json
check "the CSV has a line per slice and function" sh -c 'accperf timeline -i j.data --csv --slices 20 | awk -F, "NF!=13 { bad=1 } END { exit bad || NR<=20 }"'
check "the SVG is well-formed" sh -c 'accperf timeline -i j.data --svg -o t.svg && python3 -c "import xml.etree.ElementTree as t; t.parse(\"t.svg\")"'
expect_status 1 "a profile without accesses has no timeline" accperf timeline -i bare.data

# ---- merge and diff ----
check "merging two runs" accperf merge -o both.data p.data q.data
accperf flow -i both.data --json >both.json
check "the merged flow is the sum" jq -e --slurpfile f flow.json '([.edges[]|select(.producer=="transform")|.bytes]|add) == 2*([$f[0].edges[]|select(.producer=="transform")|.bytes]|add)' both.json
accperf merge -w 3 -o three.data p.data
check "a weight multiplies" [ "$(accperf flow -i three.data --json | jq '.edges[0].bytes')" = "$(jq '.edges[0].bytes*3' flow.json)" ]
check "the merged time samples can be reported" sh -c 'accperf report -i both.data | grep -q transform'
expect_status 1 "profiles of different programs do not merge" accperf merge -o x.data p.data j.data
check "... and nothing is left behind" [ ! -e x.data ]
check "--force merges them" accperf merge --force -o x.data p.data j.data
expect_status 2 "output cannot be an input" accperf merge -o p.data p.data q.data
"$TOP/build/mkprofile" low.data level=4 loss=3
"$TOP/build/mkprofile" high.data level=7 loss=5
accperf merge -o levels.data low.data high.data low.data 2>/dev/null
check "of levels the largest stays, each as its profile ends with it; counts add up" [ "$(accperf report --json -i levels.data | jq -c '[.counters[] | select(.name == "a level" or .name == "ring full").value] | sort')" = "[7,11]" ]
accperf diff -e fused --json p.data q.data >same.json
check "diff follows its schema" valid diff same.json
check "two runs of the same program: no change is called real" jq -e 'all(.edges[], .functions[]; .verdict != "real" or ((.other-.base)|fabs) < 0.002)' same.json
accperf diff -e fused --json p.data j.data >other.json
check "two programs: many changes are" jq -e '([.edges[] | select(.verdict=="real")] | length) > 5 and .tv > 0.9' other.json
check "of the longer recording as much is compared as the shorter has, and that is said" sh -c "accperf diff --json '$TOP/tests/golden/live-pipeline.prof' '$TOP/tests/golden/live-low.prof' 2>/dev/null | jq -e '.flow_seconds > .8 and .flow_seconds < .9' && accperf diff '$TOP/tests/golden/live-pipeline.prof' '$TOP/tests/golden/live-low.prof' 2>/dev/null | grep -q 'first 0.8 s of the base, which is longer'"
check "recordings of one length are compared whole" jq -e '.flow_seconds == null' same.json
check "diff prints as a table" sh -c 'accperf diff -e fused p.data j.data | grep -q " real$"'

# ---- pprof ----
if need go; then
	accperf export --pprof -q -i p.data -o p.pb.gz 2>/dev/null || accperf export --pprof -i p.data -o p.pb.gz 2>/dev/null
	check "pprof has the flow as a sample type" sh -c 'go tool pprof -sample_index=flow -peek "^scale$" p.pb.gz 2>/dev/null | grep -q transform'
	check "its bytes are those of the flow" [ "$(go tool pprof -sample_index=flow -raw p.pb.gz 2>/dev/null | awk '$1=="Samples:" { on=1; next } $1=="Locations" { on=0 } on && NF>3 && $3 ~ /:$/ { s+=$3 } END { printf "%d", s }')" = "$(jq '[.edges[].bytes]|add' flow.json)" ]
	check "--no-flow leaves it out" sh -c 'accperf export --pprof --no-flow -i p.data -o n.pb.gz 2>/dev/null && ! go tool pprof -raw n.pb.gz 2>/dev/null | grep -q flow/bytes'
else
	skip "flow in pprof" "go is not installed"
fi

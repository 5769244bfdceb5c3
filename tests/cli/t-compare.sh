#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# accperf compare on profiles of the exact engine: equal, different, wrong, damaged.
. "$(dirname "$0")/../lib.sh"
accperf exact --help >/dev/null 2>&1 && need valgrind || { skip "compare" "needs the exact engine to make profiles"; exit 0; }
need jq || { skip "compare" "needs jq"; exit 0; }

accperf exact -q --emit-samples 200:1 --emit-windows 300 --emit-census 64 -o a.data -- "$WORKLOADS/pipeline" 1024 >/dev/null 2>err ||
	{ fail "a profile to compare"; cat err; exit 0; }
accperf exact -q -o other.data -- "$WORKLOADS/rotate" iter 32 >/dev/null 2>&1
accperf exact -q --semantics quad -o quad.data -- "$WORKLOADS/pipeline" 64 >/dev/null 2>&1
accperf exact -q --attribute main -o main.data -- "$WORKLOADS/pipeline" 64 >/dev/null 2>&1

value() { jq -r "$1" out; }
expect_status 0 "a profile against itself" accperf compare --json a.data a.data
check "nothing differs" [ "$(value '[.tv, .rel90, .top5.found, .missed, .invented] | join(" ")')" = "0 0 5 0 0" ]
check "rank correlation is 1" [ "$(value '.spearman_in > 0.999 and .spearman_out > 0.999')" = true ]
check "the schema is named" [ "$(value .schema)" = accperf.compare/1 ]
expect_status 0 "as text" accperf compare a.data a.data
check "text says so" grep -q 'total variation  *0.0000' out
check "text fits 80 columns" [ "$(awk 'length > m { m = length } END { print m <= 80 }' out)" = 1 ]

two() { accperf help --json-schema "$1" >schema && python3 -c 'import json, jsonschema; jsonschema.validate(json.load(open("out")), json.load(open("schema")))' &&
	jq -e '.programs == ["pipeline", "rotate"] and .same_program == false' out; }
for command in compare diff; do
	expect_status 3 "$command of two programs" accperf $command a.data other.data
	check "is said to be of two" grep -q "another program (rotate)" err
	check "... in the text itself, too" grep -q "^Two programs, pipeline and rotate: " out
	expect_status 3 "... and in JSON" accperf $command --json a.data other.data
	check "... by a key of its schema" two $command
	expect_status 0 "$command of one program" accperf $command --json a.data quad.data
	check "is said to be of one" jq -e .same_program out
done
if ! accperf version --json | jq -e '.features[] | select(.name == "html").built' >built; then skip "a page of two programs" "built without the page's script"; else
	expect_status 3 "a page of two programs" accperf report -i a.data --html page.html --against other.data
	check "is said to be of two, too" grep -q "another program" err
fi
expect_status 3 "another program" accperf compare --json --functions-only a.data other.data
check "shares next to nothing with it" [ "$(value '.tv > 0.9')" = true ]
check "its edges are missed" [ "$(value '.missed > 3 and .invented > 0')" = true ]

accperf exact -q --start-at transform -o late.data -- "$WORKLOADS/pipeline" 64 >/dev/null 2>&1
expect_status 0 "a profile that began late" accperf compare --json a.data late.data
check "is warned of" sh -c 'grep -q "before attach" err && jq -e .before_attach.one_side out'
expect_status 0 "folded, there is nothing to warn of" accperf compare --json --fold-outside a.data late.data
check "and no warning" sh -c '! grep -q "before attach" err && jq -e ".before_attach.one_side | not" out'

expect_status 0 "samples against the truth of the same run" accperf compare --json -e fused a.data a.data
check "the estimate is near" [ "$(value '.tv > 0 and .tv < 0.2 and .top5.found >= 4')" = true ]
check "intervals are judged" [ "$(value '.coverage.of > 0 and .coverage.level == 0.95')" = true ]
check "the worst edge stands first" [ "$(value '[.offenders[] | (.estimated - .true) | fabs] | . == (sort | reverse)')" = true ]
expect_status 0 "five rows" accperf compare --json -n 5 -e fused a.data a.data
check "are five" [ "$(value '.offenders | length')" = 5 ]
for i in 1 2; do
	accperf exact -q --emit-samples 100:5 -o again$i.data -- "$WORKLOADS/kv" 300 >/dev/null 2>&1
	accperf flow --json -i again$i.data | jq -S '[.edges, .functions]' >again$i.json
done
check "the same program and input give the same flow twice" cmp again1.json again2.json
accperf exact -q --emit-samples 10:3 -o dense.data -- "$WORKLOADS/kv" 1000 >/dev/null 2>&1
expect_status 0 "dense samples" accperf compare --json --stack include -e cascade dense.data dense.data
check "their volume is that of the truth within 2 %" [ "$(value '(.estimated_bytes / .true_bytes - 1) | fabs < 0.02')" = true ]
expect_status 0 "ke semantics with the stack" accperf compare --json --semantics ke --stack include a.data a.data
check "ke bytes are fewer than quad bytes" [ "$(value .true_bytes)" -lt "$(accperf compare --json --stack include a.data a.data | jq .true_bytes)" ]

live() { accperf compare "$@" "$TOP/tests/golden/live-pipeline.prof" "$TOP/tests/golden/live-pipeline2.prof" >out 2>err; }
check "two recordings without a rate" live --json
check "have no bytes, whichever is held to be true" jq -e '.true_bytes == null and .estimated_bytes == null and .tv < 1' out
check "... in text" live
check "... neither" grep -q '^  bytes  *true ?, estimated ?; ?: how fast' out

expect_status 1 "no ke figures in there" accperf compare --semantics ke a.data quad.data
check "is said, with what to do" grep -q 'semantics' err
expect_status 1 "library routines as themselves against as their callers" accperf compare a.data main.data
check "is refused" grep -q 'attribute' err
expect_status 1 "a file that is not there" accperf compare a.data none.data
check "is named" grep -q none.data err
echo "no profile" >text.data
expect_status 1 "a file that is no profile" accperf compare text.data a.data
expect_status 2 "one file" accperf compare a.data
expect_status 2 "three files" accperf compare a.data a.data a.data
expect_status 2 "an estimator there is not" accperf compare -e guess a.data a.data
expect_status 2 "a level there is not" accperf compare --level 100 a.data a.data
size=$(stat -c %s a.data)
head -c $((size - 20)) a.data >torn.data
accperf compare torn.data a.data >out 2>err; status=$?
check "a torn file is compared as far as it goes, with status 3" [ $status = 3 ]
check "and is said to be damaged" grep -q torn.data err

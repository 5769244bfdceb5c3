#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `accperf logca`: the shared vectors through the command, fits, drawings, bad input.
. "$(dirname "$0")/../lib.sh"
SHARED=${ACCPERF_SHARED:-$TOP/../shared}
if [ -r "$SHARED/logca/golden.json" ]; then
	cat >golden.py <<-'PY'
		import json, subprocess, sys
		vectors, exe = json.load(open(sys.argv[1])), "accperf"
		def near(a, b, what):
		    if isinstance(b, list):
		        assert len(a) == len(b), (what, a, b)
		        for x, y in zip(a, b): near(x, y, what)
		    elif isinstance(b, (str, type(None))): assert a == b, (what, a, b)
		    else: assert abs(a - b) <= 1e-6 * abs(b), (what, a, b)
		for i, v in enumerate(vectors):
		    p = "L=%r,o=%r,C=%r,A=%r,beta=%r,latency=%s" % (v["L"], v["o"], v["C"], v["A"], v["beta"], v["kind"])
		    got = json.loads(subprocess.check_output([exe, "logca", "show", "--params", p, "--json"]))
		    for k in ("kind", "g1", "gA2", "g1_newton", "gA2_newton", "klass", "peak", "g_half_peak", "regions"): near(got[k], v[k], (i, k))
		    for k in "LoCA": near(got["cut"][k], v["cut"][k], (i, "cut", k))
		    for k in v["speedup"]: near(got["speedup"][k], v["speedup"][k], (i, "speedup", k))
		assert len(vectors) >= 100
	PY
	check "every vector of golden.json, through show --json" python3 golden.py "$SHARED/logca/golden.json"
else
	skip "golden.json through show --json" "$SHARED/logca is not there"
fi

cat >gen.py <<-'PY'
	import random, sys
	# o = 2 us, 0.3 ns/B, C = 1.58, A = 31: what a device behind a copy looks like
	r, zero = random.Random(3), "zero" in sys.argv
	n = lambda t: "%.9g" % (t * r.lognormvariate(0, .03))
	print("bytes,run,time")
	for e in range(4, 26):
	    g = 2 ** e
	    for _ in range(5):
	        print("%d,host,%s" % (g, n(1.58 * g ** 1.011)))
	        print("%d,accelerated,%s" % (g, n(2000 + .3 * g + 1.58 * g ** 1.011 / 31)))
	        if zero: print("%d,zero,%s" % (g, n(2000 + .3 * g)))
PY
python3 gen.py >plain.csv; python3 gen.py zero >zero.csv
expect_status 0 "fit of a CSV" accperf logca fit plain.csv --json
check "without a zero-work run A is no number but a bound" jq -e '.fit.A.value == null and .fit.A.unbounded and .fit.A.low > 3 and (.fit.L_and_A_separable | not)' out
check "and the measurement that would help is named" jq -e '.fit.notes | any(test("zero-work"))' out
expect_status 0 "fit with a zero-work run" accperf logca fit zero.csv --json
check "L and o come back within 10 %, A within 15 %" jq -e '(.fit.L.value / .3 - 1 | fabs) < .1 and (.fit.fixed.value / 2000 - 1 | fabs) < .1 and (.fit.A.value / 31 - 1 | fabs) < .15' out
check "intervals hold their values" jq -e '[.fit.C, .fit.beta, .fit.fixed, .fit.L, .fit.A, .fit.g1[0]] | all(.low <= .value and .value <= .high)' out
g1=$(jq .g1[0] out)
expect_status 0 "predict at the fitted g1" accperf logca predict zero.csv --size "$g1" --json
check "speed-up there is 1" jq -e '(.sizes[0].speedup - 1 | fabs) < 1e-6' out
expect_status 1 "no silent extrapolation" accperf logca predict zero.csv --size 1G
check "the range is named" grep -q "outside the measured" err
expect_status 0 "extrapolation on request" accperf logca predict zero.csv --size 1G --extrapolate --json
check "marked as such" jq -e '.sizes[0].extrapolated' out
check "the same seed, the same answer" bash -c 'accperf logca fit zero.csv --json >a; accperf logca fit zero.csv --json >b; cmp a b'

expect_status 0 "SVG" accperf logca fit zero.csv --svg fit.svg
check "well-formed, with points, curve, regions, g1" python3 -c '
import xml.etree.ElementTree as T
t = T.parse("fit.svg"); n = "{http://www.w3.org/2000/svg}"
texts = ["".join(e.itertext()) for e in t.iter(n + "text")]
assert sum(e.get("class") == "seen" for e in t.iter(n + "circle")) >= 22
assert any(x.startswith("g1 = 1.") for x in texts) and "LC" in texts and "oC" in texts, texts'
accperf logca fit zero.csv >text.out
check "text fits 80 columns" bash -c '! grep -qE "^.{81}" text.out'
check "text has the plot, break-even and what to improve" grep -qE "offloading pays +from 1\.[34]" text.out
check "no escape codes in a file" bash -c '! grep -q $'"'"'\033'"'"' text.out'

check "change points are found" bash -c 'python3 - >two.csv <<PY
print("bytes,host,accelerated")
for e in range(4, 26):
    g = 2 ** e
    for k in range(5): print("%d,%g,%g" % (g, (10 * g if g < 4096 else 2000 + g) * (1 + .01 * k), (800 + .1 * g) * (1 + .01 * k)))
PY
accperf logca fit two.csv --segments 4 --resamples 0 --json | jq -e ".segments | length == 2 and .[0].to_bytes == 2048"'
expect_status 0 "stretches are drawn" accperf logca show two.csv --segments 4 --resamples 0 --svg two.svg
check "a curve each, up to the change and no further" python3 -c '
import re, xml.etree.ElementTree as T
n = "{http://www.w3.org/2000/svg}"
paths = [e.get("d") for e in T.parse("two.svg").iter(n + "path") if e.get("class") == "curve" and e.get("clip-path")]
ends = [[float(x) for x in re.findall(r"[ML]([\d.]+)", d)] for d in paths]
assert len(ends) == 2 and ends[0][0] == 74 and ends[1][-1] == 700 and abs(ends[0][-1] - ends[1][0]) < .2, ends
steps = [[float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", d)] for d in paths]
assert steps[1][0] - steps[0][-1] > 50, (steps[0][-1], steps[1][0])'
expect_status 3 "a poor fit says so by its status" accperf logca fit two.csv --resamples 0
check "and in words" grep -q "misses the measured medians" err
check "and where the kernel changes" grep -q -e "^accperf: from 4.* --segments auto fits each stretch" err
expect_status 0 "--segments auto takes that advice" accperf logca fit two.csv --resamples 0 --segments auto --json
check "two stretches, each with its own curve" jq -e '.segments | length == 2 and .[0].to_bytes == 2048 and .[1].from_bytes == 4096 and all(.fit.error < .05)' out
expect_status 0 "and one curve where that does" accperf logca fit zero.csv --resamples 0 --segments auto --json
check "which is one stretch" jq -e '.segments | length == 1 and .[0].fit.error < .1' out
expect_status 2 "a change that divides by nothing" accperf logca whatif -d sparc-t4/aes-instruction --change L/0
check "says what takes a cost away" grep -q "cannot be divided by 0; L=0 takes it away" err
check "no more is looked for than was said" bash -c 'accperf logca fit two.csv --segments 1 --resamples 0 --json | jq -e ".schema == \"accperf.logca/1\""'
expect_status 2 "neither a number nor auto" accperf logca fit two.csv --segments some
check "says what it may be" grep -q "a number from 1 to 8, or auto" err
expect_status 2 "other verbs take one curve" accperf logca predict two.csv --segments auto
python3 -c '
import random; random.seed(1); print("bytes,host,accelerated")
for e in range(4, 26):
    for k in range(5): print("%d,%g,%g" % (2 ** e, 5 * 2 ** e * (6 if e % 2 else 1), 700 + 2 ** e))' >saw.csv
expect_status 3 "stretches that miss as well say so" accperf logca fit saw.csv --resamples 0 --segments 3
check "in a sentence" grep -q "miss.* the measured medians" err

pair() { accperf record -o pair.data --offload-exact --offload-probe "$WORKLOADS/cal_pair:job_host(bytes=arg1,host)" \
	--offload-probe "$WORKLOADS/cal_pair:job_accelerated(bytes=arg1,accelerated)" -- "$WORKLOADS/cal_pair" 1200 >own.csv 2>rec.err; }
# The cost of a probe was measured a moment before and may have changed since: tried again, then.
alike() {
	for _ in $(seq 8); do
		accperf logca fit own.csv --resamples 0 --json >own.fit 2>/dev/null
		accperf logca fit pair.data --resamples 0 --json >pair.fit 2>pair.err
		[ "$(jq -n '(input.g1[0]) as $own | (input.g1[0]) / $own | . > 1 / 1.5 and . < 1.5' own.fit pair.fit)" = true ] && return
		cat pair.err; jq -c .g1 own.fit pair.fit; pair
	done
	return 1
}
if [ "$(id -u)" = 0 ] && pair; then
	check "a profile's calls give the break-even of the program's own clock, within a factor of 1.5" alike
	# job_host takes 200 ns + 2 ns/B; on this accelerator it would take 20 us + 0.2 ns/B: pays from 11 KB
	echo '{"schema":"accperf.accelerators/1","accelerators":[{"name":"mine","unit":"ns","params":{"L":0,"o":20000,"C":2,"A":10,"beta":1,"latency":"indep"}},
		{"name":"paper","unit":"cycles","params":{"L":0,"o":20000,"C":2,"A":10,"beta":1,"latency":"indep"}}]}' >cat.json
	expect_status 0 "what if the calls went to an accelerator of the catalogue" accperf offload -i pair.data -x mine --catalogue cat.json --json
	cp out what.json
	check "its break-even, within a factor of 2; the host's calls only" bash -c 'jq ".what_if | length == 1 and (.[0] | (.name | endswith(\"cal_pair:job_host\")) and .pays == \"from\" and .from > 5500 and .from < 22000)" what.json | grep -x true'
	check "how many are below and what they would lose, above and would gain" bash -c 'jq ".what_if[0] | .wrong_side > .4 and .wrong_side < .9 and .lost_ns > 0 and .lost_ns_per_call < 30000 and .gained_ns > 0 and .calls == 1200" what.json | grep -x true'
	check "in words" bash -c 'accperf offload -i pair.data -x mine --catalogue cat.json | grep -q "would lose"'
	check "a call site has its rate, sizes and times" bash -c 'jq "[.calls[] | .sites[0] | .calls_per_second > 0 and .time_ns.median > 0 and .size.median > 0] | length == 2 and all" what.json | grep -x true'
	expect_status 1 "an accelerator the catalogue does not have" accperf offload -i pair.data -x warp --catalogue cat.json
	check "it says which it has" grep -q "it has: mine, paper" err
	expect_status 1 "one whose times are in cycles" accperf offload -i pair.data -x paper --catalogue cat.json
	check "says so" grep -q "is in cycles" err
	expect_status 1 "no catalogue yet" env XDG_CONFIG_HOME=/nowhere accperf offload -i pair.data -x mine
	check "says what makes one" grep -q "accperf calibrate" err
	expect_status 1 "a profile without the host's side" accperf logca fit pair.data --host no_such_call
	check "says what the profile has" grep -q "no timed calls of the host variant.*cal_pair:job_accelerated" err
else
	skip "logca fit of a profile" "no right or no kernel support for probes: $(tail -n 1 rec.err 2>/dev/null)"
fi

accperf logca devices >devices
check "the paper's devices are listed" grep -q ultrasparc-t2/aes devices
check "inconsistent ones are marked" grep -q "integrated-gpu/fft.*(!)" devices
check "figures of others: source, date, machine, shipped sizes" bash -c '
	grep -q "elsewhere .*o 830 ns \[700, 970\]" devices && grep -q "DTO README.md" devices && grep -q "shipped: from 8 KB" devices'
mkdir -p own/accperf
echo '{"schema":"accperf.accelerators/1","accelerators":[{"name":"mine","unit":"ns","params":{"L":0,"o":20000,"C":2,"A":10,"beta":1,"latency":"indep"}}]}' >own/accperf/accelerators.json
check "--name alone: of the catalogue that calibrate keeps" sh -c 'XDG_CONFIG_HOME=$PWD/own accperf logca show --name mine --json | jq -e ".name == \"mine\" and .o == 20000"'
expect_status 1 "... and one that is not in it" env XDG_CONFIG_HOME="$PWD/own" accperf logca show --name nosuch
expect_status 2 "no name, no file: nothing to show" accperf logca show
echo '{"schema":"accperf.accelerators/1","accelerators":[{"name":"mine","host":"Other, 2 cores","offload":{"o":5,"L":0,"latency":"indep","A":3}}]}' >mine.json
check "a file's stand beside, marked, by the schema" bash -c 'accperf logca devices mine.json --json >d.json && accperf help --json-schema accelerators >s.json &&
	python3 -c "import json, jsonschema; jsonschema.validate(json.load(open(\"d.json\")), json.load(open(\"s.json\")))" &&
	jq -e ".accelerators | length > 25 and (.[-1] | .name == \"mine\" and .elsewhere and .offload.A == 3)" d.json'
sed "s/mine/ultrasparc-t2\/aes/" mine.json >twice.json
expect_status 1 "one that contradicts what is there" accperf logca devices twice.json
check "says which" grep -q "'ultrasparc-t2/aes' contradicts" err
sed "s/:5,/:-5,/" mine.json >bad.json
expect_status 1 "a hostile one" accperf logca devices bad.json
check "line and column" grep -q "bad.json: line 1, column 106: o wants" err
check "and explained" bash -c 'accperf logca show -d integrated-gpu/fft | grep -q contradict'
check "all 19 rows of the paper's table are there" bash -c '
	[ "$(accperf logca devices --json | jq "[.accelerators[] | select(.family | startswith(\"LogCA, ISCA 2017\"))] | length")" = 19 ]'
if [ -r "$SHARED/logca/table5.json" ]; then
	check "as printed" python3 - "$SHARED/logca/table5.json" "$TOP/user/model/devices.json" <<-'PY'
		import json, sys
		key = lambda p: tuple(p[k] for k in ("L", "o", "C", "A", "beta", "latency"))
		printed = sorted(key(r) for r in json.load(open(sys.argv[1]))["rows"])
		assert printed == sorted(key(a["params"]) for a in json.load(open(sys.argv[2]))["accelerators"])
	PY
else
	skip "as printed" "$SHARED/logca is not there"
fi
check "each claim of the paper is held against them, figures drawn: what the document says" "$TOP/scripts/logca-paper" --check
accperf logca show -d ultrasparc-t2/aes -d discrete-gpu/aes --svg both.svg >both
check "two devices beside each other, the marked one marked" bash -c 'grep -q "^ultrasparc-t2/aes  *337 B" both && grep -q "^discrete-gpu/aes  *(!)  *none" both &&
	! grep -qE "^.{101}" both'
check "in one picture" python3 -c '
import xml.etree.ElementTree as T
t = T.parse("both.svg"); n = "{http://www.w3.org/2000/svg}"
texts = ["".join(e.itertext()) for e in t.iter(n + "text")]
assert "ultrasparc-t2/aes" in texts and "discrete-gpu/aes (!)" in texts, texts
assert sum("clip-path" in e.attrib for e in t.iter(n + "path")) == 2'
check "ten times better, four ways, by the schema" bash -c 'accperf logca improve -d ultrasparc-t2/aes --json >i.json && accperf help --json-schema logca-curves >s.json &&
	python3 -c "import json, jsonschema; jsonschema.validate(json.load(open(\"i.json\")), json.load(open(\"s.json\")))" &&
	jq -e "[.curves[].name] == [\"as it is\", \"L / 10\", \"o / 10\", \"C x 10\", \"A x 10\"] and .curves[2].o == 2900 and .curves[4].A == 190 and .curves[0].o == 29000" i.json'
accperf logca show -d ultrasparc-t2/aes --svg t2.svg >/dev/null
check "arrows say how far each parameter counts" bash -c '[ "$(grep -c "class=\"reach\"" t2.svg)" = 3 ]'
expect_status 2 "a device named twice" accperf logca show -d sparc-t3/aes -d sparc-t3/aes
expect_status 1 "an unknown one among several" accperf logca show -d sparc-t3/aes -d sparc-t3/aex
check "the nearest is offered" grep -q "did you mean 'sparc-t3/aes'" err
expect_status 1 "one without a host to compare with" accperf logca show -d sparc-t3/aes -d dsa/dto-memcpy
expect_status 2 "several where one is wanted" accperf logca predict -d sparc-t3/aes -d sparc-t3/sha
expect_status 2 "several and a file" accperf logca show plain.csv -d sparc-t3/aes -d sparc-t3/sha
check "T2 AES: C stops counting at 25.0 KB" bash -c 'accperf logca regions -d ultrasparc-t2/aes | grep -q "(C) counts 16 B .. 25.0 KB"'
check "whatif: Accelerometer's designs to six digits" bash -c '
accperf logca whatif --params L=200,o=100,C=1,A=10,beta=1,latency=indep --share .2 --calls 1e5 --queue 50 --thread-switch 300 --json |
	jq -e ".now.program | (.sync - 1.169591 | fabs) < 5e-7 and (.[\"sync-os\"] - 1.156069 | fabs) < 5e-7 and (.async - 1.197605 | fabs) < 5e-7"'
check "whatif: ten times less overhead" bash -c 'accperf logca whatif -d ultrasparc-t2/aes --change o/10 --json | jq -e ".changed.g1[0] < .now.g1[0] / 5 and .changed.o == 2900"'
check "Newton's figures only on request" bash -c '! accperf logca show -d integrated-gpu/fft | grep -q one-step && accperf logca show -d integrated-gpu/fft --newton | grep -q one-step'
check "batching: as many calls as it takes" bash -c 'accperf logca predict -d ultrasparc-t2/aes -s 64 --json >p1; n=$(jq .sizes[0].batch_to_pay p1); [ "$n" -gt 1 ] &&
	accperf logca predict -d ultrasparc-t2/aes -s 64 --batch $n --json | jq -e ".sizes[0].speedup >= 1" &&
	accperf logca predict -d ultrasparc-t2/aes -s 64 --batch $((n - 1)) --json | jq -e ".sizes[0].speedup < 1"'

bad() { # NAME STATUS PATTERN CONTENT
	printf "$4" >bad.csv
	expect_status "$2" "$1" accperf logca fit bad.csv
	check "$1: the sentence" grep -qE "$3" err
	check "$1: nothing on stdout" [ ! -s out ]
}
bad "one size" 1 "1 different size" "bytes,host,accelerated\n16,1,2\n16,1,2\n"
bad "text for a number" 1 "line 2: 'abc' is no number" "bytes,host,accelerated\nabc,1,2\n"
bad "zero time" 1 "line 3: a time must be above 0" "bytes,host,accelerated\n16,1,2\n32,0,2\n"
bad "negative size" 1 "a size must be above 0" "bytes,host,accelerated\n-16,1,2\n"
bad "no header" 1 "must name the columns" "16,1,2\n"
bad "times of one side only" 1 "no column is called 'accelerated'" "bytes,host,gpu\n16,1,2\n"
bad "four sizes" 1 "4 different sizes: a fit needs at least 5" "bytes,host,accelerated\n16,1,2\n32,2,3\n64,4,5\n128,8,9\n"
bad "text for a time" 1 "line 2: 'fast' is no number" "bytes,host,accelerated\n16,fast,2\n"
bad "zero size" 1 "a size must be above 0 bytes, not 0" "bytes,host,accelerated\n0,1,2\n"
bad "negative time" 1 "a time must be above 0, not -1" "bytes,host,accelerated\n16,-1,2\n"
bad "empty file" 1 "is empty" ""
bad "falling times" 1 "no monotone model" "bytes,host,accelerated\n16,9,2\n32,8,2\n64,7,3\n128,6,4\n256,5,5\n512,4,6\n"
bad "JSON that is no catalogue" 1 "is no catalogue" '{"a":1}\n'
bad "broken JSON" 1 "line 2, column [0-9]+: .*unexpected" '{"a":\n'
expect_status 1 "no such file" accperf logca fit nowhere.csv
expect_status 1 "no such device" accperf logca show -d warp-drive
check "the devices are named" grep -q "sparc-t4/aes-instruction" err
expect_status 2 "no such verb" accperf logca guess plain.csv
expect_status 2 "a parameter missing" accperf logca show --params L=1,o=2,C=3,A=4,beta=1
expect_status 2 "parameters and a file" accperf logca show --params L=1,o=2,C=3,A=4,beta=1,latency=dep plain.csv
expect_status 2 "nothing to show" accperf logca show
expect_status 2 "whatif without a change" accperf logca whatif -d sparc-t3/aes
expect_status 2 "a change of no parameter" accperf logca whatif -d sparc-t3/aes --change Q/2
expect_status 1 "fit of parameters only" accperf logca fit -d sparc-t3/aes

expect_status 2 "a mistyped word is refused" accperf logca fitt zero.csv
check "... and what was meant is offered" grep -q "did you mean 'fit'?" err
expect_status 2 "likewise of fleet's" accperf fleet reprot --service x
check "... offered, too" grep -q "did you mean 'report'?" err
check "--stdio: no name is cut, no colour" bash -c "accperf logca devices --stdio | grep -q 'discrete-gpu/aes'"

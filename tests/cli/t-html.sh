#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `accperf report --html`: what is in the file, and, in a browser, that the page shows what the commands print.
. "$(dirname "$0")/../lib.sh"
GOLDEN=$TOP/tests/golden

if ! accperf version --json | jq -e '.features[] | select(.name == "html").built' >built; then
	expect_status 1 "a build without the packages says which" accperf report --html x.html -i "$GOLDEN/known.prof"
	check "... in a sentence" grep -q 'apt-get install esbuild node-d3' err
	skip "the page" "esbuild and node-d3 were not there when this was built"
	exit 0
fi

mkprofile b.data samples=1000 loss=3
cp "$GOLDEN/live-pipeline.prof" a.data
cp "$GOLDEN/hostile.prof" hostile.data
for f in a b hostile; do
	expect_status 0 "$f: a page" accperf report --html $f.html $f.data
	accperf report --json -i $f.data >$f.report.json
done
check "the kernel's brackets stand once" bash -c 'grep -q "\[kernel\]" b.html && ! grep -q "\[\[kernel" b.html'
check "it says what it wrote" grep -q 'wrote hostile.html: [0-9]* bytes; open it' err
check "it is its owner's alone" [ "$(stat -c %a a.html)" = 600 ]
echo other >other; ln -s other link.html
expect_status 1 "no link is followed" accperf report --html link.html a.data
check "... and what it leads to is as it was" [ "$(cat other)" = other ]
expect_status 1 "a file that cannot be written" accperf report --html none/a.html a.data
expect_status 1 "a profile that is none" accperf report --html x.html other
check "... leaves no page" [ ! -e x.html ]
# b with 60 samples of other functions: those are new beyond doubt, the rest lost no more than noise
mkprofile s.data samples=60 stacks=4
accperf merge -o m.data b.data s.data 2>merged
expect_status 0 "two profiles: a page" accperf report -i m.data --html m.html --against b.data
accperf diff --json b.data m.data >m.diff.json
expect_status 1 "against what is no profile: says so" accperf report -i m.data --html x.html --against other
check "... by name" grep -q "^accperf: error: .*other" err
expect_status 2 "--against is for --html" accperf report -i m.data --against b.data
expect_status 2 "slices of objects are for --json" accperf objects -i a.data --slices 3
expect_status 2 "a part of a profile is not for the page" accperf report --html x.html --pid 1 a.data
accperf report --html - a.data >stdout.html
check "- is stdout" cmp -s stdout.html a.html

# what a page says rests on files as they are now, also those that were read before its parts began
cat >named.c <<'C'
__attribute__((noinline)) int hidden_name(int x) { return x * 3; }
int main(int argc, char **argv) { return hidden_name(argc); }
C
gcc -g -O1 -Wl,--build-id=sha1 -o named named.c
id=$(readelf -n named | sed -n 's/.*Build ID: //p') addr=0x$(nm named | sed -n 's/ T hidden_name$//p')
mkprofile unnamed.data elf="$PWD/named" id="$id" addr="$addr" end=0
export XDG_CACHE_HOME=$TMP/cache
page() { accperf report --html named.html unnamed.data 2>/dev/null; grep -c '"hidden_name"' named.html; }
check "names come from the file that they lie in" [ "$(page)" -gt 0 ]
rm -rf cache/accperf/symbols; gcc -O0 -Wl,--build-id=0xabcdef0123 -o named named.c
check "... and from no answer of before, when it is another" [ "$(page)" = 0 ]

# the same page on loopback: its address works once, for one browser, and for nobody who asks by another name
accperf open a.data >address 2>said & STARTED+=($!); opened=$!
for _ in $(seq 300); do [ -s address ] && break; sleep .1; done
check "open: prints the command that forwards its port" grep -q 'ssh -L [0-9]*:127.0.0.1:[0-9]* ' said
check "open: one visitor gets the page" python3 - <<'P'
import http.client, re
port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})\n", open("address").read()).groups()
def get(path, **headers):
    c = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
    c.request("GET", path, headers=headers)
    r = c.getresponse()
    return r.status, r.headers, r.read()
assert get("/")[0] == 403 and get("/" + "0" * 32)[0] == 403 and get("/" + token[:31])[0] == 403
assert get("/" + token, Host="evil.example")[0] == 400
assert get("/" + token, Host="127.0.0.1.evil.example")[0] == 400
status, headers, body = get("/" + token)
assert status == 303 and headers["Location"] == "/" and "HttpOnly; SameSite=Strict" in headers["Set-Cookie"]
cookie = headers["Set-Cookie"].split(";")[0]
for _ in range(2):
    status, headers, body = get("/", Cookie="other=1; " + cookie)
    assert status == 200 and body == open("a.html", "rb").read() and headers["Cache-Control"] == "no-store"
assert get("/" + token)[0] == 403 and get("/", Cookie=cookie[:-1] + "x")[0] == 403 and get("/../etc/passwd", Cookie=cookie)[0] == 403
P
kill -INT $opened; wait $opened
check "open: Ctrl-C ends it" [ $? = 0 ]
expect_status 1 "open: a profile that is none" accperf open other
expect_status 2 "open: no such port" accperf open --port 65536 a.data

# the policy allows what is in the file, by digest, and nothing else
policy() {
	python3 - "$1" <<'P'
import base64, hashlib, json, re, sys
page = open(sys.argv[1], encoding='utf-8', newline='').read()
of = lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
style = re.search(r'<style>(.*?)</style>', page, re.S)[1]
script = re.search(r'<script>(.*?)</script>', page, re.S)[1]
data = re.search(r'<script type="application/json" id="data">([^<]*)</script>', page)[1]
assert policy == f"default-src 'none'; script-src 'sha256-{of(script)}'; style-src 'sha256-{of(style)}'; base-uri 'none'; form-action 'none'", policy
assert page.count('<script') == page.count('</script') == 2 and page.count('<style') == 1
# the static tables have no element that a name could have brought
static = page[page.index('<div id="static">'):page.index('<div id="app"')]
assert set(re.findall(r'<([a-z0-9]+)', static)) <= set('header main h1 h2 p section dl div dt dd bdi table thead tbody tr th td span code svg g rect text title'.split()), set(re.findall(r'<([a-z0-9]+)', static))
assert not re.search('[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]', page.replace(script, ''))
json.loads(data)
P
}
for f in a b hostile m; do check "$f: its policy names its own script and style by digest; names bring no element" policy $f.html; done
check "the data is what the commands print" python3 - <<'P'
import json, re, subprocess
def unpack(v):
    if isinstance(v, list): return [unpack(x) for x in v]
    if not isinstance(v, dict): return v
    if '$keys' not in v: return {k: unpack(x) for k, x in v.items()}
    column = lambda c: [unpack(x) for x in c] if isinstance(c, list) else [c['$texts'][i] for i in c['$at']] if '$texts' in c else [unpack(c['$same'])] * v['$rows']
    return [dict(zip(v['$keys'], row)) for row in zip(*map(column, v['$columns']))]
for f in ('a', 'b', 'hostile'):
    page = open(f + '.html', encoding='utf-8').read()
    parts = unpack(json.loads(re.search(r'id="data">([^<]*)</script>', page)[1]))['parts']
    for part, args in (('report', ['report']), ('flow', ['flow']), ('sharing', ['flow', '--threads']), ('objects', ['objects', '--slices', '120']), ('timeline', ['timeline']), ('offload', ['offload']), ('advise', ['advise']), ('roofline', ['advise', '--roofline'])):
        r = subprocess.run(['accperf', *args, '--json', '-i', f + '.data'], capture_output=True, text=True)
        want = json.loads(r.stdout) if r.stdout.strip() else None
        if part == 'sharing' and want:
            for twice in ('edges', 'functions', 'system_calls'): del want[twice]
        assert parts[part]['data'] == want, (f, part)
        assert want or parts[part]['note'], (f, part)
parts = unpack(json.loads(re.search(r'id="data">([^<]*)</script>', open('m.html', encoding='utf-8').read())[1]))['parts']
assert parts['diff']['data'] == json.load(open('m.diff.json')) and 'base_stacks' not in parts and len(parts['diff']['data']['functions']) == 10
P

# the curves that the page draws, where which parameter counts, and what its sliders compute are the model's: one node
# holds all of them against what the program prints
if need node; then
	cp "$TOP/user/html/page/logca.js" logca.mjs
	show() { accperf logca show --json --params "$2" >"model-$1.json"; }
	show indep L=1500,o=29000,C=90,A=19,beta=1.01,t0=40,latency=indep
	show dep L=2,o=29000,C=90,A=19,beta=1.01,t0=40,latency=dep
	show steep L=0.5,o=900000,C=0.004,A=40,beta=1.6,latency=dep
	show flat L=3,o=500,C=400,A=6,beta=0.7,latency=dep
	show slow L=20,o=5000,C=1,A=100,beta=1,latency=dep
	show endless L=0.01,o=100,C=2,A=inf,beta=1,latency=dep
	# h ns and g bytes a call, o, L, A, batch, resident
	cat >whatif <<-'V'
		100000 1024 5000 0.1 10 1 0
		100000 4096 5000 0.5 10 8 0
		2000 1024 50000 1 100 64 0.25
		2000 65536 10 0.001 2 1 1
		5e6 1048576 1e6 2 1 1024 0.9
	V
	n=0
	while read -r h g o L A batch r; do
		show whatif-$((n++)) "$(python3 -c "print('L=%r,o=%r,C=%r,A=%r,beta=1,latency=dep' % ($L*(1-$r), $o/$batch, $h/$g, $A))")"
	done <whatif
	node "$TOP/tests/html/model.mjs" "$PWD" indep dep steep flat slow endless >model.log 2>&1; status=$?
	cat model.log
	check "the model's checks run to their end" [ $status = 0 ]
	sed 's/dom\.js/dom.mjs/' "$TOP/user/html/page/format.js" >format.mjs
	cp "$TOP/user/html/page/dom.js" dom.mjs
	node "$TOP/tests/html/figures.mjs" "$PWD" >figures.log 2>&1; status=$?
	cat figures.log
	check "the figures' checks run to their end" [ $status = 0 ]
fi

browser=${CHROMIUM:-$(command -v chromium || command -v google-chrome)}
if ! need node || [ -z "$browser" ]; then
	skip "the page in a browser" "node or chromium is missing (apt-get install nodejs chromium)"
	exit 0
fi
"$TOP/build/mkprofile" large.data wide=500
accperf report --html large.html large.data 2>/dev/null
check "500 functions and 5,000 edges: below 2 MB" [ "$(stat -c %s large.html)" -lt 2000000 ]
"$TOP/build/mkprofile" larger.data wide=1100
accperf report --html larger.html larger.data 2>/dev/null
check "11,000 edges: the largest 10,000, and how many are left out" python3 - <<'P'
import json, re
page = open("larger.html", encoding="utf-8").read()
flow = json.loads(re.search(r'id="data">([^<]*)</script>', page)[1])["parts"]["flow"]
assert flow["left_out"] == {"edges": 1000} and flow["data"]["edges"]["$rows"] == 10000, flow["left_out"]
assert "left_out" not in flow["data"] and "10900 more rows are in <code>accperf flow --json" in page
P
cut=$(accperf flow --json -i larger.data | jq '.edges | length')
check "... and flow --json has all of them" [ "$cut" = 11000 ]
accperf report --html fitted.html "$GOLDEN/offload-marker.prof" 2>/dev/null
# as if the calls had been long enough to be timed
python3 - <<'P'
import json, re
page, kept = open("fitted.html", encoding="utf-8").read(), []
fit = '"params":{"kind":"dep","L":0.05,"o":3000,"C":1.2,"A":12,"beta":1.01,"t0":20,"from_bytes":64,"to_bytes":1048576}'
page = re.sub('"why_not":"[^"]*"', '"why_not":null', page).replace('"params":null', fit)
open("fitted.html", "w", encoding="utf-8").write(page.replace('"from_low":null,"from_high":null', '"from_low":2200,"from_high":3600'))
P
accperf logca show --json --params L=0.05,o=3000,C=1.2,A=12,beta=1.01,t0=20,latency=dep >fitted.model.json
cp "$GOLDEN/offload-deflate.prof" c.data && accperf report --html c.html c.data 2>>said
accperf advise --json -i c.data >c.advise.json
accperf offload --json -i c.data >c.offload.json
cp "$GOLDEN/exact-threads.prof" t.data && accperf report --html t.html t.data 2>>said
accperf flow --threads --json -i t.data >t.sharing.json
accperf advise --roofline --json -i t.data >t.roofline.json
accperf flow --json -i a.data >a.flow.json
accperf objects --json --slices 120 -i a.data >a.objects.json
accperf flow --json --min-share 1 -i a.data >a.flow-1.json
accperf export --firefox --no-inline -o b.firefox.json -i b.data 2>/dev/null
CHROMIUM=$browser timeout 300 node "$TOP/tests/html/checks.js" "$PWD" >checks.log 2>&1; status=$?
cat checks.log
check "the browser's checks run to their end" [ $status = 0 ]

axe=$TOP/build/node/node_modules/axe-core/axe.min.js
if [ ! -e "$axe" ]; then
	skip "accessibility" "axe-core is missing (scripts/deps --test fetches it from npm)"
	exit 0
fi
for f in a m; do python3 - $f <<-'P'
	import re, sys
	page = open(sys.argv[1] + '.html', encoding='utf-8').read()
	# as a browser without scripts has it
	open(sys.argv[1] + '-static.html', 'w', encoding='utf-8').write(re.sub(r'<script>.*?</script>', '', page, flags=re.S))
	P
done
CHROMIUM=$browser timeout 300 node "$TOP/tests/html/audit.js" "$axe" "$PWD" a m c a-static m-static >audit.log 2>&1; status=$?
cat audit.log
check "the audit runs to its end" [ $status = 0 ]

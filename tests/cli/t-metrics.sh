#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# /metrics of stored profiles, by their rules and by Prometheus' own judge; dashboard and alert rules that ship.
. "$(dirname "$0")/../lib.sh"
need jq && need python3 || { echo "needs jq and python3"; exit 77; }
grep -aq 'libmicrohttpd\.so' "$TOP/build/accperf" || { echo "built without libmicrohttpd"; exit 77; }

port=$((20000 + ($$ + 3000) % 12000))
for s in kv deflate level; do mkdir -p -m 700 store/$s; done; chmod 700 store
cp "$TOP/tests/golden/live-kv.prof" store/kv/20260101T000000Z-7.000001
cp "$TOP/tests/golden/offload-deflate.prof" store/deflate/20260101T000000Z-7.000001
cp "$TOP/tests/golden/offload-level.prof" store/level/20260101T000000Z-7.000001
echo damaged >broken; mkdir -m 700 store/bad; cp broken store/bad/20260101T000000Z-7.000001
cat >d.yaml <<-EOF
	storage: {folder: $TMP/store, reserve: 0}
	http: {listen: "127.0.0.1:$port"}
	services: {kv: {name: nobody-$$}, deflate: {name: nobody-$$}, level: {name: nobody-$$}, bad: {name: nobody-$$}}
	EOF
accperf daemon --config d.yaml 2>log & daemon=$!; STARTED+=($daemon)
get() { python3 -c 'import sys, urllib.request as u; r = u.urlopen(u.Request(sys.argv[1], headers={"Accept": sys.argv[2]} if len(sys.argv) > 2 else {}), timeout=90); sys.stdout.write(r.read().decode()); sys.stderr.write(r.headers["Content-Type"])' "$@"; }
has() { get "http://127.0.0.1:$port/metrics" >body 2>type && grep -qE "$1" body; }
check "functions" within 60 has '^accperf_function_self_ratio\{service="kv",function="find_entry",object="kv"\} 0\.[0-9]+$'
check "verdicts, by candidates" within 60 has '^accperf_verdicts\{service="level",verdict="offload"\} 1$'
check "of a level that was not seen none" has '^accperf_verdicts\{service="deflate",verdict="unknown"\} [1-9]'
share=$(accperf flow --json -i "$TOP/tests/golden/live-kv.prof" | jq '.edges[] | select(.producer == "make_request" and .consumer == "memmove").share * 10000 | floor' 2>/dev/null)
# shellcheck disable=SC2016 # the parts are for awk
ratio() { has '^accperf_edge_bytes_ratio\{service="kv",producer="make_request",producer_object="kv",consumer="memmove",consumer_object="libc.so.6"\} ' && [ "$(awk '/^accperf_edge_bytes_ratio.*"kv",producer="make_request".*"memmove"/ { print int($NF * 10000) }' body)" = "$share" ]; }
check "edges, with those who write and who read: the shares of flow" within 60 ratio
check "an amount that is not known is none" has '^accperf_edge_bytes_per_second\{service="kv",producer="make_request".*\} NaN$'
check "offload calls" has '^accperf_offload_calls_per_second\{service="deflate",api="zlib",function="deflate",library="/opt/g/libz.so.1",variant=""\} 20[0-9]\.'
check "what a call takes" has '^accperf_offload_call_mean_seconds\{service="deflate",.*\} 0\.000726'
check "what would be gained, with its interval" has '^accperf_advice_speedup_high_ratio\{service="level",function="deflate, level 1",accelerator="zen5/deflate-isal",verdict="offload"\} [1-9]'
check "rates in force" has '^accperf_samples_per_second\{service="kv"\} 1[0-9]+\.'
check "what it is good for" has '^accperf_trust\{service="kv",of="flow",mark="weak"\} 1$'
check "a profile that cannot be read is counted" within 60 has '^accperf_profiles_unread_total\{service="bad"\} 1$'
check "and tells nothing" test -z "$(grep -E '^accperf_(verdicts|samples_per_second)\{service="bad"' body)"
check "as OpenMetrics" grep -q 'openmetrics-text; version=1.0.0' type
get "http://127.0.0.1:$port/metrics" 'text/plain' >old 2>type
check "and as Prometheus' older text" grep -q 'text/plain; version=0.0.4' type
# what the daemon tells of itself differs from one answer to the next: of that the names, of all else the figures, too
series() { grep -v '^#' "$1" | sed -E 's/^(accperf_(daemon|disk_free|memory|answers|cost|scan)[^ ]*) .*/\1/'; }
series body >a; series old >b
check "of the same series" diff a b
check "bounded" test "$(wc -l <a)" -le $((4 * 110))

# what ships for those who look on
cat >names.py <<-'EOF'
	# Every series that a dashboard or a rule names is served, with the labels that it asks for.
	import json, re, sys, os
	served = {}
	for l in open("body"):
	    if l.startswith("# TYPE "):
	        n, t = l.split()[2:]; served[n + {"counter": "_total", "info": "_info"}.get(t, "")] = set()
	for l in open("body"):
	    m = re.match(r"(accperf_\w+)(\{.*\})? ", l)
	    if m: served[m[1]] |= set(re.findall(r'(\w+)="', m[2] or ""))
	def exprs(o):
	    if isinstance(o, dict):
	        for k, v in o.items():
	            if k in ("expr", "query", "definition") and isinstance(v, str): yield v
	            else: yield from exprs(v)
	    elif isinstance(o, list):
	        for v in o: yield from exprs(v)
	text = open(sys.argv[1]).read()
	all = list(exprs(json.loads(text))) if sys.argv[1].endswith(".json") else re.findall(r"(?m)^ +expr: (.*)$", text)
	assert len(all) > 8, all
	of_scraper = {"instance", "job", "le"}
	for e in all:
	    names = re.findall(r"\baccperf_\w+", e)
	    assert names or "prometheus" in e, e
	    for n in names: assert n in served, (n, e)
	    for n, sel in re.findall(r"\b(accperf_\w+)\{([^}]*)\}", e):
	        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", sel):
	            assert label in of_scraper or label in served[n] or not served[n], (n, label, e)
	if sys.argv[1].endswith(".json"):
	    d = json.loads(text)
	    ids = [p["id"] for p in d["panels"]]; assert len(ids) == len(set(ids))
	    taken = set()
	    for p in d["panels"]:
	        g = p["gridPos"]; assert g["x"] + g["w"] <= 24
	        for x in range(g["x"], g["x"] + g["w"]):
	            for y in range(g["y"], g["y"] + g["h"]): assert (x, y) not in taken, p["title"]; taken.add((x, y))
	        assert p["type"] == "row" or p["targets"] and p["description"], p["title"]
	    missing = {n for n in served if n not in text and not re.search(r"_low_|_high_|_info$|logca_(beta|fit|calls)|accperf_profiles$|answers|profile_seconds|windows|loads|removed", n)}
	    assert not missing, missing
EOF
check "what the daemon's tables take is told, apart from its pages" grep -qE '^accperf_daemon_heap_bytes [1-9][0-9]{4,6}$' old
check "the dashboard asks for what is served" python3 names.py "$TOP/user/daemon/grafana.json"
check "so do the rules" python3 names.py "$TOP/user/daemon/alerts.yml"
command -v promtool >/dev/null || { skip "Prometheus" "promtool and prometheus are not installed"; exit 0; }
judged() { promtool check metrics <old >judged 2>&1 && [ ! -s judged ] || { cat judged; return 1; }; }
check "promtool has nothing to say" judged
check "the rules load" promtool check rules "$TOP/user/daemon/alerts.yml"
cp "$TOP/user/daemon/alerts.yml" "$TOP/tests/daemon/alerts-test.yml" .
check "and tell what they are there for, and nothing else" promtool test rules alerts-test.yml
jq -r '.panels[].targets[]?.expr' "$TOP/user/daemon/grafana.json" | sed -e 's/\$__rate_interval/5m/g; s/\$service/.*/g; s/\$instance/.*/g' |
	awk '{ gsub(/\047/, "\047\047"); printf "  - record: r:%d\n    expr: \047%s\047\n", NR, $0 } BEGIN { print "groups:\n- name: dashboard\n  rules:" }' >exprs.yml
parsed() { promtool check rules exprs.yml >parsed && grep -qE '^  SUCCESS: [3-9][0-9] rules found' parsed; }
check "the dashboard's expressions are Prometheus'" parsed

# a server that scrapes
cat >p.yaml <<-EOF
	global: {scrape_interval: 1s}
	rule_files: [alerts.yml]
	scrape_configs: [{job_name: accperf, static_configs: [{targets: ["127.0.0.1:$port"]}]}]
	EOF
start prometheus --config.file=p.yaml --web.listen-address=127.0.0.1:$((port + 1)) --storage.tsdb.path=tsdb --log.level=warn 2>prom.log
asked() { get "http://127.0.0.1:$((port + 1))/api/v1/$1" >said 2>/dev/null && jq -e "$2" said; }
check "Prometheus scrapes it" within 30 asked targets '.data.activeTargets[0] | .health == "up" and .lastError == ""'
check "has the edges" within 20 asked 'query?query=accperf_edge_bytes_ratio' '.data.result | length > 2'
check "counters are counters" asked 'metadata?metric=accperf_profiles_removed' '.data.accperf_profiles_removed[0].type == "counter"'
check "without a warning" test ! -s prom.log

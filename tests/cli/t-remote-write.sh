#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What /metrics says on its way to servers that take Prometheus' remote write: one of ours that takes nothing but what
# the rules allow, and where they are installed Prometheus and VictoriaMetrics. Over an outage, a restart and a refusal.
# harm: two hours without a server of figures | 120 sets
. "$(dirname "$0")/../lib.sh"
need jq && need python3 || { echo "needs jq and python3"; exit 77; }
cat >server.py <<'EOF'
import http.server, json, os, struct, sys
def varint(b, at):
    v = s = 0
    while True:
        c = b[at]; at += 1; v |= (c & 127) << s; s += 7
        if c < 128: return v, at
def unsnappy(b):
    size, at = varint(b, 0); out = bytearray()
    while at < len(b):
        tag = b[at]; at += 1; assert tag & 3 == 0, "only literals are ours"; n = tag >> 2
        if n >= 60: k = n - 59; n = int.from_bytes(b[at:at + k], "little"); at += k
        out += b[at:at + n + 1]; assert at + n + 1 <= len(b); at += n + 1
    assert len(out) == size, (len(out), size); return bytes(out)
def fields(b):
    at = 0
    while at < len(b):
        tag, at = varint(b, at)
        if tag & 7 == 0: v, at = varint(b, at)
        elif tag & 7 == 1: v, at = b[at:at + 8], at + 8
        else: assert tag & 7 == 2; n, at = varint(b, at); v = b[at:at + n]; assert len(v) == n; at += n
        yield tag >> 3, v
def series(b):
    for f, ts in fields(b):
        assert f == 1; labels, samples = [], []
        for g, v in fields(ts):
            if g == 1: d = dict(fields(v)); labels.append((d[1].decode(), d[2].decode()))
            else: d = dict(fields(v)); samples.append((d[2], struct.unpack("<d", d[1])[0]))
        assert labels == sorted(labels) and len({n for n, _ in labels}) == len(labels), labels
        assert all(v for _, v in labels) and len(samples) == 1
        yield dict(labels), samples[0]
last = {}
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, status, text=b""):
        self.send_response(status); self.send_header("Content-Length", str(len(text))); self.end_headers(); self.wfile.write(text)
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if os.path.exists("down"): return self.answer(503, b"down")
        if os.path.exists("refuse"): return self.answer(400, b"out of bounds")
        try:
            assert self.path == "/api/v1/write" and self.headers["Content-Encoding"] == "snappy" and self.headers["X-Prometheus-Remote-Write-Version"] == "0.1.0"
            all = list(series(unsnappy(body))); when = {t for _, (t, _) in all}
            assert len(when) == 1 and len({json.dumps(l, sort_keys=True) for l, _ in all}) == len(all)
            # one whose answer nobody waited for comes again, and servers take it for what they have
            if all and {last.get(json.dumps(l, sort_keys=True)) for l, _ in all} == when: return self.answer(204)
            for l, (t, v) in all:
                k = json.dumps(l, sort_keys=True); assert t > last.get(k, 0), "out of order"; last[k] = t
                assert l["job"] == "accperf" and l["instance"] and l["__name__"].startswith("accperf_")
            v = {l["__name__"]: v for l, (_, v) in all}
            assert v["accperf_budget_ratio"] == 0.01 and v["accperf_build_info"] == 1
            open("got", "a").write("%d %d\n" % (when.pop(), len(all))); self.answer(204)
        except Exception as e:
            open("wrong", "a").write("%r\n" % e); self.answer(500, b"against the rules")
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
EOF
port=$((20000 + ($$ + 13000) % 12000)); url=http://127.0.0.1:$port
start python3 server.py $port
printf '# TYPE accperf_x gauge\naccperf_budget_ratio 0.01\naccperf_build_info{version="1"} 1\naccperf_x{b="q\\"\\\\\\n,}",a=""} NaN\n# EOF\n' >1764150000000
push() { accperf fleet push --remote-write "$url" --host h1 "$@"; }
within 9 push 1764150000000
check "a text of /metrics is sent, at the time that is its name" grep -qx '1764150000000 3' got
printf 'no text\n' >text
expect_status 3 "what is none is left out" push text
touch down; expect_status 1 "a server that is busy is asked later" push 1764150000000; rm down
touch refuse; expect_status 3 "what it refuses for good is left out" push 1764150000000; rm refuse
check "with its words" grep -q '400: out of bounds' err
expect_status 2 "no address" accperf fleet push --remote-write 127.0.0.1 text

# the daemon, over an outage and a restart
rm got; touch down
cat >d.yaml <<-EOF
	storage: {folder: $TMP/store, reserve: 0}
	http: {listen: none}
	fleet: {remote_write: "$url", remote_write_every: 1s}
	services: {web: {name: nobody-$$}}
	EOF
begin() { accperf daemon --config d.yaml 2>>log & daemon=$!; STARTED+=($daemon); }
begin
check "an outage is told" within 40 grep -q 'level=warn event=push msg=".*the server of figures on 127.0.0.1.* answers 503.*figures wait on disk' log
waiting() { [ "$(ls store/.figures | wc -l)" -ge "$1" ]; }
check "figures wait on disk" within 40 waiting 3
kill -9 $daemon; wait $daemon 2>/dev/null; oldest=$(ls store/.figures | head -n 1); waited=$(ls store/.figures | wc -l)
rm down; begin
sent() { [ "$(wc -l <got)" -ge "$1" ]; }
check "after a restart all is sent" within 60 sent $((waited + 2))
check "the oldest first, nothing twice, by the rules" bash -c '[ "$(head -n 1 got | cut -d" " -f1)" = "$1" ] && cut -d" " -f1 got | sort -uc && [ ! -e wrong ]' _ "$oldest"
kill -TERM $daemon; wait $daemon

# two hours without the server, as the daemon's clock has them: each of its seconds is 1/300 of one
echo 300 >pace
if need cc && cc -shared -fPIC -o clocks.so "$TOP/tests/daemon/clocks.c"; then
	sed -i "s,remote_write: \"[^\"]*\"\, remote_write_every: 1s,remote_write: \"$url\"\, remote_write_every: 60s," d.yaml
	rm -rf store got; touch down; : >log
	export LD_PRELOAD=$TMP/clocks.so PACE=$TMP/pace; begin; unset LD_PRELOAD
	memory() { awk '/^RssAnon/ { print $2 }' /proc/$daemon/status; }
	check "an outage of hours begins" within 200 waiting 10
	before=$(memory)
	check "two hours of figures wait" within 400 waiting 120
	after=$(memory) names=$(ls store/.figures)
	check "on disk, not in memory ($before KB, $after KB)" test "$after" -lt $((before + 1000))
	hours() { echo "$names" | sed -n '1p;$p' | paste -sd' ' | awk '{ exit !($2 - $1 > 7000e3) }'; }
	check "by the daemon's clock they are two hours" hours
	echo 20 >pace # at 300 what sends has .6 s before it is ended, which a busy machine does not give it
	rm down
	all_sent() { [ "$(wc -l <got)" -ge "$(echo "$names" | wc -l)" ]; }
	check "then all are sent" within 300 all_sent; cat wrong 2>/dev/null
	check "the oldest first, none left out, nothing twice" bash -c 'diff <(echo "$1") <(cut -d" " -f1 got | head -n "$(echo "$1" | wc -l)") && cut -d" " -f1 got | sort -uc && [ ! -e wrong ]' _ "$names"
	kill -TERM $daemon; wait $daemon
else skip "an outage of two hours" "no compiler"; fi

# servers of others
told() { python3 -c 'import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1], timeout=20).read().decode())' "$1" | jq -e "$2"; }
real() { # NAME PORT COMMAND...
	local name=$1 at=http://127.0.0.1:$2; shift 2
	command -v "$1" >/dev/null || { skip "$name" "$1 is not installed"; return; }
	start "$@"; local pid=$!
	sed -i "s,remote_write: \"[^\"]*\",remote_write: \"$at\"," d.yaml; sed -i 's,every: 60s,every: 1s,' d.yaml; rm -rf store; : >log
	begin
	check "$name takes it" within 40 told "$at/api/v1/query?query=accperf_budget_ratio" '.data.result[0] | .value[1] == "0.01" and .metric.job == "accperf"'
	kill -TERM $daemon; wait $daemon
	kill -TERM $pid; wait $pid
}
printf 'scrape_configs: []\n' >p.yaml
real Prometheus $((port + 1)) prometheus --config.file=p.yaml --web.enable-remote-write-receiver --web.listen-address=127.0.0.1:$((port + 1)) --storage.tsdb.path=tsdb --log.level=warn
real VictoriaMetrics $((port + 2)) victoria-metrics -httpListenAddr=127.0.0.1:$((port + 2)) -storageDataPath=vm -search.latencyOffset=0s -loggerLevel=WARN
check "neither says a word of warning" bash -c '! grep -v "Received SIGTERM" started.log | grep -iE "level=(warn|error)|remote|parse|panic"'

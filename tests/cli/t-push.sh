#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# OTLP profiles and pprof on their way to servers of others: a server of ours takes nothing but what the rules allow
# (tests/daemon/otlp.py), fails, refuses, and says what it got.
. "$(dirname "$0")/../lib.sh"
need jq && need python3 || { echo "needs jq and python3"; exit 77; }
G=$TOP/tests/golden
otlp() { accperf export --otlp -i "$G/$1.prof" -o x.otlp "${@:2}" 2>/dev/null; python3 "$TOP/tests/daemon/otlp.py" x.otlp >said; }
conforms() { local p; for p in live-kv live-zlib live-jit live-threads live-wide killed exact-samples merge-timer empty hostile import-perf; do otlp $p || { echo "$p"; return 1; }; done; }
check "profiles keep the rules" conforms
otlp live-kv --service web --no-inline
check "of CPU time and samples" jq -e '.types["samples/count"] == 177 and .types["cpu/nanoseconds"] > 1e8' said
self() { accperf report --json -i "$G/live-kv.prof" 2>/dev/null | jq -c --slurpfile s said '($s[0].types["cpu/nanoseconds"]) as $all | [.functions[] | select(.self > 0) | (.self - (($s[0].functions[.name] // 0) / $all) | fabs)] | max < 1e-3' | grep -qx true; }
check "whose shares are those of the report" self
check "with build-ids and kinds of frames" jq -e '.build_ids > 1 and (.frames | keys == ["kernel", "native"])' said
check "with losses, of a service on a host" jq -e '.attributes["accperf.samples.lost"] == 0 and .resource == {"service.name": "web", "host.name": "golden"}' said
mkprofile places.data helper=1 places=1 && accperf export --otlp -i places.data -o x.otlp 2>/dev/null && python3 "$TOP/tests/daemon/otlp.py" x.otlp >said
check "each container is a resource with its own samples, and losses are told once" jq -e '.places == [[null, null, 950], ["3f2a", "cart-7d", 50]] and .attributes["accperf.samples.lost"] == 0' said
otlp killed; check "what is not whole says so" jq -e '.attributes["accperf.incomplete"] | test("did not end in order")' said
accperf export --otlp -i "$G/live-kv.prof" -o y.otlp --service web --no-inline 2>/dev/null; otlp live-kv --service web --no-inline
check "the same profile is the same message" cmp x.otlp y.otlp
damaged() { python3 - "$TOP/tests/daemon" <<-'EOF'
	import sys; sys.path.insert(0, sys.argv[1]); import otlp
	b, refused = open("x.otlp", "rb").read(), 0
	for i in range(0, len(b), 97):
	    try: otlp.check(b[:i] + bytes([b[i] ^ 1]) + b[i + 1:])
	    except Exception: refused += 1
	sys.exit(refused * 2 < len(b) / 97)
	EOF
}
check "the judge refuses damaged ones" damaged

cat >server.py <<'EOF'
import email, gzip, http.server, json, os, re, sys, urllib.parse
sys.path.insert(0, sys.argv[2]); import otlp
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, status, body=b""):
        self.send_response(status); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])); u = urllib.parse.urlsplit(self.path)
        if os.path.exists("down"): return self.answer(503, b"down")
        if os.path.exists("refuse"): return self.answer(400, b"no such\x1b[31m format")
        if os.path.exists("partly"): return self.answer(200, b"\x0a\x08\x08\x01\x12\x04old!")
        try:
            if u.path == "/v1development/profiles":
                assert self.headers["Content-Type"] == "application/x-protobuf"
                said = otlp.check(body); open("otlp.sent", "a").write(json.dumps(said) + "\n")
                return self.answer(200)
            assert u.path == "/ingest", u.path
            q = dict(urllib.parse.parse_qsl(u.query, strict_parsing=True))
            assert set(q) == {"name", "from", "until", "format", "spyName"} and q["format"] == "pprof"
            assert re.fullmatch(r"[\w.-]+\{[a-z_]+=[^{},=]+(,[a-z_]+=[^{},=]+)*\}", q["name"]), q["name"]
            assert 1.5e9 < int(q["from"]) < int(q["until"])
            m = email.message_from_bytes(b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body)
            parts = {p.get_param("name", header="content-disposition"): p.get_payload(decode=True) for p in m.get_payload()}
            assert set(parts) == {"profile", "sample_type_config"}
            types = json.loads(parts["sample_type_config"])
            strings = gzip.decompress(parts["profile"].rstrip(b"\r\n"))
            assert all(t in types for t in ("samples", "cpu")) and b"find_entry" in strings
            open("pprof.sent", "a").write(q["name"] + "\n"); self.answer(200)
        except AssertionError as e:
            open("wrong", "a").write("%r\n" % e); self.answer(500, b"against the rules")
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
EOF
port=$((20000 + ($$ + 11000) % 12000)); url=http://127.0.0.1:$port
start python3 server.py $port "$TOP/tests/daemon"
kept=store/web/20260101T000000Z-7.00000; mkdir -p -m 700 store/web
for i in 1 2 3; do cp "$G/live-kv.prof" $kept$i; touch -d "-$((60 - i)) minutes" $kept$i; done
push() { accperf fleet push "$1" "$url" --service "${3:-web}" --host h1 "$2"; }
within 9 push --otlp ${kept}1
check "a collector takes one" jq -e '.resource["service.name"] == "web"' otlp.sent
expect_status 0 "and a server of pprof" push --pyroscope ${kept}1 'a{b},c'
check "by name and host" grep -qxF 'a_b__c{host=h1}' pprof.sent
touch refuse; expect_status 3 "what is refused for good is left out" push --otlp ${kept}1; rm refuse
check "with the server's words, which do nothing to a terminal" grep -q '400: no such?\[31m format' err
touch partly; expect_status 3 "so is what a collector rejects" push --otlp ${kept}1; rm partly
check "with its words" grep -q 'left it out: old!' err
touch down; expect_status 1 "a server that is busy is asked later" push --pyroscope ${kept}1; rm down
expect_status 2 "one server at a time" accperf fleet push --otlp "$url" --pyroscope "$url" --service web ${kept}1
expect_status 2 "no address" accperf fleet push --otlp 127.0.0.1 --service web ${kept}1
echo damaged >damaged; expect_status 3 "what is no profile is left out" push --pyroscope damaged

# the daemon, over an outage and a restart
rm -f otlp.sent pprof.sent; touch down
cat >d.yaml <<-EOF
	storage: {folder: $TMP/store, reserve: 0}
	http: {listen: "127.0.0.1:$((port + 1))"}
	fleet: {otlp: "$url", pyroscope: "$url/ingest"}
	services: {web: {name: nobody-$$}}
	EOF
begin() { accperf daemon --config d.yaml 2>>log & daemon=$!; STARTED+=($daemon); }
begin
check "an outage is told" within 9 grep -q 'level=warn event=push msg=".*the collector on 127.0.0.1.* answers 503.*profiles wait on disk' log
rm down
all_sent() { [ "$(wc -l <otlp.sent)" = "$1" ] && [ "$(wc -l <pprof.sent)" = "$1" ]; }
check "when it is over all is sent, to both" within 20 all_sent 3
metrics() { python3 -c 'import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1], timeout=20).read().decode())' "http://127.0.0.1:$((port + 1))/metrics" >m && grep -q "$1" m; }
if grep -aq 'libmicrohttpd\.so' "$TOP/build/accperf"; then check "and counted" within 5 metrics '^accperf_profiles_sent_total{to="otlp"} 3$'; fi
kill -9 $daemon; wait $daemon 2>/dev/null
cp "$G/live-kv.prof" ${kept}4; begin
check "after a restart what is new is sent" within 20 all_sent 4
sleep 1
check "and nothing twice" all_sent 4
kill -TERM $daemon; wait $daemon
check "all by the rules" test ! -e wrong

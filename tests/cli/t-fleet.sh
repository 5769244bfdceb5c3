#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles on their way to ClickHouse, and what is asked of all: Debian's own server where it is installed, and one of
# ours that takes nothing but what it must, which also fails.
# harm: what answers for ClickHouse and is none; tables of somebody else's | 1; 3, two engines
. "$(dirname "$0")/../lib.sh"
need jq && need python3 || { echo "needs jq and python3"; exit 77; }
cat >server.py <<-'EOF'
	# As ClickHouse for INSERT of known tables with the right number of columns, and count() of what was inserted.
	# While a file "down" is there it answers 503; with "foreign" as a server whose tables are others; with "proxy" the same to all.
	import http.server, json, os, re, sys, urllib.parse
	columns, rows = {"accperf_functions": 9, "accperf_edges": 11, "accperf_calls": 14, "accperf_candidates": 12, "accperf_stacks": 7, "accperf_segments": 11}, {}
	class H(http.server.BaseHTTPRequestHandler):
	    protocol_version = "HTTP/1.1"
	    def answer(self, status, text):
	        b = text.encode(); self.send_response(status); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
	        for i in range(0, len(b), 3): self.wfile.write(b"%x\r\n" % len(b[i:i + 3]) + b[i:i + 3] + b"\r\n")
	        self.wfile.write(b"0\r\n\r\n")
	    def do_POST(self):
	        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
	        q = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
	        if os.path.exists("down"): return self.answer(503, "down")
	        if os.path.exists("proxy"): return self.answer(200, "1 <html>welcome</html>")
	        if os.path.exists("foreign"): return self.answer(404, "Code: 60. DB::Exception: Table default.accperf_segments doesn't exist.")
	        if self.headers["X-ClickHouse-Key"] != "se:cret": return self.answer(403, "wrong password")
	        if "query" not in q:
	            m = re.fullmatch(r"SELECT count\(\) FROM accperf_segments WHERE service = '(\w+)' AND host = '([\w.-]+)' AND segment = '([\w.-]+)'", body)
	            if not m: return self.answer(400, "what? " + body)
	            return self.answer(200, "%d\n" % ((m[2], m[1], m[3]) in rows))
	        m = re.fullmatch(r"INSERT INTO (\w+) \((\w+(?:, \w+)*)\) FORMAT TabSeparated", q["query"][0])
	        if not m or m[1] not in columns or len(m[2].split(", ")) != columns[m[1]] or not body.endswith("\n"): return self.answer(400, "what? " + self.path)
	        for l in body[:-1].split("\n"):
	            f = l.split("\t")
	            if len(f) != columns[m[1]]: return self.answer(400, "columns of " + m[1])
	            if m[1] == "accperf_segments":
	                rows[tuple(f[:3])] = f
	                open("sent", "a").write(f[2] + "\n")
	        if os.path.exists("cut"): os.remove("cut"); return self.connection.close()
	        self.answer(200, "")
	    def log_message(self, *a): pass
	http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
EOF
port=$((20000 + ($$ + 7000) % 12000)); url=http://127.0.0.1:$port; echo user:se:cret >user; chmod 600 user
start python3 server.py $port
within() { local i n=$(($1 * 12)); shift; for i in $(seq $n); do "$@" >/dev/null 2>&1 && return 0; sleep 0.25; done; "$@"; return 1; }
kept=store/web/20260101T000000Z-7.00000; mkdir -p -m 700 store/web
for i in 1 2 3; do cp "$TOP/tests/golden/live-kv.prof" $kept$i; touch -d "-$((60 - i)) minutes" $kept$i; done
fleet() { accperf fleet "$1" --clickhouse "$url" --user-file user --service web "${@:2}"; }
within 9 fleet push --host h1 ${kept}1
check "a profile is sent" grep -q 000001 sent
check "once" bash -c '[ "$(wc -l <sent)" = 1 ]'
fleet push --host h1 ${kept}1 >out
check "one that is there is not sent again" bash -c 'grep -q "there already" out && [ "$(wc -l <sent)" = 1 ]'
echo damaged >damaged
expect_status 3 "what is no profile is said, and the others are sent" fleet push --host h1 damaged ${kept}2
check "indeed" grep -q 000002 sent
touch cut
expect_status 1 "a server that falls silent amid an answer is an error" fleet push --host h2 ${kept}1
chmod 644 user; expect_status 2 "a password that others read is none" fleet push ${kept}1; chmod 600 user
echo user:wrong >wrong; chmod 600 wrong
expect_status 1 "a wrong one is the server's to refuse" accperf fleet push --clickhouse "$url" --user-file wrong --service web ${kept}1
check "with its words" grep -q 'wrong password' err
touch foreign; expect_status 1 "so is a server with other tables" fleet push ${kept}1; rm foreign
check "with its words, and what to do" grep -q "doesn't exist.*accperf fleet schema | clickhouse-client -n. makes tables" err
touch proxy; expect_status 1 "what answers all the same has not got it" fleet push --host h3 ${kept}1; rm proxy
check "and is no ClickHouse" grep -q "is no ClickHouse: it counts rows as '1 <html>welcome</html>.*'; correct its address" err
expect_status 2 "a URL that is none" accperf fleet report --clickhouse ftp://x --service a
expect_status 2 "an unknown verb" accperf fleet repot

# the daemon sends by itself, in order, over an outage
rm sent; touch down
cat >d.yaml <<-EOF
	storage: {folder: $TMP/store, reserve: 0}
	http: {listen: none}
	fleet: {clickhouse: "$url", user_file: $TMP/user}
	services: {web: {name: nobody-$$}}
	EOF
accperf daemon --config d.yaml 2>log & daemon=$!; STARTED+=($daemon)
check "an outage is told" within 9 grep -q 'level=warn event=push msg=".*ClickHouse on 127.0.0.1.*profiles wait on disk, and the next try is in 1 s' log
rm down
all_sent() { [ "$(wc -l <sent)" = 3 ]; }
check "when it is over all is sent" within 60 all_sent
check "in order" bash -c 'sort sent | cmp - sent'
check "and told" within 5 grep -q 'event=push msg="clickhouse takes profiles again' log
# a clock that is set back: what was written before is of the future, and sent; what comes now is sent, too
cp "$TOP/tests/golden/live-kv.prof" ${kept}4; touch -d "3 hours" ${kept}4
sent_is() { [ "$(tail -n 1 sent)" = "$(basename ${kept}$1)" ]; }
check "a profile from the future is sent" within 60 sent_is 4
cp "$TOP/tests/golden/live-kv.prof" ${kept}5
check "one of now as well, when the clock was set back" within 60 sent_is 5
check "and is the newest" bash -c 'for i in $(seq 60); do [ "$(ls -t store/web | head -n 1)" = "$(basename "$1")" ] && exit; sleep .5; done; ls -l store/web; false' _ ${kept}5
kill -TERM $daemon; wait $daemon

# two hours without the server, as the daemon's clock has them: each of its seconds is 1/300 of one. Four services end a
# profile every ten minutes meanwhile. When the server is back, its clock goes 20 times as fast: sends end in time.
if need cc && cc -shared -fPIC -o clocks.so "$TOP/tests/daemon/clocks.c"; then
	rm -f sent; mkdir -p -m 700 hours/{a,b,c,d}; touch down; echo 300 >pace
	# one that comes is there at once, and the newest
	ended() { local s n; for s in a b c d; do n=20260101T000000Z-7.$(printf %06d $1); cp "$TOP/tests/golden/live-kv.prof" new; mv new hours/$s/$n; done; }
	ended 1
	sed -i "s,$TMP/store,$TMP/hours,; s,services: .*,services: {a: {name: no-$$}\, b: {name: no-$$}\, c: {name: no-$$}\, d: {name: no-$$}}," d.yaml
	PACE=$TMP/pace LD_PRELOAD=$TMP/clocks.so accperf daemon --config d.yaml 2>log & daemon=$!; STARTED+=($daemon)
	memory() { awk '/^RssAnon/ { print $2 }' /proc/$daemon/status; }
	check "an outage of hours begins" within 60 grep -q 'profiles wait on disk' log
	before=$(memory)
	for k in $(seq 2 13); do ended $k; sleep 2; done # 600 of the daemon's seconds
	after=$(memory)
	check "what waits is on disk, not in memory ($before KB, $after KB)" test "$after" -lt $((before + 1000))
	check "the outage is told a few times, not at each try" bash -c '[ "$(grep -c "profiles wait on disk" log)" -le 9 ]'
	check "nothing was sent meanwhile" test ! -e sent
	echo 20 >pace; rm down
	hours_sent() { [ "$(wc -l <sent)" -ge 52 ]; }
	check "then all is sent" within 200 hours_sent
	sent_memory=$(memory)
	check "the oldest first" bash -c 'sort -s sent | cmp - sent'
	check "each once" bash -c '[ "$(wc -l <sent)" = 52 ] && [ "$(sort sent | uniq -c | sort -u | awk "{ print \$1 }" | sort -u)" = 4 ]'
	check "and sending takes no memory either ($sent_memory KB)" test "$sent_memory" -lt $((before + 1000))
	kill -TERM $daemon; wait $daemon
else skip "an outage of two hours" "no compiler"; fi

# what a real engine makes of all of it
cat >sql.py <<-'EOF'
	import sys, urllib.request
	for s in sys.stdin.read().split(";\n\n"):
	    if s.strip(): sys.stdout.write(urllib.request.urlopen(sys.argv[1], s.encode(), timeout=20).read().decode())
EOF
sql() { python3 sql.py "$url"; }
asked() { accperf fleet "$1" --clickhouse "$url" --service web "${@:2}"; }
judge() { # NAME URL
engine=$1 url=$2
within 60 bash -c 'echo "SELECT 1" | python3 sql.py "$1"' _ "$url"
accperf fleet schema >schema.sql
check "$engine: the tables are made" sql <schema.sql
check "$engine: twice does no harm" sql <schema.sql
for h in h1 h2; do asked push --host $h ${kept}1 ${kept}2 >/dev/null; done
check "$engine: a profile's rows come to what its report says" bash -c 'echo "SELECT round(sum(self), 6) FROM accperf_functions FINAL WHERE host = '"'h1'"' AND segment LIKE '"'%1'"'" | python3 sql.py "$1" >self && jq -ne --argjson a "$(cat self)" --argjson b "$(accperf report --json -i "$2" 2>/dev/null | jq "[.functions[].self] | add")" "(\$a - \$b) | fabs < 1e-5"' _ "$url" ${kept}1
# 12 hosts, and f costs two points more in the last hour
cat >planted.sql <<-'EOF'
	INSERT INTO accperf_segments SELECT concat('p', toString(number % 12)), 'pl', toString(number), now() - 300 - 3600 * (number >= 12), now(), 1, 10000, 0, '', '', '' FROM system.numbers LIMIT 24;

	INSERT INTO accperf_functions SELECT concat('p', toString(number % 12)), 'pl', toString(intDiv(number, 2)), now() - 300, 1, if(number % 2 = 0, 'f', 'g'), 'o', 0.5, 5000 FROM system.numbers LIMIT 0
EOF
python3 - >>planted.sql <<-'EOF'
	rows = []
	for n in range(24):
	    f = 0.3 + 0.01 * (n % 12) + (0.02 if n < 12 else 0) + 0.001 * (n * 7 % 5 - 2)
	    for name, share in (("f", f), ("g", 1 - f)):
	        rows.append(f"('p{n % 12}','pl','{n}',now() - 300 - 3600 * {int(n >= 12)},1,'{name}','{name}.so',{share},{share * 10000})")
	print(";\n\nINSERT INTO accperf_functions VALUES " + ",".join(rows))
EOF
sql <planted.sql
for i in 1 2; do sql <planted.sql; done # batches that come twice
accperf fleet report --json --clickhouse "$url" --service pl --since -30m >report.json
check "$engine: shares are those of all hosts, whatever came twice" jq -e '.hosts == 12 and (.functions[] | select(.name == "f") | .share > 0.36 and .share < 0.39 and .low < .share and .share < .high)' report.json
# one that does what no other does, and one of which half is g
echo "INSERT INTO accperf_functions VALUES ('p3','pl','3',now() - 300,1,'odd','x.so',0.1,1000),('p5','pl','5',now() - 300,1,'hot','x.so',0.5,5000);

INSERT INTO accperf_functions SELECT concat('p', toString(number)), 'pl', toString(number), now() - 300, 1, 'hot', 'x.so', 0.2, 2000 + number FROM system.numbers WHERE number != 5 LIMIT 11" | sql
accperf fleet hosts --json --clickhouse "$url" --service pl --since -30m >hosts.json
differ() { jq -e '[.functions[] | [.name, .host, (.share * 100 | round), (.median * 100 | round)]] == [["hot", "p5", 50, 20], ["odd", "p3", 10, 0]]' hosts.json || { cat hosts.json; return 1; }; }
check "$engine: which hosts differ is told" differ
accperf fleet diff --json --clickhouse "$url" --service pl --since -30m --against -90m >diff.json
check "$engine: a planted change is found through all that differs between hosts" jq -e '.functions[] | select(.name == "f") | .verdict == "real" and .change > 0.018 and .change < 0.022' diff.json
# of a time before that lasts longer, and of one that is over before there was anything
accperf fleet diff --json --clickhouse "$url" --service pl --since -30m --against -130m --against-until -60m >longer.json
check "$engine: the time before may be longer" jq -e '.hosts == 12 and (.functions[] | select(.name == "f") | .verdict == "real")' longer.json
expect_status 1 "$engine: and ends where it is told to" accperf fleet diff --json --clickhouse "$url" --service pl --since -30m --against -90m --against-until -85m
expect_status 2 "$engine: not before it begins" accperf fleet diff --clickhouse "$url" --service pl --against -90m --against-until -95m
# what pays: on ten of the twelve hosts half of f, by a hundredth more or less, known to a fifth of it
python3 - >candidates.sql <<-'EOF'
	rows = []
	for n in range(10):
	    s = 0.15 + 0.001 * (n % 3 - 1)
	    rows.append(f"('p{n}','pl','{n}',now() - 300,1,'f','soc/f','{'offload' if n else 'keep on CPU'}',10000,{s},{s * 0.8},{s * 1.2})")
	print("INSERT INTO accperf_candidates VALUES " + ",".join(rows))
EOF
sql <candidates.sql; sql <candidates.sql
accperf fleet advise --json --clickhouse "$url" --service pl --since -30m >advise.json
saved() { jq -e '.hosts == 12 and (.functions | length == 1) and (.functions[0] | .name == "f" and .accelerator == "soc/f" and .hosts == 10 and (.saved - 0.125 | fabs) < 1e-3 and (.offload - 0.75 | fabs) < 1e-3
	and .low < 0.8 * .saved and .low > 0.4 * .saved and .high > 1.2 * .saved and .high < 1.6 * .saved)' advise.json || { cat advise.json; return 1; }; }
check "$engine: what would be saved is of all hosts, its interval no narrower than one host's" saved
accperf fleet flame --clickhouse "$url" --service web --since -1d >flame
folded() { [ "$(awk '{ n += $NF } END { printf "%.0f", n / 1e6 }' flame)" = "$(accperf export --collapsed -o - -i "$1" 2>/dev/null | awk '{ n += $NF } END { printf "%.0f", n * 4 / 1e6 }')" ] && grep -qE '^kv;.*;find_entry [0-9]+$' flame; }
check "$engine: stacks of all hosts come to what each says" folded ${kept}1
valid() { accperf help --json-schema fleet >schema.json && python3 -c 'import json, jsonschema; [jsonschema.validate(json.load(open(f)), json.load(open("schema.json"))) for f in ("report.json", "diff.json", "advise.json", "hosts.json")]'; }
if python3 -c 'import jsonschema' 2>/dev/null; then check "$engine: by their schema" valid; fi
expect_status 1 "$engine: a service that nobody has" accperf fleet report --clickhouse "$url" --service "it's" --since -1h
foreign
}
# What is there already is somebody else's, or an older version's: of the same name with other columns, or as many, or an
# engine that replaces nothing. Nothing is written there, and when it is out of the way what waited is sent.
foreign() {
	local table what left
	row() { echo "SELECT count() FROM $1" | sql; }
	for what in "a String" "host String, service String, segment String, began DateTime, w Float64, f String, o String, self Float64, samples Float64" \
		"host String, service String, segment String, began DateTime, weight Float64, function DateTime, object String, self Float64, samples Float64"; do
		printf 'DROP TABLE IF EXISTS accperf_history;\n\nDROP TABLE IF EXISTS accperf_functions;\n\nCREATE TABLE accperf_functions (%s) ENGINE = Log' "$what" | sql
		expect_status 1 "$engine: a table with (${what##*DateTime, }) is refused" asked push --host h9 ${kept}1
		check "$engine: with what to do" grep -qE 'accperf fleet schema.*(another version, or of somebody else), must be renamed' err
		check "$engine: nothing is in it" test "$(row accperf_functions)" = 0
		expect_status 1 "$engine: and reports of it are refused" accperf fleet report --clickhouse "$url" --service pl --since -30m
	done
	check "$engine: nor is it taken for sent" test "$(echo "SELECT count() FROM accperf_segments WHERE host = 'h9'" | sql)" = 0
	echo 'RENAME TABLE accperf_functions TO somebody_elses' | sql; sql <schema.sql
	expect_status 0 "$engine: renamed, all is sent" asked push --host h9 ${kept}1
	left=$(echo "SELECT count() FROM accperf_functions WHERE host = 'h9'" | sql)
	check "$engine: with all its rows ($left)" test "$left" -gt 9
}

# Debian's server
if command -v clickhouse-server >/dev/null; then
real=$((port + 1)); mkdir data tmp
cat >c.xml <<-EOF
	<?xml version="1.0"?><yandex><logger><level>warning</level><log>$TMP/ch.log</log><errorlog>$TMP/ch.err</errorlog></logger>
	<http_port>$real</http_port><tcp_port>$((port + 2))</tcp_port><listen_host>127.0.0.1</listen_host><mark_cache_size>50000000</mark_cache_size>
	<path>$TMP/data/</path><tmp_path>$TMP/tmp/</tmp_path><users_config>u.xml</users_config><default_profile>default</default_profile><default_database>default</default_database></yandex>
EOF
cat >u.xml <<-'EOF'
	<?xml version="1.0"?><yandex><profiles><default/></profiles><users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
	<quotas><default><interval><duration>3600</duration><queries>0</queries><errors>0</errors><result_rows>0</result_rows><read_rows>0</read_rows><execution_time>0</execution_time></interval></default></quotas></yandex>
EOF
start clickhouse-server --config-file="$TMP/c.xml"
judge "Debian's ClickHouse" http://127.0.0.1:$real
# what is drawn is the same each time
expect_status 0 "2 % more in one function of 50 hosts is found in ten minutes, and nothing where nothing changed" \
	"$TOP/scripts/bench-fleet" --planted 20 --case 1,0 --port $((port + 4))
else skip "Debian's ClickHouse" "clickhouse-server is not installed"; fi
# a current one, in process, behind an HTTP of ours
chdb=$TOP/build/chdb/node_modules
if [ -e "$chdb/chdb" ] && need node; then
	start env NODE_PATH="$chdb" node "$TOP/tests/daemon/chdb.js" $((port + 3)) "$TMP/chdb"
	judge "chdb" http://127.0.0.1:$((port + 3))
else skip "a current ClickHouse" "npm's chdb is not in build/chdb: scripts/deps --test --servers"; fi

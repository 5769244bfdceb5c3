#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the daemon serves, to whom, and that no request reaches a file.
. "$(dirname "$0")/../lib.sh"
need jq && need python3 || { echo "needs jq and python3"; exit 77; }
grep -aq 'libmicrohttpd\.so' "$TOP/build/accperf" || { echo "built without libmicrohttpd"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }

N=dH$$; cp "$WORKLOADS/tightloop" $N
head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' >token; chmod 600 token
port=$((20000 + $$ % 12000))
cat >d.yaml <<-EOF
	storage: {folder: $TMP/store, segment_time: 1h, reserve: 0}
	limits: {scan: 200ms, budget: 90%}
	http: {listen: "127.0.0.1:$port", token_file: $TMP/token}
	services:
	  hot: {name: $N, min_age: 0s, what: time}
	  idle: {name: nobody-$$}
	  kept: {name: nobody-$$}
	EOF
mkdir -p -m 700 store/kept; cp "$TOP/tests/golden/live-kv.prof" store/kept/20260101T000000Z-7.000001
start ./$N --loop
accperf daemon --config d.yaml 2>log & daemon=$!; STARTED+=($daemon)
# get PATH [HEADER...]: the status on stdout, the body in body, headers in headers
get() { python3 - "$port" "$@" <<-'EOF'
	import http.client, sys
	c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=90)
	method, path = (["GET"] + sys.argv[2].split(" "))[-2:]
	c.putrequest(method, path, skip_host=any(h.startswith("Host:") for h in sys.argv[3:]))
	for h in sys.argv[3:]: c.putheader(*h.split(": ", 1))
	c.endheaders()
	r = c.getresponse()
	open("body", "wb").write(r.read()); open("headers", "w").write(str(r.headers)); print(r.status)
	EOF
}
gets() { local want=$1 got; shift; got=$(get "$@") && [ "$got" = "$want" ] || { echo "status ${got:-none}, wanted $want"; head -c 300 body | tr -cd "[:print:]\n"; return 1; }; }
within() { local i n=$(($1 * 12)); shift; for i in $(seq $n); do "$@" >/dev/null 2>&1 && return 0; sleep 0.25; done; "$@"; tail -n 5 log; return 1; }
with="Authorization: Bearer $(cat token)"

check "it is well" within 9 gets 200 /healthz
check "and says so" grep -qx ok body
sampled() { [ "$(stat -c %s store/hot/* | head -n 1)" -gt 900 ]; }
within 20 sampled; kill -USR1 $daemon
series() { gets 200 /metrics && grep -qE "$1" body; }
check "functions of the last complete profile are series" within 20 series '^accperf_function_self_ratio\{service="hot",function="spin_hot",object="dH[0-9]+"\} 0\.[0-9]+$'
check "so is what it costs" grep -qE '^accperf_cost_cpu_seconds_total\{service="hot"\} 0*[1-9.]' body
check "as OpenMetrics" grep -q '^Content-Type: application/openmetrics-text; version=1.0.0' headers
cat >judge.py <<-'EOF'
	import re, sys
	lines, kind, done, seen = open("body").read().split("\n"), {}, set(), set()
	assert lines[-2:] == ["# EOF", ""], lines[-2:]
	now = None
	for l in lines[:-2]:
	    if l.startswith("# TYPE "):
	        _, _, name, t = l.split(" "); assert name not in kind, name; kind[name] = t; now = name
	    elif l.startswith("# HELP "): assert l.split(" ")[2] == now, l
	    else:
	        m = re.fullmatch(r'([a-z_0-9]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? (NaN|[0-9.e+-]+)', l); assert m, l
	        suffix = {"counter": "_total", "info": "_info"}.get(kind[now], "")
	        assert m[1] == now + suffix, l
	        assert (m[1], m[2]) not in seen, l
	        seen.add((m[1], m[2]))
	assert len(lines) < 400, len(lines)
	EOF
check "whose rules it keeps: families whole, types, suffixes, no series twice, bounded" python3 judge.py

check "profiles want a token" gets 401 /profiles
check "the right one" gets 401 /profiles "Authorization: Bearer $(tr 0-9a-f 1-9a-f0 <token)"
check "the whole of it" gets 401 /profiles "${with%?}"
check "the log tells what to send, and not for each" bash -c '[ "$(grep -c "level=warn event=http msg=.somebody asks without the token, or with a wrong one, 1 times by now and the last from 127.0.0.1: " log)" = 1 ]'
check "with it they are listed" gets 200 /profiles "$with"
check "with what their recorders were told of their place" jq -e 'all(.profiles[]; (.labels.service // .service) == .service) and any(.profiles[]; .labels.service == "hot")' body
valid() { accperf help --json-schema profiles >schema.json && python3 -c 'import json, jsonschema; jsonschema.validate(json.load(open("body")), json.load(open("schema.json")))'; }
if python3 -c 'import jsonschema' 2>/dev/null; then check "by their schema" valid; fi
check "one is served as a file" gets 200 "/profile?service=hot" "$with"
cp body served.data
check "that can be read" bash -c 'accperf report --json -i served.data | jq -e ".samples > 3 and .recovery == null"'
page() { gets 200 "/report.html?service=hot" "$with" && grep -q spin_hot body; }
check "and as a page" page

# answers from profiles, of one and of several, complete and being written
check "as pprof, by whoever takes that" gets 200 "/pprof?service=hot" "$with"
check "whole" bash -c 'gzip -dc body | grep -aq spin_hot'
sleep 1; kill -USR1 $daemon; within 9 test -e "$(printf '%s\n' store/hot/*1 | head -n 1 | sed 's/1$/3/')"
served() { gets 200 "$1" "$with" && jq -e "$2" body; }
check "of several together" gets 200 "/pprof?service=hot&from=-1h" "$with"
check "which are more than the last" bash -c 'gzip -dc body | grep -aq spin_hot'
untold() { gets 422 "/flow?service=hot&from=now-2h&to=now" "$with" && grep -q 'holds no memory accesses' body; }
check "what profiles do not tell is said" untold
check "without a path of this machine" bash -c '! grep -aqF "$1" body' _ "$TMP"
check "the flow of a time" served "/flow?service=kept&from=now-2h&to=now" '.schema == "accperf.flow/1"'
check "what to offload" served "/advise?service=hot&from=-1h" '.schema == "accperf.advise/1" and .labels.service == "hot"'
# the first may have lasted for less than a second: it began before the next full one, the third behind it
first=$(($(stat -c %Y store/hot/*.000001) + 1))
check "what changed" served "/diff?service=hot&from=$first&to=now&base_from=-1h&base_to=$first" '.schema == "accperf.diff/1" and .base_labels.service == "hot" and .other_labels.service == "hot"'
check "by names of profiles and no path" jq -e '.base == "base.data" or (.base | test("^[0-9]+T[0-9]+Z-[0-9]+[.][0-9]+$"))' body
unpathed() { ! grep -aqF -e "$TMP" -e .answers body; }
check "nor any other of this machine" unpathed
served "/diff?service=hot&from=-1h&base_from=-1h&base_to=now" .base >/dev/null
check "nor where several are put together" unpathed
check "nothing is left of it" test -z "$(ls -A store/.answers)"
check "a time without profiles is said" gets 404 "/flow?service=hot&from=2001-01-01T00:00:00Z&to=20010102T000000Z" "$with"
unknown() { gets 404 "/flow?service=nobody" "$with" && grep -q 'there is no service of such a name; /profiles lists them' body; }
check "so is a service that there is not" unknown
wrong() { gets 400 "$1" "$with" && grep -q "$2" body; }
check "a time that is none" wrong "/flow?service=hot&from=2001-02-31T00:00:00Z" 'a beginning of time is written'
check "one that ends before it begins" wrong "/flow?service=hot&from=-1h&to=-2h" 'from must lie before to'
check "an argument that is not known" wrong "/flow?service=hot&form=-1h" 'only service, from and to'
check "none without the token" gets 401 "/pprof?service=hot"

# a profile of a turn counts for the time before it: ten times one second of spin_hot, beside one of another program
accperf record -p "$(pgrep -x "$N" | head -n 1)" --duration 1s --label service=hot --label pod=p --label rested=9 -o turn.000001 2>/dev/null
cp turn.000001 turn.000002
share() { accperf merge -f "$@" "$TOP/tests/golden/live-kv.prof" -o m.data >said 2>&1 && accperf report --json -i m.data 2>/dev/null | jq '[.functions[] | select(.name | startswith("spin_")) | .self] | add // 0'; }
# how much of spin_hot a loaded machine let run is seen with a weight of 1; what other weights make of that follows
once=$(share turn.000001 -w 1); alone=$(share turn.000002); turn=$(share turn.000001)
times=$(sed -n 's/.*turn.000001 counts \([0-9.]*\) times.*/\1/p' said)
# of the turn itself: on a busy machine more of it is the kernel's, which counts as often
own=$(accperf report --json -i turn.000001 2>/dev/null | jq '[.functions[] | select(.name | startswith("spin_")) | .self] | add // 0')
lasted=$(accperf report --json -i turn.000001 2>/dev/null | jq '.duration_ns / 1e9')
is() { jq -ne "($1 | fabs) < $2"; }
check "merge says how often a turn's first profile counts" is "$times - (9 + $lasted) / $lasted" .02
check "and weighs it so" is "($once / $own) as \$all | $turn - $times * $once / ($times * \$all + 1 - \$all)" .002
check "which is much" jq -ne "$times > 2 and $once > 0 and $once < 1"
check "its second is itself, as by a weight of 1" is "$alone - $once" 1e-6
accperf merge -f -o both.data turn.000001 turn.000002 2>/dev/null
check "labels that all have are kept" bash -c 'accperf report --json -i both.data 2>/dev/null | jq -e ".labels == {service: \"hot\", pod: \"p\"}"'

accperf record --label pod=shop/cart --duration 2s -q -o cart.data -- timeout 8 "$WORKLOADS/kv" --loop >/dev/null 2>&1
check "flow tells whose it is" bash -c 'accperf flow --json -i cart.data 2>/dev/null | jq -e ".labels == {pod: \"shop/cart\"}"'

# a token that was renewed, or taken away
old=$with; tr 0-9a-f 1-9a-f0 <token >renewed; chmod 600 renewed; mv renewed token
kill -HUP $daemon; with="Authorization: Bearer $(cat token)"
check "a reload takes a new token" within 9 gets 200 /profiles "$with"
check "and the old one no longer" gets 401 /profiles "$old"
mv token away; kill -HUP $daemon
check "a token that is not there any more is told" within 9 grep -q 'level=error event=http msg="http.token_file .*token cannot be read: No such file or directory: token and certificate stay as they were; with that mended, reload"' log
check "and the last one stays" gets 200 /profiles "$with"
mv away token

# nothing of a request becomes a path
ask() { gets 404 "$1" "$with" && ! grep -q root: body; }
check "no other service" ask "/profile?service=../../../../etc/passwd"
check "nor by an empty name" ask "/profile?service="
check "nor one that has nothing" ask "/profile?service=idle"
check "no other path" ask "/../../etc/passwd"
check "nor one with escapes" ask "/profiles/%2e%2e/%2e%2e/etc/passwd"
check "a page of another site cannot ask" gets 403 /metrics "Host: evil.example"
check "nothing can be changed" gets 405 "DELETE /profiles" "$with"
cat >large.py <<-'EOF'
	import socket, sys
	s, answer = socket.create_connection(("127.0.0.1", int(sys.argv[1]))), b""
	try:
	    s.sendall(b"GET /" + b"a" * (1 << 20)); s.shutdown(1); answer = s.recv(100)
	except OSError: pass # it was cut off while it asked
	sys.exit(answer != b"" and not answer.startswith(b"HTTP/1.1 4"))
EOF
check "a request of a megabyte is refused" python3 large.py "$port"
check "and the daemon is well" gets 200 /healthz
many() { python3 - "$port" <<-'EOF'
	import socket, sys
	all = []
	for i in range(200):
	    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=90); s.sendall(b"GET /metrics HTTP/1.0\r\n"); all.append(s)
	for s in all: s.sendall(b"\r\n")
	answered = sum(s.recv(12) == b"HTTP/1.1 200" for s in all)
	print(answered); sys.exit(answered < 190)
	EOF
}
questions() { python3 - "$port" "$with" <<-'EOF'
	import socket, sys
	all, got = [], {}
	for i in range(30):
	    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=90); all.append(s)
	    s.sendall(f"GET /pprof?service=kept&from=-{i + 1}h HTTP/1.0\r\n{sys.argv[2]}\r\n\r\n".encode())
	for s in all: w = s.recv(12).decode()[-3:]; got[w] = got.get(w, 0) + 1
	print(got); sys.exit(not (got.get("200", 0) >= 1 and got.get("429", 0) >= 1 and set(got) <= {"200", "429", "503"}))
	EOF
}
rss() { awk '/VmRSS/ { print $2 }' "/proc/$daemon/status"; }
sleep 10 # what all of one address may ask comes back, 20 a second: what was asked above has spent it on a fast machine
before=$(rss)
check "200 clients at once are answered" many
check "with 8 MB at most ($(($(rss) - before)) KB)" test $(($(rss) - before)) -le 8192

sleep 3 # for three answers that cost work
check "who asks for more than the others could get has to wait" questions

# who may not listen
refuses() { printf 'http: {%s}\nservices: {a: {name: x}}\n' "$1" >bad.yaml; accperf daemon --check --config bad.yaml 2>err; [ $? = 2 ] && grep -q "$2" err; }
check "other machines want a token" refuses 'listen: "0.0.0.0:9417"' 'bad.yaml:1:16: other machines reach 0.0.0.0:9417: that wants http.token_file, tls_cert and tls_key'
check "and TLS" refuses 'listen: "0.0.0.0:9417", token_file: /x' 'that wants http.token_file, tls_cert and tls_key'
check "whose files go together" refuses 'tls_cert: /x' 'tls_cert and http.tls_key go together'
sed "s:$TMP/store:$TMP/store2:" d.yaml >second.yaml
second() { accperf daemon --config "$1" 2>err & other=$!; STARTED+=($other); }
second second.yaml
check "a port in use is told" within 5 grep -q "level=error event=http msg=\"nothing is served: 127.0.0.1:$port" err
check "and recording goes on" within 9 bash -c 'ls store2/hot | grep -q .'
kill $other; wait $other
chmod 644 token; sed "s/127.0.0.1:$port/127.0.0.1:0/" second.yaml >third.yaml; second third.yaml
check "a token that others can read is none" within 5 grep -q 'event=http msg="http.token_file .* chmod 0600' err
chmod 600 token; kill -HUP $other
check "with that mended a reload serves" within 9 grep -q 'event=http msg="serving on 127.0.0.1:0"' err
kill $other; wait $other
lib=$(/sbin/ldconfig -p | awk '/libmicrohttpd\.so\.12 / { print $NF; exit }')
if unshare -m mount --bind /dev/null "$lib" 2>/dev/null; then
	unshare -m sh -c 'mount --bind /dev/null "$1" && exec accperf daemon --config second.yaml' sh "$lib" 2>err & other=$!; STARTED+=($other)
	check "a library that cannot be loaded is told, with what to do" within 5 grep -q 'event=http msg="nothing is served: .*install libmicrohttpd12' err
	check "and recording goes on all the same" kill -0 $other
	kill $other; wait $other
else
	skip "a library that cannot be loaded" "no mount namespace can be made"
fi
if openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem 2>/dev/null; then
	chmod 600 token key.pem
	sed -e "s/127.0.0.1:$port/0.0.0.0:$((port + 1))/" -e "s:token_file:tls_cert\: $TMP/cert.pem, tls_key\: $TMP/key.pem, token_file:" second.yaml >tls.yaml
	second tls.yaml
	over_tls() { python3 - $((port + 1)) "$@" <<-'EOF'
		import http.client, ssl, sys
		c = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), timeout=90, context=ssl._create_unverified_context())
		c.request("GET", sys.argv[3], headers=dict(h.split(": ", 1) for h in sys.argv[4:])); sys.exit(c.getresponse().status != int(sys.argv[2]))
		EOF
	}
	check "to other machines it speaks TLS" within 5 over_tls 200 /metrics "$with"
	check "and nothing without the token" over_tls 401 /metrics
	kill $other; wait $other
fi
kill -TERM $daemon; wait $daemon
check "it ends in order" test $? = 0

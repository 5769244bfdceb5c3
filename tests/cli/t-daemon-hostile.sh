#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who asks the daemon what nobody should ask, and files that no daemon should begin with: it says no, and goes on.
# harm: who asks the daemon letter by letter; without a pause; with a body without end | 200 for 40 s; 4 for 30 s; 4
#   of 64 MB | connections, for 22 s at most
# harm: 13 kinds of wrong questions, 14 of files that are no configuration | some 1,200
. "$(dirname "$0")/../lib.sh"
need python3 || { echo "needs python3"; exit 77; }
grep -aq 'libmicrohttpd\.so' "$TOP/build/accperf" || { echo "built without libmicrohttpd"; exit 77; }
port=$((20000 + ($$ + 13000) % 12000))
head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' >token; chmod 600 token
cat >d.yaml <<-EOF
	storage: {folder: $TMP/store, reserve: 0}
	http: {listen: "127.0.0.1:$port", token_file: $TMP/token}
	services: {kept: {name: nobody-$$}, other: {name: nobody-$$}}
	EOF
mkdir -p -m 700 store/kept; cp "$TOP/tests/golden/live-kv.prof" store/kept/20260101T000000Z-7.000001
accperf daemon --config d.yaml 2>log & daemon=$!; STARTED+=($daemon)
within 20 grep -q "serving on" log
hostile() { python3 "$TOP/tests/daemon/hostile.py" "$port" "$daemon" "$(cat token)" "$@"; }
check "it listens on loopback alone" hostile listening
check "odd methods and versions" hostile methods
check "headers without end" hostile headers
check "paths that lead elsewhere" hostile paths
check "bytes by chance" hostile noise
check "bodies without end are not read" hostile bodies
check "connections on which nothing is said end" hostile silent
check "so do those on which a letter is sent now and then" hostile slow
check "many questions at once on one connection, and one hidden in another" hostile pipelined
check "moments that are none" hostile times
check "tokens that are guessed" hostile tokens
check "500 clients at once, bounded in memory" hostile crowd
check "who asks without a pause takes what the budget has for that, at most" hostile flood
check "it is the same daemon" kill -0 $daemon
check "and has no error to tell" bash -c '! grep -E "level=error" log'
kill -TERM $daemon; wait $daemon
check "and ends in order" test $? = 0

# files that are no configuration, or one that nobody would write: each is told in a moment, and nothing is begun
refused() { # SENTENCE FILE
	local began=$SECONDS
	(ulimit -v 1000000; timeout 60 accperf daemon --config "$2" </dev/null) >out 2>err; local status=$?
	{ [ $status = 1 ] || [ $status = 2 ]; } && grep -q -- "$1" err && [ $((SECONDS - began)) -le 20 ] && ! grep -q event=started err || { echo "status $status after $((SECONDS - began)) s"; head -c 600 err; return 1; }
}
if [ "$(id -u)" = 0 ] && need setpriv; then
	chmod 711 "$TMP"; nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups accperf daemon --config "$1" 2>err; [ $? != 0 ] && grep -q -- "$2" err || { cat err; return 1; }; }
	chmod 700 store; chmod 600 d.yaml; check "who may not read it is told who may" nobody d.yaml 'Permission denied; start the daemon as a user who may read it'
	sed 's/listen: .*}/listen: none}/' d.yaml >public.yaml; chmod 644 public.yaml
	check "and who may not write where profiles are" nobody public.yaml 'store cannot be opened: Permission denied; start the daemon as the user whose it is'
else skip "who may not" "needs root and setpriv"; fi
told() { sed "s#listen: .*}#listen: $1}#" d.yaml >at.yaml; accperf daemon --config at.yaml 2>err & local d=$! i; STARTED+=($d); for i in $(seq 80); do grep -q 'event=http' err && break; sleep 0.25; done; kill $d; wait $d; grep -q -- "$2" err || { cat err; return 1; }; }
python3 -c 'import socket, sys, time; s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(); time.sleep(600)' $((port + 1)) & STARTED+=($!)
sleep 1
check "a port that another program has" told "\"127.0.0.1:$((port + 1))\"" 'level=error event=http msg="nothing is served: .*Address already in use; `ss -ltnp` tells which program has the port: end it'
check "a token that is not there" told "\"127.0.0.1:1\", token_file: /none" 'level=error event=http msg="http.token_file /none cannot be read: No such file'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=a -keyout key.pem -out cert.pem 2>/dev/null && openssl ecparam -genkey -name prime256v1 -out other.pem 2>/dev/null && chmod 600 ./*.pem &&
	check "a key of another certificate" told "\"127.0.0.1:0\", tls_cert: $TMP/cert.pem, tls_key: $TMP/other.pem" 'level=error event=http msg="nothing is served: .*tls_cert and tls_key are none, or do not belong together'
# a certificate that was renewed, as by a timer each two months; and who reads the log hangs, as journald may
shown() { [ "$(openssl s_client -connect "127.0.0.1:$((port + 2))" </dev/null 2>/dev/null | openssl x509 -noout -subject 2>/dev/null)" = "subject=CN = $1" ]; }
if [ -s cert.pem ]; then
	sed "s#listen: .*}#listen: \"127.0.0.1:$((port + 2))\", tls_cert: $TMP/cert.pem, tls_key: $TMP/key.pem}#; s#/store#/store.tls#" d.yaml >tls.yaml
	accperf daemon --config tls.yaml 2>log & d=$!; STARTED+=($d)
	check "it shows its certificate" within 20 shown a
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=b -keyout key.pem -out cert.pem 2>/dev/null; kill -HUP $d
	check "a reload takes a new one" within 20 shown b
	kill $d; wait $d
fi
sed "s#listen: .*}#listen: \"127.0.0.1:$((port + 3))\"}#; s#/store#/store.hangs#" d.yaml >hangs.yaml
cat >hangs.py <<-'EOF'
	import fcntl, os, sys
	r, w = os.pipe()
	fcntl.fcntl(w, fcntl.F_SETFL, os.O_NONBLOCK)
	try:
	    while True: os.write(w, b"x" * 4096)
	except BlockingIOError: fcntl.fcntl(w, fcntl.F_SETFL, 0)
	os.set_inheritable(r, True) # it stays open, and nobody reads
	os.dup2(w, 2)
	os.execvp("accperf", ["accperf", "daemon", "--config", "hangs.yaml"])
EOF
python3 hangs.py & d=$!; STARTED+=($d)
well() { python3 -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=5)' "http://127.0.0.1:$((port + 3))/healthz"; }
check "one whose log nobody reads serves all the same" within 20 well
kill $d
over() { ! grep -q '^State:[[:space:]]*[^Z]' "/proc/$d/status" 2>/dev/null; }
check "and ends when it is told to" within 9 over
kill -9 $d 2>/dev/null; wait $d

mkfifo fifo; mkdir folder; ln -s none dangling; ln -s loop loop
check "a FIFO" refused 'is no configuration: it is no file of 1 MB at most' fifo
check "a folder" refused 'is no configuration' folder
check "a device without end" refused 'is no configuration' /dev/zero
check "a file of two megabytes" bash -c "$(declare -f refused); "'head -c 2000000 /dev/zero >large; refused "is no configuration" large'
check "a link to nothing" refused 'cannot be read: No such file or directory; .accperf daemon --example. prints one' dangling
check "a link to itself" refused 'cannot be read: Too many levels' loop
python3 - <<-'EOF'
	def write(name, text): open(name, "wb").write(text if isinstance(text, bytes) else text.encode())
	write("deep", "services: " + "[" * 1000000)
	write("wide", "services: {" + "".join(f"s{i}: {{name: x}}, " for i in range(40000)) + "}")
	write("bomb", "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20)) + "services: {s: {name: *u}}\n")
	write("keys", "".join(f"key{i}: 1\n" for i in range(60000)))
	write("list", "services: {a: {name: [" + "x, " * 300000 + "x]}}")
	write("line", "services: {a: {name: " + "x" * 900000 + "}}")
	write("binary", bytes(range(256)) * 100)
	write("wide16", "services: {a: {nam: x}}".encode("utf-16"))
	write("escape", 'services: {a: {name: x, "\\e[2J\\e]0;owned\\a": 1}}')
EOF
check "brackets without end" refused 'deep:1:211: brackets are 200 deep here' deep
check "40,000 services" refused 'wide:1:[0-9]*: 64 services at most' wide
check "a list that refers to itself manifold" refused "bomb:1:1: there is no key 'a' in the file" bomb
check "60,000 keys: the first twenty are told" refused 'and 59980 more' keys
check "300,000 patterns" refused 'list:1:[0-9]*: name takes 64 at most' list
check "a name of a megabyte" refused 'line:1:22: name wants a text of 1 to 1000 bytes' line
check "bytes of all kinds" refused 'binary:1:[0-9]*: this is not YAML' binary
check "another encoding is read, and judged" refused "wide16:1:1[0-9]: there is no key 'nam' in service 'a'; did you mean 'name'" wide16
plain() { refused "escape:1:25: there is no key" escape && ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]' err; }
check "what would act on a terminal is told as text" plain

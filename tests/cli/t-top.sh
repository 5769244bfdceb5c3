#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `accperf top` in a terminal of its own: drawn, resized, ended in every way and the terminal as it was; and --batch.
. "$(dirname "$0")/../lib.sh"
if ! accperf help --list | grep -qx top; then
	check "a build without ncurses says so" bash -c 'accperf version --json | jq -e ".features[] | select(.name == \"top\").built | not"'
	skip "accperf top" "libncurses-dev was not there when this was built"
	exit 0
fi
export TMPDIR=$TMP/private; mkdir "$TMPDIR"
expect_status 2 "nothing to observe" accperf top --batch
expect_status 2 "two ways to say what" accperf top --batch -p 1 -a
expect_status 2 "--json is for pipes" accperf top --json -p 1
expect_status 2 "no terminal" accperf top -p $$
check "... it names --batch" grep -q -- --batch err
expect_status 1 "a process that is not there" accperf top --batch -p 4194304
check "... in record's words" grep -q 'no process' err
if [ "$(id -u)" != 0 ]; then
	skip "top of a process" "needs root"
	exit 0
fi
make -s -C "$TOP" build/workloads/ingestd; start "$WORKLOADS/ingestd" 100; pid=$!
accperf help --json-schema top >schema.json
accperf top --batch --json -p $pid --iterations 2 -d 200ms --offload none >lines.json 2>err || cat err
check "--batch --json: a line each time, as its schema says" python3 - <<'P'
import json
lines = [json.loads(l) for l in open("lines.json")]
assert len(lines) == 2
try:
    import jsonschema
    for l in lines: jsonschema.validate(l, json.load(open("schema.json")))
except ImportError:
    pass
P
check "a reader stays for its window: it and a recorder serve all tables" python3 - $pid <<'P'
import subprocess, sys, time
top = subprocess.Popen(["accperf", "top", "--batch", "-p", sys.argv[1], "--iterations", "6", "-d", "200ms", "--offload", "none"], stdout=subprocess.DEVNULL)
seen = set()
while top.poll() is None:
    try:
        seen.update(open(f"/proc/{top.pid}/task/{top.pid}/children").read().split())
    except OSError:
        pass
    time.sleep(.01)
assert top.returncode in (0, 3), top.returncode
assert len(seen) == 2, seen
P
python3 "$TOP/tests/top/drive.py" $pid >drive.log 2>&1; status=$?
cat drive.log
check "the terminal's checks run to their end" [ $status = 0 ]
# the first of its windows are gone when it is killed
accperf top --batch -p $pid --window 2s -d 200ms --offload none >/dev/null 2>&1 & windows=$!
gone() { compgen -G "$TMPDIR/*/part.000003" >/dev/null && ! compgen -G "$TMPDIR/*/part.000001" >/dev/null; }
for _ in $(seq 600); do gone && break; sleep .1; done
check "windows follow each other, and old ones go" gone
kill -KILL $windows; wait $windows 2>/dev/null
# a recorder that finds its top gone before it has begun
python3 - $pid <<'P'
import os, signal, subprocess, sys
for _ in range(8):
    top = subprocess.Popen(["accperf", "top", "--batch", "-p", sys.argv[1]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (children := open(f"/proc/{top.pid}/task/{top.pid}/children").read().split()):
        assert top.poll() is None
    os.kill(int(children[0]), signal.SIGSTOP)
    top.kill(), top.wait()
    os.kill(int(children[0]), signal.SIGCONT)
P
# A recorder whose top was killed reads its names first.
for _ in $(seq 600); do [ -z "$(ls "$TMPDIR")" ] && break; sleep .2; done
check "no private folder is left" [ -z "$(ls "$TMPDIR")" ]

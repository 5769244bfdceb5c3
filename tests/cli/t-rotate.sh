#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings that are cut into files: nothing lost or twice at a seam, each file whole by itself, old ones removed.
# harm: kill -9 of a recorder, of a target whose file is gone | 1, after 13 s | what it met last
# harm: weeks: profiles that follow each other | 5 recordings, 2 s to 40 s
# harm: libraries that come and go, each a file of its own | 72 files, room for 64; 720 calls
# harm: an idle target, a busy interpreter for weeks | 2 recordings | 2 KB; 20 KB at most
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
need jq && need python3 && need cc || { echo "needs jq, python3 and a compiler"; exit 77; }

# report FILE: worked out once
report() { [ -e "$1.json" ] || accperf report --json -i "$1" >"$1.json" 2>/dev/null; cat "$1.json"; }
files() { printf '%s\n' "$1".[0-9][0-9][0-9][0-9][0-9][0-9]; }
# of FILTER NAME: the sum over all files
of() { local f; for f in $(files "$2"); do report "$f"; done | jq -s "[.[] | $1] | add"; }
closing() { sed -nE 's/.*accperf: ([0-9]+) samples, ([0-9]+) lost.*/\1 \2/p' "$1"; }
# every FILTER NAME: a jq filter that is true of all files but the last, which may be short
every() {
	local f n=0
	for f in $(files "$2" | head -n -1); do
		[ "$(report "$f" | jq "$1")" = true ] || { echo "$f: $(report "$f" | head -c 300)"; return 1; }
		n=$((n + 1))
	done
	[ $n -ge 1 ] || { echo "only $n"; return 1; }
}
reads() { local f; for f in $(files "$2" | sed -n 2p); do accperf "$1" -i "$f" >"$f.$1" 2>&1 || { cat "$f.$1"; return 1; }; done; }

# killed at the end of this test, by when it has names of its own, though the file is gone
cp "$WORKLOADS/tightloop" gone; start ./gone --loop; gone=$!
accperf record -q -p $gone --counts off --no-windows -F 199 -o dead.data 2>/dev/null & dead=$!
dead_since=$SECONDS

# An idle target, as long as this test lasts: what goes by when nothing happens is told now and then, not every second.
start sleep 600; idle=$!
accperf record -q -p $idle --duration 3s -o short.data 2>/dev/null & first=$!
accperf record -q -p $idle -o long.data 2>/dev/null & idles=$!

# Meanwhile libraries come and go, each a file of its own as containers bring them: more than there is room for at once
# (64), of which none may be missed.
mkdir copies
cat >copies/work.c <<-'EOF'
	__attribute__((noipa)) unsigned long copied_work(unsigned long bytes) { return bytes * 3; }
	EOF
cat >copies/copies.py <<-'EOF'
	import _ctypes, ctypes, glob, os, shutil, time
	def profiles(more):
	    want, end = len(glob.glob("y.data.0*")) + more, time.monotonic() + 60
	    while len(glob.glob("y.data.0*")) < want and time.monotonic() < end:
	        time.sleep(0.05)
	profiles(1)
	for phase in range(3):
	    libs = []
	    for i in range(24):
	        name = f"./copies/copy-{phase}-{i}.so"
	        shutil.copy("copies/work.so", name)
	        libs.append(ctypes.CDLL(name))
	        os.unlink(name)
	    profiles(2) # all are found by then, should no event have told of them
	    for lib in libs:
	        for k in range(10):
	            lib.copied_work(ctypes.c_ulong(64))
	        _ctypes.dlclose(lib._handle)
	    profiles(1)
	EOF
cc -O2 -shared -fPIC -o copies/work.so copies/work.c
accperf record --offload-probe 'copy-*.so:copied_work(bytes=arg0)' --offload-exact --counts off --no-windows --rotate 1s -o y.data \
	-- python3 copies/copies.py >y.out 2>y.err & copies=$!

start "$WORKLOADS/kv" --loop; target=$!
accperf record -p $target -F 499 --counts on --no-waits --rotate 1s --duration 2.5s -o t.data 2>t.err; status=$?
check "records into files of a second" [ $status = 0 -o $status = 3 ] # 3: no breakpoints here, counts from bursts alone
# loaded machines may take longer over one
check "several of them" test "$(files t.data | wc -l)" -ge 2
check "their samples are those of the closing line: none lost, none twice" test "$(of .samples t.data) $(of .lost t.data)" = "$(closing t.err)"
check "each says so of itself: samples of its own time alone" every '.samples == ([.counters[] | select(.name == "stacks unwound") | .value] | add)' t.data
check "each has names: next to nothing is an offset" every '([.functions[] | select(.name | test("[+]0x")) | .self] | add // 0) < 0.2 and (.functions | length) > 2' t.data
check "and the way there" every '[.functions[] | select(.name == "main") | .inclusive] | (add // 0) > 0.5' t.data
check "and the files" bash -c "accperf export --pprof -i t.data.000002 -o - | zcat | grep -aqF '$WORKLOADS/kv'"
check "flow reads the second" reads flow t.data
# where no breakpoints are, counts come from a few bursts a second: one of the files may have none
any_reads() { local f; for f in $(files "$2"); do accperf "$1" -i "$f" >"$f.$1" 2>&1 && return; done; cat "$f.$1"; return 1; }
check "and counts does" any_reads counts t.data
check "one is private as ever" test "$(stat -c %a t.data.000001)" = 600

kill $target
start "$WORKLOADS/tightloop" --loop; target=$!

# what an earlier recording left is neither replaced nor removed
echo mine >k.data.000007
accperf record -q -p $target --counts off --no-windows --rotate 1s --keep 2 -o k.data 2>k.err & recorder=$!
for _ in $(seq 200); do [ -e k.data.000010 ] && break; sleep 0.1; done
kill -TERM $recorder
check "an end by SIGTERM is in order" wait $recorder
check "what is not its own stays" grep -qx mine k.data.000007
check "numbers go on after the highest, and the latest two are kept" test "$(files k.data | wc -l)" = 3 -a ! -e k.data.000001 -a ! -e k.data.000008
check "the last two are profiles" test "$(report "$(files k.data | tail -1)" | jq 'has("samples")')" = true

expect_status 0 "by size" accperf record -q -p $target -F 1999 --counts off --rotate 4K --duration 2.5s -o s.data
check "each is about as large" bash -c 'set -- s.data.0*; [ $# -ge 2 ] && [ "$(stat -c %s s.data.000001)" -ge 4096 ]'

accperf record -p $target --counts off --rotate 1s -o i.data 2>i.err & recorder=$!
for _ in $(seq 100); do [ -e i.data.000003 ] && break; sleep 0.1; done
kill -INT $recorder; wait $recorder; status=$?
check "Ctrl-C ends it in order" test $status = 0
check "with one closing line" test "$(grep -c ' lost, ' i.err)" = 1
check "with names where nothing new is met" every '[.functions[] | select(.name == "spin_hot") | .self] | (add // 0) > 0.4' i.data
check "and every sample" test "$(of .samples i.data) $(of .lost i.data)" = "$(closing i.err)"
kill $target

# what the kernel counts from the beginning on is each file's own; calls that nothing is recorded of but their number, too
accperf record -q -o c.data --offload zlib --offload-exact --rotate 1s -- "$WORKLOADS/off_paced" 2000 2 >paced 2>/dev/null
calls() { local f; for f in $(files c.data); do accperf offload -i "$f" --json 2>/dev/null; done | jq -s '[.[].calls[] | select(.name == "crc32") | .counted_calls] | add'; }
check "calls are counted once" test "$(calls)" = "$(grep -oE '[0-9]+' paced | head -1)"
sites() { local f; for f in $(files c.data | head -n -1); do accperf offload -i "$f" 2>/dev/null | grep -q "main (off_paced)" || return 1; done; }
check "each file tells from where" sites

for bad in 5 10x 1.5 K 0s 10ms 1K -1s s; do
	expect_status 2 "--rotate $bad is wrong usage" accperf record --rotate "$bad" -p 1 -o u.data
done
expect_status 2 "so is --keep without it" accperf record --keep 3 -p 1
expect_status 2 "and --keep 0" accperf record --rotate 1h --keep 0 -p 1
check "and nothing is made" test -z "$(ls u.data* 2>/dev/null)"

while [ $((SECONDS - dead_since)) -lt 13 ]; do sleep 0.2; done
kill -9 $dead; kill $gone; rm gone
wait $dead 2>/dev/null
check "what was killed has names" test "$(XDG_CACHE_HOME=$TMP/none accperf report --json -i dead.data 2>/dev/null | jq '[.functions[] | select(.name == "spin_hot") | .self] | (add // 0) > 0.4')" = true

wait $copies
counted() { local f; for f in $(files y.data); do accperf offload -i "$f" --json 2>/dev/null; done | jq -s '[.[].calls[].counted_calls] | add'; }
check "libraries that are mapped no more make room for others: no call of 72 is missed" test "$(counted)" = 720
check "and none is turned away" bash -c "grep 'in 72 libraries probed, 72 of them called' y.err && ! grep 'no room' y.err"

# What is written grows with time as is promised; what a recording begins and ends with is in both files.
cat >busy.py <<-'EOF'
	import json, sys, time
	end = time.monotonic() + 120
	while time.monotonic() < end:
	    seen = {}
	    for i in range(500):
	        seen[i % 97] = seen.get(i % 97, 0) + len(str(i))
	    json.loads(json.dumps({"seen": list(seen.values()), "text": "x" * len(seen)}))
	EOF
start python3 busy.py; busy=$!
accperf record -q -p $busy --duration 15s -o briefly.data 2>/dev/null & brief=$!
accperf record -q -p $busy -o busy.data 2>/dev/null & long=$!
wait $brief # which takes as long as the machine lets it
# then for sixteen seconds of the interpreter's CPU time, which may be many more where it gets a part of a CPU. In the
# seconds before most code is met for the first time, whose graph is written once: some 24 KB a second on a fast machine.
# Two recordings meet different code, some 50 KB more or less: of eight seconds that would be 6 KB each.
cpu_ms() { awk '{ sub(/.*\) /, ""); print ($12 + $13) * 10 }' "/proc/$1/stat"; }
had=$(cpu_ms $busy); for _ in $(seq 600); do [ $(($(cpu_ms $busy) - had)) -ge 16000 ] && break; sleep 0.1; done
kill -INT $long; wait $long; kill $busy
kill -INT $idles; wait $idles $first; kill $idle
# growth SHORT LONG: bytes a second
growth() {
	local ns; ns=$(($(report "$2" | jq .duration_ns) - $(report "$1" | jq .duration_ns)))
	[ "$ns" -gt 5000000000 ] || { echo "too short: $ns ns"; return 1; }
	echo $((($(stat -c %s "$2") - $(stat -c %s "$1")) * 1000000000 / ns))
}
within() { local is; is=$(growth "$1" "$2") && echo "$is bytes a second" && [ "$is" -le "$3" ]; }
check "a minute of an idle target takes 2 KB at most" within short.data long.data $((2048 / 60))
stretches=$(jq '[.counters[] | select(.name == "stretches in which system calls were observed") | .value] | add' long.data.json)
records=$("$TOP/build/mkprofile" long.data sections=1 | awk '$1 == 17 { print $2 }')
# where the machine leaves the recorder no time for more stretches, there is nothing to be seen
if [ "$stretches" -gt 8 ]; then
	check "system calls that nobody makes: four stretches are a record ($stretches in $records)" test "$records" -lt $((stretches / 2))
else skip "system calls that nobody makes: four stretches are a record" "the budget had room for $stretches stretches only"; fi
check "and its cost and time stand in it" bash -c 'jq -e ".duration_ns > 8e9 and .cost.own_cpu_ns > 0" long.data.json'
check "a second of a busy interpreter takes 20 KB at most" within briefly.data busy.data 20480
check "in which it was sampled" [ "$(report busy.data | jq .samples)" -gt 20 ]

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# perf recordings become profiles: a real one from another machine, and one that perf makes here.
. "$(dirname "$0")/../lib.sh"
SHARED=${ACCPERF_SHARED:-$TOP/../shared}
rec=$SHARED/perfdata/skx-load-latency.weight_struct.perf.data

expect_status 2 "no file is wrong usage" accperf import
expect_status 1 "a file that is not there" accperf import nothing.data
check "is named" grep -q 'nothing.data' "$TMP/err"
printf 'this is not a recording at all' >junk.data
expect_status 1 "a file of another kind" accperf import junk.data
check "is said to be none" grep -q 'not a perf recording' "$TMP/err"
check "and no profile is left" test ! -e accperf.data

if [ -r "$rec" ]; then
	expect_status 0 "a recording of PEBS loads" accperf import "$rec"
	check "has the 14 accesses that perf prints" grep -q '14 accesses and 0 samples' "$TMP/err"
	expect_status 0 "without those of the kernel" accperf import -o user.data --no-kernel "$rec"
	check "five are left" grep -q '^accperf: 5 accesses' "$TMP/err"
	# what is about to be compared: the profile's readers accept it
	check "later stages read it" accperf flow -i accperf.data --json
	head -c 600000 "$rec" >cut.data
	expect_status 3 "a cut recording is imported as far as it goes" accperf import -o cut.prof cut.data
	check "and said to be cut" grep -q 'cut off' "$TMP/err"
else
	skip "a recording of PEBS loads" "no $rec"
fi

perf=$(command -v perf || ls /usr/bin/perf_* 2>/dev/null | head -n 1)
if [ -n "$perf" ] && "$perf" record -q -B -N -e cpu-clock -F 997 -o here.data -- "$WORKLOADS/tightloop" 20 >/dev/null 2>&1; then
	expect_status 0 "a recording without addresses" accperf import -o here.prof here.data
	check "is said to have none" grep -q 'no memory accesses' "$TMP/err"
	# no registers were asked for: what a stack would need is not there, and no sample is lost
	check "none of its samples is called lost" sh -c 'accperf report -i here.prof --json | jq -e ".lost == 0"'
	check "its samples are there" sh -c 'accperf report -i here.prof --json | jq -e ".samples > 5"'
	check "and named" sh -c 'accperf report -i here.prof --json | jq -e "[.functions[].name] | index(\"spin_hot\") != null"'
else
	skip "a recording made here" "perf is not here or may not record"
fi

# call chains: the callers that perf collected are callers here, too
cat >deep.c <<'C'
#include <time.h>
__attribute__((noipa)) unsigned long leaf(unsigned long x) { for (int i = 0; i < 100000; i++) x = x * 31 + 7; return x; }
__attribute__((noipa)) unsigned long middle(unsigned long x) { return leaf(x) + 1; }
int main(void) { volatile unsigned long x = 1; time_t t = time(0) + 2; while (time(0) < t) x = middle(x); return 0; }
C
share() { accperf report -i "$1" --json | jq --arg n "$2" '[.functions[] | select(.name == $n) | .inclusive] | add // 0'; }
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'; }
if [ -n "$perf" ] && cc -O0 -g -fno-omit-frame-pointer -o deep deep.c && "$perf" record -q -B -N -g -e cpu-clock -F 997 -o deep.data -- ./deep >/dev/null 2>&1; then
	accperf import -q -o deep.prof deep.data 2>/dev/null
	check "the leaf has the time" at_least "$(share deep.prof leaf)" 0.5
	check "and so have its callers" at_least "$(share deep.prof middle)" 0.5
	check "up to main" at_least "$(share deep.prof main)" 0.5
	"$perf" record -q -B -N -e cpu-clock -F 997 -o plain.data -- ./deep >/dev/null 2>&1; accperf import -q -o plain.prof plain.data
	if [ "$(accperf report -i plain.prof --json | jq .samples)" -ge 300 ]; then # fewer have another trust mark
		check "without them the way is named, and not a larger copy of the stack" sh -c 'accperf report -i plain.prof | sed -n 1p | grep call-graph | grep -vq stack-size'
	else
		skip "a recording without callers" "too few samples on a busy machine"
	fi
else
	skip "call chains of perf" "no perf that may record, or no compiler"
fi

# nothing but loads and stores, with chains, as perf mem record -g writes them: made by hand, because
# the machine has no such events; 60 loads in leaf() called by main(), 40 stores in other()
if need python3; then
	cat >make.py <<'PY'
import struct
IP, TID, TIME, ADDR, ID, CHAIN, WEIGHT, DATA_SRC = 1, 2, 4, 8, 64, 32, 1 << 14, 1 << 15
stype = IP | TID | TIME | ADDR | ID | CHAIN | WEIGHT | DATA_SRC
SIZE = 128
def attr(config):
    a = struct.pack("<IIQQQQQ", 4, SIZE, config, 1000, stype, 4, 1 << 18)  # raw event, sample_id_all
    return a + bytes(SIZE - len(a))
def rec(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body
def trailer(t, ident):
    return struct.pack("<IIQQ", 100, 100, t, ident)
path = b"/nowhere/prog\0\0\0"
data = rec(1, 2, struct.pack("<IIQQQ", 100, 100, 0x400000, 0x10000, 0) + path + trailer(1, 1))
USER = (1 << 64) - 512
for i in range(100):
    load = i < 60
    ip = 0x401000 if load else 0x402000
    chain = [USER, ip, 0x403005] if load else [USER, ip]
    src = (2 if load else 4) | (2 << 5)
    body = struct.pack("<QIIQQQ", ip, 100, 100, 1000 + i, 0x7f0000000000 + 64 * i, 1 if load else 2)
    body += struct.pack("<Q", len(chain)) + b"".join(struct.pack("<Q", c) for c in chain)
    body += struct.pack("<QQ", 30, src)
    data += rec(9, 2, body)
ids_at = 104
attrs_at = ids_at + 16
data_at = attrs_at + 2 * (SIZE + 16)
head = struct.pack("<8sQQ", b"PERFILE2", 104, SIZE + 16) + struct.pack("<QQQQQQ", attrs_at, 2 * (SIZE + 16), data_at, len(data), 0, 0) + bytes(32)
out = head + struct.pack("<QQ", 1, 2)
for i, config in enumerate((0x1cd, 0x82d0)):
    out += attr(config) + struct.pack("<QQ", ids_at + 8 * i, 8)
open("mem.data", "wb").write(out + data)
PY
	python3 make.py
	expect_status 0 "accesses alone" accperf import -o mem.prof mem.data
	check "all are there" grep -q '100 accesses and 0 samples' "$TMP/err"
	check "the report counts accesses" sh -c 'accperf report -i mem.prof --json | jq -e ".unit == \"accesses\" and .samples == 100"'
	accperf export --collapsed -i mem.prof -o mem.folded 2>/dev/null
	check "loads have their caller" sh -c 'test "$(grep "0x3004.*;.*0x1000" mem.folded | awk "{n += \$NF} END {print n}")" = 60000'
	check "stores have none" sh -c 'grep -v 0x3004 mem.folded | grep -q "0x2000 40000"'
	for cmd in "flow" "objects" "timeline"; do
		expect_status 0 "$cmd reads accesses" accperf $cmd -i mem.prof --json
		check "$cmd has figures" jq -e '.schema' "$TMP/out"
	done
	check "the flow is of reads" sh -c 'accperf flow -i mem.prof --json | jq -e "[.edges[].bytes] | add > 0"'
fi

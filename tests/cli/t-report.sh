#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `accperf report` on a profile whose answer is known (tests/mkprofile.c).
. "$(dirname "$0")/../lib.sh"

mkprofile a.data loss=7 || exit 1
expect_status 0 "report reads a sound profile" accperf report -i a.data
cp out text
row() { grep -E "^ *$1% .* $2% +$3 +$4 +$5\$" text; }
check "hot function: self, inclusive, samples, object" row 51.00 51.00 510 libz.so.1.2.13 deflate_slow
accperf report -i a.data --sort inclusive >text-inclusive
check "a caller has inclusive time only" grep -qE '^ *0.00% .* 99.00% +0 +app +main$' text-inclusive
check "inlined code counts for its physical function" row 15.00 15.00 150 app parse
check "recursion counts once a sample" row 2.00 2.00 20 app 'walk<std::map<int, "a b">>'
check "kernel time is a node" row 8.00 8.00 80 '\[kernel\]' '\[kernel:read\]'
check "no name: object and offset, never unknown" row 4.00 4.00 40 libmystery.so 'libmystery.so\+0x1234'
check "the header names engine, duration, samples and losses" grep -q 'soft engine, 10.0 s, 1,000 samples, 7 lost' text
check "a loss is named" grep -q '^# lost: 7 ring full' text
check "what is there in part is not a loss" grep -q '^# in part: 10 stacks cut' text
check "the cost is shown" grep -q '^# cost: target slowed 0.40%, own CPU 50 ms, peak memory 22.1 MB' text
check "the share without a name is shown" grep -q 'without a name: 4.0%.*incomplete stack: 1.0%' text
check "the bias is shown" grep -q '^# bias: time' text
check "no colours in a pipe" bash -c '! grep -q "$(printf "\033")" text'
check "rows fit 80 columns" awk '!/^#/ && length($0) > 80 { exit 1 }' text

accperf report -i a.data --inline >inlined
check "--inline gives the inlined function its row" grep -qE '^ *10.00% .* is_space$' inlined
check "--inline leaves its physical function the rest" grep -qE '^ *5.00% .* 15.00% .* parse$' inlined
accperf report -i a.data --no-children >self
check "--no-children has no inclusive column" bash -c '! grep -q incl self && ! grep -q "main$" self'
check "--sort inclusive begins with main" bash -c 'accperf report -i a.data --sort inclusive | grep "%.*%" | grep -v "^#" | head -n 1 | grep -q "main$"'
check "--sort function is alphabetic" bash -c 'accperf report -i a.data --sort function | grep -vE "^#|^$|self" | grep -oE "[^ ]+$" | head -n 3 | tr "\n" " " | grep -q "^\[kernel:read\] compress_file crc32 "'
own_time_only() { accperf report --stdio -i a.data >own && ! grep -qE '^ +0\.00% ' own && grep -q "not shown" own && accperf report --stdio --sort inclusive -i a.data | grep -qE '^ +0\.00% .* main$'; }
check "functions without time of their own are left out, but if ordered by what they call" own_time_only
check "--percent-limit hides and says so" bash -c 'accperf report -i a.data --percent-limit 10 >limited; ! grep -q libmystery limited && grep -q "functions under 10% not shown" limited'
check "--callers names the chain" bash -c 'accperf report -i a.data --callers crc32 | tail -n 3 | tr -s " " | tr "\n" ";" | grep -q "100.00% crc32.*100.00% compress_file.*100.00% main"'
check "--callers is the tree alone" bash -c "accperf report -i a.data --callers crc32 >tree && grep -q '^# callers of crc32' tree && ! grep -q 'self .*95%' tree"
expect_status 1 "--callers of nothing is an error" accperf report -i a.data --callers nosuch
check "... that says what to do" grep -q 'accperf report. lists them' err
check "--per-thread has a table for each" bash -c '[ $(accperf report -i a.data --per-thread | grep -c "^# thread 424[23] of process 4242 (app): 50.00%") = 2 ]'

expect_status 0 "--json" accperf report -i a.data --json --per-thread --callers deflate_slow
check "JSON: keys and figures of the design" jq -e '.schema == "accperf.report/1" and .engine == "soft" and .duration_ns == 1e10 and .samples == 1000 and .lost == 7
	and .cost.target_slowdown == 0.004 and .cost.own_cpu_ns == 50000000 and .cost.peak_rss == 22100000 and .bias == "time"
	and (.functions[0] | .name == "deflate_slow" and .object == "libz.so.1.2.13" and .file == null and .line == null and .self == 0.51 and .samples == 510)
	and (.functions[] | select(.name == "parse") | .file == "src/parse.c" and .line == 30)' out
# Wilson for 510 of 1000: 0.47904, 0.54089
check "JSON: the 95 % interval" jq -e '.functions[0] | (.low - 0.479037 | fabs) < 1e-5 and (.high - 0.540886 | fabs) < 1e-5' out
check "JSON: self shares add up" jq -e '[.functions[].self] | add | . > 0.999999 and . < 1.000001' out
check "JSON: losses by name" jq -e '.counters == [{name: "ring full", value: 7, loss: true, in_part: false}, {name: "stacks cut", value: 10, loss: false, in_part: true}]' out
check "JSON: threads and callers" jq -e '(.threads | length) == 2 and .threads[0].share == 0.5 and (.callers[0].parent == null) and (.callers[1].name == "compress_file")' out

mkprofile nocost.data cost=0
check "an unknown cost is null, not 0" bash -c 'accperf report -i nocost.data --json | jq -e ".cost == {target_slowdown: null, own_cpu_ns: null, peak_rss: null}"'
check "... and said to be unknown" bash -c 'accperf report -i nocost.data | grep -q "^# cost: unknown"'

mkprofile killed.data end=0
expect_status 3 "a recording that was killed is shown, degraded" accperf report -i killed.data
check "... with all its samples" grep -q '1,000 samples' out
check "... and a sentence" grep -q 'did not end in order' err
head -c $(($(stat -c %s a.data) * 9 / 10)) a.data >torn.data
expect_status 3 "a torn file is shown, degraded" accperf report -i torn.data
check "... saying what was recovered" grep -q 'recovered' err
expect_status 3 "... in JSON too" accperf report -i torn.data --json
check "... which still parses" jq -e '.recovery | length > 10' out
mkprofile empty.data samples=0
expect_status 3 "a profile without samples says so" accperf report -i empty.data
check "... in words" grep -q 'holds no samples' err
expect_status 1 "no such file" accperf report -i nosuch.data
check "... says how to make one" grep -q 'accperf record' err
echo nonsense >foreign.data; head -c 100 /dev/zero >>foreign.data
expect_status 1 "a foreign file is refused" accperf report -i foreign.data
expect_status 2 "a wrong --sort is wrong usage" accperf report -i a.data --sort colour
check "a full disk on stdout is a failure" bash -c 'accperf report -i a.data >/dev/full 2>full.err; [ $? = 1 ] && grep -q "No space" full.err'

# a profile of the exact engine: counted, not sampled
mkprofile exact.data exact=1
expect_status 0 "a profile of the exact engine" accperf report -i exact.data
check "... has its shares of instructions" grep -qE '^ *70.00% +exact +70.00% +- +app +work$' out
check "... inclusive too" grep -qE '^ *30.00% +exact +100.00% +- +app +main$' out
check "... and says what was counted" grep -q 'exact engine.*1,000 instructions counted' out
check "... JSON: no samples, no width, instructions" bash -c 'accperf report -i exact.data --json | jq -e ".samples == null and .unit == \"instructions\" and .bias == null and (.functions[0] | .name == \"work\" and .self == 0.7 and .low == 0.7 and .high == 0.7 and .samples == null)"'
expect_status 1 "... no threads" accperf report -i exact.data --per-thread

# a recording that was killed has no names: they come from the file with the same build-id
cat >named.c <<'C'
__attribute__((noinline)) int hidden_name(int x) { return x * 3; }
int main(int argc, char **argv) { return hidden_name(argc); }
C
gcc -g -O1 -Wl,--build-id=sha1 -o named named.c
id=$(readelf -n named | sed -n 's/.*Build ID: //p') addr=0x$(nm named | sed -n 's/ T hidden_name$//p')
mkprofile unnamed.data elf="$PWD/named" id="$id" addr="$addr" end=0
export XDG_CACHE_HOME=$TMP/cache
check "names that are missing are found when reading" bash -c 'accperf report -i unnamed.data --json 2>/dev/null | jq -e ".functions[0] | .name == \"hidden_name\" and .object == \"named\" and (.file | test(\"named.c\")) and .line == 1"'
check "... and count as named" bash -c 'accperf report -i unnamed.data --json 2>/dev/null | jq -e ".unnamed == 0"'
rm -rf cache/accperf/symbols; gcc -O0 -Wl,--build-id=0xabcdef0123 -o named named.c
check "... but not from another file in its place" bash -c "accperf report -i unnamed.data --json 2>/dev/null | jq -e '(.functions[0].name | test(\"^named[+]0x\")) and .unnamed == 1'"
# an answer that was kept rests on these files, and is given with its status and what was said beside it
ask() { accperf report -i $1 >"$2.out" 2>"$2.err"; echo "status $?" >>"$2.out"; }
head -c $(($(stat -c %s a.data) * 3 / 4)) a.data >cut.data; sleep 0.1; rm -rf cache/accperf/answers; ask cut.data first; ask cut.data again
check "asked again, the same is said with the same status" bash -c 'ls cache/accperf/answers/* && cmp first.out again.out && cmp first.err again.err && grep -q "status 3" first.out && [ -s first.err ]'
check "answers are for the owner's eyes only" test "$(stat -c %a cache/accperf/answers cache/accperf/answers/* | tr '\n' ' ')" = "700 600 "
cp a.data cut.data; ask cut.data other
check "... not of another profile under the same name" bash -c '! cmp -s first.out other.out && grep -q "status 0" other.out'
ask "cut.data --json" json; ask "cut.data --per-thread" thread
check "... nor of other options" bash -c '! cmp -s other.out json.out && ! cmp -s json.out thread.out && ! cmp -s other.out thread.out'
for f in cache/accperf/answers/*; do head -c 100 /dev/urandom >"$f"; done; ask cut.data damaged
check "a damaged answer is none" cmp other.out damaged.out

# on a terminal: colours, pager, cut names; none of it with NO_COLOR or --stdio
tty() { script -qec "stty cols 80 rows ${ROWS:-50}; $1" /dev/null </dev/null; }
export TERM=xterm; export -f tty
check "colours on a terminal" bash -c 'tty "accperf report -i a.data" | grep -q "$(printf "\033\\[31m")"'
check "NO_COLOR is obeyed" bash -c '! NO_COLOR=1 tty "accperf report -i a.data" | grep -q "$(printf "\033\\[")"'
check "long output goes through the pager" bash -c 'ROWS=8 ACCPERF_PAGER="sed s/^/PAGED:/" tty "accperf report -i a.data" | grep -q PAGED:'
check "--stdio never pages" bash -c '! ROWS=8 ACCPERF_PAGER="sed s/^/PAGED:/" tty "accperf report -i a.data --stdio" | grep -q PAGED:'

# memory follows stacks, not samples
peak() { python3 -c 'import resource,subprocess,sys; subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"; }
mkprofile large.data samples=1000000 stacks=5000
p=$(peak accperf report -i large.data)
check "a million samples take less than 300 MB (${p:-?} KB)" [ "${p:-999999}" -lt 300000 ]

# nothing but offload calls: said, with where they are shown
G=$TOP/tests/golden
expect_status 3 "report of calls without samples" accperf report "$G/offload-marker.prof"
check "... says that there are calls" grep -q 'holds no samples.*accperf offload. shows the offload calls' err
expect_status 3 "report of nothing" accperf report "$G/empty.prof"
check "... says to record while it works" grep -q 'holds no samples.*record while it works' err

# pictures: one style, with a counterpart of each colour for a dark screen
cat >pictures.py <<'P'
import json, re, subprocess, sys, xml.etree.ElementTree as T
n = '{http://www.w3.org/2000/svg}'
golden = sys.argv[1]
def picture(*args):
    text = subprocess.run(['accperf', *args, '--svg'], capture_output=True, text=True).stdout
    root, rules = T.fromstring(text), text[text.rindex('<style>'):]
    assert '@media screen and (prefers-color-scheme:dark)' in rules, args
    for token in set(re.findall(r'(?:fill|stroke)="(?:#[0-9a-f]{3,6}|rgb[^"]*|white|black)"', text)): assert '[' + token + ']{' in rules, (args, token)
    return root, text
def texts(root): return [t.text for t in root.iter(n + 'text')]
root, _ = picture('objects', '-i', golden + '/live-pipeline.prof')
objects = json.loads(subprocess.run(['accperf', 'objects', '--json', '-i', golden + '/live-pipeline.prof'], capture_output=True, text=True).stdout)['objects']
bars = [r for r in root.iter(n + 'rect') if r.get('height') == '14']
assert len(bars) == len(objects) == 2
# the widest bar's share over the other's: as the figures say
assert abs(float(bars[0].get('width')) / float(bars[1].get('width')) / (objects[0]['share'] / objects[1]['share']) - 1) < .02
root, text = picture('advise', '-i', golden + '/offload-deflate.prof')
said = json.loads(subprocess.run(['accperf', 'advise', '--json', '-i', golden + '/offload-deflate.prof'], capture_output=True, text=True).stdout)
options = [o for c in said['candidates'] for o in c['options']]
known = [o for o in options if o['process_speedup'] and o['process_speedup']['value'] is not None]
assert options and len([r for r in root.iter(n + 'rect') if r.get('height') == '14']) == min(24, len(known))
assert texts(root).count('unknown') == min(24, len(options)) - min(24, len(known))
root, _ = picture('advise', '-i', golden + '/known.prof')
assert any('advise' in t and 'says why' in t for t in texts(root))
for args in (['timeline', '-i', golden + '/live-pipeline.prof'], ['flow', '--view', 'matrix', '-i', golden + '/live-pipeline.prof']): picture(*args)
P
check "pictures: bars are the figures, unknown is written, each colour has one for the dark" python3 pictures.py "$TOP/tests/golden"
expect_status 2 "advise: one form at a time" accperf advise --json --svg -i "$TOP/tests/golden/known.prof"

# the roof of this machine: measured, kept, and unknown before
export XDG_CACHE_HOME=$TMP/roof
expect_status 3 "no roof yet" accperf advise --roofline --json -i "$G/exact-timer.prof"
check "... is unknown and says how to measure it" jq -e '.machine == null and .ops_per_s == null and (.why_no_roof | contains("calibrate --roofline")) and (.functions | length > 20) and all(.functions[]; .bound == "unknown")' out
check "calibrate --roofline measures it" bash -c 'accperf calibrate --roofline --json | jq -e ".ops_per_s > 1e7 and (.levels | length) == 4 and all(.levels[]; .bytes_per_s > 1e7)"'
expect_status 3 "then it is there" accperf advise --roofline --json -i "$G/exact-timer.prof"
check "... with what it allows each function; time under the exact engine is not the machine's" jq -e '.machine != null and any(.functions[]; .bound == "computation") and all(.functions[]; .ops_per_s == null)' out
expect_status 3 "a second of a program" accperf advise --roofline --json -i "$G/live-kv.prof"
check "... tells no operations a byte, and what was seen of the roof has a fastest and a usual pass" jq -e 'all(.functions[]; .ops_per_byte == null) and .usual_ops_per_s <= .ops_per_s and all(.levels[]; .usual_bytes_per_s <= .bytes_per_s)' out
check "... as a picture" bash -c 'accperf advise --roofline --svg -i "$0/exact-timer.prof" 2>&- | python3 -c "import sys, xml.etree.ElementTree as T; assert len([p for p in T.parse(sys.stdin).iter(\"{http://www.w3.org/2000/svg}polyline\")]) == 4"' "$G"
for f in "$XDG_CACHE_HOME"/accperf/machine/*; do echo damaged >"$f"; done
expect_status 3 "a damaged one is none" accperf advise --roofline --json -i "$G/exact-timer.prof"
check "... and says so" jq -e '.machine == null and (.why_no_roof | contains("damaged"))' out
expect_status 2 "--roofline shows functions, no set" accperf advise --roofline --set a=b -i "$G/exact-timer.prof"
expect_status 2 "--roofline goes by itself" accperf calibrate --roofline crc32

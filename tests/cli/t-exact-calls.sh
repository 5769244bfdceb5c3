#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whose access is it: longjmp, signals, alternate stacks, coroutines, dlopen, threads, stripped files,
# libraries; selection, windows, candidates, objects, slices.
. "$(dirname "$0")/../lib.sh"
[ -e "$TOP/build/exact/accperf-amd64-linux" ] || { skip "exact, calls" "built without valgrind"; exit 0; }
cc -std=gnu11 -D_GNU_SOURCE -O2 -I"$TOP/include" -I"$TOP/user" -o sections "$TOP/tests/exact/sections.c" "$TOP/build/libaccperf.a" \
	-lzstd -lxxhash 2>cc.log || { fail "the dump of sections builds"; cat cc.log; exit 0; }
ROOT='_start;__libc_start_main_impl;__libc_start_call_main;main'
run() { local out=$1; shift; accperf exact -q -o run.data "$@" >stdout 2>stderr; ./sections run.data >"$out"; }
# calls FILE PATH-REGEX: summed over the nodes whose path matches to the end
calls() { awk -F'\t' -v p="$2" '$1 == "node" && $2 ~ (p "$") { n += $3 } END { print n + 0 }' "$1"; }

run x.txt -- "$WORKLOADS/xcalls" 20
for marker in longjmp signal altstack siglongjmp coroutine; do
	check "after $marker the caller is main again" [ "$(calls x.txt ";main;after_$marker")" = 20 ]
	check "after $marker nothing else calls it" [ "$(calls x.txt ";after_$marker")" = 20 ]
done
check "main is one call, at the bottom" [ "$(calls x.txt ';main')" = 1 ]
check "recursion folds into one node" [ "$(calls x.txt ';main;jump_deep')" = 100 ]
check "handlers run below what they interrupt" [ "$(calls x.txt '__pthread_kill_implementation;on_signal')" = 20 ]
check "on the alternate stack, too" [ "$(calls x.txt '__pthread_kill_implementation;on_alt')" = 20 ]
check "what was interrupted is not called again" [ "$(calls x.txt ';__pthread_kill_implementation')" = 60 ]
check "threads have stacks of their own" [ "$(calls x.txt 'start_thread;thread_main;thread_recurse')" = 440 ]
check "dlopen'd code has its name" [ "$(calls x.txt ';main;crc32')" = 20 ]
check "after dlclose and threads main goes on" [ "$(calls x.txt ';main;after_threads')" = 1 ]
check "report --callers: from the tree, by instructions" bash -c 'accperf report -i run.data --callers jump_deep | tr -s " " | tr "\n" ";" | grep -q "of the instructions.*; 100.00% jump_deep .xcalls.; 100.00% main .xcalls.;"'
check "... in JSON without samples" bash -c 'accperf report -i run.data --callers jump_deep --json | jq -e ".callers[1] | .name == \"main\" and .samples == null and .share > 0"'
check "... and a name that did not run is one" bash -c '! accperf report -i run.data --callers nosuch 2>err && grep -q "no function named .nosuch. ran" err'
edge() { awk -F'\t' -v p="$2" -v c="$3" '$1 == "edge" && $2 == p && $3 == c { print $4 }' "$1"; }
check "a handler's bytes are the handler's" [ "$(edge x.txt on_signal read_cells)" = 64 ]

# one access of 416 bytes: fxsave64 stores so many, as Valgrind has it, and fxrstor64 loads them
cat >wide.c <<'END'
#include <immintrin.h>
static char state[1024] __attribute__((aligned(1024)));
__attribute__((noinline)) void save(void) { __builtin_ia32_fxsave64(state + 512); }
__attribute__((noinline)) void restore(void) { __builtin_ia32_fxrstor64(state + 512); }
int main(void) { for (int i = 0; i < 5; i++) { save(); restore(); } }
END
cc -O1 -mfxsr -o wide wide.c 2>cc.log || cat cc.log
run wide.txt -- ./wide
check "of a wide access each byte is a distinct address" bash -c 'accperf flow --json -i run.data | jq -e ".edges[] | select(.producer == \"save\" and .consumer == \"restore\") | .unique_bytes > 400 and 5 * .unique_bytes <= .bytes"'

# inclusive: children never exceed their parent, main holds nearly all
check "inclusive main = instructions below it" awk -F'\t' '
	$1 == "func" && $2 == "main" && $4 == "inclusive" { split($6, a, " "); inc = a[2] }
	$1 == "node" && $2 ~ /;main(;|$)/ { sum += $4 }
	END { if (inc != sum || !inc) { print inc, sum; exit 1 } }' x.txt
check "self of all functions = the run" awk -F'\t' '
	$1 == "run" { counted = $3; loads = $4; stores = $5 }
	$1 == "func" && $4 == "self" { split($6, a, " "); i += a[2]; split($12, b, " "); l += b[2]; split($13, c, " "); s += c[2] }
	END { if (i != counted || l != loads || s != stores) { print i, counted, l, loads, s, stores; exit 1 } }' x.txt
check "the three kinds of instruction never exceed all" awk -F'\t' '
	$1 == "func" { split($6, a, " "); split($7, c, " "); split($8, t, " "); split($9, k, " "); if (c[2] + t[2] + k[2] > a[2]) { print; bad = 1 } }
	END { exit bad }' x.txt

# stripped: the same bounds under other names
strip -o rotate.stripped "$WORKLOADS/rotate"
run full.txt -- "$WORKLOADS/rotate" both 32; run stripped.txt -- ./rotate.stripped both 32
check "a stripped program's functions by their bounds" grep -q '^func	rotate.stripped+0x' stripped.txt
weights() { awk -F'\t' -v o="$2" '$1 == "func" && $4 == "self" && $3 == o { print $6, $12, $13 }' "$1" | sort; }
check "with the same figures" bash -c "$(declare -f weights); [ \"\$(weights full.txt rotate | tail -n +1 | awk '{ n += \$2 } END { print n }')\" = \"\$(weights stripped.txt rotate.stripped | awk '{ n += \$2 } END { print n }')\" ]"

# attribution, selection, windows
run main.txt --attribute main -- "$WORKLOADS/zlibuse" 2000
check "--attribute main: no library function is a consumer" awk -F'\t' '
	$1 == "func" { object[$2] = $3 } $1 == "edge" && $4 > 0 { c[$3] = 1 }
	END { for (f in c) if (object[f] ~ /^libz/) { print f; bad = 1 } exit bad }' main.txt
run nolib.txt --no-lib -- "$WORKLOADS/zlibuse" 2000
check "--no-lib is the same" cmp main.txt nolib.txt
run sel.txt --functions read_ppm,iter_rot,write_ppm -- "$WORKLOADS/rotate" iter 32
check "--functions: only these and (outside), (kernel:...)" awk -F'\t' '
	$1 == "edge" && $3 !~ /^(read_ppm|iter_rot|write_ppm|\(.*\))$/ { print; bad = 1 } END { exit bad }' sel.txt
run win.txt --start-at iter_rot --stop-at write_ppm -- "$WORKLOADS/rotate" iter 32
check "--start-at: earlier writers are (before attach)" [ "$(edge win.txt '(before attach)' iter_rot)" -ge 4096 ]
check "--stop-at: nothing is counted afterwards" [ -z "$(edge win.txt iter_rot write_ppm)" ]
run named.txt --writers-from read_ppm --start-at iter_rot --stop-at write_ppm -- "$WORKLOADS/rotate" iter 32
check "--writers-from: earlier writers have their names" [ "$(edge named.txt read_ppm iter_rot)" -ge 4096 ]
check "--writers-from: and nothing else is counted" cmp \
	<(awk -F'\t' '$1 == "edge" { n[$3] += $4 } END { for (f in n) print f, n[f] }' win.txt | sort) \
	<(awk -F'\t' '$1 == "edge" { n[$3] += $4 } END { for (f in n) print f, n[f] }' named.txt | sort)
run named-paths.txt --callees --writers-from read_ppm --start-at iter_rot --stop-at write_ppm -- "$WORKLOADS/rotate" iter 32
check "--writers-from with --callees: the same edges" [ "$(edge named-paths.txt read_ppm iter_rot)" -ge 4096 ]
expect_status 2 "--writers-from without --start-at" accperf exact -q --writers-from read_ppm -o wrong.data -- "$WORKLOADS/rotate" iter 8
run nth.txt --start-at produce:31 -- "$WORKLOADS/pipeline" 64
check "--start-at FN:N counts calls" [ "$(awk -F'\t' '$1 == "func" && $2 == "produce" && $4 == "self" { print $5 }' nth.txt)" = "calls 2" ]

# candidate: what the subtree exchanges is what its functions do, without the inner edges
run cand.txt --candidate iter_rot -- "$WORKLOADS/rotate" iter 32
check "--candidate: in, out" grep -qP '^subtree\titer_rot\tin 4120 out 4164 local 0\tunique 4120 4096 0' cand.txt

# every function with all it calls, unguided: as when it alone is selected, or a candidate
run whole.txt --callees -- "$WORKLOADS/rotate" iter 32
check "--callees: the same figures as --candidate" grep -qP '^subtree\titer_rot\tin 4120 out 4164 local 0\tunique 4120 4096 0' whole.txt
check "--callees: many functions" [ "$(grep -c ^subtree whole.txt)" -ge 100 ]
run alone.txt --functions write_ppm -- "$WORKLOADS/rotate" iter 32
check "--callees, ke: a chunk once per call of the function with all it calls" [ \
	"$(awk -F'\t' '$1 == "edge" && $3 == "write_ppm" && $2 != $3 { n += $6 } END { print n }' alone.txt)" = \
	"$(awk -F'\t' '$1 == "whole" && $2 == "write_ppm" { split($3, a, " "); print a[2] }' whole.txt)" ]
# 4/3 N calls, each of which its caller reads nothing from: N pixels come in once
run recursive.txt --callees -- "$WORKLOADS/rotate" rec 32
check "--callees: a recursive function is one with itself" grep -qP '^whole\trec_rot\tin 1024 out \d+ local 0\t' recursive.txt

# lists of functions
printf '# stages\nread_ppm\n*_rot\n' >list
run listed.txt --functions '@list,write_*' -- "$WORKLOADS/rotate" iter 32
check "--functions: a file and globs" cmp listed.txt sel.txt
for wrong in "--functions read_pmp" "--candidate read_pmp" "--start-at read_pmp" "--start-at iter_rot --writers-from read_pmp" "--stop-at read_pmp:2"; do
	# shellcheck disable=SC2086
	expect_status 2 "$wrong is refused" accperf exact -q $wrong -o wrong.data -- "$WORKLOADS/rotate" iter 8
	check "$wrong: the nearest name is offered" grep -q "did you mean 'read_ppm'" err
done
expect_status 1 "--start-at at a call that never comes" accperf exact -q --start-at iter_rot:2 -o wrong.data -- "$WORKLOADS/rotate" iter 8
expect_status 1 "--functions: none of them ran" accperf exact -q --functions swap_rot -o wrong.data -- "$WORKLOADS/rotate" iter 8
expect_status 2 "--functions: a list that names nothing" accperf exact -q --functions , -o wrong.data -- "$WORKLOADS/rotate" iter 8
for chunk in 0 3 8192; do
	expect_status 2 "--xfer-chunk $chunk" accperf exact -q --xfer-chunk $chunk -o wrong.data -- "$WORKLOADS/rotate" iter 8
done
accperf exact -q --functions read_ppm,iter_rot --txfers lines.log --xfer-chunk 64 -o wrong.data -- "$WORKLOADS/rotate" iter 32 >/dev/null
check "--xfer-chunk 64: 4096 bytes are 64 lines, or 65" awk -F'\t' '$2 && $1 != $2 { n = $3 } END { exit !(n == 64 || n == 65) }' lines.log

# objects and slices
run obj.txt --objects -- "$WORKLOADS/kv" 500
check "--objects: globals by name" grep -qP '^use\t\w+\tbucket\t' obj.txt
check "--objects: heap blocks by site" grep -qP '^object\tmalloc in store_entry \(kv.c:\d+\)\t3\tblocks [1-9]' obj.txt
check "--objects: every counted access is some object's" awk -F'\t' '
	$1 == "run" { loads = $4; stores = $5 } $1 == "use" { r += $4; w += $5 } END { if (r != loads || w != stores) { print r, loads, w, stores; exit 1 } }' obj.txt
check "what malloc gave is heap, not globals" awk -F'\t' '
	$1 == "region" && $2 == "store_entry" && $3 == "self" { split($5, a, " "); if (a[3] > a[4]) ok = 1 } END { exit !ok }' obj.txt
run local.txt --objects -- "$WORKLOADS/kv" 100
# The way that is taken where nothing more is asked for keeps its memory in another form: every figure is the same.
run short.txt -- "$WORKLOADS/kv" 100
run long.txt --objects -- "$WORKLOADS/zlibuse" 20000; run short2.txt -- "$WORKLOADS/zlibuse" 20000
run vectors.txt --objects -- "$WORKLOADS/audio" 200 --rounds 1; run short3.txt -- "$WORKLOADS/audio" 200 --rounds 1
figures() { grep -E '^(func|region|edge|node)	' "$1" | sort; }
check "without --objects every function and edge has the same figures" cmp <(figures local.txt) <(figures short.txt)
check "... of a program that copies bytes of many writers" cmp <(figures long.txt) <(figures short2.txt)
check "... of one whose vectors begin at any chunk" cmp <(figures vectors.txt) <(figures short3.txt)
# more bytes than 32 bits hold, in a function that goes on all the while
cat >much.c <<'EOF'
#include <emmintrin.h>
static __m128i cells[4096];
int main(void)
{
	for (int round = 0; round < 140000; round++) {
		for (int i = 0; i < 4096; i += 8)
			for (int k = 0; k < 8; k++)
				_mm_store_si128(&cells[i + k], _mm_set1_epi32(round));
		__asm__ volatile("" : : "r"(cells) : "memory");
	}
	return 0;
}
EOF
check "a program that writes much builds" cc -O2 -w -o much much.c
run much.txt -- ./much
check "bytes beyond 2^32 are counted" awk -F'\t' '$1 == "region" && $2 == "main" && $3 == "self" { split($5, a, " "); n = a[2] + a[3] + a[4] + a[5] }
	END { if (n < 140000 * 65536 || n > 140000 * 65536 + 100) { print n; exit 1 } }' much.txt
check "... and there are some" [ "$(figures short.txt | grep -c '^edge')" -gt 100 ]
check "--objects: a local variable by its DWARF name" grep -qP '^object\tq in serve\t2\t' local.txt
run slice.txt --slice 20000 -- "$WORKLOADS/pipeline" 64
check "--slice: slices add up to the run" awk -F'\t' '
	$1 == "run" { n = $3; l = $6; s = $7 } $1 == "slice" { i += $4; a += $5; b += $6; last = $2 }
	END { if (last < 5 || i > n || i < n * 0.8 || a > l) { print i, n, a, l; exit 1 } }' slice.txt

# large, and memory per touched byte
run big.txt --no-unique -- "$WORKLOADS/rotate" iter 1024
check "shadow memory at most 16 bytes per touched byte" awk -F'\t' '
	$1 == "run" { split($9, a, " "); split($10, b, " "); if (a[2] > 16 * b[2]) { print; exit 1 } }' big.txt

# ---- the list of accesses ----
accperf exact -q --objects --functions '*_rot' --accesses list.csv --baccesses list.bin -o list.data -- "$WORKLOADS/rotate" iter 16 >/dev/null 2>&1
check "every byte that the flow knows is in the list" [ "$(python3 -c "
import csv
print(sum(int(r['size']) for r in csv.DictReader(open('list.csv')) if r['access'] == 'read' and r['stack'] == '0'))")" = \
	"$(accperf flow --json -i list.data | jq '[.functions[] | select(.name == "iter_rot") | .in | if type == "object" then .value else . end] | add')" ]
check "with its function, call, and object" grep -qE '^[0-9]+,"iter_rot",1,read,0x[0-9a-f]+,[0-9]+,0,"malloc in main' list.csv
list() { accperf exact -q --objects --functions '*_rot' --accesses-most "$1" --accesses most.csv -o most.data -- "$WORKLOADS/rotate" iter 16 >/dev/null 2>most.err; }
bounded() { list 100 && [ "$(wc -l <most.csv)" = 101 ] && head -101 list.csv | cmp - most.csv &&
	grep -q "100 in the list, $(($(wc -l <list.csv) - 101)) more left out, from instruction [0-9]* on" most.err; }
whole() { list "$1" && cmp list.csv most.csv && ! grep -q "left out" most.err; }
check "the list is bounded, and what it leaves out is said" bounded
check "... it is whole without a bound" whole 0
check "... and with one that it just meets" whole $(($(wc -l <list.csv) - 1))
check "the binary form says the same" sh -c 'accperf exact --dump-log list.bin | cmp - list.csv'

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The same program twice gives the same bytes; synthetic samples agree with the truth of their run;
# the logs by invocation and their binary form.
. "$(dirname "$0")/../lib.sh"
[ -e "$TOP/build/exact/accperf-amd64-linux" ] || { skip "exact, samples" "built without valgrind"; exit 0; }
cc -std=gnu11 -D_GNU_SOURCE -O2 -I"$TOP/include" -I"$TOP/user" -o sections "$TOP/tests/exact/sections.c" "$TOP/build/libaccperf.a" \
	-lzstd -lxxhash 2>cc.log || { fail "the dump of sections builds"; cat cc.log; exit 0; }

emit=(--emit-samples 500:7 --emit-timer 20000 --emit-census 16 --emit-windows 40)
for n in 1 2; do
	accperf exact -q "${emit[@]}" --objects --slice 100000 -o $n.data -- "$WORKLOADS/jpeg" 64 >/dev/null 2>$n.err
	./sections $n.data >$n.txt
	accperf flow -i $n.data --json >$n.json 2>/dev/null
done
check "two runs: the profiles are equal byte by byte" cmp 1.data 2.data
check "two runs: every record equal" cmp 1.txt 2.txt
check "two runs: the flow JSON equal" cmp 1.json 2.json
accperf exact -q --emit-samples 500:8 -o 3.data -- "$WORKLOADS/jpeg" 64 >/dev/null 2>&1; ./sections 3.data >3.txt
check "another seed draws other samples" bash -c '! cmp -s <(grep ^access 1.txt) <(grep ^access 3.txt)'
check "but the same truth" cmp <(grep ^edge 1.txt) <(grep ^edge 3.txt)

# flags: 1 load, 2 store, 4 stack, 64 census, 128 time, 256 derived
check "samples stand for all loads and stores" awk -F'\t' '
	$1 == "run" { loads = $4; stores = $5 }
	$1 == "access" && $2 < 64 { if ($2 % 2) l += $5; else s += $5 }
	END { if (l < 0.9 * loads || l > 1.1 * loads || s < 0.8 * stores || s > 1.2 * stores) { print l, loads, s, stores; exit 1 } }' 3.txt
check "and for all instructions" awk -F'\t' '
	$1 == "run" { n = $2 } $1 == "sample" && $2 == 2 { i += $3 } END { if (i < 0.95 * n || i > 1.05 * n) { print i, n; exit 1 } }' 3.txt
# total variation of sampled shares: twice what chance alone makes of it, from the number of samples
check "their shares by function are the truth's" awk -F'\t' '
	$1 == "func" && $4 == "self" { split($12, a, " "); truth[$2] += a[2]; all += a[2] }
	$1 == "access" && $2 % 2 && $2 < 64 { got[$3] += $5; sum += $5; n++ }
	END { for (f in truth) { p = truth[f] / all; d = p - got[f] / sum; tv += (d < 0 ? -d : d) / 2; chance += 0.4 * sqrt(p * (1 - p) / n) }
		if (!n || tv > 2 * chance) { print tv, chance, n; exit 1 } }' 3.txt
# every call's ranges are there, so how much the kernel reads is not an estimate; from whom is one, rounded edge by edge
kernel_reads() { accperf flow -i 3.data --json --estimator "$1" | jq -c '[.edges[] | select(.consumer | startswith("(kernel:"))] | group_by(.consumer) | map({call: .[0].consumer, bytes: (map(.bytes) | add), edges: length})'; }
equal_but_for_rounding() {
	jq -en --argjson a "$1" --argjson b "$2" '($a | map(.call)) == ($b | map(.call)) and
		([$a, $b] | transpose | all((.[0].bytes - .[1].bytes | fabs) <= .[1].edges / 2))' >/dev/null
}
check "the kernel read something" [ "$(kernel_reads exact | jq length)" -gt 0 ]
check "what system calls read is told exactly" equal_but_for_rounding "$(kernel_reads exact)" "$(kernel_reads fused)"
check "timer samples are there and are not count-proportional" bash -c 'grep -qP "^sample\t0\t" 1.txt && grep -qP "^access\t38[59]\t" 1.txt'
check "at most 16 census records per store" awk -F'\t' '$1 == "access" && $2 >= 64 && $2 < 128 { n++ } END { if (!n) exit 1 }' 1.txt
check "40 to 80 windows, some with hits" awk -F'\t' '$1 == "window" { n++; hits += $3 } END { if (n < 30 || n > 80 || !hits) { print n, hits; exit 1 } }' 1.txt

# logs
logs=(--tfunction tf --bfunction bf --tsubcalls ts --bsubcalls bs --ticount ti --bicount bi --txfers tx --bxfers bx)
accperf exact -q --functions read_ppm,iter_rot,rec_rot,write_ppm "${logs[@]}" -o log.data -- "$WORKLOADS/rotate" both 128 >/dev/null 2>&1
for l in f s i x; do
	case $l in f) t=tf ;; s) t=ts ;; i) t=ti ;; x) t=tx ;; esac
	accperf exact --dump-log b$l >dumped
	check "binary log b$l prints as the text log" cmp dumped "$t"
done
name() { awk -F'\t' -v n="$1" '$2 == n { print $1 }' tf; }
inv() { awk -F'\t' -v f="$(name "$1")" '$3 == f { print $1; exit }' ts; }
xfer() { awk -F'\t' -v r="$1" -v w="$2" '$1 == r && $2 == w { print $3 }' tx; }
check "write_ppm reads 16384 words from iter_rot, as published" [ "$(xfer "$(awk -F'\t' -v f="$(name write_ppm)" '$3 == f { print $1 }' ts | sed -n 1p)" "$(inv iter_rot)")" = 16384 ]
check "iter_rot reads 16387 +- 3 words from read_ppm, as published" bash -c "n=$(xfer "$(inv iter_rot)" "$(inv read_ppm)"); [ \$n -ge 16384 ] && [ \$n -le 16390 ]"
check "every invocation has its instructions" [ "$(wc -l <ts)" = "$(wc -l <ti)" ]
head -c 1010 bx >cut.bin
expect_status 3 "a log cut inside a record is degraded" accperf exact --dump-log cut.bin
accperf exact -q --functions iter_rot --txfers byte --xfer-chunk 1 -o log.data -- "$WORKLOADS/rotate" iter 16 >/dev/null 2>&1
check "--xfer-chunk 1 counts bytes" awk -F'\t' '{ n += $3 } END { exit n < 1024 }' byte

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Flow estimates of some programs against the truth of the same run. A figure may be worse than its mean
# over six seeds by five standard deviations of them, no more. The mean and the deviation below are columns
# 5 and 7 of `scripts/accuracy --seeds 6 --mode MODE --program NAME --tsv FILE`. Samples are drawn by seed 1,
# but where the stack lies (paths, the environment) moves a figure as much as another seed does: zlib's are of 15
# recordings that differ in both.
. "$(dirname "$0")/../lib.sh"
[ -x "$TOP/build/exact/accperf_exact-amd64-linux" ] || ls "$TOP"/build/exact/*-amd64-linux >/dev/null 2>&1 || { skip "flow accuracy" "the exact engine is not built"; exit 0; }

below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a <= b) }'; }
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a >= b) }'; }

limit() { awk -v m="$1" -v s="$2" 'BEGIN { printf "%.4f", m + 5 * s }'; }

# judge MODE PROGRAM TV ITS-DEVIATION RECORDS ITS-DEVIATION TOP5: of the fused estimator, of store records alone;
# the fewest of the five largest edges that any seed found, less one
judge() {
	local mode=$1 name=$2 tv records top5=$7 row
	tv=$(limit "$3" "$4") records=$(limit "$5" "$6")
	"$TOP/scripts/accuracy" --no-arrays --seeds 1 --mode "$mode" --program "$name" --tsv "$TMP/$mode.$name.tsv" >"$TMP/table" 2>&1
	row=$(cat "$TMP/$mode.$name.tsv" 2>/dev/null)
	check "$mode $name: TV $(cut -f5 <<<"$row") is at most $tv" below "$(cut -f5 <<<"$row")" "$tv"
	check "$mode $name: store records alone, TV $(cut -f7 <<<"$row") is at most $records" below "$(cut -f7 <<<"$row")" "$records"
	check "$mode $name: $(cut -f8 <<<"$row") of the five largest edges are found, at least $top5" above "$(cut -f8 <<<"$row")" "$top5"
}

judge census jpeg .0110 .0036 .0224 .0028 4
judge census pipeline .0062 .0019 .0267 .0019 4
judge census zlib .0263 .0064 .0324 .0050 3
judge attach jpeg .0194 .0025 .0214 .0021 4
judge attach kv .1189 .0124 .1808 .0095 4

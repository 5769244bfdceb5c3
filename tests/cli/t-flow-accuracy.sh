#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Flow estimates of some programs against the truth of the same run. Limits: what scripts/accuracy
# printed for seeds 1 to 3 when this was written, plus three times the spread between seeds. The
# samples are drawn by seeds, so a figure moves only when an estimator or an engine changes.
. "$(dirname "$0")/../lib.sh"
[ -x "$TOP/build/exact/accperf_exact-amd64-linux" ] || ls "$TOP"/build/exact/*-amd64-linux >/dev/null 2>&1 || { skip "flow accuracy" "the exact engine is not built"; exit 0; }

below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a <= b) }'; }
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a >= b) }'; }

# judge MODE PROGRAM TV RECORDS TOP5 : limits of the fused TV, of store records alone, of the edges found
judge() {
	local mode=$1 name=$2 tv=$3 records=$4 top5=$5 row
	"$TOP/scripts/accuracy" --seeds 1 --mode "$mode" --program "$name" --tsv "$TMP/$name.tsv" >"$TMP/table" 2>&1
	row=$(cat "$TMP/$name.tsv" 2>/dev/null)
	check "$mode $name: TV $(cut -f5 <<<"$row") is at most $tv" below "$(cut -f5 <<<"$row")" "$tv"
	check "$mode $name: store records alone, TV $(cut -f7 <<<"$row") is at most $records" below "$(cut -f7 <<<"$row")" "$records"
	check "$mode $name: $(cut -f8 <<<"$row") of the five largest edges are found, at least $top5" above "$(cut -f8 <<<"$row")" "$top5"
}

judge census jpeg 0.03 0.05 5
judge census pipeline 0.02 0.06 5
judge census zlib 0.06 0.07 3
judge attach jpeg 0.04 0.06 5
judge attach kv 0.15 0.25 4

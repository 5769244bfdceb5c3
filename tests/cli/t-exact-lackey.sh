#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The exact engine against an independent reconstruction from lackey's trace (tests/exact), and both
# against what the test programs do by construction.
. "$(dirname "$0")/../lib.sh"
need valgrind || { skip "exact and lackey" "valgrind is not installed"; exit 0; }
LACKEY=$TMP/lackey
cc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o "$LACKEY" "$TOP"/tests/exact/{lackey,symbols}.c -lZydis >"$TMP/cc.log" 2>&1 ||
	{ fail "the reconstruction builds"; cat "$TMP/cc.log"; exit 0; }

# trace OUT "LACKEY OPTIONS" PROGRAM ARGS...
trace() {
	local out=$1 options=$2; shift 2
	# shellcheck disable=SC2086
	valgrind --tool=lackey --basic-counts=no --trace-mem=yes --trace-syscalls=yes "$WORKLOADS/$1" "${@:2}" 2>&1 >/dev/null |
		"$LACKEY" --fold $options "$WORKLOADS/$1" >"$out"
}
# edge FILE KIND PRODUCER CONSUMER: its bytes or chunks
edge() { awk -F'\t' -v k="$2" -v p="$3" -v c="$4" '$1 == k && $2 == p && $4 == c { n += $6 } END { print n + 0 }' "$1"; }
planted() { # FILE KIND PRODUCER CONSUMER WANT
	local got; got=$(edge "$1" "$2" "$3" "$4")
	check "$(basename "$1" .out): $2 $3 -> $4 is $5" [ "$got" = "$5" ]
}

trace pipeline.out "--stack exclude" pipeline 64
planted pipeline.out quad produce transform 8192
planted pipeline.out quad make_table transform 8192
planted pipeline.out quad transform scale 8192
planted pipeline.out quad scale consume 8192
planted pipeline.out quad scale check 512
planted pipeline.out ke produce transform 2048

trace rotate.out "--select read_ppm,iter_rot,rec_rot,write_ppm" rotate 32
planted rotate.out ke read_ppm iter_rot 1028
planted rotate.out ke iter_rot write_ppm 1024
planted rotate.out ke rec_rot write_ppm 1024
planted rotate.out ke read_ppm rec_rot 1024

trace tailrec.out "--stack exclude" tailrec 100
planted tailrec.out quad write_cells tail_head 400
planted tailrec.out quad write_cells tail_end 400
planted tailrec.out quad write_cells even_step 200
planted tailrec.out quad write_cells odd_step 200
planted tailrec.out quad leaf_jump main 64

trace tpipe.out "" tpipe 8
planted tpipe.out quad source_fill stage_filter 131072
planted tpipe.out quad stage_filter sink_sum 131072

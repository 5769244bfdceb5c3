#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The exact engine against an independent reconstruction from lackey's trace (tests/exact), and both
# against what the test programs do by construction.
. "$(dirname "$0")/../lib.sh"
need valgrind || { skip "exact and lackey" "valgrind is not installed"; exit 0; }
LACKEY=$TMP/lackey DUMP=$TMP/dump
flags=(-std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -I"$TOP/include" -I"$TOP/user")
cc "${flags[@]}" -o "$LACKEY" "$TOP"/tests/exact/{lackey,symbols}.c -lZydis >"$TMP/cc.log" 2>&1 ||
	{ fail "the reconstruction builds"; cat "$TMP/cc.log"; exit 0; }

# lackey beside the engine's folder, under a path of the same length: see tests/exact/README.md
LIBEXEC=$(dirname "$(ls /usr/libexec/valgrind/lackey-amd64-linux /usr/lib/*/valgrind/lackey-amd64-linux 2>/dev/null | head -n 1)")
[ -e "$LIBEXEC/lackey-amd64-linux" ] || { skip "exact and lackey" "no lackey for amd64 in this valgrind"; exit 0; }
BESIDE=$TOP/build/lacky
mkdir -p "$BESIDE"
for f in lackey-amd64-linux default.supp vgpreload_core-amd64-linux.so; do ln -sf "$LIBEXEC/$f" "$BESIDE/"; done

# trace OUT "LACKEY OPTIONS" PROGRAM ARGS...
trace() {
	local out=$1 options=$2; shift 2
	# shellcheck disable=SC2086
	env -i PATH="$PATH" VALGRIND_LIB="$BESIDE" VALGRIND_LAUNCHER=/proc/self/exe setarch -R \
		"$BESIDE/lackey-amd64-linux" --tool=lackey --vgdb=no --fair-sched=try --vex-guest-chase=no --basic-counts=no \
		--trace-mem=yes --trace-syscalls=yes --trace-signals=yes "$WORKLOADS/$1" "${@:2}" 2>&1 >/dev/null |
		"$LACKEY" --fold $options "$WORKLOADS/$1" >"$out"
}
# edge FILE KIND PRODUCER CONSUMER: its bytes or chunks
edge() { awk -F'\t' -v k="$2" -v p="$3" -v c="$4" '$1 == k && $2 == p && $4 == c { n += $6 } END { print n + 0 }' "$1"; }
planted() { # FILE KIND PRODUCER CONSUMER WANT
	local got; got=$(edge "$1" "$2" "$3" "$4")
	check "$(basename "$1"): $2 $3 -> $4 is $5" [ "$got" = "$5" ]
}
# What the programs do by construction, wherever it was measured.
SELECTED=read_ppm,iter_rot,rec_rot,write_ppm
planted_pipeline() {
	planted "$1" quad produce transform 8192
	planted "$1" quad make_table transform 8192
	planted "$1" quad transform scale 8192
	planted "$1" quad scale consume 8192
	planted "$1" quad scale check 512
	planted "$1" ke produce transform 2048
}
planted_rotate() {
	planted "$1" ke read_ppm iter_rot 1028
	planted "$1" ke iter_rot write_ppm 1024
	planted "$1" ke rec_rot write_ppm 1024
	planted "$1" ke read_ppm rec_rot 1024
}
planted_tailrec() {
	planted "$1" quad write_cells tail_head 400
	planted "$1" quad write_cells tail_end 400
	planted "$1" quad write_cells even_step 200
	planted "$1" quad write_cells odd_step 200
	planted "$1" quad leaf_jump main 64
}
planted_tpipe() {
	planted "$1" quad source_fill stage_filter 131072
	planted "$1" quad stage_filter sink_sum 131072
}

trace rotate.lackey "--select $SELECTED" rotate both 32
planted_rotate rotate.lackey

accperf exact --help >/dev/null 2>&1 || { skip "the engine against lackey" "this build has no accperf exact"; exit 0; }
cc "${flags[@]}" -o "$DUMP" "$TOP/tests/exact/dump.c" "$TOP/build/libaccperf.a" -lbpf -ldw -lelf -lzstd -lz -lZydis -ljansson -lxxhash -lm -ldl -lpthread \
	>"$TMP/cc.log" 2>&1 || { fail "the dump of a profile builds"; cat "$TMP/cc.log"; exit 0; }
# exact OUT "EXACT OPTIONS" "DUMP OPTIONS" PROGRAM ARGS...
exact() {
	local out=$1 options=$2 dump=$3; shift 3
	# shellcheck disable=SC2086
	env -i PATH="$PATH" accperf exact -q $options -o exact.data -- "$WORKLOADS/$1" "${@:2}" >/dev/null 2>exact.err ||
		{ cat exact.err; return 1; }
	# shellcheck disable=SC2086
	"$DUMP" $dump exact.data "$1" >"$out"
}
no_difference() { # NAME [AWK OPTIONS...]
	local name=$1; shift
	awk "$@" -f "$TOP/tests/exact/compare.awk" "$name.lackey" "$name.exact" >"$name.diff"
	grep -E '^(compared|total)' "$name.diff"
	grep '^different' "$name.diff"
	# something was compared, nothing differs, and totals are within 0.1 % (unless threads wait)
	[ "$(awk '/^compared/ { print ($2 >= 10 && $4 >= 2) }' "$name.diff")" = 1 ] &&
		! grep -q '^different' "$name.diff" && { [ $# -gt 0 ] ||
		awk '/^total/ { gsub(/[(+%)-]/, "", $7); if ($7 > 0.1) bad = 1 } END { exit bad }' "$name.diff"; }
}

exact rotate.exact "--functions $SELECTED" "" rotate both 32
planted_rotate rotate.exact
check "rotate, four functions with all they call: equal" no_difference rotate
exact paper.exact "--functions $SELECTED" "" rotate both 128
planted paper.exact ke read_ppm iter_rot 16388 # published: 16387; user/exact/PAPER.md
planted paper.exact ke iter_rot write_ppm 16384
planted paper.exact ke rec_rot write_ppm 16384
for program in "pipeline 64" "zlibuse 2000"; do
	# shellcheck disable=SC2086
	trace main.lackey "--stack exclude --attribute main" $program
	# shellcheck disable=SC2086
	exact main.exact "--attribute main" "--stack exclude" $program
	check "${program% *}, libraries as their callers in the main image: equal" no_difference main
done
trace window.lackey "--stack include --start-at pack:1" zlibuse 2000
exact window.exact "--start-at pack:1" "--stack include" zlibuse 2000
check "zlibuse, counted from pack on: equal, what was written before it is (before attach)" no_difference window
planted window.exact quad "(before attach)" verify "$(edge window.lackey quad "(before attach)" verify)"
check "and there is some of that" [ "$(edge window.exact quad "(before attach)" verify)" -ge 2000 ]
# --candidate: a function with all it calls, against the rest of the program.
while read -r function stack program args; do
	# shellcheck disable=SC2086
	trace candidate.lackey "--stack $stack --select $function" "$program" $args
	# shellcheck disable=SC2086
	exact candidate.exact "--candidate $function" "--stack $stack" "$program" $args
	awk -F'\t' -v f="$function" '$1 == "quad" && ($4 == f || $2 == f) {
			k = ($2 == f) ($4 == f); bytes[k] += $6 }
		END { printf "%d %d %d", bytes["01"], bytes["10"], bytes["11"] }' candidate.lackey >want
	awk '$1 == "subtree" { printf "%d %d %d", $3, $4, $5 }' candidate.exact >got
	check "$program, --candidate $function, stack ${stack}d: in, out, local are equal" cmp want got
done <<'LIST'
rec_rot include rotate both 32
store_entry exclude kv 200
pack exclude zlibuse 2000
LIST
while read -r stack program args; do
	name=$program.$stack
	# shellcheck disable=SC2086
	trace "$name.lackey" "--stack $stack" "$program" $args
	# shellcheck disable=SC2086
	exact "$name.exact" "" "--stack $stack" "$program" $args
	if [ "$program" = tpipe ]; then
		check "$program: equal where threads do not wait" no_difference "$name" -v 'only=^(source_fill|stage_filter|sink_sum)$'
	else
		check "$program, stack ${stack}d: every count and edge equal" no_difference "$name"
	fi
	if declare -F "planted_$program" >/dev/null && [ "$program" != rotate ]; then
		"planted_$program" "$name.lackey"; "planted_$program" "$name.exact"
	fi
done <<'LIST'
include rotate both 32
exclude pipeline 64
exclude kv 200
include jpeg 24
exclude zlibuse 2000
include tailrec 100
exclude json 12
include audio 1
include tpipe 8
LIST

# The comparison itself can fail: one byte more on one edge, one instruction less in one function.
awk -F'\t' -v OFS='\t' '$1 == "quad" && $2 == "produce" && $4 == "transform" { $6++ } { print }' pipeline.exclude.exact >wrong.exact
cp pipeline.exclude.lackey wrong.lackey
check "one byte too many is seen" bash -c "awk -f '$TOP/tests/exact/compare.awk' wrong.lackey wrong.exact | grep -q '^different quad'"
awk -F'\t' -v OFS='\t' '$1 == "fn" && $2 == "scale" { $4 += 13 } { print }' pipeline.exclude.exact >wrong.exact
check "0.1 % too many instructions are seen" bash -c "awk -f '$TOP/tests/exact/compare.awk' wrong.lackey wrong.exact | grep -q '^different count'"

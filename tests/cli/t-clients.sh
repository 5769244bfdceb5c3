#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/bench-clients: what is planted is found within its interval, on a machine whose speed changes by half from one
# turn to the next, and nothing where nothing is; and a table is told as it was measured.
. "$(dirname "$0")/../lib.sh"
need python3 || { echo "needs python3"; exit 77; }
planted() { "$TOP/scripts/bench-clients" --plant "$1" --rounds 12 --seed "$2" >told; }
# whether the interval of a figure, N from the left, holds V and is less than W percent wide
holds() { python3 - "$@" <<-'EOF'
	import re, sys
	n, v, w = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
	low, high = [tuple(map(float, i)) for i in re.findall(r"\[([-+.0-9]+), ([-+.0-9]+)\]", open("told").read())][n]
	print(low, high); sys.exit(not (low <= v <= high and high - low < w))
	EOF
}
most() { local n=0 s; for s in 1 2 3 4 5 6 7 8; do planted "$1" $s && holds "$2" "$3" "$4" >/dev/null && n=$((n + 1)); done; [ $n -ge 6 ] || { echo "$n of 8"; cat told; return 1; }; }
check "2 % are found in most of eight tries, within a fifth of a percent" most 2 0 2 0.4
check "of nothing, nothing is" most 2 1 0 0.4
check "without any, none is" most 0 0 0 0.4
check "requests a second against the other tell as much, with the other sign" most 2 2 -1.96 0.4
printf 'x\t0.01\t0\t-0.01\t0\t0\t0.02\nx\t0.03\t0\t-0.03\t0\t0\t0.02\ny\t0\t0\t0\t0\t0\t0\n' >t.tsv
expect_status 0 "a table is told" "$TOP/scripts/bench-clients" --tell t.tsv
check "with means and intervals of its rounds" grep -qF 'clients: x: 2 rounds; while it is recorded, CPU time a request +2.02 % [-10.16, +15.85]' out
check "and one round has no interval" grep -qF 'clients: y: 1 rounds; while it is recorded, CPU time a request +0.00 % [not known]' out
expect_status 1 "a server that is not known is refused" "$TOP/scripts/bench-clients" apache
# the daemon on one of a pair, then on the other: the pair differs by a fifth, windows by 3 %
watched() { python3 - "$@" >w.tsv <<-'EOF'
	import math, random, sys
	lost, seed = float(sys.argv[1]) / 100, int(sys.argv[2])
	random.seed(seed)
	for which in (1, 0):
	    for i in range(60):
	        print("x daemon", which, random.gauss(0, .03) + (.2 if which == 0 else -.2) + math.log(1 - lost), .01, i % 2, sep="\t")
	EOF
	"$TOP/scripts/bench-clients" --tell w.tsv >told; }
within_percent() { local n=0 s; for s in 1 2 3 4; do watched "$1" $s && holds 0 "$2" 1.6 >/dev/null && n=$((n + 1)); done; [ $n -ge 3 ] || { echo "$n of 4"; cat told; return 1; }; }
check "what clients lose while the daemon watches is told, though the pair differs by more" within_percent 2 -2
check "and nothing where nothing is" within_percent 0 0
check "with how long it recorded" grep -qE "60 and 60 windows; .*recorded in 60 of them; the daemon 1.00 % of all CPUs" told

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `accperf export --bolt`: every branch that is told is one in the program, and a program that BOLT lays
# out anew by them does what it did.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }

mkprofile no.data || exit 1
expect_status 1 "a profile without branches" accperf export -i no.data --bolt -o no.pa
check "... says where they come from" grep -q 'holds no branches: they come with bursts' err
expect_status 2 "two formats at once" accperf export -i no.data --bolt --pprof -o no.pa

gcc -g -O2 -fno-reorder-blocks-and-partition -Wl,--emit-relocs -I"$TOP/tests/workloads" -o bwt "$TOP/tests/workloads/bwt.c" -lm || exit 1
accperf record -q --effort high -o bwt.data -- ./bwt --seconds 5 >first 2>rec.err
expect_status 0 "--bolt" accperf export -i bwt.data --bolt -o bwt.pa
check "... as private as a profile" [ "$(stat -c %a bwt.pa)" = 600 ]
ln -s victim planted; echo precious >victim
expect_status 1 "--bolt over a link" accperf export -i bwt.data --bolt -o planted
check "... which is not followed" [ "$(cat victim)" = precious ]
accperf export -i bwt.data --bolt -o bwt.pa 2>err
check "... of the program, as most are its own" grep -qE 'branches of .*/bwt: [0-9.]+% of the [0-9]+ taken ones' err
check "what bursts ran tells ratios of counts, too" eval 'accperf counts --json -i bwt.data | jq -e ".links.replay > 20"'
expect_status 1 "an object that is not there" accperf export -i bwt.data --bolt --dso nothing.so -o no.pa
expect_status 1 "branches of a process" accperf export -i bwt.data --bolt --pid 1 -o no.pa

cat >judge.py <<'PY'
import re, subprocess, sys
# What objdump sees: where instructions begin, which of them may leave, and the target of direct ones.
begins, leaves, direct, last = set(), set(), {}, {}
for line in subprocess.run(["objdump", "-d", "--no-show-raw-insn", "bwt"], capture_output=True, text=True, check=True).stdout.splitlines():
    if m := re.match(r" +([0-9a-f]+):\t(?:bnd |notrack |rep[nz]* )*(\S+)(?: +(\S+))?", line):
        at = int(m[1], 16)
        begins.add(at)
        if re.match(r"j|call|ret", m[2]):
            leaves.add(at)
            if m[3] and re.fullmatch(r"[0-9a-f]+", m[3]):
                direct[at] = int(m[3], 16)
            if m[2] in ("jmp", "ret"):
                last[at] = m[2]
taken = straight = wrong = 0
for line in open("bwt.pa"):
    kind, a, b, n = line.split()[:4]
    if kind == "B":
        taken += 1
        if a != "X:0" and (int(a, 16) not in leaves or (int(a, 16) in direct and b != "X:0" and direct[int(a, 16)] != int(b, 16))):
            wrong += 1; print("no such branch:", line.strip())
        if b != "X:0" and int(b, 16) not in begins:
            wrong += 1; print("no such target:", line.strip())
    else:
        straight += 1
        a, b = int(a, 16), int(b, 16)
        if a not in begins or b not in leaves or any(a <= x < b for x in last):
            wrong += 1; print("it cannot have run straight on:", line.strip())
print(taken, "branches", straight, "straight runs", wrong, "wrong")
sys.exit(wrong > 0 or taken < 10 or straight < 10)
PY
check "each is a branch of the program, each run is straight" python3 judge.py
flows() { # what goes into a block comes out: the loop of the interpreter is entered as often as it is left, nearly
	awk '/^B/ && $3 != "X:0" { in_[$3] += $4 } /^F/ { out[$2] += $4 } END { for (a in in_) { all += in_[a]; d = in_[a] - out[a]; off += d < 0 ? -d : d } print off, "of", all; exit !(all > 1000 && off < .02 * all) }' bwt.pa
}
check "where branches lead, straight runs begin, as often" flows
accperf merge -o two.data bwt.data bwt.data 2>/dev/null
accperf export -i two.data --bolt --dso bwt -o two.pa 2>/dev/null
check "merged with itself: each twice" bash -c "diff <(awk '{ \$4 *= 2 } 1' bwt.pa) two.pa"

if command -v llvm-bolt-19 >/dev/null; then
	ln -s "$(command -v perf2bolt-19)" perf2bolt # it looks at its name
	check "perf2bolt takes it" ./perf2bolt -pa -p bwt.pa -o bwt.fdata bwt
	agreed() { ./perf2bolt -pa -p bwt.pa -o bwt.fdata bwt 2>&1 | grep 'traces mismatching' | tee trace | grep -qE '\((0|[0-4]\.)[0-9.]*%\)' || { cat trace; return 1; }; }
	check "... and finds at most one run in twenty that is not in the program" agreed
	check "llvm-bolt lays the program out anew" llvm-bolt-19 bwt -o bwt.bolt -data bwt.fdata -reorder-blocks=ext-tsp -reorder-functions=hfsort -split-functions
	same() { diff <(./bwt 20000 --rounds 2) <(./bwt.bolt 20000 --rounds 2 | sed "s/bwt.bolt/bwt/"); }
	check "... which does what it did" same
else
	skip "perf2bolt and llvm-bolt" "bolt-19 is not installed"
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a trip count claims of each activation, against a processor that was single-stepped (tests/tripjudge.c).
. "$(dirname "$0")/../lib.sh"
tripjudge stretches=2 steps=80000 rounds=0 apart=10 start=100 "$WORKLOADS/turns" --loop >turns.txt 2>turns.err
if [ $? = 1 ]; then
	skip "trip counts of single activations" "no process can be stepped here: $(head -n 1 turns.err)"
	exit 0
fi
# COLUMN: its sum over loops of which at least a few activations were claimed
sum() { awk -v name="$1" '$1 == "loop" { for (i = 6; i < NF; i += 2) v[$i] = $(i + 1); if (v["claimed"] >= 20) { n++; all += v[name] } } END { print (name == "loops" ? n : all) + 0 }' turns.txt; }
check "loops of all shapes are claimed" [ "$(sum loops)" -ge 9 ]
check "and many activations" [ "$(sum claimed)" -ge 1000 ]
check "each is exactly right" [ "$(sum exact)" = "$(sum claimed)" ]
check "few pairs of hits do not fit" [ "$(sum odd)" -le $(($(sum claimed) / 100)) ]
check "windows that begin within an activation tell of some" [ "$(sum within)" -ge 1000 ]
check "and are right" [ "$(sum held)" = "$(sum within)" ]

# loops of a real program, left and entered by breakpoints alone
for start in 100 150 220 300 70 130 180 260 350 50 200 400 500 650 800 1000 1250 1500; do # where in an image that is depends on the machine's speed
	tripjudge stretches=1 steps=20000 rounds=1 each=60 apart=10 start=$start "$WORKLOADS/jpeg" --loop >turns.txt 2>turns.err
	[ "$(sum loops)" -ge 3 ] && break
done
check "a coder's loops are claimed" [ "$(sum loops)" -ge 3 ]
check "rightly, each time" [ "$(sum exact)" = "$(sum claimed)" ]

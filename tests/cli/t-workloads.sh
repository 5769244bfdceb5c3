#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The test programs give the answers they always gave, however long they run: a change of a program
# changes every figure measured on it, so it must be seen here.
. "$(dirname "$0")/../lib.sh"

digest() { "$WORKLOADS/$1" "${@:2}" 2>/dev/null | sed -n 's/.*digest=//p'; }

while read -r want program mode; do
	check "$program${mode:+ $mode} answers as ever" [ "$(digest "$program" ${mode:+"$mode"})" = "$want" ]
done <<'LIST'
71e97c14c97d7516 tightloop
e3779b90ef1b1def turns
fa358063caf9da6f counted
1d4ca448e14cab01 mallocs
fca5978e8a9729dd sites
0000000001876350 syscalls
ad145b0b75253dc4 throughrcx
ad145b0b75253dc4 throughrcx beside
2991d494f8399a88 zchain
be447ae4384bcdf0 tailrec
6ea75a24fcac1905 execs
03c370f9c47e5f47 nthreads
1bf2c51b3dd7911b forks
5cd9c3c3ddb2d4e2 twins
00d89c3b015509ee rotate both
00d89c3b015509ee rotate iter
00d89c3b015509ee rotate rec
00d89c3b015509ee rotate swap
c21c33f9d6221f14 pipeline
d65b3034dc44db51 kv
000000007e2c26b0 planted
239a281a5e46705f sharing
2a851b1d1aed1b40 jpeg
0000000000001058 jpeg encode
7ba612fe0a71e3e0 zlibuse
5478435d7bef018a zlibuse deflate
deba3652a5fb3895 tpipe
eb30e10abf6b6708 crypt
d8718da86f222252 motion
da3e92bcdafd0021 audio
cf6773583d09a487 json
513b3a0d38af2ca4 copies
00000000ad296bdd repeats
0f6c75936b2c2d42 sixteen
5ac1bc6e8862d3d3 vm
0ec0731656937285 wide
a67b640fa49c531d bwt
LIST

for p in pipeline kv jpeg json; do
	check "$p --rounds 3 gives the same answer" [ "$(digest $p --rounds 3)" = "$(digest $p)" ]
	check "$p --seconds ends by itself" [ "$(digest $p --seconds 0.05)" = "$(digest $p)" ]
done
expect_status 2 "an unknown word is wrong usage" "$WORKLOADS/rotate" sideways
expect_status 2 "a size that is no number is wrong usage" "$WORKLOADS/kv" 12x
expect_status 1 "a size that cannot be is refused" "$WORKLOADS/rotate" 100
start "$WORKLOADS/pipeline" --loop
sleep 0.2
check "--loop goes on" kill -0 "$!"

held_out=$(sed -n 's/^| `\([a-z]*\)`.*\*\*held out\*\* |$/\1/p' "$TOP/tests/workloads/README.md" | sort | tr '\n' ' ')
check "four flow programs are held out, those named first" [ "$held_out" = "audio crypt json motion " ]

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the input of programs that read their work from stdin, without an end or so many units of it.

  feed.py KIND UNITS FILE     UNITS 0: no end; FILE holds how many were written, at any time
    lines:FILE      the lines of a file, round and round
    bank            transactions on the tables of prepared SQL, one statement a line
    kept-bank       the same, tidied up after each 500: a server's state is the same then as 500 before
"""
import random, sys

kind, units, counter = sys.argv[1], int(sys.argv[2]), sys.argv[3]
draw = random.Random(3)
lines = open(kind[6:]).read().splitlines(True) if kind.startswith("lines:") else []

def bank(n):
    a, t, d = draw.randrange(100000) + 1, draw.randrange(10) + 1, draw.randrange(10000) - 5000
    yield "UPDATE accounts SET abalance = abalance + %d WHERE aid = %d;\n" % (d, a)
    yield "SELECT abalance FROM accounts WHERE aid = %d;\n" % a
    yield "UPDATE tellers SET tbalance = tbalance + %d WHERE tid = %d;\n" % (d, t)
    yield "INSERT INTO history (tid, aid, delta) VALUES (%d, %d, %d);\n" % (t, a, d)
    if n % 20 == 0:
        yield "SELECT aid %% 7, count(*), sum(abalance) FROM accounts WHERE aid BETWEEN %d AND %d GROUP BY 1 ORDER BY 3;\n" % (a, a + 2000)
    if n % 500 == 0:
        yield "DELETE FROM history;\n"
    if n % 500 == 0 and kind == "kept-bank":
        yield "VACUUM history;\n"
        yield "CHECKPOINT;\n"

n = 0
try:
    while not units or n < units:
        n += 1
        sys.stdout.writelines([lines[(n - 1) % len(lines)]] if lines else bank(n))
        if n % 50 == 0:
            with open(counter, "w") as f:
                print(n, file=f)
    sys.stdout.flush()
except BrokenPipeError:
    sys.stderr.close()

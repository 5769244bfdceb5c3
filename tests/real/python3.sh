#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# python3: sieves, dictionaries, trees of objects (tests/counts/script.py), a unit is a round.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/python3 package=python3-minimal begin=times:3
rounds() {
	"${@:2}" $program -S -c 'import os, sys
n, file = int(sys.argv[1]), sys.argv[2]
code, sys.argv[1] = compile(open(file).read(), file, "exec"), "1"
for _ in range(n):
    os.times()
    exec(code, {})' "$1" "$HERE/../counts/script.py"
}
endless() { rounds 100000000 exec; }
finite() { rounds 6 "$@"; }
drive "$@"

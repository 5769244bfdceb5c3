#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# lua: trees, strings and tables (tests/counts/script.lua), a unit is a round.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/lua5.4 package=lua5.4 begin=clock:3
rounds() { "${@:2}" $program -e "local f = '$HERE/../counts/script.lua'; arg = { 1 } for i = 1, $1 do os.clock() dofile(f) end"; }
endless() { rounds 100000000 exec; }
finite() { rounds 8 "$@"; }
drive "$@"

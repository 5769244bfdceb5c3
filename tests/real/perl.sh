#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# perl: tables, heaps of hashes and regular expressions (tests/counts/script.pl), a unit is a round.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/perl package=perl-base begin=times:3
rounds() { "${@:2}" $program -e 'my ($n, $file) = @ARGV; @ARGV = (1); while ($n--) { times; do $file }' "$1" "$HERE/../counts/script.pl"; }
endless() { rounds 100000000 exec; }
finite() { rounds 8 "$@"; }
drive "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/first-contact has a row for each program, whatever ends too late or does not begin; the reason is in it.
. "$(dirname "$0")/../lib.sh"
S=$TOP/scripts/first-contact

[ "$(id -u)" = 0 ] || { skip "first-contact starts servers: not root"; exit 0; }
expect_status 1 "a program that it has not is refused" "$S" --tsv none.tsv nosuch
check "... by name, with those it has" grep -q "no program begins with 'nosuch'; there are nginx gzip, postgres" err
check "... and no table is begun" [ ! -e none.tsv ]
mkdir own
export TMPDIR=$PWD/own
# no step comes to its end in a hundredth of a second
check "steps that take too long end the row, not the script" "$S" --limit 0.01 --rounds 1 --seconds 1 --name late --tsv t.tsv gzip
row() { awk -F '\t' -v c="$1" 'NR == 2 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 2 { print $at[c] }' t.tsv; }
check "one row, of that program" [ "$(row program) $(row accperf)" = "gzip late" ]
check "... which says why it has no figures" bash -c "echo '$(row trust)' | grep -qE '^none: .* took more than 0 s$'"
check "nothing of it is left" bash -c "! ls -d own/accperf-first.* 2>/dev/null | grep -q ."

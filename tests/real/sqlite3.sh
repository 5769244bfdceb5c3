#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# sqlite3: transactions of a bank on tables in memory, read from stdin; a unit is a transaction.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/sqlite3 package=sqlite3 begin=sqlite3_prepare_v2:300 needs=python3 unit=transaction
tables() {
	echo "CREATE TABLE accounts (aid INTEGER PRIMARY KEY, abalance INTEGER, filler TEXT);
CREATE TABLE tellers (tid INTEGER PRIMARY KEY, tbalance INTEGER);
CREATE TABLE history (tid INTEGER, aid INTEGER, delta INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO accounts SELECT i, 0, 'account ' || i FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) INSERT INTO tellers SELECT i, 0 FROM n;"
}
bank() { "${@:2}" $program -batch :memory: < <(tables; python3 "$HERE/feed.py" bank "$1" units); }
endless() { bank 0 exec; }
finite() { bank 1600 "$@"; }
work() { cat "$dir/units"; }
drive "$@"

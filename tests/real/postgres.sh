#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# postgres: transactions of a bank in one backend that reads them from stdin (--single: the exact engine does not
# follow forked backends); a unit is a transaction.
. "$(dirname "$0")/lib.sh"
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
program=${bin:-/usr/lib/postgresql/15/bin}/postgres package=postgresql-15 begin=pg_parse_query:2030 needs="python3 setpriv" unit=transaction
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
base() { as "$@" "$program" --single -j -D "$dir/data" -c fsync=off -c shared_buffers=32MB -c autovacuum=off bank; }
prepare() {
	chmod 711 "$dir" && mkdir -p data && chown postgres data
	as "$bin/initdb" -D "$dir/data" --locale=C -E UTF8 -A trust
	echo "CREATE DATABASE bank;" | as "$program" --single -D "$dir/data" -c fsync=off postgres
	{
		printf '%s;\n\n' "CREATE TABLE accounts (aid int PRIMARY KEY, abalance int, filler char(84)) WITH (fillfactor = 50)" \
			"CREATE TABLE tellers (tid int PRIMARY KEY, tbalance int) WITH (fillfactor = 10)" \
			"CREATE TABLE history (tid int, aid int, delta int)" \
			"INSERT INTO accounts SELECT i, 0, 'account ' || i FROM generate_series(1, 100000) i" \
			"INSERT INTO tellers SELECT i, 0 FROM generate_series(1, 10) i" "VACUUM ANALYZE"
	} | base
}
feed() { python3 "$HERE/feed.py" kept-bank "$1" units | sed G; }
endless() { as() { exec setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }; base < <(feed 0); }
finite() { # the exact engine runs as its program does, so it writes to the folder of the data
	local prefix=("$@")
	prefix[4]=$dir/data/truth
	base "${prefix[@]}" < <(feed 1000)
	mv "$dir/data/truth" "$5"
}
work() { cat "$dir/units"; }
drive "$@"

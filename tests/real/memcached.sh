#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# memcached: 20,000 keys, nine gets for each set over TCP, one worker thread; a unit is a request.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/memcached package=memcached begin=sendmsg:382000 known=sendmsg:22000 needs=cc unit=request
ulimit -Sn 1024 # the connections that memcached wants by default, which Valgrind grants if they are the limit
port=21719
prepare() { cc -O2 -o memload "$HERE/memload.c" -lm; }
endless() { exec $program -u root -l 127.0.0.1 -p $port -t 1 -c 1024 -m 64 -U 0; }
ready() { (exec 3<>/dev/tcp/127.0.0.1/$port); }
load() { ./memload $port 1 - ; exec ./memload $port 0 units; }
finite() {
	local server
	"$@" $program -u root -l 127.0.0.1 -p $port -t 1 -c 1024 -m 64 -U 0 -P "$dir/server.pid" &
	server=$!
	until_ready && sleep 1 && ./memload $port 1 - && ./memload $port 420000 units
	kill "$(cat "$dir/server.pid")"
	wait $server
}
work() { cat "$dir/units"; }
drive "$@"

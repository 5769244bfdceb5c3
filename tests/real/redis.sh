#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# redis: 20,000 keys of 100 bytes, ten connections that set beside forty that get; a unit is a request.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/redis-server package=redis-server begin=read:150000 known=read:30000 needs="redis-benchmark redis-cli" unit=request held_out=yes
port=21721
serve() { "$@" $program --port $port --bind 127.0.0.1 --save "" --appendonly no --daemonize no --dir "$dir" --pidfile "$dir/server.pid"; }
endless() { serve exec; }
ready() { [ "$(redis-cli -p $port ping)" = PONG ]; }
bench() { redis-benchmark -q -p $port -r 20000 -d 100 -n "$2" -c "$3" -t "$1"; }
load() { bench get 2000000000 40 & begun $!; bench set 2000000000 10; }
finite() {
	local server
	serve "$@" &
	server=$!
	until_ready && sleep 1 && { bench set 40000 10 & bench get 160000 40; wait $!; }
	redis-cli -p $port shutdown nosave
	wait $server
}
work() { redis-cli -p $port info stats | awk -F: '/total_commands_processed/ { print $2 + 0 }'; }
drive "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# haproxy: one thread passes requests on twelve kept connections to lighttpd, rewrites headers, and compresses text; a
# unit is a request.
. "$(dirname "$0")/lib.sh"
program=/usr/sbin/haproxy package=haproxy begin=recv:4000 needs="cc lighttpd" unit=request held_out=yes
port=21722
prepare() {
	cc -O2 -D_GNU_SOURCE -o httpload "$HERE/httpload.c"
	mkdir -p www
	words 1000 1 >www/a.html
	words 12000 2 >www/b.html
	words 60000 4 >www/c.bin
	cat >back.conf <<CONF
server.document-root = "$dir/www"
server.port = $((port + 1))
server.bind = "127.0.0.1"
server.max-keep-alive-requests = 1000000000
mimetype.assign = ( ".html" => "text/html", ".bin" => "application/octet-stream" )
CONF
	cat >front.conf <<CONF
global
	nbthread 1
	maxconn 200
defaults
	mode http
	timeout connect 5s
	timeout client 1m
	timeout server 1m
frontend in
	bind 127.0.0.1:$port
	http-request set-header X-From %[src]
	http-response del-header Server
	compression algo gzip
	compression type text/html
	default_backend out
backend out
	server one 127.0.0.1:$((port + 1))
CONF
}
serve() { "$@" $program -f front.conf -db; }
behind() { lighttpd -D -f back.conf & begun $!; sleep 0.3; }
endless() { behind; serve exec; }
ready() { (exec 3<>/dev/tcp/127.0.0.1/$port); }
load() { exec ./httpload $port 0 units a.html b.html c.bin; }
finite() {
	local server last next
	behind
	serve "$@" &
	server=$!
	until_ready && sleep 1 && ./httpload $port 3000 units a.html b.html c.bin
	last=$server # the program is the last child's child
	while read -r next <"/proc/$last/task/$last/children" && [ -n "$next" ]; do last=${next%% *}; done
	kill "$last"
	wait $server
	end_all
}
work() { cat "$dir/units"; }
drive "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nginx: one worker serves files of 1, 12 and 60 KB in turns on twelve kept connections, the second one
# compressed.
. "$(dirname "$0")/lib.sh"
program=/usr/sbin/nginx package=nginx-light begin=writev:200 needs=cc unit=request
port=21720
prepare() {
	cc -O2 -D_GNU_SOURCE -o httpload "$HERE/httpload.c"
	mkdir -p www logs
	words 1000 1 >www/a.html
	words 12000 2 >www/b.html
	words 60000 4 >www/c.bin
	cat >nginx.conf <<CONF
daemon off; master_process off; worker_processes 1; user root; pid nginx.pid; error_log logs/error.log;
events { worker_connections 64; }
http {
	types { text/html html; application/octet-stream bin; }
	access_log logs/access.log; sendfile off; gzip on; gzip_http_version 1.0; gzip_min_length 4000; keepalive_requests 1000000000;
	client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
	server { listen 127.0.0.1:$port; root $dir/www; }
}
CONF
}
serve() { "$@" $program -p "$dir/" -c nginx.conf; }
endless() { serve exec; }
ready() { (exec 3<>/dev/tcp/127.0.0.1/$port); }
ask() { ./httpload $port "$1" units a.html b.html c.bin; }
load() { exec ./httpload $port 0 units a.html b.html c.bin; }
finite() {
	local server
	serve "$@" &
	server=$!
	until_ready && sleep 1 && ask 900
	kill "$(cat "$dir/nginx.pid")"
	wait $server
}
work() { cat "$dir/units"; }
drive "$@"

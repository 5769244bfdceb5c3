#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Many hosts into two shards of Debian's ClickHouse, one of which is killed while profiles come: afterwards what all of
# them have is what the profiles say, and nothing is there twice. HOSTS: how many (8; 50 is the issue's figure).
. "$(dirname "$0")/../lib.sh"
need jq && need python3 || { echo "needs jq and python3"; exit 77; }
command -v clickhouse-server >/dev/null || { echo "clickhouse-server is not installed"; exit 77; }
HOSTS=${HOSTS:-8} base=$((20000 + ($$ + 17000) % 20000))
cat >u.xml <<-'EOF'
	<?xml version="1.0"?><yandex><profiles><default/></profiles><users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
	<quotas><default><interval><duration>3600</duration><queries>0</queries><errors>0</errors><result_rows>0</result_rows><read_rows>0</read_rows><execution_time>0</execution_time></interval></default></quotas></yandex>
	EOF
replica() { echo "<shard><replica><host>127.0.0.1</host><port>$((base + 10 * $1 + 1))</port></replica></shard>"; }
for s in 0 1; do
	mkdir -p s$s/data s$s/tmp
	cat >s$s/c.xml <<-EOF
	<?xml version="1.0"?><yandex><logger><level>warning</level><log>$TMP/s$s/log</log><errorlog>$TMP/s$s/err</errorlog></logger>
	<http_port>$((base + 10 * s))</http_port><tcp_port>$((base + 10 * s + 1))</tcp_port><listen_host>127.0.0.1</listen_host><mark_cache_size>50000000</mark_cache_size>
	<remote_servers><shop>$(replica 0)$(replica 1)</shop></remote_servers>
	<path>$TMP/s$s/data/</path><tmp_path>$TMP/s$s/tmp/</tmp_path><users_config>$TMP/u.xml</users_config><default_profile>default</default_profile><default_database>default</default_database></yandex>
	EOF
done
url() { echo "http://127.0.0.1:$((base + 10 * $1))"; }
begin() { (cd s$1 && exec clickhouse-server --config-file=c.xml >>out 2>&1) & server[$1]=$!; STARTED+=($!); }
cat >sql.py <<-'EOF'
	import sys, urllib.request
	for s in sys.stdin.read().split(";\n\n"):
	    if s.strip(): sys.stdout.write(urllib.request.urlopen(sys.argv[1], s.encode(), timeout=30).read().decode())
	EOF
ask() { echo "$2" | python3 sql.py "$(url $1)"; }
within() { local i n=$(($1 * 4)); shift; for i in $(seq $n); do "$@" >/dev/null 2>&1 && return 0; sleep 0.25; done; "$@"; return 1; }
begin 0; begin 1
for s in 0 1; do
	check "shard $s is there" within 60 ask $s 'SELECT 1'
	check "with its tables, and those of all" bash -c 'accperf fleet schema --cluster shop | python3 sql.py "$1"' _ "$(url $s)"
done
# recorded profiles under other names, and clocks that differ by an hour
one=20260101T000000Z-7.000001
for h in $(seq "$HOSTS"); do
	mkdir h$h; cp "$TOP/tests/golden/live-kv.prof" h$h/$one; touch -d "-$((h * 7 % 60 + 1)) minutes" h$h/$one
done
push() { accperf fleet push --clickhouse "$(url $(($1 % 2)))" --service web --host h$1 h$1/$one; }
# once one of the shards has some, it is killed, whatever it is doing; who sends tries again, as the daemon does
(for h in $(seq "$HOSTS"); do i=0; until push $h >>pushed 2>>failed || [ $((i += 1)) = 200 ]; do sleep 0.3; done; done) & sender=$!; STARTED+=($sender)
some() { [ "$(grep -c sent pushed)" -ge $((HOSTS / 3)) ]; }
within 100 some
kill -9 ${server[1]}; wait ${server[1]} 2>/dev/null
failed() { grep -q 'does not answer\|stopped listening\|no answer' failed; }
check "who sends to a shard that was killed is told" within 60 failed
begin 1
within 60 ask 1 'SELECT 1'
wait $sender
check "all are sent in the end" test "$(grep -c ': sent$' pushed)" -ge "$HOSTS"
report() { accperf report --fresh --json -i h1/$one 2>/dev/null | jq "$1"; }
rows=$(report '[.functions[] | select(.self > 0)] | length') samples=$(report .samples)
same() {
	[ "$(ask $1 "SELECT count() FROM accperf_functions_all FINAL WHERE service = 'web'")" = $((rows * HOSTS)) ] &&
		[ "$(ask $1 "SELECT count(), sum(samples) FROM accperf_segments_all FINAL WHERE service = 'web'")" = "$HOSTS	$((samples * HOSTS))" ]
}
for s in 0 1; do check "asked by shard $s, all have what the profiles say, and nothing twice" same $s; done
check "each has its hosts" test "$(ask 0 "SELECT count() FROM accperf_segments FINAL WHERE service = 'web'") $(ask 1 "SELECT count() FROM accperf_segments FINAL WHERE service = 'web'")" = "$((HOSTS / 2)) $(((HOSTS + 1) / 2))"
for v in report advise; do
	accperf fleet $v --json --cluster shop --clickhouse "$(url 1)" --service web --since -3h >$v.json
	check "$v is over the hosts of both" test "$(jq .hosts $v.json)" = "$HOSTS"
done
share() { jq -e --argjson w "$(report '.functions[] | select(.name == "find_entry") | .self')" '.functions[] | select(.name == "find_entry") | (.share - $w | fabs) < 1e-3 and .hosts == '"$HOSTS" report.json; }
check "with the share that each has" share
check "a batch that comes twice replaces itself" bash -c 'printf "INSERT INTO accperf_segments SELECT * FROM accperf_segments;\n\nINSERT INTO accperf_functions SELECT * FROM accperf_functions" | python3 sql.py "$1"' _ "$(url 0)"
check "nothing is there twice then" same 1

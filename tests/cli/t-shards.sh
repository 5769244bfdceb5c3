#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Many hosts into two shards of Debian's ClickHouse, and their figures into VictoriaMetrics where it is installed. The
# hosts are in a network namespace. While profiles come one shard is killed and the network is cut; what is recorded in
# the meantime waits, and comes when both are back, some of it twice, from clocks that differ by hours: afterwards what
# all have is what the profiles say, and nothing is there twice. HOSTS: how many (6; 50 is the issue's figure). WAITING:
# profiles of ten minutes that wait on each (3; 12 are two hours: their time is in their names, nobody waits so long).
. "$(dirname "$0")/../lib.sh"
need jq && need python3 || { echo "needs jq and python3"; exit 77; }
command -v clickhouse-server >/dev/null || { echo "clickhouse-server is not installed"; exit 77; }
HOSTS=${HOSTS:-6} WAITING=${WAITING:-3} ALL=$((WAITING + 1)) base=$((20000 + ($$ + 17000) % 12000))
# the hosts' network; without the right to make one they are in ours, and nothing is cut
ns=accperf$$ at=127.0.0.1 far=()
if [ "$(id -u)" = 0 ] && need ip && ip netns add $ns 2>/dev/null; then
	trap 'ip netns del $ns; cleanup' EXIT
	at=198.18.$(($$ / 64 % 256)).$(($$ % 64 * 4 + 1)) near=ah$$
	if ip link add $near type veth peer name eth0 netns $ns && ip addr add $at/30 dev $near && ip link set $near up &&
		ip -n $ns addr add ${at%.*}.$((${at##*.} + 1))/30 dev eth0 && ip -n $ns link set eth0 up; then far=(ip netns exec $ns); else at=127.0.0.1; fi
fi
cut() { [ ${#far[@]} = 0 ] || ip link set $near "$1"; }
cat >u.xml <<-'EOF'
	<?xml version="1.0"?><yandex><profiles><default/></profiles><users><default><password></password><networks><ip>127.0.0.1</ip><ip>198.18.0.0/15</ip></networks><profile>default</profile><quota>default</quota></default></users>
	<quotas><default><interval><duration>3600</duration><queries>0</queries><errors>0</errors><result_rows>0</result_rows><read_rows>0</read_rows><execution_time>0</execution_time></interval></default></quotas></yandex>
	EOF
replica() { echo "<shard><replica><host>127.0.0.1</host><port>$((base + 10 * $1 + 1))</port></replica></shard>"; }
for s in 0 1; do
	mkdir -p s$s/data s$s/tmp
	cat >s$s/c.xml <<-EOF
	<?xml version="1.0"?><yandex><logger><level>warning</level><log>$TMP/s$s/log</log><errorlog>$TMP/s$s/err</errorlog></logger>
	<http_port>$((base + 10 * s))</http_port><tcp_port>$((base + 10 * s + 1))</tcp_port><listen_host>127.0.0.1</listen_host>
	$([ $at = 127.0.0.1 ] || echo "<listen_host>$at</listen_host>")<mark_cache_size>50000000</mark_cache_size>
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
begin 0; begin 1
for s in 0 1; do
	check "shard $s is there" within 60 ask $s 'SELECT 1'
	check "with its tables, and those of all" bash -c 'accperf fleet schema --cluster shop | python3 sql.py "$1"' _ "$(url $s)"
done
# a recorded profile under other names, and clocks that are up to two hours wrong
one=20260101T000000Z-7.00000
skew() { echo $(($1 * 37 % 240 - 120)); }
add() { # FROM TO
	local h k
	for h in $(seq "$HOSTS"); do
		mkdir -p h$h
		for k in $(seq $1 $2); do cp "$TOP/tests/golden/live-kv.prof" h$h/$one$k; touch -d "$(($(skew $h) - 10 * (ALL - k))) minutes" h$h/$one$k; done
	done
}
add 1 1
push() { "${far[@]}" accperf fleet push --clickhouse "http://$at:$((base + 10 * ($1 % 2)))" --service web --host h$1 h$1/*; }
# who sends tries again, as the daemon does
send() { local h; for h in $(seq "$HOSTS"); do until push $h >>pushed 2>>failed; do sleep 0.3; done; done; }
(send; until [ -e filled ]; do sleep 0.1; done; send) & sender=$!; STARTED+=($sender)
# once there are some, it happens, whatever is being sent
some() { [ "$(grep -c sent pushed)" -ge $((HOSTS / 3)) ]; }
within 100 some
kill -9 ${server[1]}; wait ${server[1]} 2>/dev/null
failed() { grep -q 'does not answer\|stopped listening\|no answer\|cannot be reached\|timed out' failed; }
check "who sends to a shard that was killed is told" within 60 failed
cut down; : >failed
add 2 $ALL; touch filled # meanwhile recording goes on
begin 1
within 60 ask 1 'SELECT 1'
[ ${#far[@]} = 0 ] || check "and who has no network" within 150 failed
cut up
wait $sender
check "all are sent in the end" test "$(grep -c ': sent$' pushed)" -ge $((HOSTS * ALL))
report() { accperf report --fresh --json -i h1/${one}1 2>/dev/null | jq "$1"; }
rows=$(report '[.functions[] | select(.self > 0)] | length') samples=$(report .samples)
edges=$(accperf flow --fresh --json -i h1/${one}1 2>/dev/null | jq '.edges | length')
# rows that all hosts and profiles have alike, and once each
alike() { ask $1 "SELECT count() FROM (SELECT $3, count() AS n, uniq(host, segment) AS u FROM accperf_$2_all FINAL WHERE service = 'web' GROUP BY $3 HAVING n = $((HOSTS * ALL)) AND u = n)"; }
equal() { jq -ne --argjson a "$1" --argjson b "$2" '$a == $b' || { echo "$1, not $2"; return 1; }; }
same() {
	equal "$(ask $1 "SELECT count() FROM accperf_functions_all FINAL WHERE service = 'web'")" $((rows * HOSTS * ALL)) &&
		equal "$(alike $1 functions 'function, object, self, samples')" $rows && equal "$(alike $1 edges 'producer, consumer, bytes')" $edges &&
		equal "$(ask $1 "SELECT count() FROM accperf_edges_all FINAL WHERE service = 'web'")" $((edges * HOSTS * ALL)) &&
		equal "$(ask $1 "SELECT count() FROM accperf_segments_all FINAL WHERE service = 'web'")" $((HOSTS * ALL)) &&
		equal "$(ask $1 "SELECT sum(samples) FROM accperf_segments_all FINAL WHERE service = 'web'")" $((samples * HOSTS * ALL))
}
for s in 0 1; do check "asked by shard $s, all have what the profiles say, and nothing twice" same $s; done
check "each has its hosts" test "$(ask 0 "SELECT count() FROM accperf_segments FINAL WHERE service = 'web'") $(ask 1 "SELECT count() FROM accperf_segments FINAL WHERE service = 'web'")" = "$((HOSTS / 2 * ALL)) $(((HOSTS + 1) / 2 * ALL))"
since=$(date -u -d "-$((130 + 10 * ALL)) minutes" +%FT%TZ) until=$(date -u -d '3 hours' +%FT%TZ)
for v in report advise; do
	accperf fleet $v --json --cluster shop --clickhouse "$(url 1)" --service web --since $since --until $until >$v.json
	check "$v is over the hosts of both" test "$(jq .hosts $v.json)" = "$HOSTS"
done
share() { jq -e --argjson w "$(report '.functions[] | select(.name == "find_entry") | .self')" '.functions[] | select(.name == "find_entry") | (.share - $w | fabs) < 1e-3 and .hosts == '"$HOSTS" report.json; }
check "with the share that each has" share
check "a batch that comes twice replaces itself" bash -c 'printf "INSERT INTO accperf_segments SELECT * FROM accperf_segments;\n\nINSERT INTO accperf_functions SELECT * FROM accperf_functions" | python3 sql.py "$1"' _ "$(url 0)"
check "nothing is there twice then" same 1
# of a host that has nothing there yet
peak() { python3 -c 'import resource, subprocess as s, sys
if s.call(sys.argv[1:], stdout=s.DEVNULL): sys.exit(1)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' accperf fleet push --clickhouse "$(url 0)" --service memory "$@"; }
one_kb=$(peak --host one h1/${one}1) all_kb=$(peak --host all h1/*)
check "many that waited take no more memory than one ($one_kb and $all_kb KB)" test "$all_kb" -lt $((one_kb * 3 / 2))

# figures of the same hosts: each has some of a minute each that waited
command -v victoria-metrics >/dev/null || { skip "figures into VictoriaMetrics" "it is not installed"; exit 0; }
start victoria-metrics -httpListenAddr=$at:$((base + 2)) -storageDataPath=vm -search.latencyOffset=0s -loggerLevel=WARN; victoria=$!
vm() { python3 -c 'import sys, urllib.parse as p, urllib.request as u
print(u.urlopen(sys.argv[1] + "?" + p.urlencode([tuple(a.split("=", 1)) for a in sys.argv[2:]]), timeout=20).read().decode())' "http://$at:$((base + 2))$1" "${@:2}"; }
check "VictoriaMetrics is there" within 60 vm /api/v1/labels
now=$(date +%s) want=0
for h in $(seq "$HOSTS"); do
	mkdir f$h
	for k in $(seq $ALL); do
		printf '# TYPE accperf_x gauge\naccperf_x{service="web"} %d\n# EOF\n' $((h * 1000 + k)) >f$h/$((now + 60 * ($(skew $h) - ALL + k)))000
		want=$((want + h * 1000 + k))
	done
done
figures() { "${far[@]}" accperf fleet push --remote-write "http://$at:$((base + 2))" --host h$1 f$1/*; }
: >failed; cut down
(for h in $(seq "$HOSTS"); do until figures $h >>figures.log 2>>failed; do sleep 0.3; done; done) & sender=$!; STARTED+=($sender)
[ ${#far[@]} = 0 ] || check "who has no network is told" within 150 failed
cut up; wait $sender
vm /internal/force_flush >/dev/null
all() { vm /api/v1/query "query=$1(accperf_x[12h]))" time=$((now + 10800)) | jq -e --argjson want "$2" '.data.result[0].value[1] | tonumber == $want'; }
check "VictoriaMetrics has each once" all 'sum(count_over_time' $((HOSTS * ALL))
check "and their sum is that of all hosts" all 'sum(sum_over_time' $want
kill $victoria; wait $victoria

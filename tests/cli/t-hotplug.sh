#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A CPU that goes off and comes back during a recording is sampled again. CPU 1 of this machine is taken off, in virtual
# machines only: elsewhere others may rely on it. It is put back whatever happens.
# harm: CPUs that go and come back | off for 2 s and for 0.1 s | what began in that second, counted
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
online=/sys/devices/system/cpu/cpu1/online
why=
[ -w "$online" ] && [ "$(cat "$online")" = 1 ] || why="CPU 1 cannot be taken off here"
grep -qw hypervisor /proc/cpuinfo || why=${why:-"not a virtual machine"}
[ "$(awk '/^Cpus_allowed:/ { print $2 }' /proc/self/status)" != 1 ] || why=${why:-"only one CPU for us"}
# the old cpuset forgets a CPU that was off; the root's own does not
[ "$(cat /proc/self/cpuset 2>/dev/null || echo /)" = / ] || why=${why:-"in a set of CPUs, which may forget it"}
[ -z "${ACCPERF_NO_HOTPLUG:-}" ] || why=ACCPERF_NO_HOTPLUG
[ -z "$why" ] || { skip "a CPU goes off and on" "$why"; exit 0; }
trap 'echo 1 >"$online" 2>/dev/null; cleanup' EXIT
trap 'exit 1' INT TERM HUP

# What runs on CPU 1 after its return runs nowhere else; before, nothing does. --seconds is long beside the second that the
# recorder may take; on a busy machine it may take more.
cat >plug <<PLUG
#!/bin/bash
echo 0 >$online || exit 9
sleep \$1
echo 1 >$online || exit 9
sleep 2.5
exec taskset -c 1 $WORKLOADS/tightloop --seconds \$2
PLUG
chmod +x plug
found() { accperf report --json -i "$1" 2>/dev/null | jq '[.functions[] | select(.name == "spin_hot") | .samples] | add // 0'; }

# what starts there is heard of, too: it has the name that its exec gave it
named() { accperf export --collapsed -o - -i hot.data 2>/dev/null | grep -q '^tightloop;.*spin_hot'; }

# again OFF SAMPLES: off for so long; up to three times, each with more time for the recorder
again() {
	local i
	for i in 2 4 8; do
		accperf record -q -e soft --no-windows --counts off -F 199 -o hot.data -- ./plug "$1" $i >/dev/null 2>err || { cat err; return 1; }
		[ "$(found hot.data)" -ge "$2" ] && named && return 0
	done
	echo "$(found hot.data) samples"; return 1
}
if ! (echo 0 >"$online" && echo 1 >"$online") 2>/dev/null; then
	skip "a CPU goes off and on" "the kernel refuses"
	exit 0
fi
check "a CPU that was off for two seconds is sampled again" again 2 20
check "and one that was off for a moment" again 0.1 20
# the daemon's budget is of the CPUs that there are
if grep -aq 'libmicrohttpd\.so' "$TOP/build/accperf" && need python3; then
	port=$((20000 + ($$ + 15000) % 12000))
	printf 'storage: {folder: %s/store, reserve: 0}\nhttp: {listen: "127.0.0.1:%s"}\nservices: {a: {name: nobody-%s}}\n' "$TMP" $port $$ >d.yaml
	accperf daemon --config d.yaml 2>log & daemon=$!; STARTED+=($daemon)
	cpus() { for _ in $(seq 40); do [ "$(python3 -c 'import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1], timeout=20).read().decode())' "http://127.0.0.1:$port/metrics" 2>/dev/null | sed -n 's/^accperf_cpus //p')" = "$1" ] && return 0; sleep 0.25; done; cat log; return 1; }
	all=$(getconf _NPROCESSORS_ONLN)
	check "the daemon tells how many CPUs it has a part of" cpus "$all"
	echo 0 >"$online"; check "one less while one is off" cpus $((all - 1)); echo 1 >"$online"
	check "and all of them again" cpus "$all"
	kill $daemon; wait $daemon
fi
check "it is on again" test "$(cat "$online")" = 1

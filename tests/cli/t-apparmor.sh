#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# AppArmor's profile, enforced: the daemon records under it what it records without, and is held to it. Where the kernel
# has no AppArmor: `scripts/test-in-guest apparmor`.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
[ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ] || { echo "this kernel has no AppArmor"; exit 77; }
need jq && need apparmor_parser && need aa-exec || { echo "needs jq, apparmor_parser and aa-exec"; exit 77; }
mountpoint -q /sys/kernel/security || mount -t securityfs securityfs /sys/kernel/security || { echo "no securityfs"; exit 77; }

# under another name, and with this tree's program, folders of its own and this test's
name=accperf-test-$$
sed "s|^profile accperf-daemon |profile $name |; s|peer=accperf-daemon|peer=$name|g; s|/usr/bin/accperf |$TOP/build/accperf |
	s|/var/lib/accperf/|$TMP/store/|; s|/var/cache/accperf/|$TMP/cache/accperf/|" "$TOP/user/daemon/accperf-daemon.apparmor" >profile
check "it is loaded" apparmor_parser -r -T -W profile
# Debian's kernels ask for CAP_SYS_ADMIN above 2, which neither the unit nor the profile has
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid); [ "$paranoid" -le 2 ] || echo 2 >/proc/sys/kernel/perf_event_paranoid
daemon=; unload() { echo "$paranoid" >/proc/sys/kernel/perf_event_paranoid; [ -z "$daemon" ] || kill "$daemon" 2>/dev/null; sleep 1; apparmor_parser -R "$TMP/profile" 2>/dev/null; cleanup; }; trap unload EXIT
check "to be enforced" grep -qxF "$name (enforce)" /sys/kernel/security/apparmor/profiles

mkdir cache
cp "$WORKLOADS/tightloop" aa$$
start ./aa$$ --loop; target=$!
port=$((20000 + $$ % 12000))
config() { printf 'storage: {folder: %s, segment_time: 60s, reserve: 0}\nhttp: {listen: "127.0.0.1:%d", token_file: %s}\nlimits: {scan: 200ms, budget: 90%%, memory: 512M}\nservices:\n  loop: {pid: %d, min_age: 0s}\n' "$1" $port "$TMP/store/token" $target; }
config "$TMP/store" >d.yaml; mkdir -m 700 store; echo 0123456789abcdef0123 >store/token; chmod 600 store/token
begin() { XDG_CACHE_HOME=$TMP/cache aa-exec -p "$name" -- "$TOP/build/accperf" daemon --config "$1" 2>>log & daemon=$!; }
within() { local until=$((SECONDS + $1)); shift; while [ $SECONDS -lt $until ]; do "$@" >/dev/null 2>&1 && return 0; sleep 0.3; done; tail -n 9 log; denied; return 1; }
# capabilities that are not there, such as those for a child to become nobody, the unit does not have, either
denied() { dmesg 2>/dev/null | grep -F 'apparmor="DENIED"' | grep -F "profile=\"$name\"" | grep -v 'operation="capable"'; }
recorder() { pgrep -P "$daemon" | head -n 1; }
confined() { [ "$(cat "/proc/$1/attr/current")" = "$name (enforce)" ]; }
is_confined() { [ -n "$1" ] && confined "$1" || cat "/proc/$1/attr/current"; }
if [ "$paranoid" -gt 2 ]; then
	echo "$paranoid" >/proc/sys/kernel/perf_event_paranoid
	expect_status 0 "what the unit could not do here is no error" accperf daemon --check --config d.yaml
	check "and is warned of" grep -q "warning: kernel.perf_event_paranoid is $paranoid" err
	echo 2 >/proc/sys/kernel/perf_event_paranoid
fi
begin d.yaml
recording() { grep -q 'event=recording service=loop' log && [ -n "$(recorder)" ]; }
check "the daemon records" within 60 recording
check "under the profile" is_confined "$daemon"
check "and so does its recorder" is_confined "$(recorder)"
sampled() { [ "$(accperf report --json -i "$(printf '%s\n' store/loop/* | tail -n 1)" 2>/dev/null | jq .samples)" -gt 3 ]; }
check "samples come" within 60 sampled
kill -USR1 $daemon
two() { [ "$(ls store/loop | wc -l)" -ge 2 ]; }
check "a profile ends" within 60 two
first=$(printf '%s\n' store/loop/* | head -n 1)
named() { accperf report --json -i "$first" 2>/dev/null | jq -e '.recovery == null and any(.functions[]; .name == "spin_hot")'; }
check "and has its names" within 60 named
# children that read profiles, and put several together, under the profile as well
asked() { python3 -c 'import sys, urllib.request as u; sys.stdout.write(u.urlopen(u.Request(sys.argv[1], headers={"Authorization": "Bearer 0123456789abcdef0123"}), timeout=120).read().decode())' "http://127.0.0.1:$port$1" | jq -e "$2"; }
check "what changed is answered" asked "/diff?service=loop&from=-1h&base_from=-1h&base_to=now" '.schema == "accperf.diff/1"'
kill $daemon; wait $daemon
check "it ends" grep -qE 'event=(stopped|recorder-slow)' log
check "nothing that it does was denied" bash -c '[ -z "$1" ] || { echo "$1"; false; }' _ "$(denied | head -n 20)"

config "$TMP/elsewhere" >e.yaml
XDG_CACHE_HOME=$TMP/cache timeout 20 aa-exec -p "$name" -- "$TOP/build/accperf" daemon --config e.yaml 2>said
check "another folder is denied" grep -qi 'permission denied' said
check "by the profile" bash -c '[ ! -e elsewhere ] && [ -n "$1" ]' _ "$(denied)"
daemon=

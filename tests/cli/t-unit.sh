#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The service under systemd, from Debian's packages: it starts, records with what the unit leaves it, answers the
# watchdog, reads its configuration again, says what is wrong in the journal, begins anew when it is killed, and ends.
# Packages are installed, so only in a clean Debian: `scripts/package && scripts/test-in-container unit`, with this kernel,
# or `test-in-guest unit`, with Debian's. What the documents say of its exposure is compared anywhere.
. "$(dirname "$0")/../lib.sh"
exposed() { systemd-analyze security "$@" --no-pager 2>/dev/null | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p'; }
documented() { tr '\n' ' ' <"$TOP/user/daemon/OPERATING.md" | sed -n "s/.*gives the unit \([0-9.]*\) (systemd 252).*, and \([0-9.]*\) with Debian.s drop-in.*/\\$1/p"; }
# two figures that are none are not alike
alike() { [[ $1 =~ ^[0-9]+\.[0-9]$ && $1 = "$2" ]] || { echo "$1, and $2 in the document"; false; }; }
unit=$TOP/user/daemon/accperf-daemon.service
if need systemd-analyze && systemd-analyze --version | grep -q '^systemd 252 '; then
	mkdir -p offline/accperf-daemon.service.d; cp "$unit" offline
	check "the unit's exposure is what the document says" alike "$(exposed --offline=yes offline/accperf-daemon.service)" "$(documented 1)"
	cp "$TOP/user/daemon/accperf-daemon-debian.conf" offline/accperf-daemon.service.d/debian.conf
	check "and with Debian's drop-in" alike "$(exposed --offline=yes offline/accperf-daemon.service)" "$(documented 2)"
else
	skip "the unit's exposure" "the document tells it of systemd 252, which is not here"
fi
packages=("$TOP"/build/package/accperf_*_amd64.deb "$TOP"/build/package/accperf-daemon_*_all.deb)
[ "${ACCPERF_GUEST:-}" = 1 ] && [ "$(cat /proc/1/comm)" = systemd ] || { skip "the service under systemd" "installs packages: scripts/test-in-container unit, test-in-guest unit"; exit 0; }
[ -e "${packages[0]}" ] || { fail "there are packages: scripts/package"; exit 1; }
need jq || { echo "needs jq"; exit 77; }

within() { local until=$((SECONDS + $1)); shift; while [ $SECONDS -lt $until ]; do "$@" >/dev/null 2>&1 && return 0; sleep 0.5; done; "$@"; journal | tail -n 20; return 1; }
journal() { journalctl -q --no-pager -u accperf-daemon -o cat "$@"; }
property() { systemctl show -P "$1" accperf-daemon; }
is() { [ "$(property "$1")" = "$2" ] || { echo "$1 is $(property "$1")"; false; }; }
echo "# $(systemd --version | head -n 1); $(systemctl is-system-running); $(uname -r); perf_event_paranoid $(cat /proc/sys/kernel/perf_event_paranoid)"

check "packages are installed" dpkg -i "${packages[@]}"
check "and nothing is enabled" bash -c '[ "$(systemctl is-enabled accperf-daemon)" = disabled ] && ! systemctl is-active accperf-daemon'
check "the unit is sound" systemd-analyze verify --man=no accperf-daemon.service
systemctl start accperf-daemon
check "without a configuration it is not begun" is ConditionResult no

# a service of somebody else's, by its unit
cat >/run/systemd/system/web.service <<-END
	[Service]
	User=nobody
	ExecStart=$WORKLOADS/tightloop --loop
	END
systemctl daemon-reload; systemctl start web
mkdir -p /etc/accperf
config() { printf 'storage: {segment_time: 60s, reserve: 0}\nhttp: {listen: "127.0.0.1:9417"}\nlimits: {scan: 200ms, budget: 90%%, memory: 512M}\nservices:\n  web: {unit: web.service, min_age: 0s%s}\n' "$1"; }
printf 'servces: {}\n' >/etc/accperf/daemon.yaml
systemctl start accperf-daemon 2>/dev/null
check "a wrong configuration is refused" bash -c '! systemctl is-active accperf-daemon'
check "with line and column in the journal" within 10 bash -c 'journalctl -q --no-pager -u accperf-daemon -o cat | grep -qF "daemon.yaml:1:1: there is no key"'
systemctl reset-failed accperf-daemon

config '' >/etc/accperf/daemon.yaml
check "it starts, as it says itself" systemctl start accperf-daemon
check "and is active" is ActiveState active
echo "# $(property StatusText)"
main=$(property MainPID); restarts=$(property NRestarts)
# as far as this machine has them: in a container or on a hosted machine some are missing
bound() { sed -n "s/^CapBnd:\t//p" "/proc/$1/status"; }
names_of() { capsh --decode="$1" | sed 's/.*=//' | tr ',' '\n' | sort; }
rights() { sed -n 's/^CapabilityBoundingSet=//p' "$TOP/user/daemon/accperf-daemon.service" "$TOP/user/daemon/accperf-daemon-debian.conf" | tr 'A-Z ' 'a-z\n' | sort; }
check "with the unit's rights alone" diff <(comm -12 <(rights) <(names_of "$(bound 1)")) <(names_of "$(bound "$main")")
check "and none to be gained" grep -qP '^NoNewPrivs:\t1' "/proc/$main/status"
recording() { journal | grep -q 'event=recording service=web'; }
check "it records" within 120 recording
newest() { printf '%s\n' /var/lib/accperf/web/* | tail -n 1; }
sampled() { [ "$(accperf report --json -i "$(newest)" 2>/dev/null | jq .samples)" -gt 3 ]; }
check "samples come" within 120 sampled
named() { accperf report --json -i "$(newest)" 2>/dev/null | jq -e 'any(.functions[]; .name == "spin_hot")'; }
check "with names of another user's program" within 60 named
labelled() { accperf report --json -i "$(newest)" 2>/dev/null | grep -q 'web.service'; }
check "and its unit" within 60 labelled
check "it answers" bash -c 'curl -sf http://127.0.0.1:9417/healthz || python3 -c "import urllib.request; urllib.request.urlopen(\"http://127.0.0.1:9417/healthz\")"'
check "its exposure here, under the manager, is what the document says, too" alike "$(exposed accperf-daemon.service)" "$(documented 2)"

config ', effort: low' >/etc/accperf/daemon.yaml
check "it is asked to read its configuration again" systemctl reload accperf-daemon
loaded() { journal | grep -q 'event=config-loaded'; }
check "and does" within 60 loaded
config ', efort: low' >/etc/accperf/daemon.yaml
systemctl reload accperf-daemon
kept() { journal -p err | grep -q 'event=config'; }
check "a wrong one is kept out, as an error of the journal's" within 60 kept
check "and it goes on" is MainPID "$main"
config '' >/etc/accperf/daemon.yaml

sleep 70 # more than the watchdog waits: the unit's own minute, as an emulated machine may stand still for half of it
check "the watchdog is satisfied" is MainPID "$main"
kill -STOP "$main"
other() { [ "$(property MainPID)" != "$main" ] && is ActiveState active; }
check "a daemon that hangs is ended by it, and another one starts" within 180 other
check "once" is NRestarts $((restarts + 1))
again() { [ "$(journal | grep -c 'event=recording service=web')" -ge 2 ]; }
check "and records" within 120 again
# the clock is set, as by hand after a battery was empty; a container's is the machine's own
profiles() { ls /var/lib/accperf/web | wc -l; }
more() { [ "$(profiles)" -gt "$n" ]; }
if [ "${ACCPERF_CONTAINER:-}" = 1 ]; then skip "a clock that is set" "in a container: scripts/test-in-guest unit"; else
	n=$(profiles); date -s "+2 hours" >/dev/null
	stepped() { journal | grep -q 'event=clock-step msg="the clock was set by +7[12][0-9][0-9] s'; }
	check "a clock that is set is told" within 60 stepped
	check "and the next profile begins" within 120 more
fi
if [ "${ACCPERF_GUEST_DISK:-}" = 1 ] && grep -qw freeze /sys/power/state && need rtcwake; then # what is mounted by 9p does not survive it
	n=$(profiles); main=$(property MainPID)
	check "the machine sleeps" rtcwake -m freeze -s 80
	slept() { journal | grep -q 'event=slept msg="the machine was suspended for [6-9][0-9] s'; }
	check "which is told" within 60 slept
	check "the next profile begins" within 120 more
	check "samples come after it" within 120 sampled
	check "of the same daemon: the watchdog has slept, too" is MainPID "$main"
else
	skip "the machine sleeps" "GUEST_ROOT=clean scripts/test-in-guest unit"
fi
main=$(property MainPID); n=$(profiles)
kill -KILL "$main"
check "so does one that is killed" within 120 other
third() { [ "$(journal | grep -c 'event=recording service=web')" -ge 3 ]; }
check "again" within 120 third
check "a profile begins" within 120 more # of the one before there are samples already
check "samples come, once more" within 120 sampled
before=$(date +%s%N); systemctl stop accperf-daemon; took=$((($(date +%s%N) - before) / 1000000))
# two seconds are the unit's; an emulated machine has a tenth of the speed
most=2000; grep -q 'QEMU\|TCG' /proc/cpuinfo && most=8000
check "within $most ms (it took $took ms)" test "$took" -le $most
check "it ends when it is told to" is Result success
check "in order" bash -c 'accperf report --json -i "$1" | jq -e ".recovery == null"' _ "$(newest)"
check "and leaves no process" bash -c '! pgrep -x accperf'
check "all profiles can be read" bash -c 'for f in /var/lib/accperf/web/*; do accperf report --json -i "$f" >/dev/null; case $? in 0 | 3) ;; *) exit 1 ;; esac; done'
check "purged" dpkg -P accperf-daemon
check "nothing of it stays" bash -c '[ ! -e /var/lib/accperf ] && [ ! -e /var/cache/accperf ] && [ -e /etc/accperf/daemon.yaml ]'
journal -o short | tail -n 60 | sed 's/^/# /'

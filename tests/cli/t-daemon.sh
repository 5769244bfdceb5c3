#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon all its life: it starts and stops recorders with processes, survives their end and its own, a full disk and
# a wrong configuration, and says so.
. "$(dirname "$0")/../lib.sh"
need jq && need python3 && need cc || { echo "needs jq, python3 and cc"; exit 77; }

cat >bad.yaml <<-'EOF'
	storage:
	  folder: var
	  segment_tme: 5s
	limits:
	  memory: 1K
	servces: {}
	services:
	  a: {pid: [1, x], min_age: [1]}
	EOF
expect_status 2 "a configuration with errors is wrong usage" accperf daemon --check --config bad.yaml
told() { grep -qF "bad.yaml:$1: $2" "$TMP/err"; }
check "each with its line and column: a value" told 2:11 "folder wants a whole path"
check "a key, and what was meant" told 3:3 "there is no key 'segment_tme' in storage; did you mean 'segment_time'"
check "a limit" told 5:11 "memory must lie between"
check "a section" told 6:1 "there is no key 'servces'"
check "an item of a list" told 8:16 "pid wants the number of a process, not 'x'"
check "a list where none belongs" told 8:29 "min_age wants one value"
printf 'services: {a: {name: b}}\n---\nservices: {c: {name: d}}\n' >two.yaml
expect_status 2 "a second document" accperf daemon --check --config two.yaml
check "is not passed over" grep -q 'two.yaml:3:1: a second document' "$TMP/err"
printf 'services:\n\ta: {name: b}\n' >tab.yaml
expect_status 2 "a tab" accperf daemon --check --config tab.yaml
check "is told to be one" grep -q 'tab.yaml:2:1: this is not YAML: a tab, where it wants spaces' "$TMP/err"
printf 'fleet: {user_file: /x}\nservices: {a: {name: b}}\n' >user.yaml
expect_status 2 "a password for nobody" accperf daemon --check --config user.yaml
check "says for whom it would be" grep -q 'fleet.user_file is for fleet.clickhouse, which is missing' "$TMP/err"
printf 'a: [1\nb: 2' >syntax.yaml
expect_status 2 "no YAML at all" accperf daemon --check --config syntax.yaml
check "says where" grep -q 'syntax.yaml:2:2: this is not YAML' "$TMP/err"
expect_status 2 "no file at all" accperf daemon --check --config none.yaml
accperf daemon --example >example.yaml
expect_status 0 "the example is in order" accperf daemon --check --config example.yaml

# what a right one meets on this machine
cp "$(command -v sleep)" chk$$; start ./chk$$ 60; start ./chk$$ 60
printf 'storage: {folder: %s/none/such}\nhttp: {listen: "127.0.0.1:1", token_file: %s/token}\nfleet: {clickhouse: "http://127.0.0.1:1", user_file: %s/user}\nservices:\n  two: {name: "chk%s", min_age: 1h}\n  none: {name: "nobody%s"}\n' "$TMP" "$TMP" "$TMP" $$ $$ >here.yaml
for _ in $(seq 100); do [ "$(pgrep -cx chk$$)" = 2 ] && break; sleep 0.05; done # until both have become their program
expect_status 0 "what a right one lacks on this machine is no error" accperf daemon --check --config here.yaml
check "how many processes a service has is told" grep -qxF '  two: 2 processes now, 2 younger than min_age' out
check "none, too" grep -qxF '  none: 0 processes now' out
check "a folder that cannot be made is warned of" grep -q 'warning: storage.folder .*/none/such is no folder, and cannot be made' err
check "a password that is not there" grep -q 'warning: .*/user cannot be read: nothing will be sent to fleet.clickhouse' err
if grep -aq 'libmicrohttpd\.so' "$TOP/build/accperf"; then check "a token that is not there" grep -q 'warning: http.token_file .*No such file or directory: nothing will be served' err; fi

# folders that others could change behind its back, as root's
mkdir -m 777 theirs; printf 'storage: {folder: %s/theirs}\nhttp: {listen: none}\nservices: {a: {name: x}}\n' "$TMP" >theirs.yaml
expect_status 0 "(a folder that others may write to)" accperf daemon --check --config theirs.yaml
check "is warned of" grep -q 'warning: storage.folder .*/theirs belongs to somebody else, or others may write there: the daemon will not start; chown and chmod 0700' err
expect_status 1 "and refused" timeout 20 accperf daemon --config theirs.yaml
check "with what to do" grep -q 'others may write there.*chown and chmod 0700 it, or give another storage.folder' err
chmod 700 theirs; ln -s theirs linked; sed 's:/theirs:/linked:' theirs.yaml >linked.yaml
expect_status 1 "so is a link" timeout 20 accperf daemon --config linked.yaml
check "which is said" grep -q 'storage.folder wants a folder, no link' err

[ "$(id -u)" = 0 ] || { skip "recording" "needs root"; exit 0; }
mkdir disk; mount -t tmpfs -o size=6M none disk 2>/dev/null || { skip "recording" "no tmpfs can be mounted"; exit 0; }
daemon=; unmount() { [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null; sleep 1; umount -l "$TMP/disk"; cleanup; }; trap unmount EXIT

# Names that no other process on this machine has.
A=dA$$ B=dB$$ C=dC$$
cp "$WORKLOADS/tightloop" $A; for n in $B $C; do cp "$(command -v sleep)" $n; done
config() { cat <<-EOF
	storage: {folder: $TMP/disk/store, segment_time: 60s, reserve: 1M, keep_size: 4M, segment_size: 1M}
	limits: {scan: 200ms, budget: 90%, memory: 256M}
	services:
	  hot: {name: "$A", min_age: ${1:-500ms}, what: time}
	  never: {name: $C, min_age: 1h}
	${2:-}
	EOF
}
config >d.yaml
cat >listen.py <<-'EOF'
	import socket
	s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("notify")
	while True: print(s.recv(1000).decode(), flush=True)
	EOF
python3 listen.py >notified 2>&1 & STARTED+=($!)
until [ -S notify ]; do sleep 0.05; done
begin() { NOTIFY_SOCKET=$TMP/notify WATCHDOG_USEC=1000000 accperf daemon --config d.yaml 2>>log & daemon=$!; }
logs() { grep -E "$1" log; }
ended() { [ -n "$daemon" ] && ! grep -q '^State:[[:space:]]*[^Z]' "/proc/$daemon/status" 2>/dev/null; }
within() { local i n=$(($1 * 30)); shift; for i in $(seq $n); do "$@" >/dev/null && return 0; ended && break; sleep 0.1; done; tail -n 5 log; return 1; }
profiles() { ls disk/store/"$1" 2>/dev/null | wc -l; }
newest() { printf '%s\n' disk/store/"$1"/* | tail -n 1; }
recorders() { pgrep -P "${daemon:-1}" | wc -l; }
is() { [ "$("${@:3}")" "$1" "$2" ]; }
report() { accperf report --json -i "$1" 2>/dev/null; }
sampled() { [ -e "$(newest "$1")" ] && [ "$(report "$(newest "$1")" | jq .samples)" -gt 3 ]; }
started_anew() { ./$A --loop & target=$!; STARTED+=($target); }

started_anew; start ./$C 600
begin
check "it is ready, and systemd hears of it" within 5 grep -q READY=1 notified
check "it records what matches" within 5 logs "level=info event=recording service=hot msg=\"recording process $target\""
check "in a folder of the service" within 5 is -ge 1 profiles hot
check "that only its owner reads" test "$(stat -c %a disk/store disk/store/hot "$(newest hot)" | tr '\n' ' ')" = "700 700 600 "
within 30 sampled hot >/dev/null
kill -USR1 $daemon
check "SIGUSR1 ends a profile, and begins the next" within 5 is -ge 2 profiles hot
first=$(printf '%s\n' disk/store/hot/* | head -n 1)
whole() { [ "$(report "$1" | jq -r '"\(.recovery) \(.samples > 3) \([.functions[] | select(.name == "spin_hot")] | length)"')" = "null true 1" ] || { report "$1" | head -c 400; return 1; }; }
check "the one before is whole, and has names" within 9 whole "$first"
check "and says whose it is" bash -c '[ "$(accperf report --json -i "$1" 2>/dev/null | jq -r .labels.service)" = hot ]' _ "$first"
check "the watchdog is fed" grep -q WATCHDOG=1 notified
check "systemd's status says what is done" within 3 grep -q 'STATUS=recording 1 of 2 services' notified

# a service's folder that somebody else has put there
mkdir elsewhere; cp "$(command -v sleep)" dL$$; start ./dL$$ 600; ln -s ../../elsewhere disk/store/linked
config 500ms "  linked: {name: dL$$, min_age: 0s, what: time}" >d.yaml; kill -HUP $daemon
check "a link in the place of a service's folder is told" within 9 logs 'event=recorder-failed service=linked msg=".*/store/linked is no folder that this user alone may write to: move it away'
check "and not followed" test -z "$(ls elsewhere)"
config >d.yaml; kill -HUP $daemon; rm disk/store/linked
within 9 is -eq 1 recorders

# a recorder that is killed
rec=$(pgrep -P $daemon); kill -9 $rec
check "a recorder that is killed is told" within 5 logs 'level=warn event=recorder-failed service=hot msg="its recorder was ended by signal 9.*next try is in 1 s'
check "and replaced" within 8 is -ge 3 profiles hot

# the target ends, another comes
kill $target; started_anew
check "a service that starts anew is recorded anew" within 8 logs "event=recording service=hot msg=\"recording process $target"

# reloading
printf 'services: {x: {nam: y}}' >d.yaml; kill -HUP $daemon
check "a wrong configuration is told by line and column" within 5 logs "event=config msg=\"d.yaml:1:16: there is no key 'nam'"
check "and the old one stays" logs event=config-kept
start ./$B 600
config 500ms "  other: {name: $B, cgroup: '/*', min_age: 0s, what: time}" >d.yaml; kill -HUP $daemon
check "a right one is taken" within 5 logs 'level=notice event=config-loaded msg="d.yaml is in force: 3 services"'
check "with its new service" within 8 is -ge 1 profiles other
check "and the old ones go on" within 5 is -eq 2 recorders

# services that start again and again: one sentence with what to do, no faults, and recorded as soon as they stay
D=dD$$ E=dE$$ F=dF$$; for n in $D $E $F; do cp "$(command -v sleep)" $n; done
start bash -c 'while [ ! -e stays ]; do ./"$1" 0.05; done; exec ./"$1" 600' _ $D
start bash -c 'while :; do ./"$1" 0.7; done' _ $E
start bash -c 'while :; do ./"$1" 2.5; done' _ $F
kill $daemon; wait $daemon; mv log before.log
config 500ms "$(printf '  brief: {name: %s, min_age: 0s, what: time}\n  young: {name: %s, min_age: 4s}\n  idle: {name: %s, min_age: 0s, what: time}' $D $E $F)" >d.yaml; begin
check "a service whose processes end before they are recorded is told" within 60 logs 'level=notice event=short-lived service=brief msg="its processes ended before they could be recorded.*a longer min_age'
check "so is one of which none gets old enough" within 60 logs 'level=notice event=short-lived service=young msg="its processes end before min_age \(4 s\).*a shorter min_age'
tries() { logs 'event=recording service=brief'; }
within 60 is -ge 4 eval 'tries | wc -l'
# some fifty were tried
twice() { logs 'event=(short-lived|recorder) ' | sed -E 's/[0-9]+/0/g' | sort | uniq -d | grep .; }
check "no fault is told" bash -c '! grep -E "level=error|recorder-failed" log'
check "and each sentence once" eval '! twice'
# it begins again and again, and does nothing: the last one may still be recorded
idles() { for f in store/idle/*; do report "$f" | jq 'select(.samples == 0 and .duration_ns > 1e8) | 1'; done; }
within 60 is -ge 5 eval "logs 'event=recording service=idle' | wc -l"
check "and of one that does nothing no profiles are kept" is -le 2 eval 'idles | wc -l'
touch stays
stays() { for r in $(pgrep -P $daemon); do tr '\0' ' ' </proc/$r/cmdline | grep -q -- "-p $(pgrep -xn "$D") " && return 0; done; return 1; }
check "when it stays it is recorded" within 30 stays
kill $daemon; wait $daemon; cat log >>before.log; mv before.log log
config 500ms "  other: {name: $B, cgroup: '/*', min_age: 0s, what: time}" >d.yaml

# a machine that sleeps, and one whose clock is set: as clocks would show it
cat >clocks.c <<-'EOF'
	#define _GNU_SOURCE
	#include <sys/syscall.h>
	#include <time.h>
	#include <unistd.h>
	int clock_gettime(clockid_t c, struct timespec *t)
	{
		int r = syscall(SYS_clock_gettime, c, t), slept = !access(CLOCKS "/slept", F_OK), set = !access(CLOCKS "/set", F_OK);
		if (c == CLOCK_BOOTTIME || c == CLOCK_REALTIME) t->tv_sec += 1800 * slept;
		if (c == CLOCK_REALTIME) t->tv_sec += 600 * set;
		return r;
	}
	EOF
check "(a shim for clocks)" cc -shared -fPIC -o clocks.so -DCLOCKS="\"$TMP\"" clocks.c
rm -rf disk/store/hot # the newest is this one's
export LD_PRELOAD=$TMP/clocks.so; begin; unset LD_PRELOAD
within 30 sampled hot; n=$(profiles hot); touch slept
check "a machine that slept is told" within 9 logs 'level=notice event=slept msg="the machine was suspended for 1[78][0-9]{2} s'
check "and the next profile begins" within 30 is -gt "$n" profiles hot
check "that is no step of its clock" bash -c '! grep event=clock-step log'
within 30 sampled hot; n=$(profiles hot); touch set
check "a step of the clock is told" within 9 logs 'level=notice event=clock-step msg="the clock was set by \+(599|600|601) s'
check "and the next profile begins then, too" within 30 is -gt "$n" profiles hot
kill $daemon; wait $daemon; begin

# a full disk
sleep 0.5; dd if=/dev/zero of=disk/filler bs=64K count=85 2>/dev/null
check "a reserve of the disk is left alone" within 30 logs '^<3>level=error event=disk-full msg=".*lower the reserve"'
check "all old profiles went first" logs 'event=removed msg="[0-9]+ profiles removed'
check "nothing is recorded" within 30 is -eq 0 recorders
rm disk/filler
check "when there is space again it goes on" within 30 logs event=disk-free
check "for all services" within 8 is -eq 2 recorders

# a disk that cannot be written
failures() { grep -c event=recorder-failed log; }
kill $daemon; wait $daemon; mount -o remount,ro disk; n=$(failures); begin
check "a file system that cannot be written is told, once" within 5 logs '^<3>level=error event=disk-read-only msg=".*mount -o remount,rw'
sleep 2; check "and no recorder tries it again and again" is -eq "$n" failures
mount -o remount,rw disk
check "when it can be written all are recorded" within 20 is -eq 2 recorders

# what there is too much of: memory, and bytes of a day
config 500ms "  other: {name: $B, cgroup: '/*', min_age: 0s, what: time}" >d.yaml; sed -i 's/memory: 256M/memory: 32M/; s/, what: time//' d.yaml; kill -HUP $daemon # two of stacks alone are below it
check "where there is memory for one recorder, one waits, and it is told" within 20 logs 'level=notice event=memory service=(hot|other) msg="limits.memory \(32 MB\) has no room for its recorder'
check "the other records" within 10 is -eq 1 recorders
one=$target; started_anew # of a service that is recorded already what comes later is recorded at once
check "recorders that take the memory above its limit end, and it is told" within 20 logs 'level=warn event=memory service=(hot|other) msg="all together hold more than limits.memory \(32 MB\)'
kill $target; target=$one
config 500ms >d.yaml; sed -i 's/^limits: {/limits: {daily: 64K, /' d.yaml; kill $daemon; wait $daemon; begin
check "a service that has written its part of a day's bytes rests, and it is told" within 20 logs 'level=notice event=by-turns service=hot msg="its part of limits.daily is written'
config 500ms "  other: {name: $B, cgroup: '/*', min_age: 0s, what: time}" >d.yaml; kill $daemon; wait $daemon; rm -rf disk/store/hot; begin
check "with more of both all are recorded again" within 20 is -eq 2 recorders

# the daemon ends
within 9 sampled hot
began=$(date +%s%N); kill -TERM $daemon; wait $daemon; status=$?; took=$((($(date +%s%N) - began) / 1000000))
check "SIGTERM ends it in order" test $status = 0
# two seconds where a CPU can be had; the machine may be busy
check "within two seconds (it took $took ms)" test $took -le 6000
check "systemd hears of that" grep -q STOPPING=1 notified
check "and the profile is whole" whole "$(newest hot)"
check "what was too young was never recorded" test ! -e disk/store/never
check "each line has a level, an event and a sentence" bash -c '! grep -vE "^<[3-6]>level=[a-z]+ event=[a-z-]+ (service=[a-z]+ )?msg=\".+\"$" log'

# the daemon is killed, alone and with its recorder: nobody is left, and a second at most is lost
config 0s >d.yaml
gone() { [ ! -e "/proc/$1" ]; }
# when its last sample was, ms of the time of day
last() { accperf export --firefox -i "$(newest hot)" -o - 2>/dev/null | jq '[.meta.startTime + ([.threads[].samples.time[]] | max)] | add | floor'; }
for with in "" "" recorder; do
	rm -rf disk/store/hot; begin
	within 9 sampled hot; sleep 0.$((RANDOM % 10))
	rec=$(pgrep -P $daemon); killed=$(date +%s%3N)
	kill -9 $daemon ${with:+$rec}; wait $daemon 2>/dev/null; daemon=
	check "kill -9 of the daemon ${with:+and its recorder }leaves no recorder" within 9 gone "$rec"
	# a second where a CPU can be had; all may be busy
	check "and loses a second at most ($(($(last) - killed)) ms after it)" test "$(last)" -ge $((killed - 4000))
done

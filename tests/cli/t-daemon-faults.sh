#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What happens around the daemon in years: a disk that fails, a kernel that refuses programs, services and accperf itself
# that are upgraded under it. It says so, goes on when it can, and what was written before can be read.
# harm: a disk that fails, a folder or profile that is removed, no inodes, a kernel that refuses programs, accperf
#   or a service replaced while they run | 1 each | the time until it is mended
. "$(dirname "$0")/../lib.sh"
need jq && need cc || { echo "needs jq and a compiler"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
cc -shared -fPIC -w -o faults.so "$TOP/tests/daemon/faults.c" -ldl || { echo "the shim cannot be built"; exit 77; }
export FAULTS=$TMP/faults; mkdir faults
N=dF$$; mkdir bin; cp "$WORKLOADS/tightloop" bin/$N
cat >d.yaml <<-EOF
	storage: {folder: $TMP/store, segment_time: 1h, reserve: 0}
	http: {listen: none}
	limits: {scan: 200ms, budget: 90%, memory: 512M}
	services: {hot: {name: $N, min_age: 0s, what: time}}
	EOF
daemon=; begin() { LD_PRELOAD=$TMP/faults.so "${PROGRAM:-accperf}" daemon --config d.yaml 2>>log & daemon=$!; STARTED+=($daemon); }
newest() { printf '%s\n' store/hot/* | tail -n 1; }
has() { accperf report --fresh --json -i "$1" 2>/dev/null | jq -e --arg n "$2" '.samples > 3 and any(.functions[]; .name == $n)'; }
newest_has() { has "$(newest)" "$1"; }
told() { [ "$(grep -cE "$1" log)" -gt "${2:-0}" ]; }
begun() { [ "$(grep -c event=recording log)" -gt "$1" ]; }
start ./bin/$N --loop; target=$!
begin
check "it records" within 30 newest_has spin_hot

first=$(newest); touch faults/eio
check "a disk that fails is told, as a recorder's error" within 30 told 'level=error event=recorder service=hot msg=".*Input/output error'
check "and that its recorder is tried again" within 30 told 'level=warn event=recorder-failed service=hot msg=".*the next try is in 1 s'
check "the daemon goes on" kill -0 $daemon
check "what was written before it can be read" has "$first" spin_hot
sleep 5
check "few lines tell it ($(wc -l <log))" test "$(wc -l <log)" -lt 25
check "and no try leaves an empty file" test -z "$(find store -type f -size 0)"
rm faults/eio; n=$(newest)
anew() { [ "$(newest)" != "$n" ] && newest_has spin_hot; }
check "when it takes writes again, all is recorded" within 60 anew
kill $daemon; wait $daemon; cat log >>before; : >log

touch faults/bpf; begin
check "a kernel that refuses programs is told, with what to do" within 60 told 'level=error event=recorder service=hot msg=".*(CAP_BPF|bpf|BPF)'
check "and tried again, later each time" within 60 told 'event=recorder-failed service=hot msg=".*the next try is in 4 s'
check "the service notices nothing" kill -0 $target
rm faults/bpf; n=$(newest)
check "when it takes them, all is recorded" within 60 anew
kill $daemon; wait $daemon; cat log >>before; : >log

# somebody tidies up under it: one profile, all of the folder, the folder's parent
begin; n=$(newest); within 60 anew
n=$(newest); sleep 1.5; rm "$n" # it is looked at each second
check "a profile that is removed while it is written is told" within 30 told 'level=warn event=disk-gone service=hot msg="somebody removed the profile'
check "and another begins" within 60 anew
n=none; rm -rf store
check "a folder that is removed is told" within 30 told 'level=warn event=disk-gone msg=".*somebody removed or moved it'
check "and made anew, for its user alone" within 30 bash -c '[ "$(stat -c %a store)" = 700 ]'
check "in which all is recorded" within 60 newest_has spin_hot
mv store elsewhere; printf x >store
check "where none can be made that is told, with what to do" within 30 told 'level=error event=disk-gone msg=".*storage.folder wants a folder, no link: nothing is recorded until that is done'
sleep 3
check "once" test "$(grep -c 'level=error event=disk-gone' log)" = 1
check "and nothing is recorded" bash -c '! pgrep -P "$1"' _ $daemon
check "the service notices nothing of it, either" kill -0 $target
rm store; mv elsewhere store; n=$(newest)
check "when it is back, all is recorded" within 60 anew
kill $daemon; wait $daemon; cat log >>before; : >log
if mkdir few && mount -t tmpfs -o size=50M,nr_inodes=40 none few 2>/dev/null; then
	sed "s:$TMP/store:$TMP/few/store:" d.yaml >few.yaml
	LD_PRELOAD=$TMP/faults.so accperf daemon --config few.yaml 2>>log & daemon=$!; STARTED+=($daemon)
	latest() { printf '%s\n' few/store/hot/* | tail -n 1; }
	latest_has() { has "$(latest)" spin_hot; }
	check "a file system of few inodes is recorded to" within 60 latest_has
	touch few/x{1..60} 2>/dev/null; n=$(latest)
	check "one that has no more of them is told, by what it lacks" within 30 told 'level=error event=disk-full msg=".*room for [0-9]+ more files \(inodes'
	check "what was written before can be read" within 10 has "$n" spin_hot
	rm few/x*
	check "when it has, that is told" within 30 told 'event=disk-free'
	onwards() { [ "$(latest)" != "$n" ] && latest_has; }
	check "and all is recorded" within 60 onwards
	kill $daemon; wait $daemon; umount -l few; cat log >>before; : >log
else
	skip "a file system without inodes" "none can be mounted"
fi

# upgrades: of the service, while it runs and at its restart, and of accperf
cp "$TOP/build/accperf" mine; PROGRAM=$TMP/mine begin
n=$(newest); within 60 anew
cp "$WORKLOADS/kv" new; mv new bin/$N
check "a program that was replaced while it runs keeps its names" bash -c 'sleep 2; kill -USR1 $1; sleep 1' _ $daemon
check "indeed" within 30 has "$(newest)" spin_hot
n=$(grep -c event=recording log); kill $target; start ./bin/$N --loop
check "with its restart the new one is recorded" within 30 begun "$n"
check "by the new one's names" within 60 newest_has find_entry
cp "$WORKLOADS/tightloop" other; mv other mine # what lies there now is another program, as a newer accperf would
old=$(pgrep -P $daemon | head -n 1); n=$(newest); kill -9 $old
same() { local r; r=$(pgrep -P $daemon | head -n 1) && [ "$r" != "$old" ] && readlink "/proc/$r/exe" | grep -q '/mine (deleted)$'; }
check "an accperf that was replaced while it runs goes on as it is, recorders included" within 30 same
another() { [ "$(newest)" != "$n" ] && newest_has find_entry; }
check "which record" within 60 another
kill $daemon; wait $daemon
check "it ends in order" test $? = 0

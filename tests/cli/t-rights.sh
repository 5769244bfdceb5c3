#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A binary with capabilities is no hole: what its user could not see alone it does not show, and what it does not need
# it gives back. And what a recorder has of its target is nobody else's.
# harm: a binary with lent rights: others' processes, cgroups, environment, reading commands; 40,000 probed calls of
#   a set-user-id command | 34 checks
# harm: a recorder that crashes
# harm: a pager under sudo; signals that cannot be read | 2
. "$(dirname "$0")/../lib.sh"

[ "$(id -u)" = 0 ] || { skip "lent rights" "needs root"; exit 0; }
nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all) # no function: in the background $! is the command's
mkp=$TOP/build/mkprofile
chmod 755 "$TMP"; mkdir nob; chown nobody:nogroup nob
cp "$WORKLOADS/tightloop" .; chmod 755 tightloop
cp "$TOP/build/accperf" lent; chmod 755 lent
# samples FILE: how many there are
samples() { "$mkp" "$1" pids=1 | awk '$1 == "sample" { n += $3 } END { print n + 0 }'; }
refused() { # ARGS of record
	"${nobody[@]}" ./lent record -q -o nob/no.data --duration 1s "$@" 2>refused.err; [ $? = 1 ] || { echo "not refused"; return 1; }
	grep 'not yours to look into.*chgrp' refused.err && [ ! -e nob/no.data ]
}

paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$paranoid" -le 2 ] && setcap cap_perfmon,cap_bpf,cap_sys_ptrace+ep ./lent 2>/dev/null; then
	start ./tightloop --loop; roots=$!
	"${nobody[@]}" ./tightloop --loop & nobodys=$!; STARTED+=($nobodys)
	check "everybody may run it: another user's process is refused" refused -p $roots
	check "and a thread of it" refused -t $roots
	check "and the machine" refused -a
	check "and a control group" refused -G systemd
	rec="--no-windows --counts off -F 499"
	expect_status 0 "a process of one's own is not" "${nobody[@]}" ./lent record -q $rec -o nob/own.data -p $nobodys --duration 1s
	check "and is sampled" test "$(samples nob/own.data)" -gt 2
	expect_status 0 "nor is a command" "${nobody[@]}" ./lent record -q $rec -o nob/cmd.data -- ./tightloop --seconds 1
	check "which is sampled" test "$(samples nob/cmd.data)" -gt 2
	cp tightloop gains; chmod 4755 gains
	expect_status 3 "a command that gains rights runs, without a sample" "${nobody[@]}" ./lent record -q $rec -o nob/suid.data -- ./gains --seconds 1
	check "and is not observed" test "$(samples nob/suid.data)" = 0
	check "and that is the reason" grep -q 'no samples, though.*gain rights' "$TMP/err"
	# of its first instructions, too: user space hears of an exec when the program has long begun
	cp "$WORKLOADS/off_own" owns; chmod 4755 owns; cp owns plain; chmod 755 plain
	offload_of() { "${nobody[@]}" ./lent record -q -o nob/calls.data --offload-exact --offload-probe "$1:encode(bytes=arg2)" -- "./$1" storm 20000 >/dev/null; accperf offload -i nob/calls.data --json 2>/dev/null | jq '[.calls[].counted_calls] | add // 0' >calls; }
	offload_of owns; check "nor is a call of it" test "$(cat calls)" = 0
	offload_of plain; check "calls of a command without rights are" test "$(cat calls)" -gt 10000
	name=roots$$; cp tightloop $name; chmod 755 $name
	start ./$name --loop; only=$!
	check "another user's process is refused by its name, too" refused -n $name
	"${nobody[@]}" ./$name --loop & own=$!; STARTED+=($own)
	sleep 0.3 # until it has become its program
	expect_status 0 "of a name that several users run" "${nobody[@]}" ./lent record -q $rec -o nob/name.data -n "$name" --duration 1s
	check "one's own is sampled alone" bash -c "accperf report --per-thread --json -i nob/name.data | jq -e '[.threads[].pid] | unique == [$own]'"
	start "${nobody[@]}" bash -c './gains --loop & ./tightloop --loop & wait'; parent=$!
	for _ in $(seq 100); do [ "$(pgrep -cP $parent)" = 2 ] && break; sleep 0.1; done
	for child in $(pgrep -P $parent); do STARTED+=("$child"); done
	sleep 0.3 # until both have become their programs
	expect_status 0 "children that exist: those of one's own" "${nobody[@]}" ./lent record $rec -o nob/kids.data -p $parent --duration 1s
	check "are observed, those with rights are not" bash -c "accperf report --json -i nob/kids.data | jq -e '[.functions[].object] | (index(\"tightloop\") != null) and (index(\"gains\") == null)'"
	check "which is told" grep -q '1 child process is not yours' "$TMP/err"
	kill $only $own
	printf 'cd "%s"; ./gains --seconds 1; exec ./tightloop --seconds 1\n' "$TMP" >both
	expect_status 0 "one that starts such a program" "${nobody[@]}" ./lent record -q $rec -o nob/both.data -- sh ./both
	check "is observed without it" bash -c "accperf report --json -i nob/both.data | jq -e '[.functions[].object] | (index(\"tightloop\") != null) and (index(\"gains\") == null)'"

	# no files from the environment, while there are rights
	mkdir nob/cache; chown nobody nob/cache
	"${nobody[@]}" env XDG_CACHE_HOME="$TMP/nob/cache" ./lent record -q $rec -o nob/env.data -- ./tightloop --seconds 1 >/dev/null
	check "no cache is kept where the environment says" bash -c "accperf report -i nob/env.data >/dev/null && [ -z \"\$(ls nob/cache)\" ]"

	# what only reads profiles has no rights when it begins to read: here it waits for its reader
	"$mkp" known.data stacks=3000; chmod 644 known.data; mkfifo never-read; exec 9<>never-read
	"${nobody[@]}" ./lent export --collapsed -o - -i known.data >never-read 2>/dev/null & reader=$!; STARTED+=($reader)
	no_rights() { local i; for i in $(seq 600); do
		[ "$(cat /proc/$reader/comm)" = lent ] && grep -q '^CapPrm:.0*$' /proc/$reader/status && return 0; sleep .05; done; cat /proc/$reader/status; return 1; }
	check "commands that record nothing give the rights back" no_rights
	kill $reader; exec 9>&-

	# the administrator's word: only a group may run it
	chgrp nogroup lent; chmod 0750 lent; setcap cap_perfmon,cap_bpf,cap_sys_ptrace+ep ./lent
	expect_status 0 "only a group may run it: its members may look into every process" "${nobody[@]}" ./lent record -q $rec -o nob/any.data -p $roots --duration 1s
	check "which is sampled" test "$(samples nob/any.data)" -gt 20
	kill $roots $nobodys
else
	skip "lent rights" "no capabilities for files here, or perf_event_paranoid is above 2"
fi

# the recorder's memory is nobody else's: no core file, no way in for others of its user
caps=+perfmon,+bpf,+sys_ptrace
cp "$TOP/build/accperf" plain; chmod 755 plain
own=(setpriv --reuid=nobody --regid=nogroup --clear-groups "--inh-caps=$caps" "--ambient-caps=$caps")
if [ "$paranoid" -le 2 ] && "${own[@]}" true 2>/dev/null; then
	prlimit --core=4096:4096 "${own[@]}" ./plain record -q --no-windows --counts off -o nob/core.data --duration 30s -- sleep 30 2>core.err & rec=$!; STARTED+=($rec)
	closed() { local i; for i in $(seq 100); do [ -s nob/core.data ] && break; sleep .1; done
		grep 'Max core file size *0 *0 ' /proc/$rec/limits && [ "$(stat -c %u /proc/$rec/mem)" = 0 ]; }
	check "a recorder leaves no core file, and nobody of its user may look into it" closed
	free() { local i child; for i in $(seq 600); do
		child=$(pgrep -P $rec -x sleep) && grep 'Max core file size *4096 *4096 ' /proc/$child/limits && return; sleep .1; done; return 1; }
	check "but its command may do as it likes" free
	kill $rec; wait $rec
else
	skip "a recorder's own memory" "no ambient capabilities here, or perf_event_paranoid is above 2"
fi

# signals that cannot be read would leave a recording that only SIGKILL ends
if need gcc; then
	printf '#include <errno.h>\nint signalfd(int fd, const void *m, int f) { return errno = EMFILE, -1; }\n' >nosig.c
	gcc -shared -fPIC -o nosig.so nosig.c
	expect_status 1 "signals that cannot be read are an error" env LD_PRELOAD="$TMP/nosig.so" accperf record -q -o sig.data -- true
	check "which is said, before anything is written" bash -c 'grep -q "signals cannot be read" err && [ ! -e sig.data ]'
fi

# whoever may run accperf by sudo may not therefore run anything from its pager
"$mkp" lines.data stacks=300
if need script; then
	paged() { TERM=xterm script -qec "stty rows 8 cols 80; $1 ACCPERF_PAGER='env; cat >/dev/null' accperf report -i lines.data" /dev/null; }
	check "under sudo the pager is told to be safe" bash -c "$(declare -f paged); paged SUDO_UID=1000 | grep -q LESSSECURE=1"
	check "and is not where it is one's own" bash -c "$(declare -f paged); paged '' | grep ACCPERF_PAGER && ! paged '' | grep LESSSECURE"
fi

# a command that reads and writes files has given up all other rights by the time that it writes its first byte
mkfifo unread; exec 9<>unread
timeout .3 cat /dev/zero >&9 # whoever writes now waits
few() { # COMMAND...: of CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER alone
	local i status=1 held
	accperf "$@" >&9 & STARTED+=($!)
	for i in $(seq 600); do
		held=$(sed -n 's/^Cap\(Prm\|Eff\|Inh\|Amb\):[[:space:]]*/0x/p' /proc/$!/status)
		[ -n "$held" ] || break
		[ $(($(printf '%s|' $held)0)) -le 15 ] && status=0 && break
		sleep .1
	done
	kill $!; wait $!
	return $status
}
check "report keeps the rights to files alone" few report -i lines.data
check "so does export" few export --collapsed -o - -i lines.data
check "and offload" few offload -i lines.data
exec 9>&-

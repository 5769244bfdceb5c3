#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hits of hardware breakpoints that end programs, as on some virtual machines: tried out before any is used, kept for the boot,
# and learnt from what happens to others. The signals are sent by the programs here to themselves.
# harm: breakpoints whose hits end programs | 2,000,000 hits tried first | windows on such machines
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
need cc || { echo "needs a compiler"; exit 77; }
export ACCPERF_BREAKPOINTS=auto XDG_CACHE_HOME=$TMP/cache
mkdir -m 700 cache
cc -O1 -o stray "$TOP/tests/fixtures/stray.c" && cc -O1 -shared -fPIC -o host.so "$TOP/tests/fixtures/host.c" -ldl ||
	{ echo "not ok - the fixtures compile"; exit 1; }
doctor() { accperf doctor --json 2>/dev/null | jq -r --arg n "$1" --arg k "$2" '.features[] | select(.name == $n) | .[$k]'; }
[ "$(doctor hw-breakpoints state)" = yes ] || { echo "no hardware breakpoints here"; exit 77; }
grep -q '^flags.* hypervisor' /proc/cpuinfo || { echo "not a virtual machine: breakpoints need no trial"; exit 77; }
windows() { accperf report --json -i "$1" 2>/dev/null | jq '[.counters[] | select(.name == "watch windows" or .name == "count windows") | .value] | add // 0'; }
samples() { accperf report --json -i "$1" 2>/dev/null | jq '.samples // 0'; }
boot=$(cat /proc/sys/kernel/random/boot_id)
known() { # NAME NUMBER [BOOT]
	mkdir -p -m 700 cache/accperf cache/accperf/breakpoints
	printf 'accperf breakpoints 1 %s\n%s\n' "${3:-$boot}" "$2" >"cache/accperf/breakpoints/$1"
}
forget() { rm -rf cache/accperf/breakpoints; }
kept() { sed -n 2p "cache/accperf/breakpoints/$1" 2>/dev/null || echo 0; }
record() { accperf record -e soft --effort high -F 997 -o "$1" "${@:2}"; }

# windowed FILE OPTION...: recorded for longer each time until there was a window: a busy machine gives few samples to arm one for
windowed() {
	local file=$1 secs; shift
	for secs in 4 16 48; do
		record "$file" "$@" -- "$WORKLOADS/tightloop" --seconds $secs || return
		[ "$(windows "$file")" = 0 ] || break
	done
}
# The trial takes idle time only, so where the machine is full of other work it cannot be seen. idle_from: from here on;
# had_idle: more than .6 of a CPU was idle since then (a workload and the recorder leave one of two)
idle_now() { awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { print ($5 + $6) / hz }' /proc/stat; }
idle_from() { idle_at=$(idle_now) idle_began=$EPOCHREALTIME; }
had_idle() { awk -v i="$(idle_now)" -v j="$idle_at" -v t="$EPOCHREALTIME" -v u="$idle_began" 'BEGIN { exit !(i - j > 0.6 * (t - u)) }'; }
# idly NAME COMMAND...: as check, where there was idle time
idly() { if had_idle || "${@:2}" >/dev/null 2>&1; then check "$@"; else skip "$1" "no CPU was idle: the machine is full"; fi; }
tried_more() { # FILE THAN OPTION...: recorded for longer each time until the trial had some of the machine
	local secs
	for secs in 1.5 6 24; do
		record "$1" "${@:3}" -- "$WORKLOADS/tightloop" --seconds $secs || return
		[ "$(kept hits)" -le "$2" ] && had_idle || break
	done
}

# stray_later [die]: it is sent the signal after 1.5 s, or later if no window was armed by then
stray_later() {
	local after status
	for after in 1.5 8 30; do
		forget; known hits 2000000
		record other.data -- ./stray "$(awk "BEGIN { print 2 * $after }")" $after "$@"; status=$?
		[ "$(kept signals)" = 0 ] || break
	done
	return $status
}

# a machine that nobody knows yet
check "doctor does not know" [ "$(doctor breakpoint-trial state)" = unknown ]
check "and says what to do" [ "$(doctor breakpoint-trial enable)" = "accperf doctor --breakpoints" ]
idle_from
expect_status 0 "a recording begins all the same" tried_more a.data 0
check "without a window" [ "$(windows a.data)" = 0 ]
check "which is counted" [ "$(counter "samples without windows, as hardware breakpoints were not to be used" a.data)" -gt 0 ]
check "and said, with the ways out" grep -q 'doctor --breakpoints.*--breakpoints on' "$TMP/err"
idly "it tried meanwhile, and keeps that" [ "$(kept hits)" -ge 64 ]
tried=$(kept hits)
idle_from
expect_status 0 "the next one" tried_more a.data "$tried" -q
idly "goes on where that ended" [ "$(kept hits)" -gt "$tried" ]
expect_status 3 "windows that were asked for by name and not to be had" record a.data -q --windows -- "$WORKLOADS/tightloop" --seconds .3
expect_status 0 "who does not want to wait" windowed on.data --breakpoints on
check "has windows" [ "$(windows on.data)" -gt 0 ]
check "and no advice" sh -c '! grep -q "tried out" "$1"' - "$TMP/err"
ACCPERF_BREAKPOINTS=on expect_status 0 "the environment says so, too" windowed on.data -q
check "and is heard" [ "$(windows on.data)" -gt 0 ]
ACCPERF_BREAKPOINTS=on expect_status 0 "unless an option says otherwise" record off.data --breakpoints off -- "$WORKLOADS/tightloop" --seconds 1
check "off: no window" [ "$(windows off.data)" = 0 ]
check "the report says so" sh -c 'accperf report -i off.data --stdio | grep -q "^# hardware breakpoints: none: off, as asked for"'
check "and counts from bursts" sh -c 'accperf counts -i off.data | grep -q "[1-9][0-9]* bursts of"'
expect_status 2 "neither on nor off" record b.data --breakpoints maybe -- true
check "names the option" grep -q -- '--breakpoints.*auto.*on.*off' "$TMP/err"
ACCPERF_BREAKPOINTS=maybe expect_status 2 "nor in the environment" record b.data -- true
check "which is named" grep -q 'ACCPERF_BREAKPOINTS must be' "$TMP/err"

# what was tried is kept wherever it can be, and where it cannot the user is told
rm -rf made
XDG_CACHE_HOME=$TMP/made/at/once expect_status 0 "a folder for caches that is not there" record a.data -- "$WORKLOADS/tightloop" --seconds .3
check "is made" [ -d made/at/once/accperf/breakpoints ]
check "with nothing to say of it" sh -c '! grep -q "begins that anew" "$1"' - "$TMP/err"
XDG_CACHE_HOME=/proc/none expect_status 0 "one that cannot be made" record a.data -- "$WORKLOADS/tightloop" --seconds .3
check "is said once, with the remedy" sh -c '[ "$(grep -c "begins that anew.*XDG_CACHE_HOME, /proc/none, cannot be written.*set XDG_CACHE_HOME" "$1")" = 1 ]' - "$TMP/err"
check "by doctor, too" sh -c 'XDG_CACHE_HOME=/proc/none accperf doctor --json | jq -r ".features[] | select(.name == \"breakpoint-trial\").enable" | grep -q XDG_CACHE_HOME'

# the trial comes to its end
# calm NAME COMMAND...: as check; but on a machine with the defect, one of these hits may be the one in a million
strayed=0
calm() {
	if [ "$(kept signals)" != 0 ]; then strayed=1; rm -f cache/accperf/breakpoints/signals; fi
	if [ $strayed = 0 ] || "${@:2}" >/dev/null 2>&1; then idly "$@"; else skip "$1" "a hit did send a stray signal here"; fi
}
trial_ends() { # with time for windows after it
	for secs in 5 20 60; do
		known hits 1999000
		record late.data -- "$WORKLOADS/tightloop" --seconds $secs || return
		[ "$(windows late.data)" = 0 ] && had_idle || break
	done
}
idle_from
expect_status 0 "a recording in which the trial ends" trial_ends
calm "the report says since when" sh -c 'accperf report --json -i late.data | jq -r .breakpoints | grep -q "^after [1-9]"'
calm "has windows from then on" [ "$(windows late.data)" -gt 0 ]
calm "and says since when" grep -q 'began after [1-9]' "$TMP/err"
calm "doctor knows it" [ "$(doctor breakpoint-trial state)" = yes ]
expect_status 0 "the next recording" windowed a.data
calm "has windows" [ "$(windows a.data)" -gt 0 ]
calm "and has nothing to say of it" sh -c '! grep -q "tried out" "$1"' - "$TMP/err"
known hits 2000000 00000000-0000-0000-0000-000000000000
calm "another boot is another machine" [ "$(doctor breakpoint-trial state)" = unknown ]
for bad in "" "x" "2000000" "-1" "99999999999999999999999"; do
	printf '%s' "$bad" >cache/accperf/breakpoints/hits
	calm "a cache of '$bad' is none" [ "$(doctor breakpoint-trial state)" = unknown ]
done
known hits 1990000
expect_status 0 "doctor --breakpoints tries at once" accperf doctor --breakpoints --json
calm "to the end" [ "$(jq -r '.features[] | select(.name == "breakpoint-trial").state' out)" = yes ]
calm "for everybody's use" [ "$(kept hits)" -ge 2000000 ]
forget; known hits 1000
expect_status 2 "--idle alone is wrong usage" accperf doctor --idle
forget; known hits 1995000
idle_from
timeout 60 accperf doctor --breakpoints --idle --json >out 2>err; status=$?
idly "doctor --breakpoints --idle, as packages have it after each boot" [ $status = 0 ]
calm "... to the end, too" [ "$(jq -r '.features[] | select(.name == "breakpoint-trial").state' out)" = yes ]
# what a service of root found, whose cache is the system's, root's own recordings know, who have a home
if unshare -m true 2>/dev/null; then
	of_service() { # BOOT OWNER
		unshare -m bash -c 'mount -t tmpfs none /var/cache && mkdir -p -m 700 /var/cache/accperf/breakpoints home &&
			printf "accperf breakpoints 1 %s\n2000000\n" "$1" >/var/cache/accperf/breakpoints/hits && chown -R "$2" /var/cache/accperf &&
			env -u XDG_CACHE_HOME HOME="$PWD/home" accperf doctor --json' - "$1" "$2" 2>/dev/null | jq -r '.features[] | select(.name == "breakpoint-trial").state'
	}
	check "what a service found holds for root's recordings, too" [ "$(of_service "$boot" 0)" = yes ]
	check "... of this boot alone" [ "$(of_service 00000000-0000-0000-0000-000000000000 0)" = unknown ]
	check "... and not what another user left there" [ "$(of_service "$boot" 65534)" = unknown ]
else
	skip "what a service found holds for root's recordings" "no mount namespaces here"
fi
forget; known hits 1000
(exec 9<cache/accperf/breakpoints; flock 9; exec sleep 200) & holder=$!; STARTED+=($holder)
sleep .3
expect_status 1 "while another process tries" accperf doctor --breakpoints
check "that is said" grep -q 'another process is trying' "$TMP/err"
for secs in 4 16 48; do
	rm -f cache/accperf/breakpoints/hits
	record wait.data -q -- "$WORKLOADS/tightloop" --seconds $secs 2>wait.err & rec=$!
	sleep 1.2; known hits 2000000
	wait $rec; status=$?
	[ "$(windows wait.data)" = 0 ] || break
done
check "a recording waits for what it finds" [ $status = 0 -a "$(windows wait.data)" -gt 0 ]
kill $holder

# a full machine: the trial takes nothing, and that is said
spin=(); for _ in $(seq $(($(nproc) * 2))); do setsid sh -c 'while :; do :; done' & spin+=($!); done; STARTED+=("${spin[@]}")
forget
expect_status 0 "a recording on a full machine" record full.data -- "$WORKLOADS/tightloop" --seconds 3
kill "${spin[@]}"
check "tries nothing" [ "$(kept hits)" = 0 ]
check "and says why" grep -q 'no CPU was idle while it recorded' "$TMP/err"

# a machine where hits end programs, found by our own
idle_from
on_host() { HOST=stray LD_PRELOAD=$TMP/host.so "$@"; }
for secs in 2 8 30; do # a busy machine samples less in the same time
	forget
	on_host accperf record -e soft -F 997 -o bad.data -- "$WORKLOADS/tightloop" --seconds $secs 2>err; status=$?
	# found as it ends, it is kept, and the next one says so
	[ "$(samples bad.data)" -gt 100 ] && { { [ "$(kept signals)" -ge 1 ] && grep -q 'found by hits of our own' err; } || ! had_idle; } && break
done
check "a recording finds stray signals" [ $status = 0 ]
check "lives on" [ "$(samples bad.data)" -gt 100 ]
idly "warns" grep -q 'warning: hits of hardware breakpoints end programs on this virtual machine.*found by hits of our own' "$TMP/err"
check "has no window" [ "$(windows bad.data)" = 0 ]
idly "and keeps that" [ "$(kept signals)" -ge 1 ]
expect_status 0 "the next one" record bad.data -- "$WORKLOADS/tightloop" --seconds 1
check "does without" [ "$(windows bad.data)" = 0 ]
idly "and says so" grep -q 'no hardware breakpoints: hits of' "$TMP/err"
expect_status 3 "counts that were asked for by name" record bad.data -q --counts on -- "$WORKLOADS/tightloop" --seconds .3
idly "doctor: no" [ "$(doctor breakpoint-trial state)" = no ]
idly "what the soft engine can do is less then" sh -c 'accperf doctor --json | jq -r ".engines[] | select(.name == \"soft\").accuracy" | grep -q "no breakpoints here"'
forget
expect_status 0 "doctor --breakpoints finds them, too" on_host accperf doctor --breakpoints --json
check "and ends at the first" [ "$(jq -r '.features[] | select(.name == "breakpoint-trial").state' out)" = no ]

# found by what happens to others
expect_status 3 "another program is sent one while breakpoints are armed" stray_later
check "warns, and names it" grep -q 'warning: process [0-9]* (stray) was sent a SIGTRAP' "$TMP/err"
check "and keeps it" [ "$(kept signals)" = 1 ]
expect_status 133 "one that ends by it: the status is the command's" stray_later die
check "warns as well" grep -q 'warning: process [0-9]* (stray) was sent a SIGTRAP' "$TMP/err"
forget; known hits 2000000
expect_status 0 "without breakpoints it is the program's own affair" record other.data --breakpoints off -- ./stray 1.5 .7
check "and nothing is concluded" [ "$(kept signals)" = 0 ]
if need gdb; then
	# debuggers step through system calls with the same code
	cat >step.c <<-C
		int main(void) { for (int i = 0; i < 400; i++) { long nr = 110; __asm__ volatile("syscall" : "+a"(nr) : : "rcx", "r11", "memory"); } return 0; }
	C
	cc -O0 -g -o step step.c
	accperf record -e soft --effort high -o gdb.data -q -- "$WORKLOADS/tightloop" --seconds 4 2>gdb.err & rec=$!
	sleep 1.5
	gdb -nx -batch -ex 'break main' -ex run -ex 'stepi 300' ./step >gdb.out 2>&1
	wait $rec
	check "a debugger's steps are no stray signals" [ "$(kept signals)" = 0 ]
else
	skip "a debugger's steps" "no gdb"
fi
# held ID: by a process that works elsewhere: others record, too
held() {
	local f
	for f in $(grep -lE "^prog_id:[[:space:]]+$1\$" /proc/[0-9]*/fdinfo/* 2>/dev/null); do
		[ "$(readlink "${f%/fdinfo/*}/cwd")" = "$TMP" ] || return 0
	done
	return 1
}
gone() {
	local id left
	for _ in $(seq 50); do
		left=
		for id in $(bpftool prog list 2>/dev/null | awk '/name on_signal / { print $1 + 0 }'); do held "$id" || left=$id; done
		[ -n "$left" ] || return 0
		sleep .1
	done
	echo "program $left"; return 1
}
check "nothing stays attached" gone

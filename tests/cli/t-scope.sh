#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A recording observes what was asked for: of nobody else anything is stored, whatever the source.
# harm: a control group's neighbours | 2 neighbours at full speed, 2 s and 3 kinds of target
. "$(dirname "$0")/../lib.sh"

mkp=$TOP/build/mkprofile
[ "$(id -u)" = 0 ] || { skip "who is observed" "needs root"; exit 0; }

# records FILE KIND [PID...]: how many of these processes; without any, of all
records() {
	local file=$1 kind=$2; shift 2
	"$mkp" "$file" pids=1 | awk -v kind="$kind" -v pids="$*" 'BEGIN { n = split(pids, p, " "); for (i = 1; i <= n; i++) ours[p[i]] = 1 }
		$1 == kind && (!n || $2 in ours) { sum += $3 } END { print sum + 0 }'
}
# only_of FILE PID...: something of these in each kind that was named before --, and nothing of others in any
only_of() { # FILE KIND... -- PID...
	local file=$1 kinds=() kind; shift
	while [ "$1" != -- ]; do kinds+=("$1"); shift; done; shift
	for kind in "${kinds[@]}"; do
		[ "$(records "$file" "$kind" "$@")" -gt 0 ] || { echo "nothing of $* in $kind"; "$mkp" "$file" pids=1; return 1; }
	done
	for kind in process mapping sample access sysio call; do
		[ "$(records "$file" "$kind" "$@")" = "$(records "$file" "$kind")" ] || { echo "of others in $kind (ours: $*)"; "$mkp" "$file" pids=1; return 1; }
	done
}

# records_calls FILE RECORD_ARGUMENTS...: longer each time, until some system call was observed: on a busy machine there is
# budget for few bursts in a second
records_calls() {
	local file=$1 seconds; shift
	for seconds in 1 2 4 8; do
		accperf record -q "$@" --duration ${seconds}s -o "$file" || return
		[ "$(records "$file" sysio)" = 0 ] || return 0
	done
}

# reads and writes as fast as it can, and so does a stranger
mover() { exec dd if=/dev/zero of=/dev/null bs=4096 status=none; }
mover & stranger=$!; STARTED+=($stranger)
mover & ours=$!; STARTED+=($ours)

v2=; for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do
	[ "$(stat -f -c %T $root 2>/dev/null)" = cgroup2fs ] && mkdir $root/accperf-scope.$$ 2>/dev/null && { v2=$root; break; }
done
if [ -n "$v2" ]; then
	cg=$v2/accperf-scope.$$
	mkdir "$cg/below"; echo $ours >"$cg/below/cgroup.procs"
	expect_status 0 "a control group, by the one above" records_calls g.data -G "$cg"
	check "its system calls are there, nobody else's" only_of g.data sample sysio process -- $ours
	echo $ours >"$v2/cgroup.procs"
	# two containers, as groups' names tell them
	id() { printf "$1%.0s" $(seq 64); }
	mkdir "$cg/docker-$(id a).scope" "$cg/docker-$(id b).scope"
	echo $ours >"$cg/docker-$(id a).scope/cgroup.procs"; echo $stranger >"$cg/docker-$(id b).scope/cgroup.procs"
	accperf record -q -p $ours,$stranger --duration 2s --counts off --no-windows --offload none -o two.data 2>/dev/null
	check "of a recording of two containers each has its own part" bash -c "accperf report two.data --by container --json | jq -e '[.groups[] | select(.samples > 10).name] | sort == [\"$(id a)\", \"$(id b)\"]'"
	echo $ours >"$v2/cgroup.procs"; echo $stranger >"$v2/cgroup.procs"
	rmdir "$cg"/docker-*
else
	skip "a control group" "no version 2 here"
fi

expect_status 0 "a process" records_calls p.data -p $ours
check "its system calls are there, nobody else's" only_of p.data sample sysio -- $ours
expect_status 0 "a process, by timers of its threads" records_calls t.data --timers threads -p $ours
check "likewise" only_of t.data sample sysio -- $ours

kill $ours $stranger; wait $ours $stranger 2>/dev/null

if [ -n "$v2" ]; then
	# offload calls: of who is in a group below and of who joins later
	for who in inside joins outside; do
		"$WORKLOADS/off_own" plain 2000000000 >/dev/null & STARTED+=($!); declare "$who=$!"
	done
	echo $inside >"$cg/below/cgroup.procs"
	joined() { # longer each time: on a busy machine those who join are found late, and calls are counted in turns
		local seconds recorder
		for seconds in 4 8 16; do
			echo $joins >"$v2/cgroup.procs"; rm -f o.data
			accperf record -q -G "$cg" --no-syscalls --no-windows --counts off --offload-probe 'off_own:encode(bytes=arg2)' --duration ${seconds}s -o o.data & recorder=$!; STARTED+=($recorder)
			for _ in $(seq 100); do [ -s o.data ] && break; sleep .05; done
			echo $joins >"$cg/cgroup.procs"
			wait $recorder || return
			[ "$(records o.data call $joins)" = 0 ] || return 0
		done
	}
	expect_status 0 "offload calls of a control group" joined
	check "are there of who is in a group below" only_of o.data call -- $inside $joins
	check "and of who joined later" test "$(records o.data call $joins)" -gt 0
	kill $inside $joins $outside; wait $inside $joins $outside 2>/dev/null
	rmdir "$cg/below" "$cg"
fi

# version 1: nothing tells when its processes run, unless the hierarchy has perf_event
v1=; for root in /sys/fs/cgroup/cpu /sys/fs/cgroup/pids /sys/fs/cgroup/freezer /sys/fs/cgroup/systemd; do
	[ "$(stat -f -c %T $root 2>/dev/null)" = cgroupfs ] && { v1=$root; break; }
done
if [ -n "$v1" ]; then
	expect_status 1 "a control group of version 1 is refused" accperf record -q -G "$v1" --duration 1s -o v1.data
	check "with the reason" grep -q 'version 1.*perf_event' "$TMP/err"
	check "and no profile is left" test ! -e v1.data
else
	skip "a control group of version 1" "there is none here"
fi

# a command's recording begins before the command does, when all of the machine's mappings are followed
cp "$(type -P true)" neighbour-true
(while ./neighbour-true; do :; done) 2>/dev/null & STARTED+=($!)
accperf record -q --counts off -o own.data -- "$WORKLOADS/tightloop" --seconds 0.5 >/dev/null 2>own.err
check "a command's own files are named" bash -c "'$mkp' own.data dump=1 | grep -qa tightloop"
check "... and none of its neighbours'" bash -c "! '$mkp' own.data dump=1 | grep -qa neighbour-true"

# from a container without the host's processes: numbers there are others than the kernel's
if unshare -mpf --mount-proc true 2>/dev/null; then
	cat >inside <<-'EOF'
		"$1" --loop & target=$!
		accperf record -q -e soft -F 499 -p $target --duration 2s --offload none -o inside.data 2>inside.err; status=$?
		kill $target; echo "$target $status"
	EOF
	unshare -mpf --mount-proc bash ./inside "$WORKLOADS/tightloop" >inside.out
	named() { accperf report --per-thread --json -i inside.data 2>/dev/null | jq -e --argjson pid "$(cut -d' ' -f1 inside.out)" '[.threads[].pid] == [$pid] and any(.functions[]; .name == "spin_hot" and .self > .5)' || { cat inside.out inside.err; return 1; }; }
	check "in a pid namespace of its own a recorder's samples are its target's, with names" named
else skip "a pid namespace of its own" "unshare is not allowed here"; fi

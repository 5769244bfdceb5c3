#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel's own ticks as samples: they come beside the timer's, stand for the CPU time together with these, and are
# left out where somebody asked for a rate.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
state=$(accperf doctor --json | jq -r '.features[] | select(.name == "kernel-ticks") | .state')
[ "$state" = yes ] || { skip "the kernel's own ticks" "$(accperf doctor | grep -A1 "kernel's own ticks" | tr '\n' ' ')"; exit 0; }

counter() { accperf report --json -i "$1" | jq "[.counters[] | select(.name == \"$2\") | .value] | add // 0"; }
ticks="ticks of the kernel's own, taken along"

# Four seconds of a busy program: cpu has the seconds that the kernel counted from before to after.
work() {
	local from to
	"$WORKLOADS/tightloop" --seconds 60 >/dev/null & target=$!
	from=$(cut -d' ' -f14,15 /proc/$target/stat)
	accperf record -q --counts off --no-windows "$@" --duration 4 -p $target -o ticks.data
	to=$(cut -d' ' -f14,15 /proc/$target/stat)
	kill $target; wait $target 2>/dev/null
	echo "$from $to" | awk -v hz="$(getconf CLK_TCK)" '{ print ($3 + $4 - $1 - $2) / hz }' >cpu
}
come() { work && [ "$(counter ticks.data "$ticks")" -gt 50 ] || { counter ticks.data "$ticks"; return 1; }; }
# The recorder observes for a part of the time that the clock goes which it is compared with: on a busy machine for a third.
# If each kind of tick stood for all of the time, it would be twice as much.
stand_for() {
	local said
	said=$(accperf export --collapsed -o - -i ticks.data 2>/dev/null | awk '{ s += $NF } END { print s / 1e9 }')
	echo "said $said, was $(cat cpu)"
	awk -v said="$said" -v was="$(cat cpu)" 'BEGIN { exit !(said > .2 * was && said < 1.25 * was) }'
}
asked() { work -F 99 && [ "$(counter ticks.data "$ticks")" = 0 ]; }

# A fortieth of a CPU, at beats that each tick of the kernel's meets where it has 250 a second; what it is told is then
# sixfold what it used, and more. How much it used is its own clock's.
in_step() {
	local from to told
	"$WORKLOADS/instep" at250 --seconds 60 >/dev/null 2>&1 & target=$!
	from=$(cut -d' ' -f1 /proc/$target/schedstat)
	accperf record -q --counts off --no-windows --duration 4 -p $target -o step.data
	to=$(cut -d' ' -f1 /proc/$target/schedstat)
	kill $target; wait $target 2>/dev/null
	told=$(accperf export --collapsed -o - -i step.data 2>/dev/null | awk '{ s += $NF } END { print s + 0 }')
	echo "told $told ns of $((to - from)), ticks refused: $(counter step.data "$refused")"
	# the first few ticks, a sample of the timer's, and twice what was used
	awk -v told="$told" -v was=$((to - from)) 'BEGIN { exit !(told < 2 * was + 1e8) }'
}
refused="ticks of the kernel that are no samples: more than their thread's CPU time has room for"

check "they come" come
check "one that moves in step with them is told no more than it used" in_step
check "and with the timer's stand for the CPU time that was used" stand_for
check "a rate that was asked for is kept: there are none" asked

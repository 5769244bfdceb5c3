# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by the tests of `accperf record`, after lib.sh.
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
# Other recordings may come and go beside this test. What one of its own left behind is held by no process, or by one that
# works in this test's folder.
left() { # the ids of those programs, in order
	{
		bpftool prog list 2>/dev/null | sed -nE 's/^([0-9]+):.* name on_(tick|fork|exec|free|switch) .*/ours \1/p'
		find /proc/[0-9]*/cwd -maxdepth 0 -lname "$TMP*" -printf 'here %h\n' 2>/dev/null
		grep -s '^prog_id:' /proc/[0-9]*/fdinfo/* | sed -E 's|/fdinfo/[0-9]+:prog_id:||'
	} | awk '$1 == "ours" { ours[$2] = 1; next } $1 == "here" { here[$2] = 1; next }
		{ if ($1 in here) left[$2] = 1; else held[$2] = 1 }
		END { for (id in ours) if (id in left || !(id in held)) print id }' | sort
}
self() { # FUNCTION: its self share in percent, whole
	accperf report --json -i "${2:-accperf.data}" 2>/dev/null | jq --arg f "$1" '[.functions[] | select(.name == $f) | .self] | add // 0 | . * 100 | floor'
}
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || { echo "$1 is not in $2..$3"; return 1; }; }
samples() { accperf report --json -i "${1:-accperf.data}" 2>/dev/null | jq .samples; }
cpu_ms() { awk '{ sub(/.*\) /, ""); print ($12 + $13) * 10 }' "/proc/$1/stat"; } # the machine is shared: count CPU time, not seconds
left >left.before
# one that is just being taken away has no holder either, for a moment; so it counts if it is there each time
nothing_left() {
	local i; left | comm -23 - left.before >still
	for i in $(seq 40); do
		[ -s still ] || return 0
		sleep 0.25; left | comm -12 - still >now; mv now still
	done
	bpftool prog list | grep -A 4 -E "^($(paste -sd '|' still)):"; return 1
}

# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the drivers of real programs have in common. A driver is sourced by its name's file and says
#
#   program=PATH      the program that is observed       package=NAME   of Debian that has it
#   begin=FN:N        of `accperf exact --start-at`: the steady state has begun by then
#   known=FN:N        of --writers-from: so much earlier, as a recording knows what was written many seconds ago
#   needs="CMD ..."   what else must be installed        held_out=yes   no rule was chosen by looking at it
#   unit=NAME         of work, where there is a counter
# and functions, which run in the folder $dir, their inputs in it:
#   prepare           makes inputs, once
#   endless           execs the program, which works until it is ended
#   finite PREFIX...  runs the same work with a bound below PREFIX (the exact engine); ends by itself
#   ready, load       servers only: status 0 once it answers; clients, which work until they are ended
#   work              prints units done so far
#
#   DRIVER can                  status 77 and a reason where something is missing
#   DRIVER version              of the program's package, or of its file
#   DRIVER start DIR            returns once the steady state has begun; the pid is in DIR/pid
#   DRIVER work DIR             units of work since the start, where the program has a counter
#   DRIVER stop DIR             ends all that start began
#   DRIVER exact DIR OUT        the truth of the same steady state
set -uo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
A=${ACCPERF:-$HERE/../../build/accperf}
program="" package="" begin="" known="" needs="" held_out=no unit="" dir=""
# Valgrind knows no AVX-512 and no transactions: recording and truth execute the same code.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512VL,-AVX512BW,-AVX512F,-RTM,-Prefer_No_VZEROUPPER:glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824
export LC_ALL=C PYTHONHASHSEED=0 PERL_HASH_SEED=0
prepare() { :; }
ready() { :; }
load() { :; }
work() { return 1; }

# Words of a small language, the same everywhere: BYTES of them from a SEED.
words() { # BYTES SEED
	awk -v n="$1" -v s="$2" 'BEGIN { while (c < n) { s = (s * 69069 + 12345) % 4294967296; w = int(s / 65536) % 4000
		x = substr("thequickbrownfoxjumpsoverlazydogs", w % 29 + 1, w % 7 + 2) (w % 11 ? " " : ".\n"); c += length(x); printf "%s", x } }'
}

begun() { # PID: what is to be ended; the latest first
	echo "$1" >>"$dir/pids"
}

# Ends what this driver began, by pid, and waits until it is gone.
end_all() {
	local p
	[ -e "$dir/pids" ] || return 0
	tac "$dir/pids" | while read -r p; do kill "$p" 2>/dev/null; done
	while read -r p; do
		for _ in $(seq 100); do kill -0 "$p" 2>/dev/null || break; sleep 0.05; done
		kill -9 "$p" 2>/dev/null
	done <"$dir/pids"
	rm -f "$dir/pids" "$dir/pid"
}

can() {
	local c
	for c in "$program" $needs; do command -v "$c" >/dev/null || { echo "there is no $c"; exit 77; }; done
}

# Waits until a server answers, below the exact engine for a while longer.
until_ready() {
	for _ in $(seq 300); do ready 2>/dev/null && return 0; sleep 0.1; done
	echo "it does not answer" >&2
	return 1
}

start() {
	local try
	rm -f "$dir/pids" "$dir/units"
	(cd "$dir" && endless) >/dev/null 2>"$dir/err" &
	begun $!
	echo $! >"$dir/pid"
	until_ready || { end_all; return 1; }
	(cd "$dir" && load) >/dev/null 2>&1 &
	begun $!
	for try in $(seq 30); do [ -s "$dir/pid" ] && kill -0 "$(cat "$dir/pid")" 2>/dev/null && [ "$try" -gt 15 ] && return 0; sleep 0.1; done
	tail -n 3 "$dir/err" >&2
	end_all
	return 1
}

prepared() {
	mkdir -p "$dir" || return 1
	[ -e "$dir/prepared" ] || { (cd "$dir" && prepare) >"$dir/prepare.log" 2>&1 && touch "$dir/prepared"; } || { tail -n 3 "$dir/prepare.log" >&2; return 1; }
}

# The last line of a driver.
drive() { # COMMAND DIR OUT
	dir=${2:+$(mkdir -p "$2" && cd "$2" && pwd)}
	case $1 in
	can) can ;;
	version) dpkg-query -W -f '${Package} ${Version}\n' "$package" 2>/dev/null || sha256sum "$(command -v "$program")" | cut -c1-16 ;;
	about) printf '%s\t%s\t%s\t%s\n' "$package" "$program" "$held_out" "$unit" ;;
	start) can && prepared && start ;;
	work) work ;;
	stop) end_all ;;
	exact)
		can && prepared && rm -f "$3" || return 1
		(cd "$dir" && finite "$A" exact -q -o "$3" ${begin:+--start-at "$begin"} ${known:+--writers-from "$known"} --) >/dev/null 2>"$dir/exact.err"
		[ -s "$3" ] || { tail -n 3 "$dir/exact.err" >&2; return 1; }
		;;
	*) echo "usage: $0 can|version|about|start|work|stop|exact [DIR] [OUT]" >&2; return 2 ;;
	esac
}

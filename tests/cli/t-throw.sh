#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Targets survive their probes: exceptions, longjmp, cancellation and unwinding through probed functions end as they do
# without a recorder, in all ways of attaching, and what returned is counted to the call.
# harm: C++ exception through a probed function | 200 calls, 40 throw; 3 ways of attaching
# harm: an allocator's exception through zlib's `inflate` | 200 streams, 3 ways
# harm: longjmp, cancelled threads, `backtrace()`, unwinding by a signal handler in a probed call | 200 calls each,
#   3 ways
# harm: a shadow stack under a probed function | 200 calls, 3 ways, where there are any
# harm: a function whose exits are not known, in a program that catches | 200 calls, 3 ways | its times: it is
#   counted only
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { skip "exceptions through probed functions" "not root"; exit 0; }
need g++ || { skip "exceptions through probed functions" "no g++"; exit 0; }
g++ -O2 -g -o throws "$TOP/tests/fixtures/throws.cc" -lz -lpthread || { fail "the program that throws is built"; exit 0; }
N=200
shadow=$(./throws shadow 1); [ $? = 7 ] && shadow=

# survives WAY KIND [OPTION]: the same output and status as alone
survives() {
	local alone got status
	alone=$(./throws "$2" $N)
	got=$(accperf record -o t.data --offload zlib --offload-exact --offload-attach "$1" ${3:+"$3"} --offload-probe 'throws:encode(bytes=arg1)' \
		--offload-probe 'throws:handed_on(bytes=arg1)' -- ./throws "$2" $N 2>t.err); status=$?
	accperf offload -i t.data --json >t.json 2>/dev/null
	[ "$status" = 7 ] && [ "$got" = "$alone" ] && return
	echo "status $status, said '$got', alone '$alone'"; cat t.err; return 1
}
# seen NAME: calls counted, of them untimed
seen() { jq -r --arg n "$1" '[.calls[]|select(.name==$n)|"\(.counted_calls) \(.untimed)"][0] // "none"' t.json; }

for way in auto multi perf; do
	check "$way: exceptions pass a probed function" survives $way own
	check "$way: calls that returned are counted, those that threw are not" [ "$(seen throws:encode)" = "$((N - N / 5)) 0" ]
	check "$way: an allocator's exception passes inflate" survives $way zlib
	check "$way: longjmp" survives $way jump
	check "$way: calls that were not left" [ "$(seen throws:encode)" = "$((N - N / 5)) 0" ]
	check "$way: cancelled threads clean up" survives $way cancel
	check "$way: backtrace() sees every caller" survives $way backtrace
	check "$way: a signal handler unwinds to the end" survives $way signal
	if [ -n "$shadow" ]; then skip "$way: a shadow stack agrees with every return" "$shadow"; else
		check "$way: a shadow stack agrees with every return" survives $way shadow
		check "$way: calls under it are counted and timed" [ "$(seen throws:encode)" = "$N 0" ]
	fi
	check "$way: exceptions pass a function whose exits are not known" survives $way indirect
	check "$way: its calls are counted, none is timed" [ "$(seen throws:handed_on)" = "$N $N" ]
	check "$way: why is said, and how to have times all the same" grep -q 'handed_on (an indirect jump may leave it).*--offload-returns' t.err
done
accperf record -q -o t.data --offload-exact --offload-returns --offload-probe 'throws:handed_on(bytes=arg1)' -- ./throws handed $N >/dev/null 2>t.err
accperf offload -i t.data --json >t.json
check "--offload-returns: timed" [ "$(seen throws:handed_on)" = "$N 0" ]

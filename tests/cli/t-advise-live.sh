# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `accperf advise` of a live recording whose calls run hand-written assembler without unwind rules: the function's share
# of the process is what the program says of itself. While 71 % of the stacks ended in the assembler, a share of .91 was
# told as .69 [.25..1].
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/offloads.sh"

job=$WORKLOADS/offloadable
"$job" deflate accelerated 200 whole >own.txt 2>own.err || { echo "no ISA-L: $(head -n 1 own.err)"; exit 77; }
ACCPERF_BREAKPOINTS=off accperf record -q -o asm.data --effort high --offload-probe "$job:job(bytes=arg2,host)" \
	-- "$job" deflate accelerated 40000 whole >own.txt 2>err.txt
status=$?
if [ $status = 1 ] && grep -q 'not allowed\|no uprobes' err.txt; then echo "no probes here: $(head -n 1 err.txt)"; exit 77; fi
rest=$("$job" deflate accelerated 40000 rest | cut -d ' ' -f 1)
accperf advise -i asm.data --json >asm.json 2>/dev/null

# job's share of the process as told, and by the program's own clock
share() {
	python3 - "$rest" "$(cut -d ' ' -f 1 own.txt)" <<-'PY'
		import json, sys
		truth = 1 - float(sys.argv[1]) / float(sys.argv[2])
		s = next(c for c in json.load(open("asm.json"))["candidates"] if c["name"] == "job")["share_of_time"]
		print("true %.3f, told %.3f [%.3f..%.3f]" % (truth, s["value"], s["low"], s["high"]))
		sys.exit(not (abs(s["value"] - truth) < .08 and s["high"] - s["low"] < .25))
	PY
}
check "the share of calls into assembler without rules: within .08 of what the program says" share

# Without breakpoints what lies between system calls tells how fast code runs; what it lacks is what helps. A recording
# that met too little of it says so too.
for units in 8000 40000; do
	ACCPERF_BREAKPOINTS=off accperf record -q -o few.data -- "$WORKLOADS/stages" host $units >/dev/null 2>&1
	accperf advise -i few.data >/dev/null 2>few.err
	if [ "$(accperf flow -i few.data --json 2>/dev/null | jq .amounts_known)" = true ]; then
		check "$units units: the speed is known, and nothing is said to be missing of it" \
			bash -c '! grep "shares only" few.err'
	else
		check "$units units: why the speed is unknown is said, and what helps" \
			grep -Eq "shares only.*or between system calls: [a-z].*: record|(shares only|holds no bytes).*doctor" few.err
	fi
done

# Calls without breakpoints: between two ends, or as the most there can be. The last recording's stages run once a block; bwt
# sorts three blocks a round, each for tens of milliseconds, which no burst sees begin. Ends hold nine times of ten, and are
# let off by twice here.
told() { # PROFILE FUNCTION CALLS_PER_S
	accperf advise -i "$1" --json 2>/dev/null | jq -e --arg f "$2" --argjson true "$3" '.candidates[] | select(.name == $f) |
		if .calls_per_s then .calls_per_s.low <= 2 * $true and $true <= 2 * .calls_per_s.high
		else .partly.calls_per_s.high >= $true / 2 and (.reason | test("a call takes .* or more, too seldom")) end' >told.txt
}
blocks=$(accperf report -i few.data --json 2>/dev/null | jq "$units * 1e9 / .duration_ns")
for stage in unpack mend pack; do
	check "$stage: what is told of its calls holds the blocks a second" told few.data "$stage" "$blocks"
done
ACCPERF_BREAKPOINTS=off accperf record -q -o long.data --effort high -- "$WORKLOADS/bwt" --seconds 3 >/dev/null 2>rounds.txt
check "compress: seldom called, and told so" told long.data compress \
	"$(sed -n 's/bwt: \([0-9]*\) rounds in \([0-9.]*\) s/3 * \1 \/ \2/p' rounds.txt | jq -n -f /dev/stdin)"
accperf counts -i long.data --json 2>/dev/null >long.counts; accperf counts -i long.data --stdio >long.txt 2>/dev/null
check "... and counts has the same end, and no guess" jq -e '.functions[] | select(.name == "compress") |
	.calls == null and .per_second.value == null and .per_second.low == 0 and .per_second.high > 0' long.counts
check "... which its text shows" grep -qE '<[0-9.]+[kM]? .* compress$' long.txt

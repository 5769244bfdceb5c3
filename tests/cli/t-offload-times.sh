# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Offload probes: what is said of times, of overlap, and of calls beyond the budget. A machine that does much else at the
# same time changes these, so this test runs alone.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/offloads.sh"

accperf record -q -o probes.data --offload zlib --offload-exact -- "$W/off_deflate" 1 2000 >/dev/null 2>err.txt
status=$?
if [ $status = 1 ] && grep -q 'not allowed\|no uprobes' err.txt; then echo "no probes here: $(head -n 1 err.txt)"; exit 77; fi

mkdir lib && ln -s "$W/off_libcuda" lib/libcuda.so.1
LD_LIBRARY_PATH=$PWD/lib accperf record -q -o cuda.data --offload cuda --offload-exact -- "$W/off_cuda" 50 >cuda.json 2>cuda.err
check "mock CUDA: counts and bytes, twins together" same cuda.data cuda.json
check "mock CUDA: the launch nobody waits for is open, no other" [ "$(counter cuda.data 'offload: calls whose completion was never seen')" = 1 ]
check "mock CUDA: work items" is cuda.data ".calls[]|select(.name==\"cuLaunchKernel\")|.async==30 and .work_items==$(jq .cuLaunchKernel.items cuda.json)"
check "mock CUDA: copies of streams overlap with own work" is cuda.data '.calls[]|select(.name=="cuMemcpyHtoDAsync")|.overlap>0.5 and .design=="async"'
# Clocks that are set meanwhile. The time of day steps a year with every look at it; then the target's clocks
# are another's (a time namespace), and then so are ours.
sane() { is "$1" '.duration_ns > 1e6 and .duration_ns < 6e11 and all(.calls[]; .time_ns.median == null or .time_ns.median < 6e11)'; }
stepping() { LD_LIBRARY_PATH=$PWD/lib "$@" >cuda.json 2>step.err; }
clocks() { # FILE: what must hold of the mock's run whatever the clocks do
	same "$1" cuda.json && sane "$1" && [ "$(counter "$1" 'offload: calls whose completion was never seen')" = 1 ] &&
		is "$1" '.calls[]|select(.name=="cuMemcpyHtoDAsync")|.overlap>0.5 and .design=="async"' &&
		is "$1" '.calls[]|select(.name=="cuMemcpyHtoD")|.time_ns.median > 20000'
}
stepping env LD_PRELOAD="$W/off_clock" accperf record -q -o step.data --offload cuda --offload-exact -- "$W/off_cuda" 50
check "the time of day is stepped: counts, pairs and times" clocks step.data
if unshare -T --monotonic 100000 --boottime 100000 true 2>unshare.err; then
	stepping accperf record -q -o ns.data --offload cuda --offload-exact -- unshare -T --monotonic 100000 --boottime 100000 "$W/off_cuda" 50
	check "a target with other clocks: counts, pairs and times" clocks ns.data
	stepping unshare -T --monotonic -5 --boottime -5 accperf record -q -o ns.data --offload cuda --offload-exact -- "$W/off_cuda" 50
	check "other clocks for both: counts, pairs and times" clocks ns.data
else
	skip "a target with other clocks" "no time namespaces: $(head -n 1 unshare.err)"
fi
check "mock CUDA: synchronous copies block" is cuda.data '.calls[]|select(.name=="cuMemcpyHtoD")|.design=="sync-OS" and .async==0'


# What a probe costs depends on the first instruction: one body, three beginnings, the same time. The
# machine's speed may change between the measurement at start and the calls, so up to fifteen tries.
begin() { jq -r --arg n "off_cost:starts_$1" ".calls[]|select(.name==\$n)|.$2" cost.json; }
alike() {
	local n bare specs=()
	for n in push mov endbr; do specs+=(--offload-probe "off_cost:starts_$n(bytes=arg0)"); done
	for _ in $(seq 15); do
		accperf record -q -o cost.data --offload none --offload-exact "${specs[@]}" -- "$W/off_cost" 100 >bare.json 2>/dev/null || return 1
		accperf offload -i cost.data --json >cost.json
		bare=$(jq .bare bare.json)
		echo "bare $bare push $(begin push time_ns.median) mov $(begin mov time_ns.median) endbr $(begin endbr time_ns.median)"
		jq -e -n --argjson b "$bare" --argjson p "$(begin push time_ns.median)" --argjson m "$(begin mov time_ns.median)" \
			'def near(x;y): x/y>0.75 and x/y<1.25; near($p;$b) and near($m;$b) and near($p;$m)' && return 0
	done
	return 1
}
check "times are right whatever a function begins with" alike
if [ "$(uname -m)" = x86_64 ]; then
	check "push is emulated, mov is stepped, endbr64 is known" [ "$(begin push probe_class) $(begin mov probe_class) $(begin endbr time_upper_bound)" = "emulated stepped false" ]
	check "both costs are said" jq -e '.probe_cost|.emulated_call_ns>0 and .emulated_call_ns<.call_ns and .emulated_inside_ns<.inside_ns' cost.json
	check "in text, too" bash -c "accperf offload -i cost.data | grep -q 'emulates a function'"
fi

# crc32 hands its call on to crc32_z, which is probed, too: its time holds neither probe
accperf record -q --offload-exact -o crc.data --offload zlib -- "$W/off_paced" 2000 1 >/dev/null 2>&1
check "probes inside a call are taken off its time: crc32 of 1 KB is below what can be timed" is crc.data '.calls[]|select(.name=="crc32")|.counted_calls==2000 and .time_ns.p10==null and .cpu_share_low<0.2'


# the budget: a million calls a second are not all probed, and the figures say so
accperf record -o many.data --offload openssl -- "$W/off_crypt" 5000000 >many.json 2>many.err
check "above the budget probes are taken away" is many.data '.calls[]|select(.name=="EVP_DigestUpdate")|.observed<0.9'
# An interval misses at its nominal rate, and the machine's speed changes meanwhile: its coverage is
# tested in u-offload with drawn stretches. Here: what is counted is counted, and the scale is right.
around() { is "$1" ".calls[]|select(.name==\"$2\")|.counted_calls<=$3 and .low>=.counted_calls and .low/4<=$3 and (.high==null or (.low<=.high and .high*4>=$3))"; }
check "and what is said of all calls is of the right size" around many.data EVP_DigestUpdate 3750000
accperf record -q -o some.data --offload zlib -- "$W/off_deflate" 30000 3000 >/dev/null 2>&1
check "a rate that can be corrected for the probes: of the right size" around some.data deflate 30000
check "the user is told" grep -q 'stretches of time' many.err
# what takes the time of a TLS server is called once where digests of some bytes are called two hundred times
accperf record -q -o sign.data --offload openssl -- "$W/off_sign" 8000 >/dev/null 2>sign.err
check "signatures are not probed as seldom as short calls of their library" is sign.data '[.calls[]|{key:.name,value:.observed}]|from_entries|
	.EVP_DigestSign > 4 * ([to_entries[]|select(.key|test("Update"))|.value]|min // 0)'

# A device that blocks its caller is used for all sizes, which pays for few: where the program's own clock says, without
# probes, is where advise says to switch. A busy machine makes either slower meanwhile: some tries.
to_switch() {
	local from specs=(--offload-probe "off_switch:crc_host(bytes=arg1,host,name=crc)" --offload-probe "off_switch:crc_device(bytes=arg1,accelerated,name=crc)")
	for _ in $(seq 5); do
		"$W/off_switch" sleep 2 >switch.json || return 1
		from=$(jq .from switch.json)
		accperf record -q -o switch.data --offload none --offload-exact "${specs[@]}" -- "$W/off_switch" sleep 3 >/dev/null 2>&1 || return 1
		accperf advise -i switch.data --json >advice.json 2>/dev/null
		jq -c '[.candidates[]|select(.kind=="offload")|.options[]|[.text,.partly.g1.value]]' advice.json
		jq -e --argjson from "$from" '[.candidates[]|select(.kind=="offload")|.options[]] | length == 1 and
			all(.verdict == "switch" and .partly.g1.value > $from / 4 and .partly.g1.value < $from * 2)' advice.json && return 0
	done
	return 1
}
check "a device that is used for too small calls: switch to the host, and under which size" to_switch

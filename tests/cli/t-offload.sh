# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Offload probes end to end: counts and bytes equal to the program's own, pairing, nesting, what ends
# badly, and that nothing stays behind. Times: t-offload-times.sh.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/offloads.sh"

# held PID: the BPF programs and links a recording holds; still FILE: how many of those are there yet
held() { cat /proc/"$1"/fdinfo/* 2>/dev/null | awk '/^link_id:/{print "link", $2} /^prog_id:/{print "prog", $2}' | sort -u; }
still() { local kind id; while read -r kind id; do bpftool "$kind" show id "$id" >/dev/null 2>&1 && echo "$kind $id"; done <"$1" | wc -l; }
traced() { wc -l <"/sys/kernel/tracing/uprobe_events" 2>/dev/null || echo 0; }

accperf record -q -o exact.data --offload openssl --offload-exact -- "$W/off_crypt" 200000 >crypt.json 2>err.txt
status=$?
if [ $status != 0 ] && grep -q 'not allowed\|no uprobes' err.txt; then echo "no probes here: $(head -n 1 err.txt)"; exit 77; fi
check "200,000 OpenSSL updates: counts and bytes are the program's" same exact.data crypt.json
check "the inner EVP_EncryptUpdate is nested, not a call" [ "$(got exact.data EVP_EncryptUpdate counted_calls)" = 0 ]
check "nested calls are counted as such" [ "$(counter exact.data 'offload: nested calls, counted with their outermost')" = 50000 ]
check "a call site is named" is exact.data '.calls[]|select(.name=="EVP_DigestUpdate")|.sites[0].function=="main"'
check "the probe's cost is said" bash -c "accperf offload -i exact.data | grep -q 'taken off'"
check "and what it did to the target" bash -c "accperf report -i exact.data | grep -qE '^# cost: target slowed ([0-9.]+-fold|20-fold or more),'"
check "JSON says how the probes were attached" is exact.data '.attach!=null and .probe_cost.call_ns>0'
check "the probes cost is measured again at the end" is exact.data ".probe_cost|.hot_ns>0 and .hot_end_ns>0"

for how in auto session multi perf; do
	accperf record -q -o way.data --offload zlib --offload-exact --offload-attach $how -- "$W/off_deflate" 60 20000 >way.json 2>way.err
	case $? in
	0 | 3) check "60 deflates by --offload-attach $how" same way.data way.json ;;
	*) [ $how != auto ] && grep -q 'refused\|no uprobes' way.err && skip "--offload-attach $how" "$(head -n 1 way.err)" || fail "--offload-attach $how: $(head -n 1 way.err)" ;;
	esac
done

accperf record -q -o faults.data --offload none --offload-exact --offload-probe "$W/off_faults:widen(bytes=arg2,host,name=widen)" -- "$W/off_faults" 200 >faults.json 2>faults.err
# the first hits of a probe may bring in a page of their own
check "page faults in calls are those that the kernel tells the program of" jq -e -n --slurpfile own faults.json --slurpfile seen <(json faults.data) \
	'$own[0].faults as $f | $seen[0].calls[] | select(.name == "widen") | (.page_faults_per_call * .counted_calls) as $n | .counted_calls == 200 and $f >= 3200 and $n >= $f and $n <= $f + 20 and .page_fault_share > 0 and .page_fault_share <= 1'
check "advise tells their share, and the speed-up should they stay" bash -c "accperf advise -i faults.data --json 2>/dev/null | jq -e '.candidates[] | select(.name == \"widen\") | .page_fault_share > 0'"

# Events of the target are queued by the time probing is refused: seen to crash about every third time.
refused() {
	local i
	for i in 1 2 3 4 5 6; do
		capsh --drop=cap_sys_admin -- -c "exec accperf record -q -o no.data --offload zlib --offload-attach perf -- '$W/off_deflate' 1 2000" >/dev/null 2>refused.err
		[ $? = 1 ] && grep -q '^accperf: error: .* run as root, or ' refused.err || { cat refused.err; return 1; }
	done
}
check "probes refused for want of a capability: a sentence, each time" refused

mkfifo go; exec 9<>go
"$W/off_deflate" 400 100000 wait <&9 >late.json &
pid=$!; STARTED+=($pid)
accperf record -q -o late.data --offload zlib --offload-exact -p $pid 2>late.err & rec=$!; STARTED+=($rec)
begun late.data || fail "the recording has begun before the library is loaded"; echo >&9
wait $pid $rec
told_late() { # DATA JSON: fewer calls than there were, and how long after its loading the first of them could be seen
	same "$1" "$2" && return 0
	[ "$(got "$1" deflate counted_calls)" -lt "$(jq .deflate.calls "$2")" ] && [ "$(got "$1" deflate counted_calls)" -gt 0 ] &&
		accperf offload -i "$1" | grep -qE ' calls, all counted since it was probed, within [0-9.]+ ms of being loaded'
}
check "a library loaded after attaching: counts and bytes, or since when they are" told_late late.data late.json
mkdir -p new # a file that was not there when recording began is looked at when it is loaded, and not before
LD_LIBRARY_PATH=$PWD/new "$W/off_deflate" 400 100000 wait <&9 >new.json &
pid=$!; STARTED+=($pid)
accperf record -q -o new.data --offload zlib --offload-exact -p $pid 2>new.err & rec=$!; STARTED+=($rec)
begun new.data || fail "the recording has begun before the file is there"; cp -L "$(ldd "$W/zchain" | awk '/libz/ { print $3 }')" new/libz.so.1; echo >&9
wait $pid $rec
check "a library of a file that was not there before: all calls, or since when they are" told_late new.data new.json
check "and it is counted as found already loaded" [ "$(counter new.data 'offload: libraries found already loaded, their first calls unseen')" -gt 0 ]
check "stacks of samples inside probed calls are whole" bash -c "accperf report -i late.data --json | jq -e '[.functions[]|select(.name==\"main\" and .object==\"off_deflate\")|.inclusive]|add > 0.5'"

if "$W/off_opencl" 2 4 >/dev/null 2>&1; then
	accperf record -q -o cl.data --offload opencl --offload-exact -- "$W/off_opencl" 20 256 >cl.json 2>cl.err
	check "20 OpenCL buffers: counts and bytes" same cl.data cl.json
	check "OpenCL: every submission is paired" [ "$(counter cl.data 'offload: calls whose completion was never seen')" = 0 ]
	check "OpenCL: half the reads block, half are waited for by event" is cl.data '.calls[]|select(.name=="clEnqueueReadBuffer")|.async==10'
else
	skip "OpenCL" "no device (pocl-opencl-icd)"
fi

if "$W/off_uring" 1 1 >/dev/null 2>&1; then
	# where nobody mounted tracefs, for this recording alone
	with_tracefs=()
	if [ ! -d /sys/kernel/tracing/events ] && unshare -m mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; then
		with_tracefs=(unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing && exec "$@"' sh)
		accperf record -q -o ring.data --offload io_uring --offload-exact -- "$W/off_uring" 1 1 >/dev/null 2>ring.err
		check "without tracefs it is said how to mount it" grep -q 'io_uring cannot be watched.*mount -t tracefs' ring.err
	fi
	"${with_tracefs[@]}" accperf record -q -o ring.data --offload io_uring --offload-exact -- "$W/off_uring" 1000 3000 >ring.json 2>ring.err
	if grep -q 'io_uring cannot be watched' ring.err && ! "${with_tracefs[@]}" sh -c 'test -d /sys/kernel/tracing/events/io_uring || test -d /sys/kernel/debug/tracing/events/io_uring'; then
		skip "io_uring" "$(grep -m 1 -o 'io_uring cannot be watched.*' ring.err)"
	else
		check "1000 io_uring reads: counts and bytes" same ring.data ring.json
	fi
else
	skip "io_uring" "not allowed here"
fi

# A shell that runs one program of some length in a child, and twenty that end at once.
accperf record -q -o fork.data --offload zlib -- bash -c "for i in \$(seq 20); do (:); done; (exec $W/off_deflate 300 100000) | cat" >fork.json 2>/dev/null
check "forked children: those followed and those that ended too soon are counted" [ "$(( $(counter fork.data 'offload: forked children followed') + $(counter fork.data 'offload: forked children that ended before they could be probed') ))" -ge 22 ]
unprobed() { local n; n=$(counter fork.data 'offload: forked children that ended before they could be probed'); [ "$n" = 0 ] || accperf offload -i fork.data | grep -q "calls.* but for those in $n forked children that ended before"; }
check "who reads of calls reads whose are not among them" unprobed
check "and the CPU time before their probes is said" is fork.data '[.counters[]|select(.name=="offload: CPU microseconds of forked children before they were probed")]|length==1'

own() { accperf record -q -o own.data --offload-exact "${@:2}" -- "$W/off_own" "$1" 200 >own.json 2>own.err; }
# counted CALLS [OPEN]: what own.data has of encode; if it is something else, what the recording said
counted() {
	local have
	have="$(got own.data off_own:encode counted_calls)${2:+ $(got own.data off_own:encode open)}"
	[ "$have" = "$*" ] && return
	echo "counted and open: $have, wanted $*"
	cat own.err
	json own.data | jq -c '{calls: [.calls[] | {name, counted_calls, open}], counters: [.counters[] | select(.value > 0)], attach}'
	return 1
}
spec='off_own:encode(bytes=arg2)'
own plain --offload-probe "$spec"
check "a function of one's own" [ "$(got own.data off_own:encode counted_calls) $(got own.data off_own:encode bytes_in)" = "200 110000" ]
own recurse --offload-probe "$spec"
check "recursive calls count once" counted 200
own exit --offload-probe "$spec"
check "a process that ends inside a call leaves it open" counted 199 1
own threads --offload-probe "$spec"
check "threads that end inside calls leave them open" counted 0 200
accperf record -q -o own.data --offload-exact --offload-probe "$spec" -- "$W/off_own" stay 200 >stay.out 2>own.err & recorder=$!
STARTED+=($recorder)
for _ in $(seq 600); do [ -e inside ] && break; sleep 0.1; done
kill -TERM $recorder; wait $recorder; touch leave
check "a call under way when the recording ends is open, never of no time" counted 199 1
check "and so says the text" bash -c "accperf offload -i own.data | grep -q '^    1 never seen to complete: counted, not timed'"
own jump --offload-probe "$spec"
check "calls left by longjmp are not counted as done" counted 100
own marker --offload markers
check "markers: 100 host and 100 accelerated pairs" is own.data '[.calls[]|select(.name=="pack")|[.variant,.counted_calls]]|sort==[["accelerated",100],["host",100]]'
check "markers: bytes in and out" [ "$(got own.data pack bytes_in) $(got own.data pack bytes_out)" = "110000 55000" ]
check "markers: both variants are judged" is own.data '.verdicts|length==1'

# wrong use and what is not there
expect_status 0 "--offload help needs no target" accperf record --offload help
check "and lists each API with its libraries" grep -q '^zlib  .*libz\.so' "$TMP/out"
expect_status 2 "an unknown API is wrong usage" accperf record --offload warp -- true
check "and names the known ones" grep -q openssl "$TMP/err"
expect_status 2 "a probe without a library is wrong usage" accperf record --offload-probe 'encode(bytes=arg2)' -- true
expect_status 2 "an argument that does not exist is wrong usage" accperf record --offload-probe 'a.so:f(bytes=arg99)' -- true
expect_status 3 "a function that is not there: degraded" accperf record -o no.data --offload-probe 'off_own:encodx(bytes=arg2)' -- "$W/off_own" plain 5
check "and a sentence" grep -q "has no function 'encodx'" "$TMP/err"
expect_status 3 "a library that is not there: degraded" accperf record -o no.data --offload-probe 'libnothere.so:f' -- "$W/off_own" plain 5
# as where the CUDA runtime is linked into the program
missing=; for a in cudart:libcudart hip:libamdhip64 qatzip:libqatzip qpl:libqpl; do /sbin/ldconfig -p | grep -q "${a#*:}" || missing="$missing ${a%:*}"; done
if [ -z "$missing" ]; then skip "a library that no target has" "all are installed here"; else
	expect_status 3 "a library that no target has:$missing: degraded" accperf record -o no.data --offload "$(tr ' ' , <<<"${missing# }")" -- "$W/off_own" plain 5
	check "and a sentence for each that says what to do" [ "$(grep -c 'no target had a library of .*saw nothing; a copy linked into the program hides its names' "$TMP/err")" = "$(wc -w <<<"$missing")" ]
fi
expect_status 0 "a library that is here and that no target calls" accperf record -o no.data --offload zlib -- "$W/tightloop" --seconds 0.5
check "is said to have seen nothing, and why that may be" grep -q 'no target was seen to call a function of zlib .*saw nothing; a copy linked into the program hides its names' "$TMP/err"
cp "$W/off_own" stripped && strip stripped
# too short for a sample of the timer, which the status tells
accperf record -q -o strip.data --offload-exact --offload-probe 'stripped:encode(bytes=arg2)' -- ./stripped plain 50 >/dev/null 2>strip.err; status=$?
check "a stripped program: dynamic symbols suffice" [ $status = 0 -o $status = 3 ]
check "and counts" [ "$(got strip.data stripped:encode counted_calls)" = 50 ]
accperf record -q --offload none -o plain.data -- "$W/off_own" plain 5 >/dev/null 2>&1
expect_status 3 "a profile without offload probes: degraded" accperf offload -i plain.data
check "and the command that records them" grep -q -- '--offload auto' "$TMP/err"
expect_status 1 "no profile" accperf offload -i nothing.data

# what advise needs is looked for unasked, in what the command maps; a device's library that merely lies there is not configured
accperf record -q -F 997 -o unasked.data -- "$W/off_deflate" 9000 20000 >/dev/null 2>&1
check "a command's calls are looked for unasked" is unasked.data '.calls[]|select(.name=="deflate")|.counted_calls>0'
accperf record -q -o idle.data -- sleep .3 >/dev/null 2>&1
expect_status 3 "where there is nothing to probe" accperf offload -i idle.data
check "it is not said that calls were not looked for" bash -c '! grep -q "without offload probes" "$1" && grep -q "holds no offload call" "$1"' - "$TMP/err"
check "and no probe was loaded and priced" bash -c 'accperf offload -i idle.data --json 2>/dev/null | jq -e ".attach == null and .trust.mark == \"do not use\" and (.trust.reason // \"\" | test(\"looked\") | not)"'
python3 -c 'import time; time.sleep(1.5); import zlib
end = time.monotonic() + 2.5
while time.monotonic() < end: zlib.compress(b"later" * 4000)' & later=$!; STARTED+=($later)
accperf record -q -o later.data -p $later --duration 4s >/dev/null 2>&1
check "nor of a process that is attached to without such a library; what it maps later is looked for, too" \
	bash -c 'accperf offload -i later.data --json 2>/dev/null | jq -e "[.calls[]|select(.name==\"deflate\").counted_calls]|add > 0"; accperf advise -i later.data 2>&1 >/dev/null | { ! grep "no offload calls were looked for"; }'
python3 -c 'import time, zlib
end = time.monotonic() + 60
while time.monotonic() < end: zlib.compress(b"again" * 4000)' & again=$!; STARTED+=($again)
for i in 1 2; do accperf record -q -o again$i.data -p $again --duration 2s --offload zlib --offload-exact >/dev/null 2>&1; done
check "attached to, let go and attached to again: each time its calls are counted, and it goes on" bash -c "kill -0 $again"' &&
	for i in 1 2; do accperf offload -i again$i.data --json 2>/dev/null | jq -e "[.calls[]|select(.name==\"deflate\")][0] | .counted_calls > 0 and .bytes_in == 20000 * .counted_calls" || exit 1; done'
kill $again
cp "$W/off_everylib" libze_loader.so.1
LD_LIBRARY_PATH=$PWD accperf record -q -o lies.data --offload auto -- "$W/off_deflate" 60 20000 >/dev/null 2>&1
LD_PRELOAD=$PWD/libze_loader.so.1 accperf record -q -o has.data --offload auto -- "$W/off_deflate" 60 20000 >/dev/null 2>&1
idles() { accperf advise -i "$1" --json 2>/dev/null | jq -e '[.candidates[]|select(.options[0].verdict=="idle")|.name]|index("Level Zero")!=null' >/dev/null; }
check "a device whose library is installed and not mapped is not called configured" bash -c '! '"$(declare -f idles)"'; ! idles lies.data'
check "one whose library is mapped and idle is" idles has.data

# nothing stays behind, however it ends
"$W/off_crypt" 4000000000 100 >/dev/null & target=$!; STARTED+=($target)
before=$(traced)
for sig in INT TERM KILL; do
	rm -f sig.data
	accperf record -q -o sig.data --offload auto -p $target 2>/dev/null & rec=$!; STARTED+=($rec)
	begun sig.data '.calls|length>0'; held $rec >held.txt
	check "a recording holds programs and links (SIG$sig)" [ "$(still held.txt)" -ge 4 ]
	kill -$sig $rec; wait $rec 2>/dev/null
	for _ in $(seq 300); do [ "$(still held.txt)" = 0 ] && break; sleep 0.2; done
	check "nothing left behind after SIG$sig" [ "$(still held.txt) $(traced)" = "0 $before" ]
	check "the target lives after SIG$sig" kill -0 $target
done
kill $target
check "a recording that was killed is readable" is sig.data '.calls|length>0'

# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Operations of the kernel's cryptography (AF_ALG) end to end: counts and bytes equal to the program's own.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root: tracepoints"; exit 77; }
need jq || { echo "needs jq"; exit 77; }
alg=$WORKLOADS/alg

"$alg" 1 >plain.json 2>why.txt
if [ $? = 77 ]; then
	if [ "$(accperf doctor --json 2>/dev/null | jq -r '.features[]|select(.name=="af-alg").state')" = no ]; then
		pass "doctor says that there is no AF_ALG"
		expect_status 3 "asked for all the same: degraded" accperf record -o no.data --offload af_alg -- true
		check "and a sentence" grep -q 'AF_ALG cannot be watched: this kernel has none' "$TMP/err"
	fi
	skip "AF_ALG" "$(head -n 1 why.txt)"
	exit 0
fi
# got NAME FIELD: sum over the items of that name, "" = all of AF_ALG
got() { jq -r --arg n "$1" "[.calls[]|select(.api==\"af_alg\" and (\$n==\"\" or .name==\$n))|.$2]|add // 0" "$3"; }
same() { # JSON PROGRAM_JSON
	local name bad=0
	for name in "skcipher cbc(aes)" "hash sha256"; do
		have="$(got "$name" counted_calls "$1") $(got "$name" bytes_in "$1") $(got "$name" bytes_out "$1") $(got "$name" open "$1")"
		want=$(jq -r --arg n "$name" '.[$n]|"\(.calls) \(.in) \(.out) 0"' "$2")
		[ "$have" = "$want" ] || { echo "$name: program $want, accperf $have"; bad=1; }
	done
	return $bad
}
check "doctor says that there is AF_ALG" [ "$(accperf doctor --json 2>/dev/null | jq -r '.features[]|select(.name=="af-alg").state')" = yes ]
accperf record -q -o exact.data --offload af_alg --offload-exact -- "$alg" 100 >exact.own 2>exact.err
accperf offload -i exact.data --json >exact.json
check "600 operations, sent and read in all ways: counts and bytes are the program's" same exact.json exact.own
check "they have times" jq -e '[.calls[]|select(.api=="af_alg")|.time_ns.median>0]|length==2 and all' exact.json
check "and a caller" jq -e '[.calls[]|select(.api=="af_alg")|.sites[0].function!=null]|all' exact.json
accperf record -o cost.data --offload af_alg --offload-exact -- "$alg" 1 >/dev/null 2>cost.err
check "what the tracepoints cost is said" grep -q 'ns for each system call of the target' cost.err

# sockets from before the recording, found by auto
mkfifo go; exec 9<>go
"$alg" 100 wait <&9 >late.own & pid=$!; STARTED+=($pid)
for _ in $(seq 300); do grep -q '^ALG' /proc/net/protocols && [ "$(ls /proc/$pid/fd 2>/dev/null | wc -l)" -ge 8 ] && break; sleep 0.1; done
accperf record -q -o late.data --offload auto --offload-exact -p $pid 2>late.err & rec=$!; STARTED+=($rec)
for _ in $(seq 600); do [ "$(accperf offload -i late.data --json 2>/dev/null | jq '.counters|length>0' 2>/dev/null)" = true ] && break; sleep 0.2; done
echo >&9; wait $pid $rec
accperf offload -i late.data --json >late.json
check "open sockets found when attaching: every operation, the algorithm unknown" [ "$(($(got "unknown algorithm" counted_calls late.json) + $(got "unknown algorithm" open late.json)))" = 600 ]
check "and their bytes, but for an open one" bash -c "in=\$(jq '[.[].in]|add' late.own); have=$(got "" bytes_in late.json); [ \$have -le \$in ] && [ \$have -gt \$((in - 6000)) ]"

# a process that makes no other use of it is not charged for long: what is said of all is of the right size
accperf record -q -o some.data --offload af_alg -- "$alg" 3000 >some.own 2>/dev/null
accperf offload -i some.data --json >some.json
check "within the budget: never more than there were" bash -c "[ $(got "hash sha256" counted_calls some.json) -le 6000 ]"
check "and something" [ "$(got "hash sha256" counted_calls some.json)" -gt 0 ]

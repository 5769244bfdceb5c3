#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Adding to the house, as the headers tell it: an access source, a flow estimator, an offload API, a disk section and a
# command. Each is one new file (tests/adding has them), or none, and one row; nothing else is touched, and all the rest
# follows: help, man page, completion, doctor, JSON.
. "$(dirname "$0")/../lib.sh"
need "${CC:-gcc}" && need make || { echo "needs a compiler"; exit 77; }
[ -f "$TOP/build/libaccperf.a" ] || { echo "needs the objects of a build"; exit 77; }

T=$TMP/tree
mkdir "$T"
tar -C "$TOP" --exclude=./.git --exclude=./build/{unit,workloads,fuzz,asan,exact,man} --exclude=./tests/{golden,fuzz} -cf - . | tar -C "$T" -xf -
accperf=$T/build/accperf

# row FILE AFTER LINE: puts the line after the first one that has AFTER. The file keeps its time where what was appended
# concerns nobody who is compiled already.
row() { awk -v after="$2" -v line="$3" '{ print } !done && index($0, after) { print line; done = 1 } END { exit !done }' "$T/$1" >"$TMP/row" && cat "$TMP/row" >"$T/$1"; }
file() { cp "$TOP/tests/adding/$1" "$T/$2"; }
add() {
	file source.c kmod-free/demo.c && row user/record/sources.h 'X(ibs)' $'\tX(demo) \\' &&
		file estimator.c user/flow/demo.c && row user/flow/estimator_table.h 'X(fused)' $'\tX(demo) \\' &&
		row user/offload/api.c 'static const struct offload_api apis[] = {' $'\t{ "demo", "demonstration", "demo", "libdemo.so*", NULL, false, false },' &&
		row user/offload/api.c 'static const struct offload_row rows[] = {' $'\tCALL("demo", "demo_encode", Z, .in = ARG(1)),' &&
		file section.h user/store/demo.h && row include/format.h 'FMT_COUNTS_BURST = 85,' $'\tFMT_DEMO = 95, /* struct fmt_demo */' &&
		touch -r "$TOP/include/format.h" "$T/include/format.h" &&
		file command.c user/cli/demo.c
}
check "a file and a row each" add
build() { timeout 300 make -C "$T" -j2 WERROR=1 build/accperf; }
check "builds without a warning" build
[ -x "$accperf" ] && "$accperf" demo --help >/dev/null 2>&1 || { fail "what was added is in it"; exit 1; }

# the source
check "source: record can be asked for it" bash -c "$accperf record --help | grep -q -- '--engine .*|demo'"
check "source: the man page has it" bash -c "$accperf help --man record | grep -q '|demo'"
check "source: doctor lists it, and that it works" bash -c "$accperf doctor 2>/dev/null | grep -q '^  yes  *demo  *a demonstration'"
check "source: so does its JSON" bash -c "$accperf doctor --json 2>/dev/null | jq -e '.sources[] | select(.name == \"demo\") | .works and .detail == \"there, and silent\"'"
check "source: version, too" bash -c "$accperf version --json | jq -e '.sources | index(\"demo\")'"

# the estimator
golden=$TOP/tests/golden/live-pipeline.prof
check "estimator: flow, diff and compare take it" bash -c "for c in flow diff compare; do $accperf \$c --help | grep -q 'exact|stored|fused|demo|' || exit 1; done"
check "estimator: the man page has it" bash -c "$accperf help --man flow | grep -q 'fused|demo'"
check "estimator: it runs, and nobody is known" bash -c "$accperf flow -i $golden --estimator demo --json | jq -e '[.edges[].producer] | unique == [\"(unknown)\"]'"

# the API
check "API: record lists it" bash -c "$accperf record --offload help | grep -q '^demo  *demonstration  *libdemo'"
expect_status 2 "API: others are refused" "$accperf" record --offload demonstration -- true

# the section, and the command that reads it
check "section: written" "$accperf" demo --write x.data
check "section: read again" bash -c "$accperf demo -i x.data --json | jq -e '.sum == 42'"
check "section: what does not know it goes by" bash -c "accperf report -i x.data 2>&1 | grep -vi damaged"
check "command: help lists it" bash -c "$accperf help | grep -q '^ *demo  *a demonstration of how to add a command'"
check "command: it has a man page" bash -c "$accperf help --man demo | grep -q 'Adds the numbers up'"
check "command: and a schema" bash -c "$accperf help --json-schema demo | jq -e '.properties.sum'"
check "command: completion has it" bash -c "$accperf help --completion bash | grep -q demo"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# record --measure-cost: what the target gets done with and without a recording, by turns.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }

expect_status 2 "a command cannot be measured so" accperf record --measure-cost -- true
expect_status 2 "nor the whole machine" accperf record --measure-cost -a
check "... which is said with what to do" grep -q 'wants processes that run: -p or -n' err
expect_status 2 "turns have a second at least" accperf record --measure-cost -p $$ --duration 9s
expect_status 2 "--work alone is wrong usage" accperf record --work true -p $$

start dd if=/dev/zero of=/dev/null bs=65536
dd=$!
expect_status 1 "a command that prints no number" accperf record -p "$dd" --measure-cost --work "echo none" --duration 10s
check "is told" grep -q -- '--work prints no number' err
accperf record -q -p "$dd" --measure-cost --work "sleep 60" --duration 10s >out 2>err & rec=$!
sleep 1; kill $rec; wait $rec; status=$?
check "one that hangs is ended by a signal" [ $status = 1 ]
expect_status 0 "five pairs of turns" accperf record -p "$dd" --measure-cost --duration 10s --json --effort low -o c.data
check "are compared" jq -e '.schema == "accperf.measured-cost/1" and .pairs == 5 and .turn_seconds == 1 and .work == "calls"
	and .work_per_second > 100 and .own_cpu > 0
	and (.work_change, .cpu_per_work_change | .least <= .value and .value <= .most and .low == .least and .high == .most)' out
accperf help --json-schema measured-cost >schema.json
check "as the schema says" python3 -c 'import json, jsonschema; jsonschema.validate(json.load(open("out")), json.load(open("schema.json")))'
check "each turn with it left a profile" bash -c '[ "$(ls c.data.* | wc -l)" = 5 ] && accperf report --json -i c.data.000003 | jq -e ".samples > 0"'
kill "$dd"; wait "$dd" 2>/dev/null
expect_status 1 "a target that is gone" accperf record -p "$dd" --measure-cost --duration 10s

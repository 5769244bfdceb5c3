#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every view says on its first line how far it may be trusted, and JSON says the same. (Each row of the table: u-trust.)
. "$(dirname "$0")/../lib.sh"
need jq || { skip "trust marks" "needs jq"; exit 0; }
export XDG_CACHE_HOME=$TMP

first() { accperf "$1" -i "$2" 2>/dev/null | head -n 1; }
mark() { accperf "$1" --json -i "$2" 2>/dev/null | jq -r .trust.mark; }
agree() { # VIEW FILE: text and JSON
	local reason; reason=$(accperf "$1" --json -i "$2" 2>/dev/null | jq -r '.trust | if .reason then ": \(.reason); \(.remedy)" else "" end')
	[[ "$(first "$1" "$2")" =~ ^(# )?trust:\ (good|weak|do\ not\ use)(:|$) ]] && [ "$(first "$1" "$2" | sed 's/^# //')" = "trust: $(mark "$1" "$2")$reason" ]
}
in_schema() { for v in report counts flow objects timeline offload; do accperf help --json-schema $v | jq -e .properties.trust.properties.mark >/dev/null || return 1; done; }
check "six schemas have the mark" in_schema

mkprofile good.data counts=1 && mkprofile few.data samples=20 && mkprofile lossy.data loss=500 && mkprofile exact.data exact=1
for v in report counts offload; do check "$v: text and JSON agree" agree $v good.data; done
check "a thousand samples are good" [ "$(first report good.data)" = "# trust: good" ]
check "20 samples are not to be used, and how long would do is said" [ "$(first report few.data)" = "# trust: do not use: samples of user code: 20; record 5 s, while the program works" ]
check "a third lost is not to be used" [ "$(mark report lossy.data)" = "do not use" ]
check "what was counted is good" [ "$(first report exact.data)" = "# trust: good" ]
head -c $(($(stat -c %s good.data) - 40)) good.data >torn.data
check "a torn profile is weak" bash -c "[[ '$(first report torn.data)' == '# trust: weak: the profile is damaged'* ]]"
check "a profile without offload probes says so" bash -c "[[ '$(first offload good.data)' == *'record with --offload auto' ]]"

if accperf doctor >/dev/null 2>&1 || [ $? = 3 ]; then
	accperf record -q --breakpoints off -o live.data -- "$WORKLOADS/pipeline" --seconds 1.5 >/dev/null 2>err
	if accperf flow -i live.data >/dev/null 2>&1; then
		for v in flow objects timeline; do check "$v: text and JSON agree" agree $v live.data; done
		check "a flow of a second without watch windows is not good" [ "$(mark flow live.data)" != good ]
	else
		skip "marks of a recording" "nothing was recorded: $(tail -n 1 err)"
	fi
fi
if accperf exact --help >/dev/null 2>&1 && need valgrind && accperf exact -q -o counted.data -- "$WORKLOADS/pipeline" 64 >/dev/null 2>&1; then
	check "a flow that was counted is good" [ "$(first flow counted.data)" = "trust: good" ]
else
	skip "the mark of an exact flow" "needs the exact engine"
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What one recording saw the next one of the same files is told, in its own file, and shows apart.
. "$(dirname "$0")/../lib.sh"
need jq || { skip "earlier recordings" "needs jq"; exit 0; }
[ "$(id -u)" = 0 ] || { skip "earlier recordings" "needs root"; exit 0; }

# record takes a limit and leaves its command running; bursts are fewer on a busy machine
once() { accperf record -q --effort high --no-windows --counts-cache "$1" --duration 4s -o "$2" -- timeout 6 "$WORKLOADS/kv" --loop >/dev/null 2>record.err; }
told() { accperf flow --json --fresh "${@:2}" -i "$1" 2>/dev/null | jq -e "$WANT" >/dev/null; }
once kept first.data
check "files of what bursts saw are ours alone" test "$(stat -c %a kept/w* | sort -u)" = 600
WANT='.from_earlier_recordings == {"share": 0, "functions": 0, "contradicted": 0}'
check "the first recording is told nothing" told first.data
once kept second.data
WANT='.from_earlier_recordings | .functions > 0 and .share > 0 and .share < 1 and .contradicted <= .functions / 2'
check "the second is told what the first saw, and both agree" told second.data
accperf flow --json --fresh -i second.data 2>/dev/null >with.json
check "flow's text says so" grep -q "of the bytes: who wrote them is from earlier recordings" <(accperf flow --stdio -i second.data 2>/dev/null)
WANT='.from_earlier_recordings == {"share": 0, "functions": 0, "contradicted": 0}'
check "--no-earlier leaves it aside" told second.data --no-earlier
rm -r kept
accperf flow --json --fresh -i second.data 2>/dev/null >without.json
check "a reader needs no cache: the profile holds what it was told" cmp with.json without.json
once off third.data
check "--counts-cache off: nothing is told" told third.data
check "... and nothing is kept" test ! -e off

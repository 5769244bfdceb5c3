# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by the tests of offload probes, after lib.sh: a profile against the program's own account.
[ "$(id -u)" = 0 ] || { echo "needs root: probes of other processes"; exit 77; }
need jq || { echo "needs jq"; exit 77; }

# json FILE: what `accperf offload` says of it, worked out once
json() { [ "$1.json" -nt "$1" ] || accperf offload -i "$1" --json >"$1.json"; cat "$1.json"; }
# is FILE FILTER: a jq filter that must be true
is() { [ "$(json "$1" | jq "[$2] | length > 0 and all")" = true ]; }
# got FILE NAME FIELD: sum over the items of that name
got() { json "$1" | jq -r --arg n "$2" "[.calls[]|select(.name==\$n)|.$3]|add // 0"; }
# same FILE PROGRAM_JSON: every figure of the program's own account
same() {
	local name field want have bad=1 # nothing compared is nothing the same
	while read -r name field want; do
		case $field in calls) have=$(got "$1" "$name" counted_calls) ;; in) have=$(got "$1" "$name" bytes_in) ;; out) have=$(got "$1" "$name" bytes_out) ;; *) continue ;; esac
		[ "$have" = "$want" ] || { echo "$name $field: program $want, accperf $have"; return 1; }
		bad=0
	done < <(jq -r 'to_entries[]|.key as $k|.value|to_entries[]|"\($k) \(.key) \(.value)"' "$2")
	return $bad
}
counter() { json "$1" | jq -r --arg n "$2" '[.counters[]|select(.name==$n)|.value]|add // 0'; }
# begun FILE [FILTER]: waits until the recording into FILE has written its counters, once a second after
# all probes are in place
begun() {
	local deadline=$((SECONDS + 300))
	until [ "$(accperf offload -i "$1" --json 2>/dev/null | jq "(.counters|length) > 0 and (${2:-true})" 2>/dev/null)" = true ]; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.1
	done
}
W=$WORKLOADS

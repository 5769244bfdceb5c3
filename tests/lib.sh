# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by tests/cli/t-*.sh. A test script is a list of `check NAME COMMAND...` lines; each counts
# as one test. `skip NAME REASON` counts a skip; scripts/test adds everything up.
#
#   check "report names the hot function" grep -q spin out.txt
#   expect_status 2 "unknown option is wrong usage" accperf record --nonsense
set -u
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$TOP/tests/python.sh"
PATH=$TOP/build:$PATH
! command -v jq >/dev/null || PATH=$TOP/tests/shim:$PATH # see there
WORKLOADS=$TOP/build/workloads
TMP=$(mktemp -d "${TMPDIR:-/tmp}/accperf-test.XXXXXX")
export ACCPERF_BREAKPOINTS=on # our own programs: no trial first; t-stray.sh has it otherwise
STARTED=() # pids this script started; ended by pid at exit
export ACCPERF_TEST=$TMP
# A pid whose process has ended is soon another's, of a test beside us: a child of ours, or what has our environment.
is_ours() {
	grep -qsx "PPid:[[:space:]]*$$" "/proc/$1/status" || tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" | grep -qsxF "ACCPERF_TEST=$TMP"
}
cleanup() {
	local p
	for p in "${STARTED[@]:-}"; do [ -n "$p" ] && is_ours "$p" && kill "$p" 2>/dev/null; done
	rm -rf "$TMP"
}
trap cleanup EXIT
cd "$TMP" || exit 1

# start COMMAND...: in the background, output to $TMP/started.log; pid in $!. Most are loops that take what they get: half a share
# of the machine each, so that the tests beside it come to their ends.
start() { "$@" >>"$TMP/started.log" 2>&1 & STARTED+=($!); renice -n 3 -p $! >/dev/null 2>&1; }
pass() { printf 'ok - %s\n' "$1"; }
fail() { printf 'not ok - %s\n' "$1"; }
skip() { printf 'skip - %s: %s\n' "$1" "$2"; }
check() {
	local name=$1; shift
	if "$@" >"$TMP/check.log" 2>&1; then pass "$name"; else
		fail "$name"; printf '    %s\n' "command: $*"; sed 's/^/    /' "$TMP/check.log" | tail -n 30
	fi
}
# expect_status N NAME COMMAND...; stdout in $TMP/out, stderr in $TMP/err
expect_status() {
	local want=$1 name=$2 got; shift 2
	"$@" >"$TMP/out" 2>"$TMP/err"; got=$?
	if [ "$got" = "$want" ]; then pass "$name"; else
		fail "$name"; printf '    status %s, wanted %s: %s\n' "$got" "$want" "$*"; tail -n 20 "$TMP/err" | sed 's/^/    /'
	fi
}
# within SECONDS COMMAND...: until it succeeds; else what it says in the end, and the end of ./log where there is one.
# COMMAND may be a function of the test, which sees our variables in place of its own of the same name.
within() {
	local within_try within_tries=$(($1 * 4)); shift
	for within_try in $(seq $within_tries); do "$@" >/dev/null 2>&1 && return 0; sleep 0.25; done
	"$@"; [ ! -e log ] || tail -n 5 log; return 1
}
# counter NAME FILE: what a profile counted, -1 where it has no such counter
counter() { accperf report --json -i "$2" 2>/dev/null | jq --arg n "$1" '[.counters[] | select(.name == $n) | .value][0] // -1'; }
# valid SCHEMA FILE: by `accperf help --json-schema`
valid() {
	accperf help --json-schema "$1" >"$1.schema"
	python3 -c 'import json, jsonschema, sys; jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))' "$1.schema" "$2"
}
need() { command -v "$1" >/dev/null 2>&1; }

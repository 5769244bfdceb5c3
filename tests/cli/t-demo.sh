#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The demo from end to end, on what is built already.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
rm -f "$TOP/build/demo-report.html"
expect_status 0 "the demo runs" "$TOP/scripts/demo" 2
check "and names the example's functions" grep -q receive_batch "$TMP/out"
check "and stripped zlib's by their bounds" grep -qE 'libz\.so[0-9.]*\+0x' "$TMP/out"
check "and says what to try next" grep -q 'accperf record -p PID' "$TMP/out"
! accperf version --json | jq -e '.features[] | select(.name == "html").built' >/dev/null ||
	check "and leaves the page of its recording" grep -q '^<!doctype html>' "$TOP/build/demo-report.html"
# on a virtual machine: what it found stays for who records next
check "and has tried out breakpoints" bash -c 'accperf doctor --json | jq -e ".features[] | select(.name == \"breakpoint-trial\").state != \"unknown\""'
check "and names the tour" grep -q 'accperf tour' "$TMP/out"
expect_status 1 "a wrong argument is refused" "$TOP/scripts/demo" soon

# the tour where nothing may be recorded: it says so, and leaves nothing
expect_status 2 "a tour without a duration" accperf tour --duration 0s
if need setpriv; then
	mkdir -m 777 private; cp "$TOP/build/accperf" ./accperf; chmod 755 . accperf
	expect_status 1 "a tour without rights" env TMPDIR="$TMP/private" XDG_CACHE_HOME="$TMP/private" timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups ./accperf tour --no-pause --duration 1s -o private/x.html </dev/null
	check "shows what it runs" grep -qE '^\$ accperf record -p [0-9]+ ' out
	check "ends where it cannot go on" grep -q 'the tour ends here' err
	check "leaves neither folder nor service" bash -c '! ls -d private/accperf-tour.* && ! pgrep -u 65534 tour-service'
fi

#!/usr/bin/env bash
# The demo from end to end, on what is built already.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
expect_status 0 "the demo runs" "$TOP/scripts/demo" 2
check "and names the example's functions" grep -q receive_batch "$TMP/out"
check "and stripped zlib's by their bounds" grep -qE 'libz\.so[0-9.]*\+0x' "$TMP/out"
check "and says what to try next" grep -q 'accperf record -p PID' "$TMP/out"
expect_status 1 "a wrong argument is refused" "$TOP/scripts/demo" soon

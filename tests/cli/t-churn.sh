#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A target that maps code for hours, in seconds: the recording goes on and what comes afterwards has its name.
. "$(dirname "$0")/../lib.sh"

[ "$(id -u)" = 0 ] || { skip "code that comes and goes" "needs root"; exit 0; }

expect_status 0 "160,000 executable mappings, one after the other, end no recording" \
	accperf record -q --no-windows --counts off --no-syscalls -o churn.data -- "$WORKLOADS/mapchurn" 160000 1
check "what ran after them has its name" sh -c 'accperf report --json -i churn.data | jq -e "[.functions[]|select(.name==\"afterwards\")|.self.percent? // .self]|length > 0"'
check "and lists that grew too long were read afresh" sh -c 'accperf report --json -i churn.data |
	jq -e ".counters[]|select(.name==\"lists of mappings read afresh, as they had grown too long\")|.value > 0"'

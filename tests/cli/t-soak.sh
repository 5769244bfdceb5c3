#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Weeks in half a minute: processes, generated code and containers come and go, profiles follow each other, and the
# recorder stays as it is, sampling so often that it meets each of them. `scripts/bench soak` does the same for ten
# minutes and allows less growth.
# harm: processes, generated code, containers that come and go | some 170 processes in 36 s
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
need python3 && need cc && unshare --mount true 2>/dev/null || { echo "needs python3, a compiler and mount namespaces"; exit 77; }

expect_status 0 "neither memory nor descriptors nor BPF objects grow, and nothing is lost" \
	"$TOP/scripts/bench-soak" --seconds 36 --rotate 2s --mappings 1200 --growth 2500 -- -F 997
check "profiles followed each other, of all there was" grep -qE 'soak: 36 s, 1[5-9][0-9] processes, .* 0 failed, [0-9]+ profiles, ' out

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The commands of the README's five-minute tour, as they stand there, each of which must succeed.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
mkdir bin
command -v sudo >/dev/null || { printf '#!/bin/sh\nexec "$@"\n' >bin/sudo; chmod +x bin/sudo; PATH=$PWD/bin:$PATH; }
mkdir tour && cd tour || exit 1
ln -s "$TOP/build" build; ln -s "$TOP"/{Makefile,user,include,bpf,kmod-free,tests,scripts} .
sed -n '/^```sh$/,/^```$/p' "$TOP/README.md" | grep -v '^```' >tour.sh
check "the README has a tour" test "$(grep -c accperf tour.sh)" -ge 8
# one command after the other in one shell, stopping at the first that fails
bash -e -o pipefail tour.sh >tour.log 2>&1; st=$?
if [ $st = 0 ]; then pass "every command of the tour succeeds"; else fail "every command of the tour succeeds"; tail -n 15 tour.log; fi
check "the report names functions" grep -q receive_batch tour.log
check "the exports are there" test -s profile.pb.gz -a -s profile.folded
check "the JSON is JSON" jq -e '.schema == "accperf.report/1"' report.json

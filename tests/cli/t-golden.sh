#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What every reading command says of stored profiles of all engines and sources (scripts/golden).
. "$(dirname "$0")/../lib.sh"
need zstd || { skip "golden outputs" "needs zstd"; exit 0; }

count=$(ls "$TOP"/tests/golden/*.prof | wc -l)
check "forty profiles at least are kept" [ "$count" -ge 40 ]
check "what is said of $count profiles is what is expected" "$TOP/scripts/golden" check --near

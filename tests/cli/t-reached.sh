#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What nothing in the product leads to is deleted, or says that it is for tests: by the linker's graph, not by names.
. "$(dirname "$0")/../lib.sh"
cd "$TOP" || exit 1

check "main() or a command's row leads to each function, but to those for tests" scripts/shape --unreached

listed() { printf "/usr/bin/ld: removing unused section '%s' in file 'build/unreached/libaccperf.a(x.o)'\n" "$@" >"$TMP/listed"; }
tells() { local rc=0; scripts/shape --unreached "$TMP/listed" >"$TMP/told" || rc=$?; [ $rc = 1 ] && grep -q "$1" "$TMP/told" && [ "$(wc -l <"$TMP/told")" = 1 ]; }
listed .text.store_open .text.jitmap_parse .text.XXH32_round .rodata.unknown
check "a function of ours that is dropped is told, one for tests, a foreign one and a constant are not" tells store_open
printf 'nothing\n' >"$TMP/listed"
check "a list that tells nothing is no answer" tells 'make unreached'


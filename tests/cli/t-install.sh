#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make install, uninstall and dist, into a folder of ours.
. "$(dirname "$0")/../lib.sh"
root=$TMP/root
mk() { make -s --no-print-directory -C "$TOP" PREFIX=/opt/accperf DESTDIR="$root" "$@"; }
files() { find "$root" -type f -printf '/%P\n' | sort; }
expect_status 0 "make install" mk install
bin=$root/opt/accperf/bin/accperf
check "the binary runs from where it was put" bash -c '"$1" version | grep -q "^accperf "' _ "$bin"
pages() { local c; for c in $("$bin" help 2>/dev/null | awk '/^  [a-z]+  / { print $1 }'); do [ -s "$root/opt/accperf/share/man/man1/accperf-$c.1" ] || { echo "no page of $c"; return 1; }; done; }
check "every command has its man page" pages
check "and the whole has one" test -s "$root/opt/accperf/share/man/man1/accperf.1"
check "what Grafana and Prometheus load" test -s "$root/opt/accperf/share/accperf/grafana.json" -a -s "$root/opt/accperf/share/accperf/alerts.yml"
check "bash completion is there" bash -n "$root/opt/accperf/share/bash-completion/completions/accperf"
if need valgrind; then
	check "the exact engine works from there" bash -c '"$1" exact -o i.data -- /bin/true' _ "$bin"
else
	skip "the exact engine from there" "valgrind is not installed"
fi
expect_status 0 "make uninstall" mk uninstall
nothing() { [ -z "$(files)" ] || { files; return 1; }; }
check "leaves no file" nothing
expect_status 0 "uninstalling twice" mk uninstall

if git -C "$TOP" rev-parse HEAD >/dev/null 2>&1; then
	mkdir work
	check "make dist names its archive" bash -c 'cd "$1" && make -s --no-print-directory dist DIST="$2" | grep -q "accperf-.*\.tar\.gz"' _ "$TOP" "$PWD/work"
	tar tzf work/accperf-*.tar.gz >list 2>/dev/null
	check "which holds what a build needs" bash -c 'for f in Makefile README.md COPYING scripts/test user/cli/main.c bpf/sampler.bpf.c; do grep -q "^accperf-[^/]*/$f$" list || { echo "no $f"; exit 1; }; done'
	check "and nothing that was built" bash -c '! grep -E "/build/|\.o$" list'
else
	skip "make dist" "not a git checkout"
fi

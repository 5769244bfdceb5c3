#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each command that reads profiles opens each of them once. With t-layout, which lets nothing but tests start over
# within an open profile, that is one walk.
. "$(dirname "$0")/../lib.sh"
ldd "$TOP/build/accperf" 2>/dev/null | grep -q libasan && { skip "profiles are opened once" "a sanitizer wants to be loaded first"; exit 0; }

# All opening goes through open(). What only looks (O_PATH) is how a profile is hashed before an answer that was kept is
# looked for (command/kept.c), which is no walk.
cat >count.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	const char *log = getenv("COUNT_LOG"), *end = strrchr(path, '.');
	va_list rest;
	int mode, fd;

	va_start(rest, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
	va_end(rest);
	if (getenv("SLOW_FILES") && end && !strcmp(end, ".prof") && !(flags & O_PATH))
		usleep(1400000);
	if (log && end && !strcmp(end, ".prof") && !(flags & O_PATH)) {
		fd = next(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (fd >= 0 && write(fd, "open\n", 5) == 5)
			close(fd);
	}
	return next(path, flags, mode);
}
C
if ! cc -shared -fPIC -o count.so count.c -ldl 2>err; then
	skip "profiles are opened once" "$(head -1 err)"; exit 0
fi
export XDG_CACHE_HOME=$TMP/cache
G=$TOP/tests/golden

# once N ARGUMENTS...: whatever its status, as many openings as there are profiles
once() {
	local want=$1 got; shift
	rm -rf opened cache/accperf/answers
	COUNT_LOG=$TMP/opened LD_PRELOAD=$TMP/count.so accperf "$@" >said 2>&1
	got=$(wc -l <opened)
	[ "$got" = "$want" ] || { echo "$got openings of $want profiles: accperf $*"; tail -3 said | cut -c 1-200; return 1; }
}
a=$G/live-pipeline.prof b=$G/live-pipeline2.prof
for how in "report" "report --columns flow" "report --json" "flow" "flow --threads" "objects" "timeline" \
	"export --csv -o -" "export --pprof -o x.gz" "export --callgrind -o -" "export --firefox -o -"; do
	check "$how reads its profile once" once 1 $how -i "$a"
done
check "counts reads its profile once" once 1 counts --counts-cache off -i "$G/live-counts.prof"
for how in "offload" "offload --json"; do check "$how reads its profile once" once 1 $how -i "$G/offload-marker.prof"; done
check "logca fit reads its profile once" once 1 logca fit "$G/offload-marker.prof" --host pack --accelerated pack
check "diff reads each profile once" once 2 diff "$a" "$b"
check "compare reads each profile once" once 2 compare "$a" "$b"
check "merge reads each profile once" once 2 merge -f -o merged.data "$a" "$b"
again() { accperf "$@" >said 2>&1; rm -f opened; COUNT_LOG=$TMP/opened LD_PRELOAD=$TMP/count.so accperf "$@" >said 2>&1; [ ! -e opened ]; }
for how in "report" "report --columns flow" "flow --json" "flow --per scale" "objects" "timeline" "annotate scale"; do
	check "$how asked again does not read its profile" again $how -i "$a"
done
check "diff asked again reads neither profile" again diff "$a" "$b"
check "wall asked again does not read its profile" again wall -i "$G/exact-pipeline.prof"
# ... and a file that was written is written again, as it was, for its owner alone; what stdout got is not kept
file_again() {
	local out=$1; shift
	rm -f "$out"; accperf "$@" >said 2>&1; cp "$out" was || return; rm -f "$out" opened
	COUNT_LOG=$TMP/opened LD_PRELOAD=$TMP/count.so accperf "$@" >said2 2>&1
	[ ! -e opened ] && cmp "$out" was && cmp said said2 && [ "$(stat -c %a "$out")" = 600 ]
}
cp "$a" here.prof
check "export --pprof -o asked again does not read its profile" file_again x.gz export --pprof -o x.gz -i "$a"
check "export of a name of its own, too" file_again here.prof.folded export --collapsed here.prof
check "flow -o, too" file_again flow.txt flow -o flow.txt -i "$a"
if ! accperf version --json | jq -e '.features[] | select(.name == "html").built' >built; then
	skip "a page asked again does not read its profile" "this build has no pages"
else
	check "a page asked again does not read its profile" file_again p.html report --html p.html -i "$a"
	check "... nor one of two profiles" file_again q.html report --html q.html --against "$b" -i "$a"
	cp "$b" b.prof
	rests_on_both() {
		accperf report --html r.html --against b.prof -i "$a" >said 2>&1; rm -f opened; cp "$a" b.prof
		COUNT_LOG=$TMP/opened LD_PRELOAD=$TMP/count.so accperf report --html r.html --against b.prof -i "$a" >said 2>&1
		[ -e opened ]
	}
	check "... but does when the other one changed" rests_on_both
fi
check "... but not for another file" bash -c '! [ -e y.gz ] && accperf export --pprof -o y.gz -i "$1" 2>err && cmp x.gz y.gz' - "$a"
check "... nor into a folder that is none" bash -c '! accperf export --pprof -o none/x.gz -i "$1" 2>err && ! accperf export --pprof -o none/x.gz -i "$1" 2>err' - "$a"
anew() { ! again "$@"; }
check "... but all of it with --fresh" anew diff --fresh "$a" "$b"
check "counts asked again does not read its profile" again counts -i "$G/live-counts.prof"
# again_but CHANGE ARGUMENTS...: what was printed is no answer any more once CHANGE was done
again_but() {
	local change=$1; shift
	accperf "$@" >said 2>&1; $change; rm -f opened
	COUNT_LOG=$TMP/opened LD_PRELOAD=$TMP/count.so accperf "$@" >said 2>&1
	[ -e opened ]
}
kept_counts() { echo >"$XDG_CACHE_HOME/accperf/counts/another"; }
check "... but does when other recordings have left counts since" again_but kept_counts counts -i "$G/live-counts.prof"
export XDG_CONFIG_HOME=$TMP/config
own_devices() { mkdir -p config/accperf; echo '{"schema":"accperf.accelerators/1","accelerators":[]}' >config/accperf/accelerators.json; }
for how in advise "advise --json" "advise --roofline"; do
	check "$how asked again does not read its profile" again $how -i "$G/offload-marker.prof"
	rm -rf config
	check "... but does when devices were measured since" again_but own_devices $how -i "$G/offload-marker.prof"
done

# Whoever waits for longer than a second sees what for, whatever command it is; on a terminal alone
waits() {
	rm -rf cache/accperf/answers
	SLOW_FILES=1 LD_PRELOAD=$TMP/count.so timeout 120 script -qec "accperf $* >/dev/null" said </dev/null >/dev/null 2>&1
	grep -aq "accperf: reading [^ ]*\.prof.*: 1 s" said || { echo "accperf $*"; tail -c 300 said; return 1; }
}
if need script; then
	for how in report flow objects timeline counts "annotate scale" advise offload wall "export --collapsed -o -" "report --html -"; do
		check "$how: a line tells who waits" waits $how -i "$a"
	done
	for how in diff compare "merge -f -o merged.data" "scale --size 1,2"; do
		check "$how: a line tells who waits" waits $how "$a" "$b"
	done
	quiet() { SLOW_FILES=1 LD_PRELOAD=$TMP/count.so accperf report --fresh -i "$a" 2>&1 >/dev/null | tee said; ! grep -q 'reading' said; }
	check "... and no line where there is no terminal" quiet
else
	skip "a line tells who waits" "script is not installed"
fi

# A million samples over 50,000 functions; the solver of a flow has u-flow-balance
mkprofile many.data samples=1000000 stacks=50000 functions=50000
check "a million samples and 50,000 functions take 10 s of CPU at most" bash -c 'ulimit -t 10 && accperf report --json -i many.data >many.json &&
	python3 -c "
import json
d = json.load(open(\"many.json\"))
assert d[\"samples\"] == 1000000 and len(d[\"functions\"]) > 49000, (d[\"samples\"], len(d[\"functions\"]))"'

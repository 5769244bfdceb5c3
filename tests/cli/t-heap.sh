#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Allocations of live programs: sites are found and none is invented, whatever the allocator and however it got there;
# and no probe stays behind, however the recording ends.
# harm: probes of allocators when the recorder ends, is interrupted or killed; when the target forks | 5 recordings,
#   the target's code compared with its files
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
accperf doctor --json >doctor.json 2>/dev/null
jq -e '.sources[] | select(.name == "heap") | .works' doctor.json >/dev/null || { echo "needs probes of allocators (Linux 6.6)"; exit 77; }

# record FILE TARGET-OPTIONS...: allocations alone, for a second or two
record() { local file=$1; shift; accperf record -q --heap --no-windows --counts off --no-syscalls --no-waits --effort high --duration 1500ms -o "$file" "$@"; }
sites() { accperf objects --heap --json -i "$1" | jq -r '.sites[].function' | sort -u; }

start "$WORKLOADS/sites" --loop; target=$!
expect_status 0 "allocations of a live program" record a.data -p $target
sites a.data >a.sites
check "sites are found" [ "$(wc -l <a.sites)" -ge 5 ]
check "all are planted ones" bash -c "! grep -vxE 'make_[12]?[0-9]' a.sites"
check "each with its stack" bash -c "accperf objects --heap --json -i a.data | jq -e '[.sites[].stack | map(.function) | index(\"main\")] | all(. > 0)'"
# 8 * (4 + 5 k) bytes
check "and the size of its blocks" bash -c "accperf objects --heap --json -i a.data | jq -e 'all(.sites[]; (.function[5:] | tonumber) as \$k | (.mean_size - 8 * (4 + 5 * \$k)) | fabs < 0.5)'"
check "as text" bash -c "accperf objects --heap --stdio -i a.data | grep -q 'called by pass, main'"
check "the JSON keeps to its schema" bash -c "accperf help --json-schema heap | jq -e '.additionalProperties == false'"
expect_status 1 "a profile without allocations says so" accperf objects --heap -i "$TOP/tests/golden/live-pipeline.prof"
check "and how to get some" grep -q 'record --heap' err

# what is planted, by the bytes of the code that the target runs: waits until there is something, or nothing any more
cat >planted.py <<'PY'
import sys, time
pid, want, seconds = sys.argv[1], sys.argv[2] == "some", float(sys.argv[3])
def look():
    seen = changed = 0
    for line in open(f"/proc/{pid}/maps"):
        f = line.split()
        if len(f) < 6 or "x" not in f[1] or not f[5].startswith("/"):
            continue
        lo, hi = (int(x, 16) for x in f[0].split("-"))
        mem.seek(lo); here = mem.read(hi - lo)
        with open(f[5], "rb") as file:
            file.seek(int(f[2], 16)); there = file.read(hi - lo)
        seen += 1
        changed += here != there
    return seen, changed
mem = open(f"/proc/{pid}/mem", "rb")
end = time.monotonic() + seconds
while True:
    seen, changed = look()
    if seen and (changed > 0) == want:
        break
    if time.monotonic() > end:
        sys.exit(f"{changed} of {seen} mappings of code are changed")
    time.sleep(.002 if want else .1)
PY
planted() { python3 planted.py "$1" some 60; }
gone() { python3 planted.py "$1" none 20; }
check "no probe is left after it" gone $target
# the check itself: while a turn of seconds goes on, there are some
accperf record -q --heap --no-windows --counts off --effort high -o k.data -p $target 2>/dev/null & recorder=$!
STARTED+=($recorder)
check "probes are seen while they are there" planted $target
kill -9 $recorder; wait $recorder 2>/dev/null
check "nor after SIGKILL of the recorder" gone $target
record i.data -p $target & recorder=$!; sleep .5; kill -INT $recorder; wait $recorder 2>/dev/null
check "nor after Ctrl-C" gone $target
check "the program goes on" kill -0 $target
kill $target

# other ways to an allocator
cat >own.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define OWN __attribute__((noipa))
static char pool[1 << 20]; static size_t used;
OWN void *pool_get(int zone, size_t n) { used = (used + n) % (sizeof(pool) - 4096); return pool + used; }
OWN void *from_malloc(size_t n) { return malloc(n); }
OWN void *from_calloc(size_t n) { return calloc(n, 8); }
OWN void *from_memalign(size_t n) { void *p = NULL; return posix_memalign(&p, 64, n) ? NULL : p; }
OWN void *from_pool(size_t n) { return pool_get(1, n); }
int main(int argc, char **argv)
{
	for (unsigned long i = 0;; i++) {
		char *a = from_malloc(100), *b = from_calloc(10), *c = from_memalign(192), *d = from_pool(40);
		memset(a, 1, 100); memset(b, 1, 80); memset(c, 1, 192); memset(d, 1, 40);
		a = realloc(a, 300);
		free(a); free(b); free(c);
		for (volatile int k = 0; k < 20000; k++) ;
		if (argc > 1 && argv[1][0] == 'f' && i == 1000 && fork() == 0) argc = 1;
		if (argc > 1 && argv[1][0] == 'e' && clock() > CLOCKS_PER_SEC) return 7;
	}
}
C
gcc -O1 -o own own.c && gcc -O1 -static -o own-static own.c || { fail "test program"; exit 1; }
has() { local want; sites "$1" >has.sites; shift; for want; do grep -qx "$want" has.sites || { echo "no $want"; cat has.sites; return 1; }; done; }
start ./own; own=$!
record own.data -p $own --heap-probe 'pool_get(arg1)' 2>/dev/null
check "malloc, calloc, posix_memalign, a pool of the program's own" has own.data from_malloc from_calloc from_memalign from_pool
check "a block that is resized is one of the resizer's" has own.data main
check "sizes as they were asked for" bash -c "accperf objects --heap --json -i own.data | jq -e '[.sites[] | select(.function != \"main\") | [.function, (.mean_size + 0.5 | floor)]] | sort == [[\"from_calloc\", 80], [\"from_malloc\", 100], [\"from_memalign\", 192], [\"from_pool\", 40]]'"
expect_status 3 "a function that nobody has is told" record none.data -p $own --heap-probe pool_put
kill $own
start ./own-static; own=$!
record static.data -p $own 2>/dev/null
check "a static program" has static.data from_malloc from_calloc
kill $own
strip -o own-bare own-static; start ./own-bare; own=$!
expect_status 3 "a static program without symbols is told" record bare.data -p $own
check "with what to do" grep -q 'heap-probe' err
kill $own
start ./own fork; own=$!
record fork.data -p $own 2>/dev/null
check "a program that forks" has fork.data from_malloc
check "parent and child have no probes left" bash -c "$(declare -f gone); for p in $own \$(pgrep -P $own); do gone \$p || exit 1; done"
for p in $(pgrep -P $own) $own; do kill $p; done
jemalloc=$(ls /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 2>/dev/null)
if [ -n "$jemalloc" ]; then
	LD_PRELOAD=$jemalloc start ./own; own=$!
	record je.data -p $own 2>/dev/null
	check "an allocator that is preloaded" has je.data from_malloc from_calloc from_memalign
	kill $own
else
	skip "an allocator that is preloaded" "no libjemalloc"
fi
expect_status 7 "a program that ends meanwhile" record end.data --duration 60s -- ./own-static end
check "its allocations are there" has end.data from_malloc from_calloc
expect_status 2 "a probe that is none" accperf record --heap --heap-probe 'f(arg9)' -- true
check "words for it" grep -q 'arg0 to arg5' err
expect_status 2 "its options alone" accperf record --heap-bytes 4K -- true

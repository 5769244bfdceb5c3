#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a program holds in memory, in registers, on its stack and passes to system calls never reaches the
# profile; nor do its arguments, unless asked for, and its environment. FORMAT.md promises it.
# harm: secrets in memory, registers, stack, system calls, environment, arguments | 505 words of 8 bytes, 2 engines
# harm: a recorder that crashes | 1 | the core file
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { skip "secrets" "needs root to record"; exit 0; }
need python3 || { skip "secrets" "python3 is not installed"; exit 0; }

cat >keeper.c <<'END'
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
enum { N = 64 }; /* words */
static volatile uint64_t sink;
/* eight of them in registers at a time, in loops whose trips are counted */
__attribute__((noinline)) static uint64_t mix(const uint64_t *s, unsigned rounds)
{
	uint64_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7], sum = 0;
	for (unsigned i = 0; i < rounds; i++) {
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
		sum += s[i % N] ^ a;
	}
	return sum + b + c + d + e + f + g + h;
}
__attribute__((noinline)) static uint64_t copy(const uint64_t *from, uint64_t *to)
{
	uint64_t on_stack[N];
	for (unsigned i = 0; i < N; i++)
		on_stack[i] = from[i];
	__asm__ volatile("" : : "r"(on_stack) : "memory");
	memcpy(to, on_stack, sizeof(on_stack));
	return mix(on_stack, 500);
}
int main(int argc, char **argv)
{
	uint64_t *heap = malloc(N * 8), *other = malloc(N * 8);
	int in = open(argv[1], O_RDONLY), out = open("/dev/null", O_WRONLY);
	struct timespec t;
	(void)argc;
	if (read(in, heap, N * 8) != N * 8)
		return 1;
	close(in);
	do {
		for (unsigned i = 0; i < 2000; i++)
			sink += copy(i & 1 ? heap : other, i & 1 ? other : heap) + mix(heap + 8 * (i % 7), 300);
		if (write(out, heap, N * 8) < 0)
			return 1;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec < 4);
	return 0;
}
END
cc -O1 -g -o keeper keeper.c || { fail "the keeper of secrets builds"; exit 0; }
head -c 512 /dev/urandom >secret
arg=arg$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
env=env$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
# every 8 bytes that follow each other: 4 would meet by chance in megabytes of profile
cat >seek.py <<'END'
import sys
secret, dump = open('secret', 'rb').read(), open(sys.argv[1], 'rb').read()
assert len(dump) > int(sys.argv[2]), 'only %d bytes' % len(dump)
found = [i for i in range(len(secret) - 7) if dump.find(secret[i:i + 8]) >= 0]
found += [w for w in sys.argv[3:] if w.encode() in dump]
sys.exit('%d words of %d are there: %s' % (len(found), len(secret) - 7, found[:5]) if found else 0)
END
dump() { "$TOP/build/mkprofile" "$1" dump=1 >"$2"; }

SECRET=$env accperf record -q --effort high --counts on -o s.data -- ./keeper secret --password="$arg" 2>s.err; s=$?
check "a program full of secrets is recorded at high effort" [ $s = 0 -o $s = 3 ] # 3: no breakpoints here
dump s.data s.dump
check "nothing of its memory, registers, stack or system calls is in the profile" python3 seek.py s.dump 10000
check "nor an argument, nor its environment" python3 seek.py s.dump 10000 "$arg" "$env"
check "its name is" grep -q keeper s.dump
check "so is a function's" grep -q mix s.dump
check "what was seen of it is more than samples" bash -c 'for c in counts flow; do accperf $c -i s.data --json >/dev/null; s=$?; [ $s = 0 ] || [ $s = 3 ] || exit 1; done'
expect_status 0 "asked for, arguments are stored" accperf record -q -F 99 --no-windows --counts off --cmdline -o c.data -- ./keeper secret --password="$arg"
dump c.data c.dump
check "--cmdline: all of them" grep -q -- "--password=$arg" c.dump
check "but not the environment" python3 seek.py c.dump 1000 "$env"
# the search finds what is there
{ cat s.dump; head -c 100 secret | tail -c 8; } >planted.dump
check "eight bytes that are there are found" bash -c '! python3 seek.py planted.dump 1000'

# the recorder's own core file would hold what the profile does not
cat >core.py <<'END'
import os, resource, signal, sys, time
def dumps(argv, ready):
    pid = os.fork()
    if not pid:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.execvp(argv[0], argv)
    for _ in range(100):
        if ready(): break
        time.sleep(0.1)
    os.kill(pid, signal.SIGSEGV)
    return os.WCOREDUMP(os.waitpid(pid, 0)[1])
os.mkdir('core.d'); os.chdir('core.d')
begun = time.time()
if not dumps(['sleep', '60'], lambda: time.time() > begun + 0.5): sys.exit(77)
sys.exit(dumps(['accperf', 'record', '-q', '-p', str(os.getppid()), '--duration', '30s', '-o', 'own.data'], lambda: os.path.exists('own.data') and os.path.getsize('own.data')))
END
python3 core.py >core.log 2>&1; s=$?
if [ $s = 77 ]; then skip "a recorder that crashes" "no program leaves a core file here"; else check "a recorder that crashes leaves no core file" test $s = 0; fi

[ -e "$TOP/build/exact/accperf-amd64-linux" ] || { skip "exact's secrets" "built without valgrind"; exit 0; }
cat >short.c <<'END'
#include <fcntl.h>
#include <unistd.h>
static unsigned long b[64];
int main(int argc, char **argv) { unsigned long s = 0; int f = open(argv[1], O_RDONLY); if (read(f, b, 512) != 512) return 1; for (int i = 0; i < 64; i++) s ^= b[i]; return argc < 0 && (int)s; }
END
cc -O1 -g -o short short.c
SECRET=$env expect_status 0 "the exact engine" accperf exact -q --objects --slice 100 --emit-samples 10:1 --emit-census 8 -o x.data -- ./short secret "$arg"
dump x.data x.dump
check "stores none either" python3 seek.py x.dump 2000 "$arg" "$env"
expect_status 0 "exact --cmdline" accperf exact -q --cmdline -o x.data -- ./short secret "$arg"
dump x.data x.dump
check "exact --cmdline: the arguments are there" grep -q "$arg" x.dump

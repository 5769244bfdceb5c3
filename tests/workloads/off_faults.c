// cflags: -O2 -fno-omit-frame-pointer
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function whose output lies in pages that nobody has touched yet: `off_faults CALLS [BYTES]`. Prints how often
 * it was called, with how many bytes, and how many page faults the kernel says they had.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

static volatile unsigned sink;

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_minflt + u.ru_majflt;
}

__attribute__((noinline)) void widen(const unsigned char *in, unsigned char *out, size_t bytes);
void widen(const unsigned char *in, unsigned char *out, size_t bytes)
{
	for (int turn = 0; turn < 4; turn++)
		for (size_t i = 0; i < bytes; i++)
			out[i] = (unsigned char)(in[i] ^ (out[i] * 3 + turn));
	sink += out[bytes / 2];
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 100, inside = 0;
	size_t bytes = argc > 2 ? (size_t)atol(argv[2]) : 65536;
	unsigned char *in = malloc(bytes);

	if (!in)
		return 1;
	for (size_t i = 0; i < bytes; i++)
		in[i] = (unsigned char)i;
	for (long i = 0; i < calls; i++) {
		unsigned char *out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		long before;

		if (out == MAP_FAILED)
			return 1;
		madvise(out, bytes, MADV_NOHUGEPAGE);
		before = faults();
		widen(in, out, bytes);
		inside += faults() - before;
		munmap(out, bytes);
	}
	printf("{\"widen\":{\"calls\":%ld,\"in\":%zu},\"faults\":%ld}\n", calls, (size_t)calls * bytes, inside);
	return 0;
}

// libs: -ldl
// SPDX-License-Identifier: GPL-2.0-or-later
/* zlib, loaded late: `off_deflate [CALLS] [BYTES] [wait]`; says what it handed over and got. wait: loads
 * it when a line comes in. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

int main(int argc, char **argv)
{
	unsigned calls = argc > 1 ? (unsigned)atoi(argv[1]) : 60, bytes = argc > 2 ? (unsigned)atoi(argv[2]) : 1048576;
	unsigned char *in = malloc(bytes), *out = malloc(bytes + bytes / 8 + 1024);
	int (*init)(z_streamp, int, const char *, int), (*run)(z_streamp, int), (*end)(z_streamp);
	uint64_t sum_in = 0, sum_out = 0;
	void *z;

	/* zlib frees its state after each call: kept, or the kernel maps and clears it anew 30,000 times. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	if (argc > 3)
		getchar();
	z = dlopen("libz.so.1", RTLD_NOW);
	if (!z || !in || !out)
		return 1;
	init = (int (*)(z_streamp, int, const char *, int))dlsym(z, "deflateInit_");
	run = (int (*)(z_streamp, int))dlsym(z, "deflate");
	end = (int (*)(z_streamp))dlsym(z, "deflateEnd");
	for (unsigned i = 0; i < bytes; i++)
		in[i] = (unsigned char)((i * 2654435761u) >> (i % 13 + 11));
	for (unsigned i = 0; i < calls; i++) {
		z_stream s = {
			.next_in = in, .avail_in = bytes, .next_out = out, .avail_out = bytes + bytes / 8 + 1024
		};

		if (init(&s, 1, ZLIB_VERSION, sizeof(s)) != Z_OK || run(&s, Z_FINISH) != Z_STREAM_END)
			return 1;
		sum_in += s.total_in;
		sum_out += s.total_out;
		end(&s);
	}
	printf("{\"deflate\":{\"calls\":%u,\"in\":%lu,\"out\":%lu}}\n", calls, (unsigned long)sum_in,
	       (unsigned long)sum_out);
	return 0;
}

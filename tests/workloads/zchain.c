// SPDX-License-Identifier: GPL-2.0-or-later
// cflags: -O2
// libs: -lz
/*
 * For stacks: main -> chain_outer -> chain_middle -> chain_inner -> deflate() of the system's libz,
 * built as Debian builds (no frame pointers). Nearly all time is below chain_inner, so nearly every
 * sample must show this chain; each function works after its call, so that none becomes a jump.
 */
#include <zlib.h>

#include "work.h"

#define INPUT (64 * 1024)

static unsigned char input[INPUT], output[INPUT + INPUT / 8 + 256];

static void fill_input(void)
{
	uint64_t seed = 42;

	for (size_t i = 0; i < INPUT; i++) {
		uint64_t r = work_random(&seed);

		/* a quarter of fresh bytes, else a copy from a little earlier: compresses like text */
		input[i] = i < 512 || !(r & 3) ? (unsigned char)('a' + (r >> 8) % 26) : input[i - 1 - (r >> 16) % 500];
	}
}

STEP static unsigned long chain_inner(z_stream *z)
{
	if (deflateReset(z) != Z_OK)
		abort();
	z->next_in = input;
	z->avail_in = INPUT;
	z->next_out = output;
	z->avail_out = sizeof(output);
	if (deflate(z, Z_FINISH) != Z_STREAM_END)
		abort();
	return z->total_out;
}

STEP static unsigned long chain_middle(z_stream *z)
{
	unsigned long size = chain_inner(z);

	return size + output[size / 2];
}

STEP static unsigned long chain_outer(z_stream *z)
{
	unsigned long size = chain_middle(z);

	return size * 31 + output[2];
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 4);
	z_stream z = { 0 };
	uint64_t digest;

	fill_input();
	if (deflateInit(&z, 6) != Z_OK)
		work_die(&w, "deflateInit failed");
	do {
		digest = 0;
		for (unsigned long i = 0; i < w.size; i++)
			digest = work_mix(digest, chain_outer(&z));
	} while (work_more(&w, digest));
	deflateEnd(&z);
	return work_done(&w);
}

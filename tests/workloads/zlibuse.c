// SPDX-License-Identifier: GPL-2.0-or-later
// cflags: -O2
// libs: -lz
/*
 * Makes text, deflates it, inflates the result and compares: most of the work and of the flow lies in
 * the system's libz. SIZE = bytes of text per round. Modes: both, deflate (without the way back).
 */
#include <zlib.h>

#include "work.h"

static unsigned char *text, *packed, *unpacked;

STEP static void make_text(size_t size)
{
	static const char *const word[16] = { "the ",     "flow ",        "of ",     "bytes ",
					      "between ", "functions ",   "is ",     "what ",
					      "an ",      "accelerator ", "costs ",  "and ",
					      "time ",    "its ",         "gain.\n", "\t" };
	uint64_t seed = 99;
	size_t n = 0;

	while (n < size) {
		uint64_t r = work_random(&seed);
		const char *s = word[r >> 8 & 15];

		if (!(r & 7)) {
			text[n++] = (unsigned char)(33 + (r >> 16) % 90);
			continue;
		}
		while (*s && n < size)
			text[n++] = (unsigned char)*s++;
	}
}

STEP static size_t pack(size_t size, size_t room)
{
	z_stream z = { .next_in = text, .avail_in = (uInt)size, .next_out = packed, .avail_out = (uInt)room };
	size_t total;

	if (deflateInit(&z, 6) != Z_OK || deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	total = z.total_out;
	deflateEnd(&z);
	return total;
}

STEP static size_t unpack(size_t packed_size, size_t size)
{
	z_stream z = {
		.next_in = packed, .avail_in = (uInt)packed_size, .next_out = unpacked, .avail_out = (uInt)size
	};
	size_t total;

	if (inflateInit(&z) != Z_OK || inflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	total = z.total_out;
	inflateEnd(&z);
	return total;
}

STEP static uint64_t verify(size_t size)
{
	uint64_t digest = 0;

	for (size_t i = 0; i < size; i++)
		if (text[i] != unpacked[i])
			abort();
	for (size_t i = 0; i < size; i += 97)
		digest = work_mix(digest, unpacked[i]);
	return digest;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, "both|deflate", 200000);
	size_t room = w.size + w.size / 8 + 1024;
	uint64_t digest;

	if (w.size < 16 || w.size > 1ul << 30)
		work_die(&w, "SIZE must be from 16 to 1073741824");
	text = malloc(w.size);
	packed = malloc(room);
	unpacked = malloc(w.size);
	if (!text || !packed || !unpacked)
		work_die(&w, "out of memory");
	do {
		size_t n;

		make_text(w.size);
		n = pack(w.size, room);
		digest = work_mix(0, n);
		if (!strcmp(w.mode, "both")) {
			if (unpack(n, w.size) != w.size)
				work_die(&w, "inflate gave another size");
			digest = work_mix(digest, verify(w.size));
		}
	} while (work_more(&w, digest));
	free(text);
	free(packed);
	free(unpacked);
	return work_done(&w);
}

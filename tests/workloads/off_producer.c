// cflags: -O2 -rdynamic
// libs: -lzstd
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * zstd with a sequence producer (the hook that QAT's plugin uses), in software: `off_producer [BLOCKS]`. Of each four
 * blocks of 16 KiB it refuses one, which zstd then does itself. Prints its own account. Status 77: a zstd without it.
 */
#define ZSTD_STATIC_LINKING_ONLY
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#if ZSTD_VERSION_NUMBER >= 10504
static unsigned long calls, bytes, failed;

/* shape: the parameters are those that zstd hands over. */
__attribute__((noipa)) size_t producer(void *state, ZSTD_Sequence *out, size_t room, const void *src, size_t size,
				       const void *dict, size_t dict_size, int level, size_t window);
/* shape: the parameters are those that zstd hands over. */
__attribute__((noipa)) size_t producer(void *state, ZSTD_Sequence *out, size_t room, const void *src, size_t size,
				       const void *dict, size_t dict_size, int level, size_t window)
{
	(void)state, (void)room, (void)src, (void)dict, (void)dict_size, (void)level, (void)window;
	bytes += size;
	if (calls++ % 4 == 3) {
		failed++;
		return ZSTD_SEQUENCE_PRODUCER_ERROR;
	}
	out[0] = (ZSTD_Sequence){ .litLength = (unsigned)size }; /* literals alone: no match was looked for */
	return 1;
}

int main(int argc, char **argv)
{
	int blocks = argc > 1 ? atoi(argv[1]) : 100;
	static char in[16384], out[1 << 16];
	ZSTD_CCtx *c = ZSTD_createCCtx();

	ZSTD_registerSequenceProducer(c, NULL, producer);
	ZSTD_CCtx_setParameter(c, ZSTD_c_enableSeqProducerFallback, 1);
	for (int i = 0; i < blocks; i++) {
		for (size_t k = 0; k < sizeof(in); k++)
			in[k] = (char)("etaoin"[(k * (size_t)(i + 7) >> 3) % 6]);
		if (ZSTD_isError(ZSTD_compress2(c, out, sizeof(out), in, sizeof(in))))
			return 1;
	}
	printf("{\"producer\":{\"calls\":%lu,\"in\":%lu,\"failed\":%lu}}\n", calls, bytes, failed);
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif

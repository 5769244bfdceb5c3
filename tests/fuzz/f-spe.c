// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "kmod-free/spe_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *ctx, const struct sample *s)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sample base = { 0 };
	struct spe_stats st = { 0 };
	int64_t used = spe_decode(data, size, &base, &st, take, NULL);

	if (used < 0 || (size_t)used > size || st.accesses + st.other != st.records)
		abort();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include <stdint.h>

#include "store/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *ctx, const struct sample *s)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perfdata *p = perfdata_from(data, size, NULL);

	if (!p)
		return 0;
	perfdata_read(p, take, NULL, NULL);
	perfdata_text(p, "cmdline");
	perfdata_free(p);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* perf-PID.map text from the target: any bytes must give a sorted table without overlaps. */
#include <stdint.h>
#include <stdlib.h>

#include "proc/jitmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitmap *j = jitmap_parse((const char *)data, size);
	uint64_t start;

	if (!j)
		return 0;
	for (uint64_t addr = 0x7f00; addr < 0x7f40; addr++) {
		const char *name = jitmap_find(j, addr, &start);

		if (name && start > addr)
			abort();
	}
	jitmap_free(j);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* perf-PID.map text from the target: any bytes must give a sorted table, of which nothing that can be seen is lost when
 * what cannot is forgotten. */
/* harm: a perf map that grows for weeks */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/jitmap.h"

#define FIRST 0x7f00
#define ADDRESSES 0x40
#define LOOKED_AT                                                                                                      \
	256 /* entries that may begin between an address and its own; with more than that it is not sought on */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitmap *j = jitmap_parse((const char *)data, size);
	char *was[ADDRESSES];
	uint64_t start;
	bool exact;

	if (!j)
		return 0;
	for (uint64_t addr = FIRST; addr < FIRST + ADDRESSES; addr++) {
		const char *name = jitmap_find(j, addr, &start);

		if (name && start > addr)
			abort();
		was[addr - FIRST] = name ? strdup(name) : NULL;
	}
	exact = jitmap_entries(j) <= LOOKED_AT;
	jitmap_prune(j);
	for (uint64_t addr = FIRST; addr < FIRST + ADDRESSES; addr++) {
		const char *name = jitmap_find(j, addr, NULL), *before = was[addr - FIRST];

		if (exact && (!name != !before || (name && strcmp(name, before))))
			abort();
		free(was[addr - FIRST]);
	}
	jitmap_free(j);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/plainname.h"

#include <string.h>

size_t plain_name(const char **name)
{
	static const char *const families[] = { "mem", "str", "wcs", "wmem", "rawmem", "stp", "bcopy", "bzero" };
	static const char *const processors[] = { "_sse",     "_ssse", "_avx", "_evex", "_erms",
						  "_generic", "_neon", "_sve", "_mops" };
	const char *n = *name + 2;

	if (strncmp(*name, "__", 2))
		return 0;
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		if (strncmp(n, families[f], strlen(families[f])))
			continue;
		for (size_t p = 0; p < sizeof(processors) / sizeof(processors[0]); p++) {
			const char *at = strstr(n, processors[p]);

			if (at) {
				*name = n;
				return (size_t)(at - n);
			}
		}
	}
	return 0;
}

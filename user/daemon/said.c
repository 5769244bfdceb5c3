// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/said.h"

/* FNV-1a. */
uint64_t said_hash(const char *text, bool numbers)
{
	uint64_t hash = 14695981039346656037ull;

	for (const char *at = text; *at; at++) {
		bool digit = *at >= '0' && *at <= '9';

		if (!digit || numbers || at == text || at[-1] < '0' || at[-1] > '9')
			hash = (hash ^ (digit && !numbers ? '0' : (unsigned char)*at)) * 1099511628211ull;
	}
	return hash;
}

bool said_lately(struct said slots[SAID_SLOTS], uint64_t hash, uint64_t now)
{
	unsigned oldest = 0;

	for (unsigned i = 0; i < SAID_SLOTS; i++) {
		if (slots[i].at && slots[i].hash == hash && now - slots[i].at < SAID_AGAIN)
			return true;
		if (slots[i].at < slots[oldest].at)
			oldest = i;
	}
	slots[oldest] = (struct said){ hash, now };
	return false;
}

bool said_enough(const struct said slots[SAID_SLOTS], uint64_t now)
{
	unsigned n = 0;

	while (n < SAID_SLOTS && slots[n].at && now - slots[n].at < SAID_AGAIN)
		n++;
	return n == SAID_SLOTS;
}

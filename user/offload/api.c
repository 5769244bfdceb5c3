// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/api.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "offload/api_table.h"

#define OFFLOAD_API_AT(id, name) &offload_##id,
static const struct offload_api *const apis[] = { OFFLOAD_APIS(OFFLOAD_API_AT) };
#define APIS (sizeof(apis) / sizeof(*apis))
_Static_assert(APIS <= OFFLOAD_APIS_MOST, "OFFLOAD_APIS_MOST: more room");

const struct offload_api *offload_api_at(unsigned i)
{
	return i < APIS ? apis[i] : NULL;
}

unsigned offload_api_index(const struct offload_api *a)
{
	unsigned i = 0;

	while (i < APIS && apis[i] != a)
		i++;
	return i;
}

const struct offload_api *offload_api_find(const char *name)
{
	for (unsigned i = 0; i < APIS; i++)
		if (!strcmp(apis[i]->name, name))
			return apis[i];
	return NULL;
}

static bool pattern_matches(const char *patterns, const char *base)
{
	while (*patterns) {
		size_t n = strcspn(patterns, "|");
		char one[64];

		snprintf(one, sizeof(one), "%.*s", (int)n, patterns);
		if (!fnmatch(one, base, 0))
			return true;
		patterns += n + (patterns[n] != 0);
	}
	return false;
}

const struct offload_api *offload_api_of(const char *base, const struct offload_api *after)
{
	for (unsigned i = after ? offload_api_index(after) + 1 : 0; i < APIS; i++)
		if (pattern_matches(apis[i]->libs, base))
			return apis[i];
	return NULL;
}

static bool twin(const char *suffixes, const char *rest, bool *per_thread)
{
	*per_thread = false;
	if (!*rest)
		return true;
	while (suffixes && *suffixes) {
		size_t n = strcspn(suffixes, "|");

		if (strlen(rest) == n && !strncmp(rest, suffixes, n)) {
			*per_thread = strstr(rest, "_pt") || strstr(rest, "_spt");
			return true;
		}
		suffixes += n + (suffixes[n] != 0);
	}
	return false;
}

const struct offload_row *offload_row_of(const struct offload_api *api, const char *symbol, bool *per_thread)
{
	for (unsigned i = 0; i < api->row_count; i++) {
		size_t n = strlen(api->rows[i].symbol);

		if (!strncmp(api->rows[i].symbol, symbol, n) && twin(api->suffixes, symbol + n, per_thread))
			return &api->rows[i];
	}
	return NULL;
}

uint16_t offload_family(const char *family)
{
	for (unsigned i = 0; i < APIS; i++)
		if (!strcmp(apis[i]->family, family))
			return (uint16_t)(i + 1);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/census.h"

#include <stdlib.h>

#include "util/map.h"

/* An instruction that works for several functions is several sites, but has one census. */
static uint64_t census_key(const struct in_site *s)
{
	return (uint64_t)s->module << 48 ^ s->ip;
}

static bool count_sites(const struct flow_input *in, struct map *seen)
{
	for (size_t i = 0; i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];
		uint64_t *n;

		if (!(a->flags & FMT_A_STORE))
			continue;
		n = map_put(seen, census_key(&in->sites[a->site]), NULL);
		if (!n)
			return false;
		/* of its stores to the stack only the first is reported, so the others' number tells nothing */
		if (!(a->flags & FMT_A_CENSUS))
			continue;
		*n += a->flags & FMT_A_STACK ? in->census_limit : 1;
	}
	return true;
}

bool *census_complete(const struct flow_input *in, const struct est_opts *o)
{
	bool *complete = calloc(in->site_count + 1u, sizeof(*complete));
	struct map seen = { 0 };

	if (complete && o->use_census && in->census_limit && !count_sites(in, &seen)) {
		free(complete);
		complete = NULL;
	}
	for (uint32_t i = 0; complete && i < in->site_count; i++) {
		const uint64_t *n = map_get(&seen, census_key(&in->sites[i]));

		complete[i] = n && *n && *n < in->census_limit;
	}
	map_release(&seen);
	return complete;
}

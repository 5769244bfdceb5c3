// SPDX-License-Identifier: GPL-2.0-or-later
#include "volume/balance_kept.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/cachedir.h"
#include "util/hashed.h"

#define FOLDER "balances"
#define KEPT_EDGES 4096        /* fewer are solved in some 50 ms; by hand */
#define ALL_KEPT (32ull << 20) /* bytes of all solutions, of which large recordings have half a megabyte each */

/* The problem's name in the cache; false: none. */
static bool name_problem(const struct flow_balance *s, char *name, size_t size)
{
	XXH3_state_t *h = XXH3_createState();
	bool ok = h && XXH3_128bits_reset(h) == XXH_OK && hashed_program(h);
	XXH128_hash_t hash;

	if (ok) {
		XXH3_128bits_update(h, s->node, s->nodes * sizeof(*s->node));
		XXH3_128bits_update(h, s->edge, s->edges * sizeof(*s->edge));
		XXH3_128bits_update(h, s->group, s->groups * sizeof(*s->group));
		XXH3_128bits_update(h, &s->period, sizeof(s->period));
		hash = XXH3_128bits_digest(h);
		snprintf(name, size, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
	}
	XXH3_freeState(h);
	return ok;
}

/* A damaged file has no solution. */
static bool take_kept(int dir, const char *name, struct flow_balance *s)
{
	size_t size = s->nodes * sizeof(double);
	double runs;
	AUTO_BUF(kept);
	bool ok = !cachedir_read(dir, name, size, &kept) && kept.len == size;

	for (uint32_t n = 0; n < s->nodes && ok; n++) {
		memcpy(&runs, kept.data + n * sizeof(runs), sizeof(runs));
		ok = runs >= 0 && isfinite(runs);
	}
	for (uint32_t n = 0; n < s->nodes && ok; n++)
		memcpy(&s->node[n].runs, kept.data + n * sizeof(runs), sizeof(runs));
	return ok;
}

static void keep_solution(int dir, const char *name, const struct flow_balance *s)
{
	AUTO_BUF(runs);

	for (uint32_t n = 0; n < s->nodes; n++)
		buf_add(&runs, &s->node[n].runs, sizeof(s->node[n].runs));
	cachedir_write(dir, name, &runs, ALL_KEPT);
}

int balance_solve_kept(struct flow_balance *s)
{
	char name[40];
	int dir = s->edges >= KEPT_EDGES && name_problem(s, name, sizeof(name)) ? cachedir_open(FOLDER) : -1, err = 0;

	if (dir < 0)
		return flow_balance_solve(s);
	if (!take_kept(dir, name, s)) {
		err = flow_balance_solve(s);
		if (!err)
			keep_solution(dir, name, s);
	}
	close(dir);
	return err;
}

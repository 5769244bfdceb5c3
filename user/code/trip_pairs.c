// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/trip_pairs.h"

#include <string.h>

void trip_pairs_begin(struct trip_pairs *p, const struct runs_trips *how, bool alone)
{
	memset(p, 0, sizeof(*p));
	p->how = how;
	p->fresh = how->in.entry_known;
	p->alone = alone;
}

static unsigned open_at(const struct trip_pairs *p, uint64_t sp)
{
	unsigned i = 0;

	while (i < p->count && p->open[i].sp != sp)
		i++;
	return i;
}

static enum trip_pairs_said way_in(struct trip_pairs *p, uint64_t sp, uint64_t value, uint64_t *trips)
{
	unsigned at = open_at(p, sp);
	/* in again, and every way out is watched: it went past the loop */
	bool passed = at < p->count && p->how->may_skip, odd = !passed && (at < p->count || at == TRIP_PAIRS_OPEN);

	*trips = 0;
	at = at == TRIP_PAIRS_OPEN ? 0 : at;
	p->open[at].sp = sp;
	p->open[at].value = value;
	p->count += at == p->count;
	return passed ? TRIP_PAIRS_ONE : odd ? TRIP_PAIRS_ODD : TRIP_PAIRS_NOTHING;
}

enum trip_pairs_said trip_pairs_hit(struct trip_pairs *p, unsigned slot, uint64_t sp, uint64_t value, bool last,
				    induction_peek_fn peek, void *ctx, uint64_t *trips)
{
	enum trip_pairs_said said = TRIP_PAIRS_NOTHING;
	unsigned at;

	if (slot == TRIP_PAIRS_HEADER) {
		p->within = p->fresh;
		p->within_sp = sp;
		return said;
	}
	if (!slot) {
		p->fresh = false;
		return way_in(p, sp, value, trips);
	}
	at = open_at(p, sp);
	if (p->fresh && (p->alone || (p->within && p->within_sp == sp)) &&
	    runs_trip_count(p->how, slot - 1, 0, value, NULL, NULL, trips) && *trips && *trips < TRIP_PAIRS_MOST)
		said = TRIP_PAIRS_WITHIN;
	p->fresh = false;
	if (at == p->count)
		return said;
	/* of a list: others have been there since */
	if (p->how->in.stride || last)
		said = runs_trip_count(p->how, slot - 1, p->open[at].value, value, peek, ctx, trips) ? TRIP_PAIRS_ONE
												     : TRIP_PAIRS_ODD;
	p->open[at] = p->open[--p->count];
	return said;
}

bool trip_pairs_alone(const struct cfg *c, uint32_t loop, const struct runs_trips *t)
{
	for (uint32_t i = 0; i < t->exits; i++) {
		const struct cfg_block *b = &c->block[t->in.exit[t->exit_at[i]].to];

		for (uint32_t k = b->pred; k < b->pred + b->preds; k++)
			if (!cfg_in_loop(c, c->pred[k], loop))
				return false;
	}
	return true;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/edge_ids.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"
#include "util/grow.h"

#define FIRST_ROOM 1024 /* edges: some kilobytes, grown at need */

uint32_t edge_id(struct edge_ids *x, uint32_t producer, uint32_t consumer)
{
	bool added;
	uint64_t *at = map_put(&x->at, (uint64_t)producer << 32 | consumer, &added);

	if (!at)
		return FLOW_NONE;
	if (added) {
		if (!GROW(x->producer, x->count, x->cap, FIRST_ROOM) ||
		    !GROW(x->consumer, x->count, x->cap2, FIRST_ROOM))
			return FLOW_NONE;
		x->producer[x->count] = producer;
		x->consumer[x->count] = consumer;
		*at = x->count++;
	}
	return (uint32_t)*at;
}

void edge_ids_sum(const struct edge_ids *x, uint32_t functions, const double *edge, struct edge_sums *to)
{
	memset(to->in, 0, functions * sizeof(double));
	memset(to->out, 0, functions * sizeof(double));
	for (uint32_t i = 0; i < x->count; i++) {
		to->in[x->consumer[i]] += edge[i];
		to->out[x->producer[i]] += edge[i];
	}
}

void edge_ids_scale(const struct edge_ids *x, uint32_t functions, double *edge, const double *as)
{
	double *have = calloc(functions + 1, sizeof(double)), *want = calloc(functions + 1, sizeof(double));

	for (uint32_t i = 0; have && want && i < x->count; i++) {
		have[x->consumer[i]] += edge[i];
		want[x->consumer[i]] += as[i];
	}
	for (uint32_t i = 0; have && want && i < x->count; i++) {
		uint32_t c = x->consumer[i];

		edge[i] = have[c] > 0 ? edge[i] * want[c] / have[c] : NAN;
	}
	free(have);
	free(want);
}

void edge_ids_release(struct edge_ids *x)
{
	map_release(&x->at);
	free(x->producer);
	free(x->consumer);
	memset(x, 0, sizeof(*x));
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/edge_ids.h"

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

void edge_ids_release(struct edge_ids *x)
{
	map_release(&x->at);
	free(x->producer);
	free(x->consumer);
	memset(x, 0, sizeof(*x));
}

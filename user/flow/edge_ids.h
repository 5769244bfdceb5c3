/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Edges by number, as an estimator meets them: sums over edges are arrays then. Included by user/flow only.
 */
#ifndef ACCPERF_FLOW_EDGE_IDS_H
#define ACCPERF_FLOW_EDGE_IDS_H

#include "util/map.h"

struct edge_ids {
	struct map at;                 /* producer << 32 | consumer -> number */
	uint32_t *producer, *consumer; /* by number: functions of the input */
	uint32_t count;
	size_t cap, cap2;
};

/* FLOW_NONE: no memory. */
uint32_t edge_id(struct edge_ids *x, uint32_t producer, uint32_t consumer);
void edge_ids_release(struct edge_ids *x);

#endif

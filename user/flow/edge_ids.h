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

struct edge_sums { /* by function of the input */
	double *in, *out;
};

/* Of bytes by edge. */
void edge_ids_sum(const struct edge_ids *x, uint32_t functions, const double *edge, struct edge_sums *to);
/* Each consumer's edges to what they are together in `as`; NAN where they are nothing. */
void edge_ids_scale(const struct edge_ids *x, uint32_t functions, double *edge, const double *as);
void edge_ids_release(struct edge_ids *x);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exact engine's sections (FMT_X_RUN, FMT_X_FUNC, FMT_X_EDGE of include/format.h) as edge
 * tables: the one place that knows how they become a struct flow. Included by user/flow and cli.
 *
 * Fed chunk by chunk like flow/cache.h, so that a loader walks a profile once for all it wants:
 *
 *     struct flow_truth t = { 0 };
 *     while (store_next(r, &c, e) > 0) flow_truth_chunk(&t, &c, e);
 *     if (flow_truth_has(&t, FLOW_QUAD)) flow_truth_flow(&t, r, FLOW_QUAD, FLOW_STACK_EXCLUDE, &f, e);
 *
 * To take a further figure: add it to add_function() or add_edge(), with FMT_X_UNKNOWN -> NaN.
 */
#ifndef ACCPERF_FLOW_TRUTH_H
#define ACCPERF_FLOW_TRUTH_H

#include "flow/flow.h"
#include "store/read.h"

/* Zero-initialise. Holds raw records until flow_truth_flow() makes a table of them. */
struct flow_truth {
	bool has_run;
	struct fmt_x_run run;
	struct fmt_x_func *funcs; /* scope SELF only */
	struct fmt_x_edge *edges;
	struct fmt_function *names;
	size_t func_count, func_cap, edge_count, edge_cap, name_count, name_cap;
	struct map name_at; /* fmt_function.id -> index into names + 1 */
};

/* Any chunk: those of other sections are ignored. 0 or -errno. */
int flow_truth_chunk(struct flow_truth *t, const struct store_chunk *chunk, struct err *e);
/* Whether the profile holds exact edges of these semantics. */
bool flow_truth_has(const struct flow_truth *t, enum flow_semantics sem);
/* Fills an initialised, empty *f; `r` must have been walked to its end and live as long as the call. */
int flow_truth_flow(const struct flow_truth *t, const struct store_reader *r, enum flow_semantics sem,
		    enum flow_stack stack, struct flow *f, struct err *e);
void flow_truth_release(struct flow_truth *t);

#endif

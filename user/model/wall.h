/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much faster a program can get at most, after Kim & Edwards (2010): its time is what it computes and
 * what its functions communicate; some of that is sped up k times, the rest stays. Three questions:
 * the memory wall (computation alone is sped up), accelerators against the system between them
 * (what functions compute and read of their own bytes, or what they read of others'), and which
 * functions (one, or several with private stores or a shared one). Each answer is one share of the
 * time, s, and the speed-up 1 / (1 - s (1 - 1/k)). Pure. Included by view and tests.
 *
 *     struct wall w;
 *     if (!wall_build(&flow, &opts, &w, &e)) ... w.curves ...; wall_release(&w);
 */
#ifndef ACCPERF_MODEL_WALL_H
#define ACCPERF_MODEL_WALL_H

#include "flow/flow.h"
#include "profile/filter.h"
#include "util/err.h"

enum wall_view { WALL_MEMORY = 1, WALL_LOCAL = 2, WALL_FUNCTIONS = 4, WALL_ALL = 7 };
enum wall_store { WALL_NO_STORE, WALL_PRIVATE, WALL_SHARED };

struct wall_opts {
	double op, byte; /* cost of an arithmetic or logical instruction, and of a byte read; any one unit */
	const char *const *functions; /* of WALL_FUNCTIONS: names or glob patterns; none: the largest */
	unsigned function_count;
	unsigned largest;            /* how many of these */
	const struct filter *filter; /* of them only those; NULL: all */
};

struct wall_range {
	double value, low, high;
};

struct wall_curve {
	enum wall_view view;
	enum wall_store store;
	char *label;
	uint32_t *functions; /* indices into the flow's, of WALL_FUNCTIONS */
	unsigned function_count;
	struct wall_range share; /* of the time: what is sped up */
};

struct wall {
	struct wall_range compute, local, global; /* costs: computation, bytes of one's own, bytes of others */
	double chosen;                            /* part of all cost in functions that the filter takes, 0 to 1 */
	uint32_t unknown;                         /* functions that read bytes, but what they compute is not known */
	struct wall_curve *curves;
	unsigned count, cap;
};

/* -ENODATA: nothing is known of what functions compute, or of bytes; -ENOENT: no such function; -EINVAL: costs that
 * are none, a function given twice. */
int wall_build(const struct flow *f, const struct wall_opts *o, struct wall *out, struct err *e);
void wall_release(struct wall *w);
/* k from 1 to infinity; NaN where it has no limit. */
double wall_speedup(double share, double k);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How what functions compute and communicate grows with the size n of the problem, over profiles of one program: the
 * power b of y = a n^b, by least squares on logarithms; from three sizes on with an interval (Student's t).
 * Pure. Included by view and tests.
 *
 *     struct growth g;
 *     growth_build(flows, n, 3, &g, &e); ... g.rows ...; growth_release(&g);
 */
#ifndef ACCPERF_MODEL_GROWTH_H
#define ACCPERF_MODEL_GROWTH_H

#include <stdbool.h>

#include "flow/flow.h"
#include "util/err.h"

enum growth_of { GROWTH_COMPUTE, GROWTH_IN, GROWTH_OUT, GROWTH_EDGE };

struct growth_row {
	enum growth_of of;
	const char *name, *object;          /* of the function, or the edge's producer; borrowed */
	const char *reader, *reader_object; /* GROWTH_EDGE only; else NULL */
	double *values;                     /* by profile; NaN unknown, 0 none there */
	double power, low, high;            /* NaN: fewer than two, or three, sizes have it */
	double scale;                       /* a */
};

/* A function's parts of all computation and of all communication, by profile. */
struct growth_part {
	const char *name, *object;
	double *compute, *bytes; /* shares; NaN unknown */
	double largest;
};

struct growth {
	unsigned profiles;
	double *n;               /* ascending, as the profiles are */
	struct growth_row *rows; /* by what they are in the last profile, the largest first */
	size_t count, cap;
	struct growth_part *parts; /* the same order */
	size_t part_count, part_cap;
	double *compute, *bytes; /* in all, by profile */
};

/* flows[i] is of size n[i]; they must stay as long as the result. -EINVAL: fewer than two sizes, or not ascending;
 * -ENODATA: they share no function. */
int growth_build(const struct flow *const *flows, const double *n, unsigned count, struct growth *out, struct err *e);
void growth_release(struct growth *g);
/* The power of n with its interval, from `count` pairs; pairs that are not above 0 are left out. */
struct growth_fit {
	double power, low, high, scale;
};
struct growth_fit growth_fit(const double *n, const double *y, unsigned count);
const char *growth_of_str(enum growth_of of);

#endif

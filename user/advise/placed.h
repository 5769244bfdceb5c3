/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions under a machine's roof: how many operations a byte each has, how many it does a second, and what the
 * machine would allow. Operations are arithmetic and logical instructions, bytes those that it loads and stores, the
 * stack's left out. Pure. Included by view and tests.
 */
#ifndef ACCPERF_ADVISE_PLACED_H
#define ACCPERF_ADVISE_PLACED_H

#include "flow/flow.h"
#include "measure/roofline.h"

enum placed_bound {
	PLACED_UNKNOWN,
	PLACED_MEMORY,      /* even the nearest cache hands over too few bytes */
	PLACED_DEPENDS,     /* on which level its bytes come from */
	PLACED_COMPUTATION, /* even memory hands over enough */
};

struct placed {
	const char *name, *object;
	double self_ns; /* NaN: unknown, as all of these */
	double ops_per_byte, per_byte_low, per_byte_high;
	double ops_per_s, low, high;
	/* of the most that the machine allows at so many operations a byte; its ends hold those of all three */
	double part, part_low, part_high;
	enum placed_bound bound;
};

/* By time, then by operations; those with none of the figures left out. `roof` NULL: not measured. Returns their
 * number; -ENOMEM. The caller frees *out. */
long place_functions(const struct flow *f, const struct roofline *roof, struct placed **out);
/* The most operations a second at so many a byte, bytes from that level. */
double placed_roof(const struct roofline *r, int level, double ops_per_byte);
const char *placed_bound_str(enum placed_bound b);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many returns each segment of a stretch stands for. Timed ones had the same chance each. Those that were carried
 * on had one that goes with the call that returned (`kept`), so each stands for the inverse of it: in proportion to
 * the part that is kept of all returns, as the timed ones tell it. The few that were carried on do not tell that: where
 * all of them came behind the call that is kept most, they would stand for the returns of the others as well. Pure
 * arithmetic. Included by part_segments.c and tests.
 */
#ifndef ACCPERF_RECORD_SEGMENT_WEIGHTS_H
#define ACCPERF_RECORD_SEGMENT_WEIGHTS_H

#include <stddef.h>

#include "format.h"

struct stretch_drawn {
	double returns, timed; /* of the stretch, and of them those whose time was taken */
	double as_long;        /* times: the time that the stretch stands for, over its own */
	const double *kept;    /* by call (WIRE_CALLS): the part of those to be carried on that is; above 0 */
	double usually;        /* kept of all returns, as of late: where none was timed in this stretch */
};

/* Sets the weights. Returns that of one carried on behind a call that is always kept. */
double segment_weights(struct fmt_segment *s, size_t n, const struct stretch_drawn *d);

#endif

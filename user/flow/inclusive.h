/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of a function with all it calls, from the stacks of sampled reads and stores. A byte is
 * inside where the function is on the stack. Of a read whose producer's stack is not known (windows,
 * overwrites), the stacks of that function's sampled stores decide in proportion; the same for
 * readers. Of one that was never sampled as it stores, and of what is further out than a stack was cut, those who call
 * it on stacks that are whole; of one that is on none, what is on any stack: that nothing was seen does not put it
 * outside of main. What was decided so is in the interval. Included by this room and tests.
 */
#ifndef ACCPERF_FLOW_INCLUSIVE_H
#define ACCPERF_FLOW_INCLUSIVE_H

#include "flow/last_writer.h"

/* Fills out->funcs[].inc; edges are there already. 0 or -ENOMEM. */
int flow_inclusive(const struct flow_input *in, const struct est_opts *o, const struct last_writer *c,
		   struct flow *out);

#endif

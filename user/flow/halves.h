/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors of a flow's edges from how much the parts of its recording differ. Resampling single reads and windows takes
 * them for independent; what varies from one recording to the next is more: what the program did meanwhile, which
 * stores were met, where windows happened to lie. So the recording is cut into blocks of time, half of the blocks are
 * drawn in several balanced ways, and the whole estimate is made of each half: what halves lie apart from their mean is
 * one standard error of the whole. No I/O. Included by cli and tests.
 */
#ifndef ACCPERF_FLOW_HALVES_H
#define ACCPERF_FLOW_HALVES_H

#include "estimate.h"
#include "flow/flow.h"
#include "flow/input.h"

/* Sets sd of whole's edges, and sd_freedom; leaves them where they are counted, or stored; unknown (NaN) where a half
 * holds no accesses. `estimator`: as of flow_estimate(), which made `whole`. 0 or -errno. */
int flow_halves(const struct flow_input *in, const char *estimator, const struct est_opts *o, struct flow *whole,
		struct err *e);

/* For how long it was seen what is read and written, ns. */
uint64_t flow_seen_ns(const struct flow_input *in);
/* What of it a recording has that ended so long after the first read or write: *out shares what it can with `in`, which
 * must outlive it. 0 or -ENOMEM. */
int flow_first_part(const struct flow_input *in, uint64_t ns, struct flow_input *out);
void flow_part_release(struct flow_input *part);

#endif

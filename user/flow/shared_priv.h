/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is shared (shared.h), and how each that asks for the like has it. Included by user/flow only. */
#ifndef ACCPERF_FLOW_SHARED_PRIV_H
#define ACCPERF_FLOW_SHARED_PRIV_H

#include "flow/estimators.h"

struct shared_flow {
	const struct profile *profile; /* whose it is */
	struct flow_input in;
	bool there; /* nobody has taken it */
	struct shared_flow *next;
};

struct flow_ready {
	struct flow flow; /* none of its functions are there: it was taken */
	struct est_opts o;
	struct flow_ready *next;
};

/* Owned from then on; the last one again, NULL: there is none. */
void flow_keep_shared(struct shared_flow *s);
struct shared_flow *flow_last_shared(void);
/* Of a profile that is shared: its input, if it is all that is asked for. */
bool flow_take_shared(const struct profile *p, const struct flow_input_opts *o, struct flow_input *out);
/* An estimate with the same options, if there is one; and the end of all of them. */
bool flow_take_ready(const struct flow_input *in, const struct est_opts *o, struct flow *out);
void flow_ready_release(struct flow_input *in);

#endif

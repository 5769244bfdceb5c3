/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From every byte read to bytes read for the first time by an invocation: the `ke` semantics. Watch
 * windows whose hits say which invocation they came from tell the ratio of the two per edge, since
 * they see all that happens to their chunk. Included by user/flow only.
 */
#ifndef ACCPERF_FLOW_KIM_EDWARDS_H
#define ACCPERF_FLOW_KIM_EDWARDS_H

#include "flow/last_writer.h"
#include "flow/flow.h"

/* Turns the edges of a finished quad estimate into ke. An edge that no window tells about gets its
 * reader's ratio, or that of all, and is unresolved. 0 or -ENOMEM. */
int flow_kim_edwards(const struct flow_input *in, const struct est_opts *o, const struct last_writer *c,
		     struct flow *out);

#endif

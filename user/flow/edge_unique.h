/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many different bytes travel along an edge: unique addresses of its reads. Included by user/flow only. */
#ifndef ACCPERF_FLOW_EDGE_UNIQUE_H
#define ACCPERF_FLOW_EDGE_UNIQUE_H

#include "flow/edge_ids.h"
#include "flow/last_writer.h"

/* edge: by read, its number in `ids`; FLOW_NONE: who wrote it is not told by a record. 0; -ENOMEM. */
int edge_unique(const struct flow_input *in, const struct last_writer *c, const struct edge_ids *ids,
		const uint32_t *edge, struct flow *out);

#endif

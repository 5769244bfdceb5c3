/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads that are known to have run but not where: the sampled block holds them, and the registers of
 * the sample no longer give their address. A load that destroys its own index is seen by most samples
 * that way, so leaving them out would understate just such instructions. Their bytes are added to
 * those of the same instruction that have an address; where none has, they follow the function's
 * other reads. Included by this room and tests.
 */
#ifndef ACCPERF_FLOW_UNLOCATED_LOADS_H
#define ACCPERF_FLOW_UNLOCATED_LOADS_H

#include "flow/last_writer.h"

/* Scales and extends c->reads. 0 or -ENOMEM. */
int unlocated_loads_add(const struct flow_input *in, const struct est_opts *o, struct last_writer *c);

#endif

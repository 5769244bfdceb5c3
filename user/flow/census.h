/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which store instructions a census has seen in full: they executed less often than it reports, so what it
 * reports is all they ever wrote. Included by user/flow only.
 */
#ifndef ACCPERF_FLOW_CENSUS_H
#define ACCPERF_FLOW_CENSUS_H

#include "estimate.h"
#include "flow/input.h"

/* By site; to be freed. NULL: out of memory. */
bool *census_complete(const struct flow_input *in, const struct est_opts *o);

#endif

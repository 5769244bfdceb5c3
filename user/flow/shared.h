/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One reading of a profile's accesses and one estimate of its flow, for several processes: what is shared before they
 * are forked, each of them has that asks for all of the file, as it was then. The profile is shared with it
 * (profile/shared.h). Included by html/parts.c and tests.
 */
#ifndef ACCPERF_FLOW_SHARED_H
#define ACCPERF_FLOW_SHARED_H

#include "util/err.h"

/* A level is one of the estimates' intervals; 0 ends them. */
int flow_share_estimate(const char *path, const double *levels, struct err *e);
/* Frees what nobody took, and the profiles. */
void flow_share_end(void);

#endif

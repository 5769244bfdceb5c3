/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The roof that `calibrate --roofline` measured, kept in the cache for `advise --roofline`. Included by these two
 * (cli). */
#ifndef ACCPERF_OFFLOAD_ROOF_H
#define ACCPERF_OFFLOAD_ROOF_H

#include "measure/roofline.h"
#include "util/err.h"

int roof_keep(const struct roofline *r, struct err *e);
/* False: *why tells, and it is of no other machine than this. */
bool roof_kept(struct roofline *out, const char **why);

#endif

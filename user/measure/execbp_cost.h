/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether execute breakpoints work on this machine, and by how much they falsify what is measured beside them: tried on
 * ourselves, at each start. What they cost the target is in price_table.h. Included by record and tests.
 */
#ifndef ACCPERF_MEASURE_EXECBP_COST_H
#define ACCPERF_MEASURE_EXECBP_COST_H

#include "kmod-free/execbp.h"

/* What one hit takes from the thread, in ns, where hits follow each other closely, measured on the calling
 * thread in some milliseconds. NaN and a sentence: breakpoints cannot be had, or never fire here. */
double execbp_measure(struct execbp *x, struct err *e);
/* How many times as long a small loop takes within EXECBP_NEAR of a breakpoint, though it is never hit: some processors
 * (Zen 5: 10 and more) decode each instruction of that line anew. 1: no difference, or unknown. */
double execbp_measure_near(struct execbp *x);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of flow estimators, by name: `flow`, `diff` and `compare` take their choices from it. Included by
 * estimators.c and these (cli and tests). To add one: a row here; include/estimate.h has the steps.
 */
#ifndef ACCPERF_FLOW_ESTIMATOR_TABLE_H
#define ACCPERF_FLOW_ESTIMATOR_TABLE_H

#include "estimate.h"

/* X(name) for a `const struct est_ops flow_NAME`: what the exact engine counted; a result that merge stored; store
 * records and watch windows together; store records alone; watch windows alone. */
#define FLOW_ESTIMATORS(X)                                                                                             \
	X(exact)                                                                                                       \
	X(stored)                                                                                                      \
	X(fused)                                                                                                       \
	X(cascade)                                                                                                     \
	X(windows)

#define FLOW_ESTIMATOR_DECLARED(name) extern const struct est_ops flow_##name;
FLOW_ESTIMATORS(FLOW_ESTIMATOR_DECLARED)

#define FLOW_ESTIMATOR_CHOICE(name) "|" #name
/* For an option: all but the first bar. */
#define FLOW_ESTIMATOR_CHOICES (&(FLOW_ESTIMATORS(FLOW_ESTIMATOR_CHOICE))[1])

#endif

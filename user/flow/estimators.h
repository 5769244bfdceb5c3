/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running flow estimators. Included by advise, cli and tests; the table is in estimator_table.h. */
#ifndef ACCPERF_FLOW_ESTIMATORS_H
#define ACCPERF_FLOW_ESTIMATORS_H

#include "estimate.h"
#include "flow/flow.h"
#include "flow/input.h"

/* By name; NULL name: the best this profile allows (exact figures, a stored result, fused). */
const struct est_ops *flow_estimator(const struct flow_input *in, const char *name);
/* Runs it and completes the table: per-function figures, sums, order. */
int flow_estimate(const struct flow_input *in, const char *name, const struct est_opts *o, struct flow *out,
		  struct err *e);
/* The same where the input may be a part of a recording: of what was counted for all processes and threads together
 * there is none (-ENODATA), and a stored result is not taken. */
int flow_estimate_part(const struct flow_input *in, bool part, const char *name, const struct est_opts *o,
		       struct flow *out, struct err *e);

/* Figures per function that need no producer; estimators call it last. 0 or -ENOMEM. */
int flow_figures(const struct flow_input *in, const struct est_opts *o, struct flow *out);
/* What system calls moved; where profiles say what bursts stand for, with intervals. 0 or -ENOMEM. */
int flow_calls(const struct flow_input *in, const struct est_opts *o, struct flow *out);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the offload calls of a recording pay, where it holds both variants of a name: LogCA fitted to the calls that
 * were seen on the host and on the accelerator. Included by view and cli.
 */
#ifndef ACCPERF_ADVISE_OFFLOAD_PAYS_H
#define ACCPERF_ADVISE_OFFLOAD_PAYS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/fit.h"
#include "model/logca.h"
#include "offload/summary.h"
#include "profile/filter.h"

/* Host and accelerated calls of one name, fitted; or why not. */
struct offload_verdict {
	const char *api, *name;
	bool fitted;
	char why_not[240];
	const char *doubt; /* why the fit cannot tell what pays; NULL: it can */
	struct fit fit;
	struct logca_payoff payoff;
	double below;     /* share of the accelerated calls that are too small; NaN unknown */
	double wasted_ns; /* by these, per call of them; NaN unknown */
	double accelerated_calls;
};

const char *offload_library(const struct offload_item *it); /* without its folder */
bool offload_passes(const struct filter *f, const struct offload_item *it);
/* Every name of which both variants were seen, and that the filter takes: at most so many into `out`; how many there
 * are. Names and APIs are the summary's. */
size_t offload_verdicts(const struct offload_summary *s, const struct filter *f, struct offload_verdict *out,
			size_t most);

#endif

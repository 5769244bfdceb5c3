/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile as struct advise_input: time, calls, bytes and offload calls of each function, from one walk over the file.
 * Included by view. What the profile does not hold is left unknown, and said in *missing.
 *
 * To add a fact: a field of struct advise_function, filled in one of gather.c's steps.
 */
#ifndef ACCPERF_ADVISE_GATHER_H
#define ACCPERF_ADVISE_GATHER_H

#include "advise/candidates.h"
#include "counts/counts_report.h"
#include "flow/estimators.h"
#include "offload/summary.h"
#include "profile/profile.h"
#include "profile/time_shares.h"

/* All that is read; the input's names are in here. */
struct gathered {
	struct profile *profile;
	struct shares shares;
	struct flow_input flow_input;
	struct flow flow;
	struct counts_record counts_record;
	struct counts_report counts;
	struct offload_summary *offload;
	bool has_flow, has_counts;
	struct advise_input input;
	double part;       /* share of the time that the filter left; 1: all */
	char missing[600]; /* "": nothing */
};

/* Of the processes that the filter takes, as though they had been recorded alone; NULL: of all. What is kept for all
 * processes together is then unknown. 0, -errno with a sentence. gathered_release() in any case. */
int gather(struct gathered *g, const char *path, const struct filter *f, struct err *e);
/* Its flow and the time of its functions alone. */
int gather_flow(struct gathered *g, const char *path, const struct filter *f, struct err *e);
void gathered_release(struct gathered *g);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* Of a function of the report: whether it is shown, and how it waits. */
#include <math.h>

#include "view/report.h"

struct wait_share report_wait(const struct report *r, const struct share *s)
{
	double low, high;

	if (!r->waits || profile_unit(r->profile) != PROFILE_TIME)
		return (struct wait_share){ NAN, NAN, NAN };
	wilson_interval(s->inclusive, r->all.effective, &low, &high);
	return wait_share(r->profile, &r->waits[s->function], s->inclusive * r->all.weight, low * r->all.weight,
			  high * r->all.weight);
}

/* What rows are ordered by is what they are left out by: who sorts by self wants no callers of others. */
bool report_shows(const struct report *r, const struct share *s)
{
	bool by_self = (!r->opts.columns && (r->opts.sort == REPORT_SELF || r->opts.sort == REPORT_SAMPLES)) ||
		       !r->opts.children;

	return (by_self ? s->self : fmax(s->self, s->inclusive)) >= r->opts.limit;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/whole_program.h"

#include <errno.h>
#include <math.h>

int whole_program(const struct program_use *use, const struct logca *p, double g, struct whole_program *out,
		  struct err *e)
{
	struct acm a;
	double second = 1e9; /* the unit is ns unless said otherwise; only ratios matter with cycles */

	*out = (struct whole_program){ .every = NAN, .once = NAN };
	if (use->share == 0 && use->calls == 0)
		return 0;
	if (!(use->share > 0 && use->share <= 1) || !(use->calls > 0))
		return err_set(e, -EINVAL, "the threading designs want both --share (0 to 1) and --calls (above 0)");
	out->known = true;
	a = (struct acm){ .C = second,
			  .alpha = use->share,
			  .n = use->calls,
			  .o0 = p->o,
			  .Q = use->queue,
			  .L = p->kind == LOGCA_DEP ? p->L * g : p->L,
			  .o1 = use->thread_switch,
			  .A = p->A };
	for (int d = 0; d < ACM_DESIGNS; d++) {
		out->speedup[d] = acm_speedup(&a, (enum acm_design)d);
		out->break_even[d] = acm_break_even(&a, (enum acm_design)d, p->C, p->beta);
	}
	out->amdahl = amdahl(use->share, logca_speedup(p, g));
	out->ideal = amdahl(use->share, INFINITY);
	if (use->link > 0) {
		out->every = amdahl(use->share, transfer_bound(use->share, p->A, use->calls * g, use->link));
		if (use->unique)
			out->once = amdahl(use->share, transfer_bound(use->share, p->A, use->unique, use->link));
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branches of one object, for a tool that lays code out anew: pre-aggregated text as perf2bolt -pa reads it. It wants
 * what a processor's record of its last branches would have told: taken branches, and which code ran straight on
 * between two of them. Bursts were there at each step, so nothing is inferred; which branches the processor foresaw
 * wrongly they cannot know, and say 0.
 */
#include <inttypes.h>

#include "view/export.h"

static bool of_object(const struct export_opts *o, const struct branch *w)
{
	return w->from == o->module || w->to == o->module;
}

/* Code of other objects has no address here. */
static void add_side(struct buf *out, bool here, uint64_t addr)
{
	if (here)
		buf_addf(out, "%" PRIx64, addr);
	else
		buf_addstr(out, "X:0");
}

int export_bolt(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e)
{
	for (size_t i = 0; i < o->branches->count; i++) {
		const struct branch *w = &o->branches->at[i];

		if (!of_object(o, w))
			continue;
		if (w->kind == FMT_BRANCH_STRAIGHT) {
			buf_addf(out, "F %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", w->from_addr, w->to_addr, w->times);
			continue;
		}
		buf_addstr(out, "B ");
		add_side(out, w->from == o->module, w->from_addr);
		buf_addch(out, ' ');
		add_side(out, w->to == o->module, w->to_addr);
		buf_addf(out, " %" PRIu64 " 0\n", w->times);
	}
	return 0;
}

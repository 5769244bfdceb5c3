// SPDX-License-Identifier: GPL-2.0-or-later
/* What verified segments ran, by function: sums over the pieces of time in which they were drawn, so that shares and
 * how far chance moves them can be told without a record for each. */
#include "record/counts_plan_priv.h"
#include "util/grow.h"

static void add_drawn(struct plan *p, uint32_t i, double instructions)
{
	struct plan_func *f = i == PLAN_NONE ? NULL : &p->func[i];

	if (f && !(f->drawn_now > 0)) {
		if (GROW(p->drawn_in, p->drawns, p->drawn_cap, 64))
			p->drawn_in[p->drawns++] = i;
		else
			f = NULL;
	}
	*(f ? &f->drawn_now : &p->drawn_nowhere) += instructions;
}

void plan_segment(struct plan *p, double stands_for, const struct emu_count *count, size_t counts, plan_place_fn place,
		  void *ctx)
{
	struct plan_ran at = { .func = PLAN_NONE };

	for (size_t i = 0; i < counts; i++) {
		uint32_t f = plan_ran_at(p, &at, count[i].ip, place, ctx);

		add_drawn(p, f, stands_for * (double)count[i].runs);
		if (f == PLAN_NONE)
			continue;
		plan_repeats_add(&p->func[f], REPEATS_OF_STRETCH, &count[i]);
		plan_timed(&p->func[f], &count[i]);
	}
}

static void fold_stretch(struct fmt_counts_drawn *to, double own, double all)
{
	to->stretches++;
	to->instructions += own;
	to->square += own * own;
	to->with_all += own * all;
}

void plan_stretch(struct plan *p, double weight)
{
	double all = p->drawn_nowhere;

	for (uint32_t k = 0; k < p->drawns; k++)
		all += p->func[p->drawn_in[k]].drawn_now;
	for (uint32_t k = 0; k < p->drawns; k++) {
		struct plan_func *f = &p->func[p->drawn_in[k]];

		f->drawn.function = f->rec.id;
		fold_stretch(&f->drawn, weight * f->drawn_now, weight * all);
		f->drawn_now = 0;
		plan_repeats_fold(f, REPEATS_OF_STRETCH);
	}
	if (p->drawn_nowhere > 0)
		fold_stretch(&p->drawn, weight * p->drawn_nowhere, weight * all);
	p->drawn_nowhere = 0;
	p->drawns = 0;
}

void plan_write_drawn(struct plan *p)
{
	if (p->drawn.stretches)
		plan_put(p, FMT_COUNTS_DRAWN, 0, &p->drawn, sizeof(p->drawn));
	for (uint32_t i = 0; i < p->funcs; i++)
		if (p->func[i].drawn.stretches)
			plan_put(p, FMT_COUNTS_DRAWN, p->func[i].rec.id, &p->func[i].drawn, sizeof(p->func[i].drawn));
}

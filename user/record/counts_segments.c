// SPDX-License-Identifier: GPL-2.0-or-later
/* What verified segments ran, by function: sums over the pieces of time in which they were drawn, so that shares and
 * how far chance moves them can be told without a record for each. */
#include "record/counts_plan_priv.h"
#include "util/grow.h"

/* Where this stretch is summed up; of no function, NULL. */
static struct plan_func *drawn_func(struct plan *p, uint32_t i)
{
	struct plan_func *f = i == PLAN_NONE ? NULL : &p->func[i];

	if (!f || f->drawn_now > 0 || f->called_now > 0)
		return f;
	if (!GROW(p->drawn_in, p->drawns, p->drawn_cap, 64))
		return NULL;
	p->drawn_in[p->drawns++] = i;
	return f;
}

/* Of functions that a segment entered: a call that goes on from one segment to the next began in one of them. */
static void add_drawn_calls(struct plan *p, const struct plan_carried *s, plan_place_fn place, void *ctx)
{
	struct plan_ran at = { .func = PLAN_NONE };

	for (size_t i = 0; i < s->calls; i++) {
		uint32_t k = plan_ran_at(p, &at, s->call[i].target, place, ctx);
		struct plan_func *f;

		if (k == PLAN_NONE || s->call[i].target - at.bias != p->func[k].rec.start)
			continue;
		f = drawn_func(p, k);
		if (f)
			f->called_now += s->stands_for * (double)s->call[i].runs;
	}
}

void plan_segment(struct plan *p, const struct plan_carried *s, plan_place_fn place, void *ctx)
{
	struct plan_ran at = { .func = PLAN_NONE };

	for (size_t i = 0; i < s->counts; i++) {
		const struct emu_count *c = &s->count[i];
		uint32_t k = plan_ran_at(p, &at, c->ip, place, ctx);
		struct plan_func *f = drawn_func(p, k);

		*(f ? &f->drawn_now : &p->drawn_nowhere) += s->stands_for * (double)c->runs;
		if (k == PLAN_NONE)
			continue;
		plan_repeats_add(&p->func[k], REPEATS_OF_STRETCH, c);
		plan_timed(&p->func[k], c);
	}
	add_drawn_calls(p, s, place, ctx);
}

static void fold_stretch(struct fmt_counts_drawn *to, double own, double all)
{
	to->stretches++;
	to->instructions += own;
	to->square += own * own;
	to->with_all += own * all;
}

static void fold_calls(struct fmt_counts_drawn *to, double calls, double all)
{
	to->called += calls > 0;
	to->calls += calls;
	to->calls_square += calls * calls;
	to->calls_with_all += calls * all;
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
		fold_calls(&f->drawn, weight * f->called_now, weight * all);
		f->drawn_now = f->called_now = 0;
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

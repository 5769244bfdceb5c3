// SPDX-License-Identifier: GPL-2.0-or-later
/* Weights of system calls: what was seen in stretches, scaled to what the kernel counted (call_stretches.h). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/input_priv.h"

#define LONGEST 1e18 /* ns or bytes: whatever is more is damage */
#define STEADIER 2   /* times nearer to each other than by CPU time: less may be chance; by hand */
#define STRETCHES 10 /* of fewer, deviations are known to less than a third */

static double sane_or_zero(double v)
{
	return v >= 0 && v < LONGEST ? v : 0;
}

/* Calls that are observed last longer: in a stretch less is done than in as much CPU time without. */
static double own_time(uint64_t ran, const struct fmt_sysio_stretch *b)
{
	return ran > b->spent_ns ? sane_or_zero((double)(ran - b->spent_ns)) : 0;
}

int input_call_stretch(struct raw *r, const struct fmt_sysio_stretch *b)
{
	struct call_stretches *c = &r->in->calls;

	c->span_ns += sane_or_zero((double)b->span_ns);
	c->until = b->end > c->until ? b->end : c->until;
	c->total[CALLS_TIME] += b->flags & FMT_IOB_RAN ? own_time(b->ran_all_ns, b) : NAN;
	for (int i = 0; i < 2; i++)
		c->total[CALLS_READ + i] += b->flags & FMT_IOB_MOVED ? sane_or_zero((double)b->moved[i]) : NAN;
	if (!(b->weight > 0) || b->end < b->begin)
		return 0;
	return INPUT_PUSH(r, c->stretch, c->count, c->cap,
			  (struct call_stretch){
				  .begin = b->begin,
				  .end = b->end,
				  .weight = fmax(1, sane_or_zero(b->weight)),
				  .seen = { sane_or_zero((double)(b->end - b->begin)), sane_or_zero((double)b->seen[0]),
					    sane_or_zero((double)b->seen[1]) },
				  .ran_ns = own_time(b->ran_ns, b),
				  .spent_ns = sane_or_zero((double)b->spent_ns),
			  });
}

/* The kernel counted bytes, and no stretch saw a call that moved any: they are there all the same, of calls unknown. */
static int add_unseen(struct raw *r, enum call_measure m)
{
	struct flow_input *in = r->in;
	struct in_sysio all = {
		.time = in->calls.stretch[in->calls.count - 1].end,
		.weight = 1,
		.func = in_func_add(in, FLOW_KERNEL, ""),
		.dir = m == CALLS_READ ? FMT_IO_KERNEL_WRITES : FMT_IO_KERNEL_READS,
		.measure = (uint8_t)m,
	};

	for (size_t i = 0; i < in->calls.count; i++)
		if (in->calls.stretch[i].seen[m] > 0)
			return 0;
	if (!(in->calls.total[m] >= 1))
		return 0;
	all.len = (uint64_t)in->calls.total[m];
	if (all.func == FLOW_NONE)
		return -ENOMEM;
	if (in->sysio_count && in->sysio[in->sysio_count - 1].time > all.time)
		all.time = in->sysio[in->sysio_count - 1].time;
	return INPUT_PUSH(r, in->sysio, in->sysio_count, in->sysio_cap, all);
}

/* Targets that wait, or wait for others' CPU time, make no calls: how long they ran tells more than how long it was. */
static void choose_time(struct call_stretches *c)
{
	c->busy = c->total[CALLS_TIME] / c->span_ns;
	if (isnan(c->total[CALLS_TIME]))
		c->total[CALLS_TIME] = c->span_ns;
	else
		for (size_t i = 0; i < c->count; i++)
			c->stretch[i].seen[CALLS_TIME] = c->stretch[i].ran_ns;
}

/*
 * A server's calls that the kernel does not count (it receives and looks up files) come with those that it does (reads,
 * writes), so many to a request. What stays the same from stretch to stretch goes by that.
 */
static enum call_measure steadiest(const struct call_stretches *c, const double *by_stretch)
{
	double least = call_half_width(c, CALLS_TIME, by_stretch, 1) / call_scale(c, CALLS_TIME) / STEADIER, half;
	enum call_measure best = CALLS_TIME;

	for (int m = CALLS_READ; m < CALL_MEASURES; m++) {
		if (!(c->total[m] > 0))
			continue;
		half = call_half_width(c, (enum call_measure)m, by_stretch, 1) / call_scale(c, (enum call_measure)m);
		if (!(half < least))
			continue;
		least = half;
		best = (enum call_measure)m;
	}
	return best;
}

static bool is_by_time(const struct in_sysio *s)
{
	return s->measure == CALLS_TIME && s->dir != FMT_IO_MAPS && s->stretch;
}

/* Of each function's calls in one direction what tells best how many there were. Weights are not scaled yet. */
static int choose_measures(struct flow_input *in)
{
	double *by = malloc((in->calls.count + 1) * sizeof(*by));
	struct map done = { 0 };
	int err = by ? 0 : -ENOMEM;

	for (size_t i = 0; i < in->sysio_count && !err; i++) {
		const struct in_sysio *first = &in->sysio[i];
		enum call_measure best;
		bool added;

		if (!is_by_time(first))
			continue;
		if (!map_put(&done, (uint64_t)first->func << 8 | first->dir, &added))
			err = -ENOMEM;
		if (err || !added)
			continue;
		memset(by, 0, in->calls.count * sizeof(*by));
		for (size_t k = i; k < in->sysio_count; k++) {
			const struct in_sysio *s = &in->sysio[k];

			if (is_by_time(s) && s->func == first->func && s->dir == first->dir)
				by[s->stretch - 1] += s->weight * (double)s->len;
		}
		best = steadiest(&in->calls, by);
		for (size_t k = in->sysio_count; best != CALLS_TIME && k-- > i;) {
			struct in_sysio *s = &in->sysio[k];

			if (is_by_time(s) && s->func == first->func && s->dir == first->dir)
				s->measure = (uint8_t)best;
		}
	}
	map_release(&done);
	free(by);
	return err;
}

int input_calls(struct raw *r)
{
	struct flow_input *in = r->in;
	double scale[CALL_MEASURES];
	int err;

	if (!in->calls.count)
		return 0;
	choose_time(&in->calls);
	for (int m = 0; m < CALL_MEASURES; m++)
		scale[m] = call_scale(&in->calls, m);
	for (size_t i = 0; i < in->sysio_count; i++)
		in->sysio[i].stretch = (uint32_t)(call_stretch_at(&in->calls, in->sysio[i].time) + 1);
	err = in->calls.count < STRETCHES ? 0 : choose_measures(in);
	if (err)
		return err;
	for (size_t i = 0; i < in->sysio_count; i++)
		in->sysio[i].weight *= scale[in->sysio[i].measure];
	/* when and by which process these were is not known either */
	if (flow_input_in_part(&r->o))
		return 0;
	err = add_unseen(r, CALLS_READ);
	return err ? err : add_unseen(r, CALLS_WRITTEN);
}

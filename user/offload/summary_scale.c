// SPDX-License-Identifier: GPL-2.0-or-later
/* From the stretches in which calls were probed to the whole recording: each item's factor and its error (scale.h). */
#include "offload/summary_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "offload/scale.h"

static bool of_item(struct summary_private *k, const struct fmt_offload_window *w, const struct offload_item *it)
{
	return w->group == it->group && w->disarmed >= w->armed && w->calls != UINT64_MAX &&
	       w->cpu_disarmed >= w->cpu_armed && !strcmp(summary_string(k, w->library), it->library);
}

/* An item's stretches, on the clock and in CPU time of the target. */
struct stretches {
	struct stretch *clock, *cpu;
	size_t n;
	double len, outside_ns, cpu_end;
	bool by_cpu, idle; /* idle: for part of the gaps, so that others may set the pace */
};

static int by_begin(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* false: no memory. */
static bool gather_stretches(struct summary_private *k, struct offload_item *it, struct stretches *t)
{
	*t = (struct stretches){ .by_cpu = true };
	t->clock = calloc(2 * (k->windows_cnt + 1), sizeof(*t->clock));
	if (!t->clock)
		return false;
	t->cpu = t->clock + k->windows_cnt + 1;
	for (size_t i = 0; i < k->windows_cnt; i++) {
		const struct fmt_offload_window *w = &k->windows[i].w;

		if (!of_item(k, w, it))
			continue;
		if (!it->first || w->armed < it->first)
			it->first = w->armed;
		if (w->disarmed >= it->last)
			it->last = w->disarmed;
		t->by_cpu &= w->cpu_disarmed > 0;
		t->cpu_end = fmax(t->cpu_end, (double)w->cpu_disarmed);
		if (w->disarmed == w->armed) {
			t->outside_ns += hits_ns(k, w);
			continue;
		}
		t->clock[t->n] =
			(struct stretch){ (double)w->armed, (double)w->disarmed, (double)w->calls, hits_ns(k, w), 0 };
		t->cpu[t->n] = (struct stretch){ (double)w->cpu_armed, (double)w->cpu_disarmed, (double)w->calls,
						 hits_ns(k, w), (double)w->gap_mean };
		t->len += (double)(w->disarmed - w->armed);
		t->n++;
	}
	qsort(t->clock, t->n, sizeof(*t->clock), by_begin);
	qsort(t->cpu, t->n, sizeof(*t->cpu), by_begin);
	t->idle = t->by_cpu && scale_paced(t->clock, t->cpu, t->n, 1 - COST_DOUBT);
	return true;
}

/* If hits cost `part` of what was measured. */
static struct scaled scaled_by(const struct offload_item *it, const struct stretches *t, double part)
{
	if (t->by_cpu && !t->idle)
		return scale_calls(t->cpu, t->n, t->cpu_end, t->outside_ns, part);
	return scale_calls(t->clock, t->n, (double)it->last, 0, t->idle ? part : 0);
}

/*
 * Where something else paces the calls, hits put off what a short stretch would have seen: a service that polls 20,000
 * calls a second every half millisecond takes its first calls at a tenth of their pace and has as many before it at the
 * stretch's end. By the clock that tells too few, 13 for 20 thousand; with the time of all hits off too many, as asleep
 * it catches up. Further apart than by this factor, which is what a break-even has to be known within, neither is told.
 */
#define READINGS_APART 1.5

#define WITHIN 10 /* times as many or as few as are told, 95 %; calls known worse are a bound alone; by hand */

/* Calls of the whole recording from those of the stretches. A probed call may take ten times as long,
 * so time is that of the target's work without it; how well the cost of a hit is known sets how well
 * the calls are. */
void summary_scale_item(struct summary_private *k, struct offload_item *it, double part_low, double part_high)
{
	double calls = (double)it->calls;
	struct scaled middle, low, high;
	struct stretches t;

	it->estimate = it->low = it->high = calls;
	it->observed = 1;
	if (!gather_stretches(k, it, &t)) {
		k->failed = -ENOMEM;
		return;
	}
	if (!t.n) {
		if (it->kind == FMT_OK_KERNEL) { /* watched all the time */
			it->first = store_header(k->reader)->start_monotonic_ns;
			it->last = k->end;
		}
		goto out;
	}
	/* Without its last record: a library that is not armed was let go for the budget, and the
	 * time since counts. */
	if (k->end > it->last) {
		it->last = k->end;
		t.by_cpu = false;
	}
	it->observed = fmin(1, t.len / (double)(it->last - it->first));
	if (it->observed > 0.999 || !it->calls)
		goto out;
	middle = scaled_by(it, &t, t.idle ? 0 : 1);
	low = scaled_by(it, &t, t.idle ? 0 : part_low);
	high = scaled_by(it, &t, t.idle ? 1 : part_high);
	/* Two stretches tell nothing of the others: a figure without an interval is none. */
	it->estimate = isnan(middle.error) ? NAN : calls * middle.factor;
	/* By the clock a slowed target only gives a bound. */
	it->high = t.by_cpu ? calls * high.factor * (1 + high.error) : NAN;
	it->low = low.error < 1 ? calls * low.factor * (1 - low.error) : calls;
	/* Where probing took more time than the work itself, subtracting it leaves nothing to go by:
	 * the rate of the slowed target is a bound from below. */
	if (!isfinite(it->high) || it->high > WITHIN * it->estimate)
		it->high = NAN;
	if (isfinite(middle.factor) && isnan(middle.error)) {
		it->low = calls;
	} else if (!isfinite(it->estimate) || !isfinite(it->low)) {
		it->estimate = it->high = NAN;
		low = scaled_by(it, &t, 0);
		it->low = low.error < 1 ? calls * low.factor * (1 - low.error) : calls;
	}
	it->low = fmax(it->low, calls);
	it->put_off = t.idle && high.factor > READINGS_APART * low.factor;
	/* What may be any number of times as many, or as few, is a bound and no figure: of three stretches one of which
	 * had nearly all calls, 36 % of the CPU were told of a call that took 3. */
	if (isnan(it->high) || it->put_off || it->estimate > WITHIN * it->low)
		it->estimate = NAN;
out:
	free(t.clock);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "advise/probe_excess.h"

#include <math.h>

#define ENOUGH 20 /* timed calls of about one size, for their mean */

double call_mean_of_size(const struct offload_octave *o)
{
	return o->timed > o->few ? (o->ns - o->few_ns) / (o->timed - o->few) : NAN;
}

double call_time_of_size(const struct offload_octave *o, double excess)
{
	double ns = call_mean_of_size(o);

	return isnan(ns) ? NAN : fmax(ns - excess, PROBE_LEAST_NS);
}

/* Mean time of the calls of the size that takes least, and their bytes; NaN. */
static double shortest_calls(const struct offload_item *it, double *bytes)
{
	double least = NAN;

	*bytes = 0;
	for (int k = 1; k < OFFLOAD_OCTAVES; k++) {
		const struct offload_octave *o = &it->octave[k];

		if (o->timed >= ENOUGH && !(call_mean_of_size(o) >= least)) {
			least = call_mean_of_size(o);
			*bytes = o->bytes / o->calls;
		}
	}
	return least;
}

/*
 * The shortest calls read m = t + e: t is theirs, e the excess, from least to late. So t lies from m - late (or
 * nothing) to m - least. Of what order it is nobody knows, but that they take no less than a copy of their bytes: with
 * each order as likely, its mean is (b - a) / ln(b / a). Where m is far above the doubt that is m itself, less the
 * middle of the doubt; where it is below, most of it is the probe's.
 */
struct figure probe_excess(const struct offload_item *it, double byte_ns)
{
	double bytes, m = shortest_calls(it, &bytes), a, b;
	struct figure e = { 0, fmin(it->excess_low_ns, 0), it->late_ns };

	if (!(m >= 0) || !(it->late_ns > 0))
		return e;
	a = fmax(m - it->late_ns, PROBE_LEAST_NS);
	b = m - it->excess_low_ns;
	if (!(b > a))
		return e;
	e.high = m - a;
	e.low = fmin(it->excess_low_ns, e.high);
	a = fmin(fmax(a, bytes * byte_ns), b);
	e.value = fmin(fmax(m - (b > a ? (b - a) / log(b / a) : b), e.low), e.high);
	return e;
}

double call_mean_by_size(const struct offload_item *it, bool empty)
{
	double calls = 0, sum = 0;

	for (int k = !empty; k < OFFLOAD_OCTAVES; k++) {
		const struct offload_octave *o = &it->octave[k];

		if (!(o->calls > 0))
			continue;
		if (2 * o->timed < o->calls || (o->switched_ns > 0 && o->ns == o->switched_ns))
			return NAN;
		calls += o->calls;
		sum += o->calls * call_mean_of_size(o);
	}
	return calls > 0 && 2 * it->unknown_calls < calls ? sum / calls : NAN;
}

double calls_few_mean(const struct offload_item *it, bool empty)
{
	double calls = 0, ns = 0;

	for (int k = !empty; k < OFFLOAD_OCTAVES; k++) {
		calls += it->octave[k].calls;
		ns += it->octave[k].few_ns;
	}
	return calls > 0 ? ns / calls : 0;
}

double calls_empty_part(const struct offload_item *it)
{
	double calls = 0;

	for (int k = 0; k < OFFLOAD_OCTAVES; k++)
		calls += it->octave[k].calls;
	return it->octave[0].calls < calls ? it->octave[0].calls / calls : 0;
}

double taken_besides_probes(const struct fmt_cost *c, double probes_ns)
{
	double lost = (double)c->target_lost_ns - probes_ns, cpu = (double)c->target_cpu_ns - probes_ns;

	return lost > 0 && cpu > 0 ? fmin(lost / cpu, 1) : 0;
}

void share_without_probes(struct figure *share, double part)
{
	if (isnan(share->value) || !(part > 0) || !(part < 1))
		return;
	share->value = fmin(fmax(share->value - part / 2, 0) / (1 - part), 1);
	share->low = fmin(fmax(share->low - part, 0) / (1 - part), share->value);
	share->high = fmin(share->high / (1 - part), 1);
}

static void in_proportion(struct figure *f, const struct figure *was, const struct figure *is)
{
	if (!figure_known(f))
		return;
	f->value = fmin(f->value * is->value / was->value, 1);
	f->low = fmin(f->low * is->low / was->value, f->value);
	f->high = fmin(fmax(f->high, f->value) * is->high / is->value, 1);
}

void shares_by_calls(struct figure *share, struct figure *of_thread, struct figure *of_elapsed,
		     struct figure calls_per_s, struct figure ns_per_call, double cpu_per_s)
{
	struct figure by = { fmin(calls_per_s.value * ns_per_call.value / cpu_per_s, 1),
			     fmin(calls_per_s.low * ns_per_call.low / cpu_per_s, 1),
			     fmin(calls_per_s.high * ns_per_call.high / cpu_per_s, 1) };
	struct figure was = *share;

	if (!figure_bounded(&calls_per_s) || !figure_bounded(&ns_per_call) || !(cpu_per_s > 0) || !(was.value > 0))
		return;
	*share = figure_closer(was, by);
	if (share->value == was.value)
		return;
	in_proportion(of_thread, &was, share);
	in_proportion(of_elapsed, &was, share);
}

bool rate_by_both(struct figure *rate, struct figure by)
{
	struct figure *r = rate;

	if (!figure_bounded(&by) || by.high < r->low)
		return false;
	if (figure_bounded(r) && r->low > 0 && !(by.low > 0 && by.high / by.low < r->high / r->low)) {
		r->low = fmax(r->low, fmin(by.low, r->high));
		r->value = fmax(r->value, r->low);
		return false;
	}
	by.low = fmax(by.low, figure_known(r) ? r->low : 0);
	by.value = fmax(by.value, by.low);
	*r = by;
	return true;
}

double speed_drift(const struct fmt_offload_cost *c)
{
	return c->hot_ns > 0 && c->hot_end_ns > 0 ? fmax(c->hot_end_ns / c->hot_ns, c->hot_ns / c->hot_end_ns) : 1;
}

double unprobed_quantile(const struct offload_item *it, double q, double longer)
{
	double switched = it->calls ? (double)it->switched / (double)it->calls : 0, others = 1 - switched;
	double at = q * (others + switched / longer);

	if (!(longer > 1) || 2 * switched > 1 || offload_waits(it))
		return q;
	return at <= others ? at : others + (at - others) * longer;
}

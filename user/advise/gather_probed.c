// SPDX-License-Identifier: GPL-2.0-or-later
/* What probes of offload calls say of functions: times, sizes, bytes, rates, fits of their hosts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/gather_priv.h"
#include "advise/host_curve.h"
#include "advise/predict.h"
#include "advise/probe_excess.h"
#include "model/fit.h"
#include "offload/api.h"
#include "offload/call_intervals.h"
#include "offload/operation.h"
#include "util/normal.h"
#include "util/path_name.h"

#define QUANTILES 200 /* calls that stand for a distribution: half a per cent each */
#define AS_LONG 2.    /* times: calls that a probe makes no longer than that are switched away from about as often */
#define MOST_TAKEN .5 /* of the time by the recording: the rest tells no rate */

static int sizes(const struct offload_item *it, double byte_ns, struct advise_function *f)
{
	double excess = probe_excess(it, byte_ns).value;

	f->size = calloc(OFFLOAD_OCTAVES, sizeof(*f->size));
	if (!f->size)
		return -ENOMEM;
	for (int k = 1; k < OFFLOAD_OCTAVES; k++) {
		const struct offload_octave *o = &it->octave[k];

		if (o->calls > 0 && o->bytes > 0)
			f->size[f->sizes++] =
				(struct predict_size){ o->bytes / o->calls, o->calls, call_time_of_size(o, excess) };
	}
	return 0;
}

/* Squared coefficient of variation. */
static double squared_variation(const struct spread *s)
{
	double sum = 0, squares = 0;

	for (int i = 0; i < QUANTILES; i++) {
		double v = spread_quantile(s, (i + 0.5) / QUANTILES);

		sum += v;
		squares += v * v;
	}
	return sum > 0 ? QUANTILES * squares / (sum * sum) - 1 : NAN;
}

/* Host and accelerated calls of one name: what the offload gains, by the host's curve at the device's sizes. */
static void counterpart(const struct offload_item *host, const struct offload_item *accel, struct advise_function *f)
{
	struct points pts = { .unit = "ns" };
	struct err e = { 0 };
	struct fit fit;
	double own = 0, there = 0, lose = 0, n = 0;
	int err = offload_points(host, RUN_HOST, &pts, &e);

	err = err ? err : offload_points(accel, RUN_ACCEL, &pts, &e);
	err = err ? err : fit_logca(&pts, &fit_defaults, &fit, &e);
	points_release(&pts);
	if (err) {
		f->doubt = "too few sizes or calls of both variants";
		return;
	}
	f->doubt = fit_doubt(&fit);
	if (f->doubt)
		return;
	for (size_t i = 0; i < accel->samples_cnt; i++) {
		double g = accel->samples[i].bytes, h = logca_host(&fit.p, g), a = logca_accel(&fit.p, g);

		if (!(g > 0) || (accel->samples[i].switched && !offload_waits(accel)))
			continue;
		own += h;
		there += a;
		lose += a > h;
		n++;
	}
	if (!(n > 0))
		return;
	f->counterpart_below = lose / n;
	f->counterpart_g1 = fit.roots == 1 ? fit.g1[0].v : NAN;
	f->counterpart_speedup =
		(struct figure){ own / there, own / there * exp(-2 * fit.error), own / there * exp(2 * fit.error) };
}

static struct figure about(double v, double part)
{
	return (struct figure){ v, v * fmax(1 - part, 0), v * (1 + part) };
}

static double taken_inside(const struct gathered *g)
{
	return g->profile->has_cost ? fmin(taken_besides_probes(&g->profile->cost, g->offload->hits_ns), MOST_TAKEN)
				    : 0;
}

/* The probes' part of what the target did, NaN: unknown. */
static double probes_part(const struct gathered *g)
{
	double cpu = g->profile->has_cost ? (double)g->profile->cost.target_cpu_ns : NAN;

	return cpu > 0 ? fmin(g->offload->hits_ns / cpu, MOST_TAKEN) : NAN;
}

/* Elapsed time that so many calls stay below, less what a probe is thought to add; NaN: shorter than single calls can
 * be timed, or not told, as calls that were handed nothing are among them. */
static double single_call(const struct offload_item *it, double q, double excess, double empty, double longer)
{
	double ns = empty > 0 ? NAN : spread_quantile(&it->time, unprobed_quantile(it, q, longer));

	return ns > fmax(it->below_ns, excess) ? ns - excess : NAN;
}

/* What a hit displaced of a call's data lies in the second cache, or behind it: older recordings know the former. */
static double cold_byte_ns(const struct fmt_offload_cost *c)
{
	return fmax(c->byte_ns, c->far_byte_ns);
}

static void fit_host_curve(const struct gathered *g, const struct offload_item *it, struct advise_function *f)
{
	struct host_beside b = { probe_excess(it, g->offload->cost.byte_ns), cold_byte_ns(&g->offload->cost),
				 taken_inside(g), speed_drift(&g->offload->cost) };
	struct host_curve c = host_curve_of(it, &b);

	f->t0 = c.t0;
	f->C = c.C;
	f->beta = c.beta;
	f->no_curve = c.why_not;
}

static void without_probes(const struct gathered *g, struct advise_function *f)
{
	share_without_probes(&f->share, probes_part(g));
	share_without_probes(&f->thread_share, probes_part(g));
}

static void times_of(const struct gathered *g, const struct offload_item *it, struct advise_function *f)
{
	/* some begin by handing over nothing: it takes nothing, and there is nothing in it to offload */
	double empty = f->operation && f->operation->by_bytes ? calls_empty_part(it) : 0, some = 1 - empty;
	double all = it->calls ? it->host_cpu_ns / (double)it->calls / some : NAN,
	       each = call_mean_by_size(it, !(empty > 0));
	double elapsed = it->calls ? it->host_ns / (double)it->calls / some : NAN;
	double target = g->profile->has_cost ? (double)g->profile->cost.target_cpu_ns : NAN;
	double calls = some * (isnan(it->estimate) ? it->low : it->estimate), scatter, cold = 0;
	double known = some * (double)(it->calls - it->unknown_bytes);
	struct figure excess = probe_excess(it, g->offload->cost.byte_ns);
	double longer, byte = cold_byte_ns(&g->offload->cost), few = isnan(each) ? 0 : calls_few_mean(it, !(empty > 0)),
		       taken = taken_inside(g), drift = speed_drift(&g->offload->cost);

	each = isnan(each) ? all : each;
	f->scv = squared_variation(&it->time);
	scatter = f->scv > 0 && it->calls ? normal_half(.9) * sqrt(f->scv / (some * (double)it->calls)) * each : 0;
	if (known > 0)
		cold = byte * (double)(it->bytes_in + it->bytes_out) / known;
	f->ns_per_call = (struct figure){ (each - excess.value) * (1 - taken / 2),
					  fmax(each - excess.high - cold - scatter, 0) * (1 - taken) / drift,
					  (each + few - excess.low + scatter) * drift };
	f->timed = (struct figure){ f->ns_per_call.value, fmax(each - excess.value - scatter, 0) * (1 - taken) / drift,
				    (each + few - excess.value + scatter) * drift };
	f->cold = byte;
	f->beside = (struct figure){ 0, excess.value - excess.high, excess.value - excess.low };
	if (!(each > it->below_ns)) /* hardly more than a bound: its share by samples may tell more */
		f->ns_per_call.value = f->timed.value = fmax(f->ns_per_call.value, 1);
	if (known > 0 && it->bytes_in + it->bytes_out) {
		double part = offload_mean_uncertain(it, known);

		f->argument_in = about((double)it->bytes_in / known, part);
		f->argument_out = about((double)it->bytes_out / known, part);
	}
	f->faults_per_call = offload_faults_per_call(g->offload, it);
	f->fault_share = offload_fault_share(g->offload, it);
	f->shortest = empty > 0 || isnan(spread_quantile(&it->time, .5)) ? NAN : fmax(it->below_ns, excess.value);
	longer = 1 + g->offload->cost.call_ns / fmax(f->ns_per_call.value, 1);
	f->p50 = single_call(it, .5, excess.value, empty, longer);
	f->p90 = single_call(it, .9, excess.value, empty, longer);
	f->p99 = single_call(it, .99, excess.value, empty, longer);
	f->wait_share = elapsed > 0 ? fmin(fmax(1 - all / elapsed, 0), 1) : NAN;
	f->wait_of_all = it->low == it->high && longer < AS_LONG;
	f->calls_per_s = (struct figure){ offload_calls_per_s(it, calls), offload_calls_per_s(it, some * it->low),
					  offload_calls_per_s(it, some * it->high) };
	f->calls_from = "probes";
	if (!f->of_level) /* the whole's were, before it was divided */
		without_probes(g, f);
	if (g->shares.incomplete > 0)
		shares_by_calls(&f->share, &f->thread_share, &f->elapsed_share, f->calls_per_s, f->ns_per_call,
				g->input.cpu_per_s);
	/* too rare for the sampler, or not on any stack as such: what its calls took */
	if (!(f->share.value > 0) && target > 0)
		f->share = (struct figure){ fmin(1, each * calls / target),
					    fmin(1, fmax(each - it->late_ns, 0) * some * it->low / target),
					    fmin(1, (each + it->early_ns) * some * it->high / target) };
}

static struct figure rate_by_time(const struct advise_input *in, const struct advise_function *f, double nested)
{
	const struct figure *s = &f->share, *t = &f->ns_per_call;
	double taken = in->taken > 0 ? in->taken : 0; /* of the time, the recording's: in the share, and in no call */

	if (!figure_bounded(s) || !figure_bounded(t) || !(t->value > 0) || !(s->value - nested > 0) ||
	    taken >= MOST_TAKEN)
		return FIGURE_UNKNOWN;
	return (struct figure){ (s->value - nested) * in->cpu_per_s / t->value,
				fmax(s->low - nested - taken, 0) * in->cpu_per_s / t->high,
				t->low > 0 ? (s->high - nested) * in->cpu_per_s / t->low : INFINITY };
}

/* What lies below another probed function of the library is part of that one's calls. */
void gather_rates_by_time(struct gathered *g)
{
	struct advise_input *in = &g->input;
	double *nested = calloc(in->functions + 1, sizeof(*nested));

	for (size_t i = 0; nested && i < in->nestings; i++) {
		const struct advise_function *a = &in->function[in->nesting[i].above];
		uint32_t below = in->nesting[i].below;

		if ((a->sizes || a->levels) && !strcmp(a->object, in->function[below].object))
			nested[below] += in->nesting[i].share;
	}
	for (size_t i = 0; nested && i < in->functions; i++) {
		struct advise_function *f = &in->function[i];
		struct figure by = rate_by_time(in, f, nested[i]);

		/* what else lies above all levels together is not known level by level */
		if (f->sizes && !f->offload && !f->of_level && rate_by_both(&f->calls_per_s, by))
			f->calls_from = "time";
	}
	free(nested);
}

static bool is_accelerated(const struct offload_item *it)
{
	const struct offload_api *api = offload_api_find(it->api);

	return it->variant == FMT_OV_ACCELERATED || (api && api->device && it->variant != FMT_OV_HOST);
}

/* What only hands work to a device is an offload, too; io_uring's is none of an accelerator. */
static bool is_judged(const struct offload_item *it)
{
	return (it->kind == FMT_OK_CALL || (it->kind == FMT_OK_SUBMIT && is_accelerated(it))) && it->calls &&
	       strcmp(it->api, "io_uring") != 0;
}

static void counterparts(const struct gathered *g, const struct offload_item *it, struct advise_function *f)
{
	const char *apart = NULL;

	for (size_t k = 0; k < g->offload->items_cnt; k++) {
		const struct offload_item *h = &g->offload->items[k];

		if (h->variant != FMT_OV_HOST || strcmp(h->name, it->name) != 0)
			continue;
		if (offload_same_level(h, it))
			counterpart(h, it, f);
		else
			apart = "the host's calls are at other levels of compression";
	}
	if (!f->doubt && !figure_known(&f->counterpart_speedup))
		f->doubt = apart;
}

static int fill_probed(const struct gathered *g, const struct offload_item *it, struct advise_function *f)
{
	int err;

	f->operation = operation_of(it->api, it->name);
	f->kinds = advise_kinds(f->operation);
	f->offload = is_accelerated(it);
	f->failed_share = f->offload ? (double)it->failed / (double)it->calls : NAN;
	f->levelled = it->levelled;
	f->level = it->level;
	f->part = it->part;
	times_of(g, it, f);
	err = sizes(it, g->offload->cost.byte_ns, f);
	if (f->offload)
		counterparts(g, it, f);
	else if (!err)
		fit_host_curve(g, it, f);
	return err;
}

static void times_part(struct figure *f, double part)
{
	*f = (struct figure){ f->value * part, f->low * part, f->high * part };
}

/* Of what the function is known by without its probes: the part of one level's calls, by their time. What its flows
 * move and compute is not known level by level. */
static struct advise_function one_level_of(const struct advise_function *whole, double part)
{
	struct advise_function f = *whole;
	double *const rates[] = { &f.self, &f.kernel, &f.kernel_most, &f.memory, &f.memory_most };

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
		*rates[i] *= part;
	times_part(&f.share, part);
	times_part(&f.thread_share, part);
	times_part(&f.elapsed_share, part);
	times_part(&f.wait_ns, part);
	f.in = f.in_low = f.in_high = f.out = f.out_low = f.out_high = f.compute = NAN;
	f.of_level = true;
	return f;
}

/* Calls of a sampled function at several levels: it is known as a whole, and each level's calls by themselves. */
static int fill_levels(struct gathered *g, const struct offload_item *of, size_t at)
{
	struct advise_input *in = &g->input;
	struct figure calls = FIGURE_EXACT(0);
	struct advise_function whole;
	int err = 0;

	without_probes(g, &in->function[at]);
	whole = in->function[at];
	in->function[at].first_level = (uint32_t)in->functions;
	for (size_t i = 0; i < g->offload->items_cnt && !err; i++) {
		const struct offload_item *it = &g->offload->items[i];
		struct advise_function *f = &in->function[in->functions];

		if (!offload_same_call(it, of) || !it->calls)
			continue;
		*f = one_level_of(&whole, it->part_of_ns);
		in->functions++;
		in->function[at].levels++;
		err = fill_probed(g, it, f);
		calls = (struct figure){ calls.value + f->calls_per_s.value, calls.low + f->calls_per_s.low,
					 calls.high + f->calls_per_s.high };
	}
	in->function[at].calls_per_s = calls;
	in->function[at].calls_from = "probes";
	in->function[at].operation = operation_of(of->api, of->name);
	in->function[at].kinds = advise_kinds(in->function[at].operation);
	return err;
}

int gather_probed(struct gathered *g)
{
	struct advise_input *in = &g->input;
	int err = 0;

	for (size_t i = 0; g->offload && i < g->offload->items_cnt && !err; i++) {
		const struct offload_item *it = &g->offload->items[i];
		int at = -1;

		if (!is_judged(it))
			continue;
		if (!is_accelerated(it))
			at = gather_function_named(in, offload_symbol(it), path_last(it->library));
		if (at >= 0 && (in->function[at].levels || in->function[at].of_level) && it->part < 1)
			continue; /* was told with the first of its levels */
		if (at >= 0 && (in->function[at].sizes || in->function[at].levels))
			at = -1; /* a second item of the same function */
		if (at >= 0 && it->part < 1) {
			err = fill_levels(g, it, (size_t)at);
			continue;
		}
		if (at < 0) {
			at = (int)in->functions++;
			in->function[at] = advise_function_unknown(it->name, path_last(it->library));
		}
		err = fill_probed(g, it, &in->function[at]);
	}
	return err;
}

/* A device's library that was there, and nothing was handed to it. */
void gather_idle(struct gathered *g)
{
	struct advise_input *in = &g->input;
	struct offload_unused unused[GATHER_UNUSED];
	size_t n = g->offload && g->offload->has_cost ? offload_unused(g->offload, unused, GATHER_UNUSED) : 0;

	for (size_t i = 0; i < n; i++) {
		const struct offload_api *api = offload_api_find(unused[i].api);
		struct advise_function *f = &in->function[in->functions];

		if (!api || !api->device)
			continue;
		*f = advise_function_unknown(api->label, path_last(unused[i].library));
		f->share = f->calls_per_s = FIGURE_EXACT(0);
		f->operation = NULL;
		f->kinds = 0;
		f->offload = true;
		in->functions++;
	}
}

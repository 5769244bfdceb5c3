// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Three things make such a curve uncertain. Calls of a size scatter: they are drawn anew (model/fit_interval.c). Code
 * is no power of its sizes (a table is cold, a loop is unrolled, a cache ends), and errors of near sizes are alike: so
 * the curve is fitted again without each octave of sizes in turn, and how far it moves tells (the jackknife). Both are
 * independent. What all times have in common (a probe's price, cold data, the machine's speed) no call tells: it
 * widens the ends.
 */
#include "advise/host_curve.h"

#include <math.h>

#include "advise/predict.h"
#include "model/fit.h"
#include "util/normal.h"

#define LEAST_OCTAVES 4 /* of sizes: a jackknife of fewer says nothing */
#define REFITS 30       /* of the curve: what its calls' scatter adds is less than what octaves left out tell */
#define WIDEST 10.      /* of C, high over low: from there on it is no figure of how long a byte takes */

/* points for the other side of a fit without intervals: the host's curve does not depend on them, its time does */
#define OF_OTHER 64

enum { P_T0, P_C, P_BETA, PARTS };

/* The fit wants an accelerator: it gets the same points. `excess`: taken off each time, at most to a tenth of it (a
 * call of no time would be all that a relative fit sees); `without`: an octave left out; 0: none. */
static int fit_sizes(const struct offload_item *it, double excess, int without, unsigned resamples, struct fit *fit)
{
	struct points pts = { .unit = "ns" };
	struct fit_opts opts = fit_defaults;
	struct err e = { 0 };
	struct point_list *host = &pts.run[RUN_HOST];
	int err = offload_points(it, RUN_HOST, &pts, &e);
	size_t kept = 0, every = host->count / OF_OTHER + 1;

	opts.resamples = resamples;
	for (size_t i = 0; i < host->count && !err; i++) {
		struct point p = host->at[i];

		p.t = fmax(p.t - excess, p.t / 10);
		if (without && ilogb(p.g) + 1 == without)
			continue;
		host->at[kept++] = p;
		if (!(resamples || i % every == 0))
			continue;
		err = points_add(&pts, RUN_ACCEL, p.g, p.t, p.switched, &e);
	}
	host->count = kept;
	host->early = host->late = 0; /* the ends of the excess stand for it */
	if (!err) {
		points_thin(&pts);
		err = fit_logca(&pts, &opts, fit, &e);
	}
	points_release(&pts);
	return err;
}

/* Standard errors of t0, ln C and beta by leaving out an octave at a time; false: too few octaves. */
static bool octaves_left_out(const struct offload_item *it, const struct fit *all, double error[PARTS], int *octaves)
{
	double sum[PARTS] = { 0 }, squares[PARTS] = { 0 };
	int n = 0;

	for (int k = 1; k < OFFLOAD_OCTAVES; k++) {
		struct fit f;
		double d[PARTS];

		if (!(it->octave[k].calls > 0) || fit_sizes(it, 0, k, 0, &f) || !(f.p.C > 0))
			continue;
		d[P_T0] = f.p.t0 - all->p.t0;
		d[P_C] = log(f.p.C / all->p.C);
		d[P_BETA] = f.p.beta - all->p.beta;
		for (int i = 0; i < PARTS; i++) {
			sum[i] += d[i];
			squares[i] += d[i] * d[i];
		}
		n++;
	}
	for (int i = 0; i < PARTS && n; i++)
		error[i] = sqrt(fmax(squares[i] - sum[i] * sum[i] / n, 0) * (n - 1) / n);
	*octaves = n;
	return n >= LEAST_OCTAVES;
}

/* Student's for 90 %, by that for 95 %: a little wide where octaves are few. */
static double half_width(int octaves)
{
	return student_half(octaves - 1) * Z90 / Z95;
}

static struct figure spread(const struct fit_value *v, double more)
{
	return (struct figure){ v->v, v->v - hypot(v->v - v->lo, more), v->v + hypot(v->hi - v->v, more) };
}

/* The same curve, had a probe left more or less in every call: an end, not a chance. */
static void reach_end(struct figure *f, const struct figure *middle, double v)
{
	f->low += fmin(v - middle->value, 0);
	f->high += fmax(v - middle->value, 0);
}

/* C as its logarithm. */
static struct host_curve with_ends(const struct offload_item *it, const struct host_beside *b, const struct fit *fit,
				   const double more[PARTS])
{
	struct fit_value c = { log(fit->C.v), log(fmax(fit->C.lo, 1e-300)), log(fit->C.hi) };
	struct host_curve out = { spread(&fit->t0, more[P_T0]), spread(&c, more[P_C]), spread(&fit->beta, more[P_BETA]),
				  NULL };
	const struct host_curve middle = out;
	double end[2] = { b->excess.low, b->excess.high };

	for (int i = 0; i < 2; i++) {
		struct fit f;

		if (end[i] == 0)
			continue;
		if (fit_sizes(it, end[i], 0, 0, &f) || !(f.p.C > 0)) {
			out.why_not =
				"its calls are about as short as what a probe takes: with the most that may be, they follow no curve";
			return out;
		}
		reach_end(&out.t0, &middle.t0, f.p.t0);
		reach_end(&out.C, &middle.C, log(f.p.C));
		reach_end(&out.beta, &middle.beta, f.p.beta);
	}
	/* what a probe most likely left in belongs to no size */
	out.t0.value = fmax(out.t0.value - b->excess.value, 0);
	out.t0.low = fmin(fmax(out.t0.low, 0), out.t0.value);
	out.t0.high = fmax(out.t0.high, out.t0.value);
	out.C = (struct figure){ exp(out.C.value), exp(out.C.low), exp(out.C.high) };
	out.C.low = fmax(out.C.low - b->cold * pow(sqrt(fit->gmin * fit->gmax), 1 - fit->p.beta), 0);
	return out;
}

static void widen(struct figure *f, const struct host_beside *b)
{
	f->low = fmax(f->low * (1 - b->taken) / b->drift, 0);
	f->value *= 1 - b->taken / 2;
	f->high *= b->drift;
}

static const char *curve_fitted(const struct offload_item *it, const struct host_beside *b, struct host_curve *c)
{
	double more[PARTS];
	struct fit fit;
	int octaves;

	if (fit_sizes(it, 0, 0, REFITS, &fit))
		return "too few sizes or calls for a curve, or they take no longer the larger they are";
	if (fit.error_host > FIT_FALSE)
		return "its time is no power of its size: its sizes miss such a curve by more than a quarter";
	if (!octaves_left_out(it, &fit, more, &octaves) || isnan(fit.C.lo) || isnan(fit.beta.lo))
		return "too few octaves of sizes, or too few calls of each, for a curve with an interval";
	for (int i = 0; i < PARTS; i++)
		more[i] *= half_width(octaves);
	*c = with_ends(it, b, &fit, more);
	if (c->why_not)
		return c->why_not;
	widen(&c->C, b);
	widen(&c->t0, b);
	c->beta.low = fmax(c->beta.low, 0);
	if (!(c->C.low > 0) || c->C.high > WIDEST * c->C.low)
		return "what a byte takes and what a call takes besides are not told apart: more sizes, or larger ones, would";
	return NULL;
}

struct host_curve host_curve_of(const struct offload_item *it, const struct host_beside *beside)
{
	struct host_curve c;
	const char *why_not = curve_fitted(it, beside, &c);

	return why_not ? (struct host_curve){ FIGURE_UNKNOWN, FIGURE_UNKNOWN, FIGURE_UNKNOWN, why_not } : c;
}

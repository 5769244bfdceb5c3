// SPDX-License-Identifier: GPL-2.0-or-later
/* A catalogue entry made ready for predictions: the fit of its points, their medians, what is known apart. */
#include "advise/predict.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/fit.h"
#include "util/normal.h"

/* Resamples behind the intervals of a device's terms: a tenth and a twentieth are read off, no finer. */

static double unit_ns(const char *unit)
{
	static const struct {
		const char *name;
		double ns;
	} known[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

	for (size_t i = 0; unit && i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(unit, known[i].name))
			return known[i].ns;
	return NAN;
}

static struct figure of_fit(const struct fit_value *v)
{
	return (struct figure){ v->v, v->lo, v->hi };
}

static struct figure of_catalogue(const struct catalogue_value *v, double unit)
{
	return (struct figure){ v->v * unit, v->low * unit, v->high * unit };
}

static int by_point(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return x->g != y->g ? (x->g > y->g) - (x->g < y->g) : (x->t > y->t) - (x->t < y->t);
}

/* Median of each size; `noise`: that of a size's times around it, ln, mean. */
static int medians_by_size(struct predict_device *d, const struct point_list *l, double unit, double *noise)
{
	struct point *p = calloc(l->count + 1, sizeof(*p));
	size_t n = 0;
	double sum = 0;

	d->size = calloc(l->count + 1, sizeof(*d->size));
	d->t = calloc(l->count + 1, sizeof(*d->t));
	if (!p || !d->size || !d->t) {
		free(p);
		return -ENOMEM;
	}
	for (size_t i = 0; i < l->count; i++)
		if (!l->at[i].switched && l->at[i].t > 0 && l->at[i].g > 0)
			p[n++] = l->at[i];
	qsort(p, n, sizeof(*p), by_point);
	for (size_t from = 0, to; from < n; from = to) {
		double mid, q1, q3;

		for (to = from; to < n && p[to].g == p[from].g; to++)
			;
		mid = (p[from + (to - from - 1) / 2].t + p[from + (to - from) / 2].t) / 2;
		q1 = p[from + (to - from) / 4].t;
		q3 = p[to - 1 - (to - from) / 4].t;
		sum += log(q3 / q1) / 1.349 / sqrt((double)(to - from));
		d->size[d->sizes] = p[from].g;
		d->t[d->sizes++] = mid * unit;
	}
	*noise = d->sizes ? sum / (double)d->sizes : 0;
	free(p);
	return 0;
}

static int device_from_points(struct predict_device *d, const struct catalogue_entry *a, double unit, struct err *e)
{
	struct fit_opts opts = fit_defaults;
	struct fit fit;
	double noise;
	int err;

	opts.resamples = PREDICT_REFITS;
	err = fit_logca(&a->pts, &opts, &fit, e);
	if (err) {
		err_prefix(e, "'%s'", a->name);
		return err;
	}
	if (medians_by_size(d, &a->pts.run[RUN_ACCEL], unit, &noise))
		return err_set(e, -ENOMEM, "out of memory");
	d->kind = fit.p.kind;
	d->beta = fit.p.beta;
	d->o_alone = fit.submit_used || fit.p.kind == LOGCA_DEP;
	d->o = of_fit(d->o_alone ? &fit.o : &fit.fixed);
	d->o.value = d->o_alone ? fit.p.o : fit.p.o + fit.p.L;
	d->L = fit.p.kind == LOGCA_DEP ? of_fit(&fit.L) : d->o_alone ? of_fit(&fit.L) : FIGURE_EXACT(0);
	d->L.value = fit.p.kind == LOGCA_DEP || d->o_alone ? fit.p.L : 0;
	d->L_alone = fit.p.kind == LOGCA_DEP && (!fit.near_one || fit.zero_used);
	d->B = FIGURE_EXACT(isinf(fit.p.A) ? 0 : fit.p.C / fit.p.A);
	if (figure_known(&(struct figure){ fit.A_eff.v, fit.A_eff.lo, fit.A_eff.hi }) && fit.A_eff.v > 0) {
		/* how well the slope is known, whatever its parts */
		d->B.low *= fit.A_eff.hi > 0 ? fit.A_eff.v / fit.A_eff.hi : 1;
		d->B.high *= fit.A_eff.lo > 0 ? fit.A_eff.v / fit.A_eff.lo : 1;
	}
	if (isnan(d->o.low) || !isfinite(d->o.high))
		d->o.low = d->o.high = d->o.value;
	if (isnan(d->L.low) || !isfinite(d->L.high))
		d->L.low = d->L.high = d->L.value;
	d->o.low *= unit, d->o.high *= unit, d->o.value *= unit;
	d->L.low *= unit, d->L.high *= unit, d->L.value *= unit;
	d->B.low *= unit, d->B.high *= unit, d->B.value *= unit;
	d->A = FIGURE_UNKNOWN;
	d->gmin = d->sizes ? d->size[0] : NAN;
	d->gmax = d->sizes ? d->size[d->sizes - 1] : NAN;
	d->spread = hypot(CURVE_FLOOR, noise);
	if (fit.submit_used)
		d->designs |= 1u << CATALOGUE_SYNC_OS | 1u << CATALOGUE_ASYNC;
	return 0;
}

static void from_terms(struct predict_device *d, const struct catalogue_terms *t, double unit)
{
	d->o = of_catalogue(&t->o, unit);
	d->L = of_catalogue(&t->L, unit);
	d->B = of_catalogue(&t->B, unit);
	d->A = of_catalogue(&t->A, 1);
	d->beta = t->beta;
	d->kind = t->kind;
	if (!figure_known(&d->o))
		snprintf(d->lacks, sizeof(d->lacks), "the device's overhead o");
	else if (!figure_known(&d->L))
		snprintf(d->lacks, sizeof(d->lacks), "the device's latency L");
}

static void from_params(struct predict_device *d, const struct logca *p, double unit)
{
	d->o = FIGURE_EXACT(p->o * unit);
	d->L = FIGURE_EXACT(p->L * unit);
	d->B = FIGURE_EXACT(isinf(p->A) ? 0 : p->C / p->A * unit);
	d->A = FIGURE_UNKNOWN;
	d->beta = p->beta;
	d->kind = p->kind;
}

int predict_device_init(struct predict_device *d, const struct catalogue_entry *a, bool elsewhere, struct err *e)
{
	double unit = unit_ns(a->unit ? a->unit : "ns");
	int err = 0;

	*d = (struct predict_device){ .o = FIGURE_UNKNOWN,
				      .L = FIGURE_UNKNOWN,
				      .B = FIGURE_UNKNOWN,
				      .A = FIGURE_UNKNOWN,
				      .beta = 1,
				      .o_alone = true,
				      .L_alone = true,
				      .gmin = NAN,
				      .gmax = NAN,
				      .engines = a->engines > 0 ? a->engines : NAN,
				      .designs = a->designs ? a->designs : 1u << CATALOGUE_SYNC,
				      .threshold = NAN,
				      .elsewhere = elsewhere };
	for (unsigned i = 0; i < a->thresholds && isnan(d->threshold); i++)
		d->threshold = a->threshold[i].from;
	if (isnan(unit) && !a->has_params) {
		snprintf(d->lacks, sizeof(d->lacks), "the device's times in nanoseconds (they are in %.40s)", a->unit);
	} else if (isnan(unit)) {
		d->by_ratio = true;
		d->own = a->p;
		from_params(d, &a->p, 1);
	} else if (a->pts.run[RUN_ACCEL].count && a->pts.run[RUN_HOST].count) {
		err = device_from_points(d, a, unit, e);
	} else if (a->has_terms) {
		from_terms(d, &a->terms, unit);
	} else if (a->has_params) {
		from_params(d, &a->p, unit);
	} else {
		snprintf(d->lacks, sizeof(d->lacks), "figures of the device: the entry has none");
	}
	if (a->uncertain > 1)
		d->spread = hypot(d->spread, log(a->uncertain) / Z90);
	if (err)
		predict_device_release(d);
	return err;
}

void predict_device_release(struct predict_device *d)
{
	free(d->size);
	free(d->t);
	d->size = d->t = NULL;
	d->sizes = 0;
}

/* Between the medians, straight on logarithmic scales. */
static double measured_at(const struct predict_device *d, double g)
{
	size_t lo = 0, hi = d->sizes - 1;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (d->size[mid] <= g)
			lo = mid;
		else
			hi = mid;
	}
	if (hi == lo || d->size[hi] == d->size[lo])
		return d->t[lo];
	return exp(log(d->t[lo]) +
		   log(g / d->size[lo]) / log(d->size[hi] / d->size[lo]) * (log(d->t[hi]) - log(d->t[lo])));
}

void predict_device_at(const struct predict_device *d, double g, double host_ns, double compute_ns, double part[3])
{
	part[0] = d->o.value;
	part[1] = d->kind == LOGCA_DEP ? d->L.value * g : d->L.value;
	if (figure_known(&d->B))
		part[2] = d->B.value > 0 ? d->B.value * pow(g, d->beta) : 0;
	else
		part[2] = compute_ns / d->A.value; /* NaN: neither is known */
	if (d->by_ratio) {
		double ns = host_ns / logca_host(&d->own, g);

		for (int i = 0; i < 3; i++)
			part[i] *= ns;
	}
	if (d->sizes && g > 0) {
		/* outside: the fitted curve, shifted to meet what was measured at the end */
		double at = fmin(fmax(g, d->gmin), d->gmax), end[3], sum;

		end[0] = part[0];
		end[1] = d->kind == LOGCA_DEP ? d->L.value * at : d->L.value;
		end[2] = d->B.value > 0 ? d->B.value * pow(at, d->beta) : 0;
		sum = end[0] + end[1] + end[2];
		for (int i = 0; i < 3; i++)
			part[i] *= sum > 0 ? measured_at(d, at) / sum : 1;
		if (!(sum > 0))
			part[0] = measured_at(d, at);
	}
}

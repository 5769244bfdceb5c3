// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Intervals, nominally 90 %. A and L by profile: they are the ones that may have no upper bound, which
 * a bootstrap cannot say. The rest by resampling calls within each size.
 */
#include "model/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/normal.h"

#define CHI2_90 (Z90 * Z90) /* 90 % quantile of chi-squared with one degree of freedom */
#define PROFILE_STEPS 61    /* of a grid; by hand */
#define REST_ROUNDS 15      /* of reweighing, as ACCEL_ROUNDS of fit.c */
/* Times as far as resampling says: calls of a size are few and some of them wild. So that intervals of planted truths
 * hold nine times of ten (without it 83 to 87 of a hundred). */
#define FEW_CALLS 1.15

struct fit_profile {
	struct fit_work *w;
	unsigned rest; /* columns refitted */
	bool of_slope; /* L is scanned, else the work coefficient B = C / A */
	double known;  /* slope from the zero-work run, else 0 */
};

/* Objective of T1 with one coefficient held at v. */
static double held(struct fit_profile *p, double v)
{
	struct curve *c = &p->w->accel;
	struct curve_fit f;

	for (size_t i = 0; i < c->n; i++)
		c->offset[i] = p->known * c->g[i] + (p->of_slope ? v * c->g[i] : v * pow(c->g[i], p->w->f0.beta));
	curve_fit_at(c, p->rest, p->w->f0.beta, REST_ROUNDS, &f);
	return curve_rho(c, c->reach * p->w->scale1) / p->w->scale1 / p->w->scale1;
}

/* Between a value inside and one outside, both above 0. */
static double edge_between(struct fit_profile *p, double in, double out, double limit)
{
	for (int i = 0; i < 12; i++) {
		double mid = sqrt(in * out);

		if (held(p, mid) <= limit)
			in = mid;
		else
			out = mid;
	}
	return sqrt(in * out);
}

/* Interval of a coefficient around `best`; 0 belongs to it when the data do not ask for it. */
static void scan(struct fit_profile *p, double best, double span, double *lo, double *hi)
{
	double v[PROFILE_STEPS], obj[PROFILE_STEPS], at_zero = held(p, 0), least = at_zero, limit;
	int first = -1, last = -1;

	for (int i = 0; i < PROFILE_STEPS; i++) {
		v[i] = best * pow(span, 2. * i / (PROFILE_STEPS - 1) - 1);
		obj[i] = held(p, v[i]);
		least = fmin(least, obj[i]);
	}
	limit = least + CHI2_90;
	for (int i = 0; i < PROFILE_STEPS; i++)
		if (obj[i] <= limit) {
			first = first < 0 ? i : first;
			last = i;
		}
	if (first < 0) {
		*lo = *hi = 0;
		return;
	}
	*lo = at_zero <= limit ? 0 : first > 0 ? edge_between(p, v[first], v[first - 1], limit) : v[0];
	*hi = last + 1 < PROFILE_STEPS ? edge_between(p, v[last], v[last + 1], limit) : v[last];
}

static void holding(struct fit_value *v)
{
	if (isnan(v->v) || isnan(v->lo))
		return;
	v->lo = fmin(v->lo, v->v);
	v->hi = fmax(v->hi, v->v);
}

void fit_profile(struct fit_work *w, struct fit *out)
{
	struct fit_profile p = { .w = w, .known = isnan(w->slope_known) ? 0 : w->slope_known };
	double B = w->f1.c[2], L = w->f1.c[1], lo, hi, A_lo, A_hi;

	p.rest = w->f1.columns & ~CURVE_POWER;
	if (!(B > 0)) {
		/* what the largest size leaves room for is where to start */
		struct curve *c = &w->accel;

		B = c->t[c->n - 1] / pow(c->g[c->n - 1], w->f0.beta) / 10;
	}
	scan(&p, B, 1e3, &lo, &hi);
	A_lo = hi > 0 ? w->f0.c[2] / hi : INFINITY;
	A_hi = lo > 0 ? w->f0.c[2] / lo : INFINITY;
	if (out->near_one && !out->zero_used) {
		out->A_eff.lo = A_lo;
		out->A_eff.hi = A_hi;
		out->A = (struct fit_value){ NAN, A_lo, INFINITY };
		out->A_lowest = A_lo;
		out->L_highest = A_lo > 0 ? w->f0.c[2] / A_lo : INFINITY;
		if (!out->submit_used) /* else L is the fixed wait after submission */
			out->L = (struct fit_value){ NAN, 0, out->L_highest };
	} else {
		out->A.lo = A_lo;
		out->A.hi = A_hi;
		if (!out->near_one) {
			out->A_eff.lo = A_lo;
			out->A_eff.hi = A_hi;
		}
	}
	if (L > 0) {
		p.rest = w->f1.columns & ~CURVE_LINEAR;
		p.of_slope = true;
		scan(&p, L, 1e3, &lo, &hi);
		out->L.lo = lo;
		out->L.hi = hi;
	}
	/* the estimate minimises the rounds' weighted squares, not this objective: a flat one may miss it */
	holding(&out->A);
	holding(&out->A_eff);
	holding(&out->L);
	for (size_t i = 0; i < w->accel.n; i++)
		w->accel.offset[i] = p.known * w->accel.g[i];
}

/* splitmix64: small, seedable, good enough to draw calls. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

struct resampler {
	const struct curve *from;
	double *t, *ln_t;       /* as measured */
	double *ln_f;           /* as fitted */
	size_t *start, *member; /* points of each stratum */
	size_t *stratum;        /* of each point */
	size_t strata;
	bool residuals; /* sizes hardly repeat: exchange residuals among neighbours instead of calls */
};

/* Strata: the sizes themselves; where they do not repeat (a profile), quarter octaves. */
static size_t stratum_of(const struct resampler *s, size_t i)
{
	const struct curve *c = s->from;

	return s->residuals ? (size_t)(4 * log2(c->g[i] / c->size[0])) : c->index[i];
}

static int resampler_init(struct resampler *s, const struct curve *c, const struct curve_fit *f, double slope,
			  bool residuals)
{
	s->from = c;
	s->residuals = residuals;
	s->strata = c->n == 0 ? 0 : residuals ? (size_t)(4 * log2(c->size[c->sizes - 1] / c->size[0])) + 1 : c->sizes;
	s->t = malloc((3 * c->n + 1) * sizeof(*s->t));
	s->start = calloc(s->strata + 2 + 2 * c->n, sizeof(*s->start));
	if (!s->t || !s->start)
		return -1;
	s->ln_t = s->t + c->n;
	s->ln_f = s->t + 2 * c->n;
	s->member = s->start + s->strata + 2;
	s->stratum = s->member + c->n;
	memcpy(s->t, c->t, c->n * sizeof(*s->t));
	memcpy(s->ln_t, c->ln_t, c->n * sizeof(*s->ln_t));
	for (size_t i = 0; i < c->n; i++) {
		s->ln_f[i] = residuals ? log(fmax(curve_at(f, c->g[i]) + slope * c->g[i], 1e-300)) : 0;
		s->stratum[i] = stratum_of(s, i);
		s->start[s->stratum[i] + 2]++;
	}
	for (size_t k = 2; k < s->strata + 2; k++)
		s->start[k] += s->start[k - 1];
	for (size_t i = 0; i < c->n; i++)
		s->member[s->start[s->stratum[i] + 1]++] = i;
	return 0;
}

/* Times that are all off by the same, of unknown size: what a probe took off or left in. */
static double drawn_shift(const struct curve *c, double at)
{
	return c->late + c->early > 0 ? at * (c->late + c->early) - c->early : 0;
}

static void resampler_draw(const struct resampler *s, struct curve *c, double shift, uint64_t *seed)
{
	for (size_t i = 0; i < c->n; i++) {
		size_t k = s->stratum[i], first = s->start[k], n = s->start[k + 1] - first;
		size_t pick = s->member[first + next(seed) % n];

		c->ln_t[i] = s->ln_t[pick] - s->ln_f[pick] + s->ln_f[i];
		c->t[i] = s->residuals ? exp(c->ln_t[i]) : s->t[pick];
		if (shift != 0) {
			/* at most to a tenth: a call of no time would be all that the relative fit sees */
			c->t[i] = fmax(c->t[i] - shift, c->t[i] / 10);
			c->ln_t[i] = log(c->t[i]);
		}
	}
}

static void resampler_release(struct resampler *s, struct curve *c)
{
	if (s->t && s->ln_t) {
		memcpy(c->t, s->t, c->n * sizeof(*s->t));
		memcpy(c->ln_t, s->ln_t, c->n * sizeof(*s->ln_t));
	}
	free(s->t);
	free(s->start);
}

enum fit_drawn { D_T0, D_C, D_BETA, D_FIXED, D_AEFF, D_A, D_L, D_G1, D_G1B, D_HALF, D_O, D_AGREE, DRAWN };

/* 5 % and 95 %, spread by `widen` around the estimate, because resampling n calls shows only
 * (n - 1)/n of their variance. */
static void spread_around(double *draw, size_t n, double widen, struct fit_value *v)
{
	double lo, hi;

	qsort(draw, n, sizeof(*draw), by_double);
	lo = draw[(size_t)(.05 * (double)(n - 1))];
	hi = draw[(size_t)ceil(.95 * (double)(n - 1))];
	if (v->v > 0 && lo > 0 && isfinite(v->v)) {
		v->lo = v->v * pow(fmin(lo, v->v) / v->v, widen);
		v->hi = isinf(hi) ? hi : v->v * pow(fmax(hi, v->v) / v->v, widen);
	} else if (isfinite(v->v)) {
		v->lo = fmax(0, v->v - (v->v - fmin(lo, v->v)) * widen);
		v->hi = isinf(hi) ? hi : v->v + (fmax(hi, v->v) - v->v) * widen;
	}
}

static void draw_once(struct fit_work *w, struct fit *out, double *d)
{
	struct curve_fit f0, f1, fz;
	double slope = NAN, from = fmax(0, w->f0.beta - .12), g[2];
	struct logca p;
	int roots;

	curve_search(&w->host, w->f0.columns, (struct curve_range){ from, w->f0.beta + .12, 9, 2 },
		     w->host.reach * w->scale0, &f0);
	if (out->zero_used) {
		curve_fit_at(&w->zero, w->fz.columns, 1, REST_ROUNDS, &fz);
		slope = fz.c[1];
		for (size_t i = 0; i < w->accel.n; i++)
			w->accel.offset[i] = slope * w->accel.g[i];
	}
	curve_fit_at(&w->accel, w->f1.columns, f0.beta, REST_ROUNDS, &f1);
	fit_derive(&f0, &f1, slope, &p);
	roots = logca_solve(&p, 1, g);
	d[D_T0] = p.t0;
	d[D_C] = p.C;
	d[D_BETA] = p.beta;
	d[D_FIXED] = p.o;
	d[D_A] = p.A;
	d[D_L] = p.L;
	d[D_AEFF] = 1 / (1 / p.A + (p.kind == LOGCA_DEP ? p.L : 0) / p.C);
	/* a crossing that some draws lack has no bound on its far side */
	d[D_G1] = roots >= 1 && out->roots == roots       ? g[0]
		  : roots > out->roots && out->roots == 1 ? g[0]
		  : out->roots == 2 && roots == 1         ? g[0]
							  : INFINITY;
	d[D_G1B] = roots == 2 ? g[1] : INFINITY;
	d[D_AGREE] = (logca_speedup(&p, out->gmin) > 1) == (logca_speedup(&out->p, out->gmin) > 1) &&
		     (logca_speedup(&p, out->gmax) > 1) == (logca_speedup(&out->p, out->gmax) > 1);
	roots = logca_solve(&p, out->half_attainable ? out->peak_s / 2 : p.A / 2, g);
	d[D_HALF] = roots ? g[0] : INFINITY;
	if (out->submit_used) {
		curve_fit_at(&w->submit, CURVE_CONST, 1, REST_ROUNDS, &f1);
		d[D_O] = f1.c[0];
	} else {
		d[D_O] = p.o;
	}
}

/* The profile holds what the host's curve says: that is as unsure as its own calls, and A is its ratio to them. */
static void widen_profile(struct fit *out, double *draw, size_t n, double widen, struct fit_value *v)
{
	struct fit_value by_draws = *v;

	if (isnan(v->v) || isnan(v->lo))
		return;
	spread_around(draw, n, widen, &by_draws);
	v->lo = fmin(v->lo, by_draws.lo);
	v->hi = fmax(v->hi, by_draws.hi);
	if (!out->near_one)
		return;
	out->A.lo = out->A_lowest = out->A_eff.lo;
	out->L_highest = out->A_lowest > 0 ? out->C.v / out->A_lowest : INFINITY;
	if (!out->submit_used)
		out->L.hi = out->L_highest;
}

static double points_per_stratum(const struct fit_work *w)
{
	const struct curve *c = w->accel.n < w->host.n ? &w->accel : &w->host;

	return (double)c->n / (4 * log2(c->size[c->sizes - 1] / c->size[0]) + 1);
}

void fit_bootstrap(struct fit_work *w, struct fit *out)
{
	struct curve *c[RUN_KINDS] = { &w->host, &w->accel, &w->zero, &w->submit };
	struct resampler s[RUN_KINDS] = { 0 };
	unsigned n = w->opts->resamples;
	uint64_t seed = w->opts->seed;
	double *draw, widen, per;
	bool ok = true, residuals = out->calls_per_size < 2;

	per = residuals ? points_per_stratum(w) : out->calls_per_size;
	if (per < 2 || n < 20)
		return; /* nothing to draw from: the intervals stay unknown */
	widen = FEW_CALLS * sqrt(per / (per - 1));
	draw = malloc((size_t)n * DRAWN * sizeof(*draw));
	for (int k = 0; k < RUN_KINDS; k++)
		ok &= resampler_init(&s[k], c[k], k == RUN_HOST ? &w->f0 : &w->f1,
				     k == RUN_ACCEL && out->zero_used ? w->slope_known : 0,
				     residuals && k <= RUN_ACCEL) == 0;
	if (draw && ok) {
		struct fit_value *to[DRAWN] = { [D_T0] = &out->t0,
						[D_C] = &out->C,
						[D_BETA] = &out->beta,
						[D_FIXED] = &out->fixed,
						[D_HALF] = &out->half };

		for (unsigned i = 0; i < n; i++) {
			double d[DRAWN], at = out->uncertain > 0 ? (double)(next(&seed) >> 11) / 9007199254740992. : 0;

			/* one probe's cost for both sides: what is left in is left in both */
			for (int k = 0; k < RUN_KINDS; k++)
				resampler_draw(&s[k], c[k], drawn_shift(c[k], at), &seed);
			draw_once(w, out, d);
			for (int k = 0; k < DRAWN; k++)
				draw[(size_t)k * n + i] = d[k];
		}
		out->agree = 0;
		for (unsigned i = 0; i < n; i++)
			out->agree += draw[(size_t)D_AGREE * n + i] / n;
		if (out->roots > 0)
			to[D_G1] = &out->g1[0];
		if (out->roots > 1)
			to[D_G1B] = &out->g1[1];
		if (!isnan(out->o.v))
			to[D_O] = &out->o;
		/* with a zero-work run L is not profiled: its own noise would be left out */
		if (out->zero_used) {
			to[D_A] = &out->A;
			to[D_AEFF] = &out->A_eff;
			if (out->p.kind == LOGCA_DEP)
				to[D_L] = &out->L;
		}
		for (int k = 0; k < DRAWN; k++)
			if (to[k])
				spread_around(draw + (size_t)k * n, n, widen, to[k]);
		for (int k = D_AEFF; k <= D_A && !out->zero_used; k++)
			widen_profile(out, draw + (size_t)k * n, n, widen, k == D_A ? &out->A : &out->A_eff);
		if (out->submit_used && out->p.kind == LOGCA_INDEP && isfinite(out->o.lo)) {
			out->L.lo = fmax(0, out->fixed.lo - out->o.hi);
			out->L.hi = out->fixed.hi - out->o.lo;
		}
	}
	for (int k = 0; k < RUN_KINDS; k++)
		resampler_release(&s[k], c[k]);
	free(draw);
	for (size_t i = 0; i < w->accel.n; i++)
		w->accel.offset[i] = (isnan(w->slope_known) ? 0 : w->slope_known) * w->accel.g[i];
}

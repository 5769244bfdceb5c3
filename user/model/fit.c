// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/fit.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCEL_ROUNDS 15 /* of reweighing; by hand */
#define BETA_MAX 2.6    /* exponent of the host's curve, at most; by hand */

const struct fit_opts fit_defaults = { .resamples = 200, .seed = 1, .near_one = 0.1, .min_sizes = 5 };

static const struct fit_value unknown = { NAN, NAN, NAN };

static void __attribute__((format(printf, 2, 3))) fit_note(struct fit *out, const char *fmt, ...)
{
	va_list ap;

	if (out->notes == FIT_NOTES)
		return;
	va_start(ap, fmt);
	vsnprintf(out->note[out->notes++], sizeof(out->note[0]), fmt, ap);
	va_end(ap);
}

/* Every crossing within FIT_TOLD either way. */
static bool crossings_told(const struct fit *f)
{
	for (int i = 0; i < f->roots; i++)
		if (!(f->g1[i].hi <= f->g1[i].v * FIT_TOLD) || !(f->g1[i].lo >= f->g1[i].v / FIT_TOLD))
			return false;
	return f->roots > 0;
}

const char *fit_doubt(const struct fit *f)
{
	if (!(f->uncertain > 0) || isnan(f->agree))
		return NULL;
	if (f->error > FIT_FALSE)
		return "the curves miss the calls by more than a quarter: look for change points or another cause of their times";
	if (crossings_told(f))
		return NULL;
	if (f->agree < FIT_AGREE)
		return "the times are too close to what a probe itself takes: whether it pays at either end of the sizes seen changes with that";
	for (int i = 0; i < f->roots; i++)
		if (f->g1[i].v >= f->gmin && f->g1[i].v <= f->gmax)
			return "the break-even is not known within a factor of 1.5: record longer, or calls of more sizes";
	return NULL;
}

static double bic(double objective, int parameters, size_t n)
{
	return objective + parameters * log((double)n);
}

/* T0 with and without t0; the scale comes from the larger model, found with a nearly absolute loss. */
static void fit_host(struct fit_work *w, struct fit *out)
{
	const unsigned plain = CURVE_POWER, offset = CURVE_POWER | CURVE_CONST;
	const struct curve_range all = { 0, BETA_MAX, 27, 3 };
	struct curve *c = &w->host;
	struct curve_fit with;
	double s2, rho;

	curve_search(c, w->opts->no_offset ? plain : offset, all, 0.2, &with);
	w->scale0 = curve_scale(c, CURVE_FLOOR);
	s2 = w->scale0 * w->scale0;
	rho = curve_search(c, plain, all, CURVE_HUBER * w->scale0, &w->f0);
	out->bic_plain = bic(rho / s2, 2, c->n);
	if (w->opts->no_offset)
		goto chosen;
	rho = curve_search(c, offset, all, CURVE_HUBER * w->scale0, &with);
	out->bic_offset = bic(rho / s2, 3, c->n);
	if (out->bic_offset < out->bic_plain && with.c[0] > 0)
		w->f0 = with;
chosen:
	/* Choosing wants robustness, the values efficiency. */
	c->reach = CURVE_FINAL;
	curve_search(c, w->f0.columns, (struct curve_range){ fmax(0, w->f0.beta - .1), w->f0.beta + .1, 13, 3 },
		     CURVE_FINAL * w->scale0, &with);
	if (with.c[2] > 0)
		w->f0 = with;
	out->offset_used = w->f0.columns & CURVE_CONST;
}

/* The zero-work run gives o + Lat(g) without the computation. */
static void fit_zero(struct fit_work *w)
{
	struct curve *c = &w->zero;
	struct curve_fit flat;
	double scale, fixed_bic, slope_bic;

	w->slope_known = NAN;
	if (c->sizes < 5)
		return;
	curve_fit_at(c, CURVE_CONST | CURVE_LINEAR, 1, ACCEL_ROUNDS, &w->fz);
	scale = curve_scale(c, CURVE_FLOOR);
	slope_bic = bic(curve_rho(c, CURVE_HUBER * scale) / scale / scale, 2, c->n);
	curve_fit_at(c, CURVE_CONST, 1, ACCEL_ROUNDS, &flat);
	fixed_bic = bic(curve_rho(c, CURVE_HUBER * scale) / scale / scale, 1, c->n);
	if (fixed_bic <= slope_bic)
		w->fz = flat;
	w->slope_known = w->fz.c[1];
}

static void fit_accel(struct fit_work *w, struct fit *out)
{
	const unsigned fixed = CURVE_CONST | CURVE_POWER, slope = fixed | CURVE_LINEAR;
	struct curve *c = &w->accel;
	struct curve_fit with;
	double beta = w->f0.beta, s2;
	bool compare;

	if (!isnan(w->slope_known))
		for (size_t i = 0; i < c->n; i++)
			c->offset[i] = w->slope_known * c->g[i];
	compare = isnan(w->slope_known) && !out->near_one && w->opts->latency != FIT_INDEP;
	curve_fit_at(c, compare ? slope : fixed, beta, ACCEL_ROUNDS, &with);
	w->scale1 = curve_scale(c, CURVE_FLOOR);
	s2 = w->scale1 * w->scale1;
	if (compare)
		out->bic_dep = bic(curve_rho(c, CURVE_HUBER * w->scale1) / s2, 3, c->n);
	curve_fit_at(c, fixed, beta, ACCEL_ROUNDS, &w->f1);
	out->bic_indep = bic(curve_rho(c, CURVE_HUBER * w->scale1) / s2, 2, c->n);
	if (compare && with.c[1] > 0 && (w->opts->latency == FIT_DEP || out->bic_dep < out->bic_indep))
		w->f1 = with;
	c->reach = CURVE_FINAL;
	curve_fit_at(c, w->f1.columns, beta, ACCEL_ROUNDS, &w->f1);
}

/* Sizes where they repeat; where they hardly do (a profile), quarter octaves: a single call's noise is
 * no misfit of the model. */
static size_t size_group_of(const struct curve *c, size_t i, bool repeat)
{
	return repeat ? c->index[i] : (size_t)(4 * log2(c->g[i] / c->size[0]));
}

/* Mean and worst |median of ln(measured / fitted)| over the groups, and the noise within them. */
static double misfit(const struct curve *c, const struct curve_fit *f, double slope, struct fit *out, double *noise,
		     double *calls)
{
	double *v = malloc((3 * c->n + 1) * sizeof(*v)), *within = v + c->n, *r = v + 2 * c->n, sum = 0;
	bool repeat = c->n >= 2 * c->sizes;
	size_t spread = 0, groups = 0, used = 0;

	*noise = *calls = NAN;
	if (!v)
		return NAN;
	for (size_t i = 0; i < c->n; i++) {
		r[i] = c->ln_t[i] - log(curve_at(f, c->g[i]) + slope * c->g[i]);
		groups = size_group_of(c, i, repeat) > groups ? size_group_of(c, i, repeat) : groups;
	}
	for (size_t s = 0; s <= groups; s++) {
		size_t n = 0, first = spread;
		double median, at = 0;

		for (size_t i = 0; i < c->n; i++)
			if (size_group_of(c, i, repeat) == s) {
				v[n++] = within[spread++] = r[i];
				at = c->g[i];
			}
		if (!n)
			continue;
		median = curve_median(v, n);
		if (n > 1)
			for (size_t i = first; i < spread; i++)
				within[i] = fabs(within[i] - median) * sqrt((double)n / (double)(n - 1));
		else
			spread = first;
		used++;
		sum += fabs(median);
		if (!(fabs(median) <= out->worst_error)) {
			out->worst_error = fabs(median);
			out->worst_g = at;
		}
	}
	*noise = spread ? 1.4826 * curve_median(within, spread) : NAN;
	*calls = floor((double)c->n / (double)c->sizes);
	free(v);
	return sum / (double)used;
}

static int refuse_points(const struct points *pts, const struct fit_opts *opts, const struct fit *out, struct err *e)
{
	size_t need = opts->min_sizes >= 2 ? (size_t)opts->min_sizes : 5;

	for (int k = RUN_HOST; k <= RUN_ACCEL; k++) {
		size_t sizes = points_sizes(&pts->run[k]);

		if (pts->run[k].count == 0 && pts->run[k].censored)
			return err_set(
				e, -EINVAL,
				"all %zu %s calls are too short to be timed: what the probe takes is more than what they do",
				pts->run[k].censored, run_kind_str((enum run_kind)k));
		if (pts->run[k].count == 0)
			return err_set(
				e, -EINVAL,
				"there are no %s times; a fit needs both, host and accelerated, over the same sizes",
				run_kind_str((enum run_kind)k));
		if (sizes < need)
			return err_set(
				e, -EINVAL,
				"%s times at %zu different size%s%s: a fit needs at least %zu, better every power of two from 16 B to 32 MB",
				run_kind_str((enum run_kind)k), sizes, sizes == 1 ? "" : "s",
				pts->run[k].censored ? " (sizes whose calls are too short to be timed left out)"
				: out->switched      ? " (calls with a context switch inside left out)"
						     : "",
				need);
	}
	return 0;
}

/* Do times grow with size at all? Spearman's rho of the medians would need as much code. */
static int refuse_flat(const struct fit_work *w, struct err *e)
{
	const struct curve_fit *f = &w->f0;
	double first = curve_at(f, w->host.size[0]), last = curve_at(f, w->host.size[w->host.sizes - 1]);

	if (f->c[2] > 0 && f->beta > 0.005 && last > first * 1.05)
		return 0;
	return err_set(
		e, -EINVAL,
		"host times do not grow with the size (%.3g at %.0f B, %.3g at %.0f B): no monotone model fits; check that the size column is the size of the call",
		first, w->host.size[0], last, w->host.size[w->host.sizes - 1]);
}

static void explain_fit(const struct fit_work *w, const struct points *pts, struct fit *out)
{
	if (out->error > FIT_POOR)
		fit_note(
			out,
			"the model misses the medians by %.0f %% on average (worst %.0f %% at %.0f B): look for change points (--segments) or padding before trusting it",
			out->error * 100, (exp(out->worst_error) - 1) * 100, out->worst_g);
	if (out->near_one && isnan(w->slope_known))
		fit_note(
			out,
			"beta is within %.2g of 1, so a latency per byte and a smaller A look alike: A is somewhere in [%.4g, inf); a zero-work run of the same bytes tells them apart",
			w->opts->near_one > 0 ? w->opts->near_one : 0.1, out->A_lowest);
	if (!out->submit_used && out->p.kind == LOGCA_INDEP)
		fit_note(
			out,
			"o and a fixed L cannot be told apart from completion times: only their sum is given; the time until the submitting call returns would give o");
	if (isinf(out->p.A))
		fit_note(out, "no computing time shows on the accelerator: A has no upper bound in these data");
	if (out->below_g > 0)
		fit_note(
			out,
			"calls of up to %.3g B are too short to be timed and were left out: nothing is known below %.3g B",
			out->below_g, out->gmin);
	if (out->switched)
		fit_note(out, "%zu calls had a context switch inside and were left out", out->switched);
	if (pts->run[RUN_HOST].count && out->calls_per_size < 2 && out->sizes < 100)
		fit_note(out, "about %.0f call%s a size: intervals come from neighbouring sizes and are rough",
			 out->calls_per_size, out->calls_per_size == 1 ? "" : "s");
	if (out->gmax / out->gmin < 64)
		fit_note(out, "sizes span only %.3g to %.3g B: nothing is known outside", out->gmin, out->gmax);
}

/* What the zero-work and submit runs add to a. */
static void split_fixed(struct fit_work *w, struct fit *out)
{
	struct curve *c = &w->submit;
	struct curve_fit flat, slope;

	out->fixed = (struct fit_value){ w->f1.c[0], NAN, NAN };
	if (c->sizes >= 3) {
		double first, last, largest = c->size[c->sizes - 1];

		curve_fit_at(c, CURVE_CONST, 1, ACCEL_ROUNDS, &flat);
		curve_fit_at(c, CURVE_CONST | CURVE_LINEAR, 1, ACCEL_ROUNDS, &slope);
		first = curve_at(&slope, c->size[0]);
		last = curve_at(&slope, largest);
		/* a few more cache misses after a longer wait are no copying */
		if (last - first >
		    .05 * (curve_at(&w->f1, largest) + (isnan(w->slope_known) ? 0 : w->slope_known) * largest)) {
			fit_note(
				out,
				"the submitting call takes longer for larger sizes (%.3g to %.3g): it copies or waits, so its time is not o and was not used",
				first, last);
		} else {
			out->submit_used = true;
			out->o = (struct fit_value){ fmin(flat.c[0], w->f1.c[0]), NAN, NAN };
			if (out->p.kind == LOGCA_INDEP) {
				out->p.o = out->o.v;
				out->p.L = w->f1.c[0] - out->p.o;
				out->L = (struct fit_value){ out->p.L, NAN, NAN };
			}
		}
	}
	if (!out->submit_used && out->p.kind == LOGCA_DEP)
		out->o = out->fixed;
}

static int prepare_curves(struct fit_work *w, const struct points *pts, const struct fit_opts *opts, struct err *e)
{
	struct curve *c[RUN_KINDS] = { &w->host, &w->accel, &w->zero, &w->submit };

	w->opts = opts;
	for (int k = 0; k < RUN_KINDS; k++) {
		int err = curve_init(c[k], &pts->run[k], opts->pad_block, opts->pad_bytes, e);

		if (err)
			return err;
	}
	return 0;
}

static void release_curves(struct fit_work *w)
{
	curve_release(&w->host);
	curve_release(&w->accel);
	curve_release(&w->zero);
	curve_release(&w->submit);
}

static void range(const struct points *pts, struct fit *out)
{
	double lo[2] = { INFINITY, INFINITY }, hi[2] = { 0, 0 };

	for (int k = RUN_HOST; k <= RUN_ACCEL; k++)
		for (size_t i = 0; i < pts->run[k].count; i++) {
			const struct point *p = &pts->run[k].at[i];

			out->switched += p->switched;
			if (p->switched)
				continue;
			lo[k] = fmin(lo[k], p->g);
			hi[k] = fmax(hi[k], p->g);
		}
	out->gmin = fmax(lo[0], lo[1]);
	out->gmax = fmin(hi[0], hi[1]);
}

int fit_logca(const struct points *pts, const struct fit_opts *opts, struct fit *out, struct err *e)
{
	struct fit_work w = { 0 };
	double noise[2], calls[2], near = opts->near_one > 0 ? opts->near_one : 0.1, slope, g[2];
	int err;

	memset(out, 0, sizeof(*out));
	out->t0 = out->o = out->L = out->C = out->A = out->beta = out->fixed = out->A_eff = out->half = unknown;
	out->g1[0] = out->g1[1] = unknown;
	out->A_lowest = out->L_highest = NAN;
	out->bic_indep = out->bic_dep = out->bic_plain = out->bic_offset = out->agree = NAN;
	out->worst_error = -1;
	out->uncertain = fmax(pts->run[RUN_HOST].early + pts->run[RUN_HOST].late,
			      pts->run[RUN_ACCEL].early + pts->run[RUN_ACCEL].late);
	out->below_g = fmax(pts->run[RUN_HOST].censored_to, pts->run[RUN_ACCEL].censored_to);
	range(pts, out);
	err = refuse_points(pts, opts, out, e);
	if (err)
		return err;
	if (!(out->gmin < out->gmax))
		return err_set(
			e, -EINVAL,
			"host and accelerated times have no range of sizes in common: measure both over the same sizes");
	err = prepare_curves(&w, pts, opts, e);
	if (err)
		goto done;
	fit_host(&w, out);
	err = refuse_flat(&w, e);
	if (err)
		goto done;
	out->near_one = fabs(w.f0.beta - 1) < near;
	fit_zero(&w);
	out->zero_used = !isnan(w.slope_known);
	fit_accel(&w, out);
	if (w.f1.c[0] == 0 && w.f1.c[1] == 0 && w.f1.c[2] == 0 && !(w.slope_known > 0)) {
		err = err_set(
			e, -EINVAL,
			"the accelerated times fit no sum of a fixed cost, a cost per byte and a share of the host's work");
		goto done;
	}
	fit_derive(&w.f0, &w.f1, w.slope_known, &out->p);
	slope = isnan(w.slope_known) ? 0 : w.slope_known;
	out->host_calls = w.host.n;
	out->accel_calls = w.accel.n;
	out->sizes = w.accel.sizes < w.host.sizes ? w.accel.sizes : w.host.sizes;
	out->error_host = misfit(&w.host, &w.f0, 0, out, &noise[0], &calls[0]);
	out->error_accel = misfit(&w.accel, &w.f1, slope, out, &noise[1], &calls[1]);
	out->error = (out->error_host + out->error_accel) / 2;
	out->noise = isnan(noise[0]) ? noise[1] : isnan(noise[1]) ? noise[0] : fmax(noise[0], noise[1]);
	out->calls_per_size = fmin(calls[0], calls[1]);

	out->t0 = (struct fit_value){ out->p.t0, NAN, NAN };
	out->C = (struct fit_value){ out->p.C, NAN, NAN };
	out->beta = (struct fit_value){ out->p.beta, NAN, NAN };
	out->A_eff =
		out->near_one
			? (struct fit_value){ 1 / (1 / out->p.A + (out->p.kind == LOGCA_DEP ? out->p.L : 0) / out->p.C),
					      NAN, NAN }
			: (struct fit_value){ out->p.A, NAN, NAN };
	split_fixed(&w, out);
	if (out->near_one && !out->zero_used) {
		/* A stays unknown: p.A is A_eff, which is what the curves need */
		out->A_lowest = out->A_eff.v;
		out->L_highest = out->p.C / out->A_eff.v;
	} else {
		out->A = (struct fit_value){ out->p.A, NAN, NAN };
		if (out->p.kind == LOGCA_DEP)
			out->L = (struct fit_value){ out->p.L, NAN, NAN };
	}
	out->roots = logca_solve(&out->p, 1, g);
	for (int i = 0; i < out->roots; i++)
		out->g1[i].v = g[i];
	logca_peak(&out->p, out->gmin, out->gmax, &out->peak_g, &out->peak_s);
	out->half_attainable = isinf(out->p.A) || out->p.A <= 1 || !logca_solve(&out->p, out->p.A / 2, g);
	out->half.v = out->half_attainable ? logca_half_peak(&out->p, out->peak_s) : g[0];
	fit_profile(&w, out);
	if (opts->resamples)
		fit_bootstrap(&w, out);
	explain_fit(&w, pts, out);
done:
	release_curves(&w);
	return err;
}

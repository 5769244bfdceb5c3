// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Change points: a kernel that switches algorithm at some size, or falls out of a cache, follows
 * LogCA between the changes only. Dynamic programming over where to cut; BIC says how often.
 */
#include "model/fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 40      /* the grid of sizes has 22; many more are grouped */
#define MIN_SIZES 5        /* of the host and of the accelerator; by hand */
#define CLEARLY_BETTER .75 /* of one curve's misfit; BIC alone splits for what nobody would see */
/* t0, C, beta, a, L, B and where the segment begins */
#define SEGMENT_PARAMETERS 7

struct fit_segment_table {
	const struct points *pts;
	double edge[MAX_BLOCKS + 1]; /* block b holds sizes in [edge[b], edge[b+1]) */
	int blocks;
	double cost[MAX_BLOCKS][MAX_BLOCKS + 1]; /* of blocks [i, j); infinite: too few sizes */
	double scale;
};

static int cut_points(const struct points *all, double lo, double hi, struct points *out, struct err *e)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->unit, all->unit, sizeof(out->unit));
	for (int k = 0; k < RUN_KINDS; k++)
		for (size_t i = 0; i < all->run[k].count; i++) {
			const struct point *p = &all->run[k].at[i];
			int err = p->g >= lo && p->g < hi
					  ? points_add(out, (enum run_kind)k, p->g, p->t, p->switched, e)
					  : 0;

			if (err) {
				points_release(out);
				return err;
			}
		}
	return 0;
}

static double noise_within(const struct curve *c)
{
	double *v = malloc((2 * c->n + 1) * sizeof(*v)), *spread = v + c->n, s = NAN;
	size_t m = 0;

	if (!v)
		return NAN;
	for (size_t k = 0; k < c->sizes; k++) {
		size_t n = 0;
		double median;

		for (size_t i = 0; i < c->n; i++)
			if (c->index[i] == k)
				v[n++] = c->ln_t[i];
		if (n < 2)
			continue;
		median = curve_median(v, n);
		for (size_t i = 0; i < n; i++)
			spread[m++] = fabs(v[i] - median) * sqrt((double)n / (double)(n - 1));
	}
	if (m)
		s = 1.4826 * curve_median(spread, m);
	free(v);
	return s;
}

static double segment_cost(const struct fit_segment_table *t, const struct fit_opts *opts, int i, int j, struct err *e)
{
	struct points pts;
	struct curve host = { 0 }, accel = { 0 };
	struct curve_fit f0, f1;
	double k = CURVE_HUBER * t->scale, s2 = t->scale * t->scale, rho = INFINITY;

	if (cut_points(t->pts, t->edge[i], t->edge[j], &pts, e))
		return INFINITY;
	if (!curve_init(&host, &pts.run[RUN_HOST], opts->pad_block, opts->pad_bytes, e) &&
	    !curve_init(&accel, &pts.run[RUN_ACCEL], opts->pad_block, opts->pad_bytes, e) && host.sizes >= MIN_SIZES &&
	    accel.sizes >= MIN_SIZES) {
		rho = curve_search(&host, CURVE_POWER | CURVE_CONST, (struct curve_range){ 0, 2.6, 14, 3 }, k, &f0);
		curve_fit_at(&accel, CURVE_POWER | CURVE_CONST | CURVE_LINEAR, f0.beta, CURVE_ROUNDS, &f1);
		rho = (rho + curve_rho(&accel, k)) / s2;
	}
	curve_release(&host);
	curve_release(&accel);
	points_release(&pts);
	return rho;
}

static int make_table(struct fit_segment_table *t, const struct points *pts, const struct fit_opts *opts, size_t *calls,
		      struct err *e)
{
	struct curve c = { 0 }, d = { 0 };
	double a, b;
	size_t per;
	int err = curve_init(&c, &pts->run[RUN_HOST], 0, 0, e);

	t->pts = pts;
	if (err)
		return err;
	err = curve_init(&d, &pts->run[RUN_ACCEL], 0, 0, e);
	if (err) {
		curve_release(&c);
		return err;
	}
	*calls = c.n + d.n;
	a = noise_within(&c);
	b = noise_within(&d);
	t->scale = fmax(CURVE_FLOOR, fmax(isnan(a) ? 0 : a, isnan(b) ? 0 : b));
	per = (c.sizes + MAX_BLOCKS - 1) / MAX_BLOCKS;
	for (size_t i = 0; i < c.sizes; i += per)
		t->edge[t->blocks++] = c.size[i];
	t->edge[0] = 0;
	t->edge[t->blocks] = INFINITY;
	curve_release(&c);
	curve_release(&d);
	for (int i = 0; i < t->blocks; i++)
		for (int j = i + 1; j <= t->blocks; j++)
			t->cost[i][j] = segment_cost(t, opts, i, j, e);
	return 0;
}

int fit_segments(const struct points *pts, const struct fit_opts *opts, struct fit_segment *seg, int max, struct err *e)
{
	static const double none = INFINITY;
	struct fit_segment_table *t = calloc(1, sizeof(*t));
	/* best[s][j]: blocks [0, j) in s + 1 segments */
	double best[8][MAX_BLOCKS + 1], least = INFINITY;
	int from[8][MAX_BLOCKS + 1], count = 0, cut[9], err;
	size_t calls = 0;

	if (!t)
		return err_set(e, -ENOMEM, "not enough memory for the table of change points");
	max = max > 8 ? 8 : max;
	err = make_table(t, pts, opts, &calls, e);
	if (err) {
		free(t);
		return err;
	}
	for (int s = 0; s < max; s++)
		for (int j = 0; j <= t->blocks; j++) {
			best[s][j] = s == 0 && j > 0 ? t->cost[0][j] : none;
			from[s][j] = 0;
			for (int i = 1; s > 0 && i < j; i++)
				if (best[s - 1][i] + t->cost[i][j] < best[s][j]) {
					best[s][j] = best[s - 1][i] + t->cost[i][j];
					from[s][j] = i;
				}
		}
	for (int s = 0; s < max; s++) {
		double score = best[s][t->blocks] + (s + 1) * SEGMENT_PARAMETERS * log((double)calls);

		if (score < least) {
			least = score;
			count = s + 1;
		}
	}
	if (!count) {
		free(t);
		err = fit_logca(pts, opts, &seg[0].fit, e); /* says what is missing */
		if (err)
			return err;
		seg[0].first = seg[0].fit.gmin;
		seg[0].last = seg[0].fit.gmax;
		return 1;
	}
	cut[count] = t->blocks;
	for (int s = count; s > 0; s--)
		cut[s - 1] = s > 1 ? from[s - 1][cut[s]] : 0;
	for (int s = 0; s < count && !err; s++) {
		struct points part;

		err = cut_points(pts, t->edge[cut[s]], t->edge[cut[s + 1]], &part, e);
		if (err)
			break;
		err = fit_logca(&part, opts, &seg[s].fit, e);
		points_release(&part);
		seg[s].first = seg[s].fit.gmin;
		seg[s].last = seg[s].fit.gmax;
		if (err)
			err_prefix(e, "segment %d of %d", s + 1, count);
	}
	free(t);
	return err ? err : count;
}

double fit_segments_error(const struct fit_segment *seg, int n)
{
	double error = 0, sizes = 0;

	for (int i = 0; i < n; i++) {
		error += seg[i].fit.error * (double)seg[i].fit.sizes;
		sizes += (double)seg[i].fit.sizes;
	}
	return sizes > 0 ? error / sizes : NAN;
}

int fit_stretches(const struct points *pts, const struct fit_opts *opts, const struct fit *one,
		  struct fit_segment seg[FIT_STRETCHES], struct err *e)
{
	int n = one->error > FIT_POOR ? fit_segments(pts, opts, seg, FIT_STRETCHES, e) : 1;

	if (n < 0 || (n > 1 && fit_segments_error(seg, n) < CLEARLY_BETTER * one->error))
		return n;
	seg[0] = (struct fit_segment){ one->gmin, one->gmax, *one };
	return 1;
}

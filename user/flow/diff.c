// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/time_shares.h"
#include "util/normal.h"

#define EXPECTED_LEAST 5.0 /* samples that show a function, or do not: of fewer the normal law says too much */
#define EXACT_TIE 1e-9     /* of the log of a probability: as likely */
#define MOST_DEVIATIONS 40 /* beyond them erfc() is 0 */
#define DEVIATION_STEPS 60 /* halvings: more than a double tells apart */

static bool judged(const struct diff_row *r)
{
	return !isnan(r->p) && !r->small;
}

static int by_p(const void *a, const void *b)
{
	const struct diff_row *x = *(const struct diff_row *const *)a, *y = *(const struct diff_row *const *)b;

	if (!judged(x) || !judged(y))
		return judged(y) - judged(x);
	return (x->p > y->p) - (x->p < y->p);
}

static int by_change(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	double dx = fabs(x->other - x->base), dy = fabs(y->other - y->base);

	if (dx != dy)
		return dx < dy ? 1 : -1;
	return strcmp(x->a, y->a);
}

/* Continued fraction of the incomplete beta function (Lentz). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	h = d;
	for (int m = 1; m < 300; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), step;

		for (int k = 0; k < 2; k++) {
			double by = k ? odd : even;

			d = 1 + by * d;
			d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
			c = 1 + by / c;
			c = fabs(c) < 1e-300 ? 1e-300 : c;
			step = c * d;
			h *= step;
		}
		if (fabs(step - 1) < 1e-12)
			break;
	}
	return h;
}

/* Two-sided: chance of a t at least so far from 0. The error of few degrees of freedom is an estimate itself. */
static double student_p(double t, double freedom)
{
	double a = freedom / 2, b = 0.5, x = freedom / (freedom + t * t), front;

	if (!isfinite(freedom) || freedom > 1e4)
		return erfc(fabs(t) / sqrt(2));
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static struct diff_interval interval_around(double v, double error, double freedom, double least)
{
	double half = error > 0 ? student_half(freedom) * error : error;

	return (struct diff_interval){ isnan(half) ? NAN : fmax(least, v - half),
				       isnan(half) ? NAN : fmin(1, v + half) };
}

static void judge_difference(struct diff_row *r, double freedom)
{
	double d = r->other - r->base;

	r->z = r->p = NAN;
	r->of_change = interval_around(d, r->error, freedom, -1);
	if (isnan(r->error))
		return;
	if (r->error > 0) {
		r->z = d / r->error;
		r->p = student_p(r->z, freedom);
	} else {
		r->z = fabs(d) > 0 ? copysign(INFINITY, d) : 0;
		r->p = fabs(d) > 0 ? 0 : 1;
	}
}

int diff_adjust(struct diff_row *rows, size_t n, bool dependent)
{
	struct diff_row **order = malloc((n + 1) * sizeof(*order));
	size_t m = 0;
	double least = 1, harmonic = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		order[i] = &rows[i];
		rows[i].q = NAN;
		rows[i].small = dependent && rows[i].error > 0 && (rows[i].base + rows[i].other) / 2 < LEAST_JUDGED;
		m += judged(&rows[i]);
	}
	qsort(order, n, sizeof(*order), by_p);
	for (size_t i = 0; i < m; i++)
		harmonic += dependent || !i ? 1 / (double)(i + 1) : 0;
	for (size_t i = m; i-- > 0;) {
		double q = order[i]->p * harmonic * (double)m / (double)(i + 1);

		least = q < least ? q : least;
		order[i]->q = least;
	}
	free(order);
	return 0;
}

static int adjust_and_sort(struct diff_row *rows, size_t n, bool dependent)
{
	int err = diff_adjust(rows, n, dependent);

	qsort(rows, n, sizeof(*rows), by_change);
	return err;
}

const char *diff_verdict(const struct diff_row *r)
{
	return r->small ? "small" : isnan(r->q) ? "unknown" : r->q <= DIFF_REAL ? "real" : "noise";
}

/*
 * Variance of an edge's share; `e` NULL: it may just not have been sampled there. What both runs get wrong in the same
 * way is no change. Never less than what so many reads can tell if each is drawn by itself: halves may agree by chance.
 */
static double share_variance(const struct flow *f, const struct flow_edge *e, double total)
{
	double share = e ? e->bytes / total : 0, sd = !e ? 0 : !isnan(e->sd) ? e->sd : (e->high - e->low) / (2 * Z95);
	double least;

	if (f->engine == FLOW_EXACT && isnan(f->loads))
		return 0;
	if (isnan(f->loads) || f->loads < 1)
		return e ? sd * sd / (total * total) : NAN;
	least = fmax(share, 1 / f->loads);
	least *= (1 - fmin(least, 1)) / f->loads;
	return isnan(sd) ? NAN : fmax(sd * sd / (total * total), least);
}

/* How far the speed of code moves a share that has bytes of system calls beside it. Two recordings without a speed rest
 * on the same nominal one: that moves both alike. */
static double speed_variance(const struct flow *f, const struct flow_edge *e)
{
	struct flow_range r = { e ? e->bytes : 0, e ? e->bytes : 0, e ? e->bytes : 0 };
	double sd;

	if (!e || !(flow_whole(f) > 0))
		return 0;
	r = flow_share(f, r, flow_is_call(&f->funcs[e->consumer]) ? e->bytes : 0);
	sd = (r.high - r.low) / (2 * Z95);
	return sd * sd;
}

/* Welch and Satterthwaite: of the sum of two variances. */
static double freedom_of(double x, double fx, double y, double fy)
{
	double below = (fx > 0 ? x * x / fx : 0) + (fy > 0 ? y * y / fy : 0);

	return below > 0 ? (x + y) * (x + y) / below : INFINITY;
}

static void edge_row(struct diff_row *r, const struct flow_edge *x, const struct flow_edge *y, const struct flow *base,
		     const struct flow *other, const double *totals)
{
	const struct flow *names = x ? base : other;
	const struct flow_edge *any = x ? x : y;
	double bt = totals[0], ot = totals[1], vx, vy;

	*r = (struct diff_row){
		.a = names->funcs[any->producer].name,
		.a_object = names->funcs[any->producer].object,
		.b = names->funcs[any->consumer].name,
		.b_object = names->funcs[any->consumer].object,
		.base_value = x ? x->bytes : 0,
		.other_value = y ? y->bytes : 0,
	};
	r->base = bt > 0 ? r->base_value / bt : 0;
	r->other = ot > 0 ? r->other_value / ot : 0;
	r->base_value = x ? flow_edge_bytes(base, x).value : flow_amount(base, 0);
	r->other_value = y ? flow_edge_bytes(other, y).value : flow_amount(other, 0);
	vx = share_variance(base, x, bt);
	vy = share_variance(other, y, ot);
	if (flow_has_amounts(base) || flow_has_amounts(other)) {
		vx += speed_variance(base, x);
		vy += speed_variance(other, y);
	}
	r->error = sqrt(vx + vy);
	r->of_base = interval_around(r->base, sqrt(vx), base->sd_freedom > 0 ? base->sd_freedom : INFINITY, 0);
	r->of_other = interval_around(r->other, sqrt(vy), other->sd_freedom > 0 ? other->sd_freedom : INFINITY, 0);
	judge_difference(r, freedom_of(vx, base->sd_freedom, vy, other->sd_freedom));
}

static void list_edges(const struct flow_names *base, const struct flow_names *other, struct flow_diff *out)
{
	const double totals[2] = { flow_total(base->f), flow_total(other->f) };

	for (size_t i = 0; i < base->f->edge_count; i++) {
		const struct flow_edge *x = &base->f->edges[i], *y = flow_twin(base->f, x, other);

		edge_row(&out->edges[out->edge_count++], x, y, base->f, other->f, totals);
		out->tv += fabs(out->edges[out->edge_count - 1].other - out->edges[out->edge_count - 1].base) / 2;
	}
	for (size_t i = 0; i < other->f->edge_count; i++) {
		const struct flow_edge *y = &other->f->edges[i];

		if (flow_twin(other->f, y, base))
			continue;
		edge_row(&out->edges[out->edge_count++], NULL, y, base->f, other->f, totals);
		out->tv += out->edges[out->edge_count - 1].other / 2;
	}
	/* of a normal error the mean amount is so many of its deviations; unknown ones leave all of it unknown */
	for (size_t i = 0; i < out->edge_count; i++)
		out->tv_noise += out->edges[i].error * sqrt(2 / M_PI) / 2;
}

static int edges(const struct flow *base, const struct flow *other, struct flow_diff *out)
{
	struct flow_names names[2];

	out->edges = calloc(base->edge_count + other->edge_count + 1, sizeof(*out->edges));
	if (!out->edges)
		return -ENOMEM;
	flow_names_index(&names[0], base);
	flow_names_index(&names[1], other);
	list_edges(&names[0], &names[1], out);
	flow_names_release(&names[0]);
	flow_names_release(&names[1]);
	return adjust_and_sort(out->edges, out->edge_count, true);
}

struct diff_side {
	double ns;
	uint64_t samples;
};

static struct diff_side time_and_bytes_of(const struct flow_input *in)
{
	struct diff_side t = { 0 };

	for (uint32_t i = 0; i < in->func_count; i++) {
		t.ns += in->times[i].self_ns > 0 ? in->times[i].self_ns : in->times[i].instructions;
		t.samples += in->times[i].samples;
	}
	return t;
}

/* Of both profiles' functions, by name. */
struct sides {
	struct flow names;
	struct diff_side *of[2]; /* by function of `names`: base, other */
};

static void sides_release(struct sides *s)
{
	flow_release(&s->names);
	free(s->of[0]);
	free(s->of[1]);
}

static int both_sides(struct sides *s, const struct flow_input *const in[2])
{
	size_t most = (size_t)in[0]->func_count + in[1]->func_count + 1;

	flow_init(&s->names);
	s->of[0] = calloc(most, sizeof(**s->of));
	s->of[1] = calloc(most, sizeof(**s->of));
	for (int k = 0; k < 2 && s->of[0] && s->of[1]; k++)
		for (uint32_t i = 0; i < in[k]->func_count; i++) {
			const struct in_function_time *t = &in[k]->times[i];
			uint32_t id = flow_func(&s->names, in[k]->funcs[i].name, in[k]->funcs[i].object);

			if (id == FLOW_NONE)
				return -ENOMEM;
			s->of[k][id].ns = t->self_ns > 0 ? t->self_ns : t->instructions;
			s->of[k][id].samples = t->samples;
		}
	return s->of[0] && s->of[1] ? 0 : -ENOMEM;
}

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Fisher's exact test: of all ways to draw the samples of both that show it, how many are no likelier than this one. */
static double exact_p(double base, double of_base, double other, double of_other)
{
	double shown = base + other, all = log_choose(of_base + of_other, shown), p = 0;
	double here = log_choose(of_base, base) + log_choose(of_other, other) - all;

	for (double k = fmax(0, shown - of_other); k <= fmin(shown, of_base); k++) {
		double each = log_choose(of_base, k) + log_choose(of_other, shown - k) - all;

		p += each <= here + EXACT_TIE ? exp(each) : 0;
	}
	return fmin(p, 1);
}

/* Standard deviations that chance alone exceeds, either way, with this probability. */
static double deviations_of(double p)
{
	double least = 0, most = MOST_DEVIATIONS;

	for (int i = 0; i < DEVIATION_STEPS; i++) {
		double half = (least + most) / 2;

		if (erfc(half / sqrt(2)) > p)
			least = half;
		else
			most = half;
	}
	return most;
}

/* Where a handful would be expected the error is the one by which the exact test's chance is a normal one's. */
void diff_judge_samples(struct diff_row *r, uint64_t base, uint64_t of_base, uint64_t other, uint64_t of_other)
{
	double b = (double)base, nb = (double)of_base, o = (double)other, no = (double)of_other, pooled, few;

	r->error = NAN;
	if (of_base && of_other) {
		pooled = (b + o) / (nb + no);
		few = fmin(pooled, 1 - pooled) * fmin(nb, no);
		r->error = sqrt(pooled * (1 - pooled) * (1 / nb + 1 / no));
		if (few < EXPECTED_LEAST && base <= of_base && other <= of_other && r->other != r->base)
			r->error = fmax(r->error, fabs(r->other - r->base) / deviations_of(exact_p(b, nb, o, no)));
	}
	judge_difference(r, INFINITY);
}

static void function_row(struct diff_row *r, const struct in_func *f, struct diff_side x, struct diff_side xt,
			 struct diff_side y, struct diff_side yt)
{
	*r = (struct diff_row){ .a = f->name, .a_object = f->object, .base_value = x.ns, .other_value = y.ns };
	r->base = xt.ns > 0 ? x.ns / xt.ns : 0;
	r->other = yt.ns > 0 ? y.ns / yt.ns : 0;
	diff_judge_samples(r, x.samples, xt.samples, y.samples, yt.samples);
	wilson_interval(r->base, (double)xt.samples, &r->of_base.low, &r->of_base.high);
	wilson_interval(r->other, (double)yt.samples, &r->of_other.low, &r->of_other.high);
}

static int diff_functions(const struct flow_input *base, const struct flow_input *other, struct flow_diff *out)
{
	const struct flow_input *const in[2] = { base, other };
	struct diff_side xt = time_and_bytes_of(base), yt = time_and_bytes_of(other);
	struct sides s;
	int err = both_sides(&s, in);
	bool *listed = calloc(s.names.func_count + 1, sizeof(*listed));

	out->functions = calloc(s.names.func_count + 1, sizeof(*out->functions));
	err = out->functions && listed ? err : -ENOMEM;
	for (int k = 0; k < 2 && !err; k++)
		for (uint32_t i = 0; i < in[k]->func_count; i++) {
			uint32_t id = flow_func(&s.names, in[k]->funcs[i].name, in[k]->funcs[i].object);
			struct diff_side x = s.of[0][id], y = s.of[1][id];

			if ((x.samples || y.samples) && !listed[id])
				function_row(&out->functions[out->function_count++], &in[k]->funcs[i], x, xt, y, yt);
			listed[id] = true;
		}
	free(listed);
	sides_release(&s);
	return err ? err : adjust_and_sort(out->functions, out->function_count, false);
}

int flow_diff(const struct flow *base, const struct flow *other, const struct flow_input *base_in,
	      const struct flow_input *other_in, struct flow_diff *out, struct err *e)
{
	int err;

	*out = (struct flow_diff){ .base_total = flow_amount(base, flow_total(base)),
				   .other_total = flow_amount(other, flow_total(other)) };
	err = edges(base, other, out);
	if (!err)
		err = diff_functions(base_in, other_in, out);
	if (err) {
		flow_diff_release(out);
		return err_set(e, err, "out of memory");
	}
	return 0;
}

void flow_diff_release(struct flow_diff *d)
{
	free(d->edges);
	free(d->functions);
	memset(d, 0, sizeof(*d));
}

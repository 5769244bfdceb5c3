// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/growth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/normal.h"

const char *growth_of_str(enum growth_of of)
{
	static const char *const names[] = { "compute", "in", "out", "edge" };

	return of <= GROWTH_EDGE ? names[of] : "?";
}

struct growth_fit growth_fit(const double *n, const double *y, unsigned count)
{
	struct growth_fit fit = { NAN, NAN, NAN, NAN };
	double sx = 0, sy = 0, sxx = 0, sxy = 0, rest = 0;
	unsigned k = 0;

	for (unsigned i = 0; i < count; i++)
		if (n[i] > 0 && y[i] > 0) {
			sx += log(n[i]);
			sy += log(y[i]);
			k++;
		}
	if (k < 2)
		return fit;
	for (unsigned i = 0; i < count; i++)
		if (n[i] > 0 && y[i] > 0) {
			double x = log(n[i]) - sx / k;

			sxx += x * x;
			sxy += x * (log(y[i]) - sy / k);
		}
	if (!(sxx > 0))
		return fit;
	fit.power = sxy / sxx;
	fit.scale = exp((sy - fit.power * sx) / k);
	for (unsigned i = 0; i < count; i++)
		if (n[i] > 0 && y[i] > 0) {
			double miss = log(y[i]) - log(fit.scale) - fit.power * log(n[i]);

			rest += miss * miss;
		}
	if (k > 2) {
		double half = student_half(k - 2) * sqrt(rest / (k - 2) / sxx);

		fit.low = fit.power - half;
		fit.high = fit.power + half;
	}
	return fit;
}

void growth_release(struct growth *g)
{
	for (size_t i = 0; i < g->count; i++)
		free(g->rows[i].values);
	for (size_t i = 0; i < g->part_count; i++) {
		free(g->parts[i].compute);
		free(g->parts[i].bytes);
	}
	free(g->rows);
	free(g->parts);
	free(g->n);
	free(g->compute);
	free(g->bytes);
	memset(g, 0, sizeof(*g));
}

struct growth_work {
	const struct flow *const *flows;
	unsigned count, last;
	uint32_t **in; /* [profile][function of the last one]: its index there, FLOW_NONE */
	struct growth *out;
};

static int find_functions(struct growth_work *w)
{
	const struct flow *last = w->flows[w->last];

	w->in = calloc(w->count, sizeof(*w->in));
	for (unsigned p = 0; w->in && p < w->count; p++) {
		struct intern names = { 0 };
		const struct flow *f = w->flows[p];
		uint32_t *of = NULL;
		bool ok = true;

		w->in[p] = calloc(last->func_count + 1u, sizeof(**w->in));
		of = calloc(f->func_count + 1u, sizeof(*of));
		ok = w->in[p] && of;
		for (uint32_t i = 0; ok && i < f->func_count; i++) {
			bool added;
			uint32_t id = intern_str(&names, f->funcs[i].name, &added);

			/* the first of a name: objects' paths may differ from run to run */
			if (id && added && id <= f->func_count)
				of[id - 1] = i;
			ok = id != 0;
		}
		for (uint32_t i = 0; ok && i < last->func_count; i++) {
			bool added;
			uint32_t id = intern_str(&names, last->funcs[i].name, &added);

			w->in[p][i] = !id || added || id > f->func_count ? FLOW_NONE : of[id - 1];
			ok = id != 0;
		}
		intern_release(&names);
		free(of);
		if (!ok)
			return -ENOMEM;
	}
	return w->in ? 0 : -ENOMEM;
}

static double figure_of(const struct flow_func *f, enum growth_of of)
{
	return of == GROWTH_COMPUTE ? flow_computes(f).value : of == GROWTH_IN ? f->in : f->out;
}

/* Takes the values over. */
static int add_power(struct growth_work *w, struct growth_row row)
{
	struct growth_fit fit = growth_fit(w->out->n, row.values, w->count);

	row.power = fit.power;
	row.low = fit.low;
	row.high = fit.high;
	row.scale = fit.scale;
	if (PUSH(w->out->rows, w->out->count, w->out->cap, 256, row))
		return 0;
	free(row.values);
	return -ENOMEM;
}

static int function_rows(struct growth_work *w)
{
	const struct flow *last = w->flows[w->last];

	for (uint32_t i = 0; i < last->func_count; i++)
		for (enum growth_of of = GROWTH_COMPUTE; of <= GROWTH_OUT; of++) {
			double *values;

			if (!(figure_of(&last->funcs[i], of) > 0))
				continue;
			values = calloc(w->count, sizeof(*values));
			if (!values)
				return -ENOMEM;
			for (unsigned p = 0; p < w->count; p++) {
				uint32_t at = w->in[p][i];

				values[p] = at == FLOW_NONE ? 0 : figure_of(&w->flows[p]->funcs[at], of);
			}
			if (add_power(w, (struct growth_row){ .of = of,
							      .name = last->funcs[i].name,
							      .object = last->funcs[i].object,
							      .values = values }))
				return -ENOMEM;
		}
	return 0;
}

static int edge_rows(struct growth_work *w)
{
	const struct flow *last = w->flows[w->last];

	for (size_t i = 0; i < last->edge_count; i++) {
		const struct flow_edge *e = &last->edges[i];
		const struct flow_func *from = &last->funcs[e->producer], *to = &last->funcs[e->consumer];
		double *values;

		if (!(e->bytes > 0))
			continue;
		values = calloc(w->count, sizeof(*values));
		if (!values)
			return -ENOMEM;
		for (unsigned p = 0; p < w->count; p++) {
			uint32_t a = w->in[p][e->producer], b = w->in[p][e->consumer];
			const struct flow_edge *same =
				a == FLOW_NONE || b == FLOW_NONE ? NULL : flow_get(w->flows[p], a, b);

			values[p] = same ? same->bytes : 0;
		}
		if (add_power(w, (struct growth_row){ .of = GROWTH_EDGE,
						      .name = from->name,
						      .object = from->object,
						      .reader = to->name,
						      .reader_object = to->object,
						      .values = values }))
			return -ENOMEM;
	}
	return 0;
}

static int part_rows(struct growth_work *w)
{
	const struct flow *last = w->flows[w->last];
	struct growth *g = w->out;

	for (unsigned p = 0; p < w->count; p++) {
		g->bytes[p] = flow_total(w->flows[p]);
		for (uint32_t i = 0; i < w->flows[p]->func_count; i++)
			if (flow_computes(&w->flows[p]->funcs[i]).value > 0)
				g->compute[p] += flow_computes(&w->flows[p]->funcs[i]).value;
	}
	for (uint32_t i = 0; i < last->func_count; i++) {
		struct growth_part part = { last->funcs[i].name, last->funcs[i].object, NULL, NULL, 0 };

		part.compute = calloc(w->count, sizeof(*part.compute));
		part.bytes = calloc(w->count, sizeof(*part.bytes));
		if (!part.compute || !part.bytes || !PUSH(g->parts, g->part_count, g->part_cap, 64, part)) {
			free(part.compute);
			free(part.bytes);
			return -ENOMEM;
		}
		for (unsigned p = 0; p < w->count; p++) {
			uint32_t at = w->in[p][i];
			const struct flow_func *f = at == FLOW_NONE ? NULL : &w->flows[p]->funcs[at];

			part.compute[p] = !(g->compute[p] > 0) ? NAN : f ? flow_computes(f).value / g->compute[p] : 0;
			part.bytes[p] = !(g->bytes[p] > 0) ? NAN : f ? f->in / g->bytes[p] : 0;
			g->parts[g->part_count - 1].largest =
				fmax(g->parts[g->part_count - 1].largest, fmax(part.compute[p], part.bytes[p]));
		}
	}
	return 0;
}

static int by_part(const void *a, const void *b)
{
	double x = ((const struct growth_part *)a)->largest, y = ((const struct growth_part *)b)->largest;

	return (x < y) - (x > y);
}

struct in_all {
	unsigned last;
	double compute, bytes;
};

/* The largest of the last profile first: of computation, or of bytes. */
static int by_last(const void *a, const void *b, void *ctx)
{
	const struct growth_row *x = a, *y = b;
	const struct in_all *all = ctx;
	double p = x->values[all->last] / (x->of == GROWTH_COMPUTE ? all->compute : all->bytes),
	       q = y->values[all->last] / (y->of == GROWTH_COMPUTE ? all->compute : all->bytes);

	return (p < q) - (p > q);
}

static int check_sizes(const double *n, unsigned count, struct err *e)
{
	if (count < 2)
		return err_set(e, -EINVAL, "growth needs two profiles at least, and three for intervals");
	for (unsigned i = 0; i < count; i++)
		if (!(n[i] > 0) || !isfinite(n[i]) || (i && !(n[i] > n[i - 1])))
			return err_set(e, -EINVAL, "sizes are numbers above 0, in ascending order, all different");
	return 0;
}

static bool share_functions(const struct growth_work *w)
{
	const struct flow *last = w->flows[w->last];

	for (unsigned p = 0; p < w->last; p++) {
		bool some = false;

		for (uint32_t i = 0; i < last->func_count && !some; i++)
			some = !flow_is_pseudo(&last->funcs[i]) && w->in[p][i] != FLOW_NONE;
		if (!some)
			return false;
	}
	return true;
}

int growth_build(const struct flow *const *flows, const double *n, unsigned count, struct growth *out, struct err *e)
{
	struct growth_work w = { .flows = flows, .count = count, .last = count - 1, .out = out };
	int err = check_sizes(n, count, e);

	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	out->profiles = count;
	out->n = calloc(count, sizeof(*out->n));
	out->compute = calloc(count, sizeof(*out->compute));
	out->bytes = calloc(count, sizeof(*out->bytes));
	err = out->n && out->compute && out->bytes ? find_functions(&w) : -ENOMEM;
	if (!err)
		memcpy(out->n, n, count * sizeof(*n));
	if (!err && !share_functions(&w))
		err = err_set(e, -ENODATA, "these profiles share no function: they are of different programs");
	if (!err)
		err = part_rows(&w);
	if (!err)
		err = function_rows(&w);
	if (!err)
		err = edge_rows(&w);
	if (!err) {
		struct in_all all = { w.last, out->compute[w.last] > 0 ? out->compute[w.last] : 1,
				      out->bytes[w.last] > 0 ? out->bytes[w.last] : 1 };

		if (out->part_count)
			qsort(out->parts, out->part_count, sizeof(*out->parts), by_part);
		if (out->count)
			qsort_r(out->rows, out->count, sizeof(*out->rows), by_last, &all);
	}
	for (unsigned p = 0; w.in && p < count; p++)
		free(w.in[p]);
	free(w.in);
	if (err == -ENOMEM)
		err_set(e, err, "out of memory");
	if (err)
		growth_release(out);
	return err;
}

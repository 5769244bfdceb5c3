// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/counts.h"

#define ROOT_VAR 1e4	      /* of the log of a scale that nobody knows */
#define UNKNOWN_VAR 16.0      /* of a ratio that nobody knows, in the same function or to a callee */
#define PASSES 5	      /* each takes the errors found as the place around which all is linear */
#define SHIFT_MAX 12.0
#define BROKEN_VAR 9.0	      /* a broken link is off by a factor of e^3 or so */
#define LINK_BROKEN_PRIOR 0.05 /* one link in twenty */
#define BROKEN_MAX 24
#define Z95 1.96
#define SPREAD_PRIOR_SD 0.8 /* of its logarithm */
#define SPREAD_PRIOR 0.5 /* of log instructions per time between functions: 0.11..0.43 in TV as measured */

struct row {
	uint32_t *link;
	double *weight;
	size_t len, cap;
};

struct solver {
	struct counts_tree *t;
	uint32_t *order;     /* nodes, parents first */
	size_t *first_in;    /* by node: its links as child, in by_child */
	size_t *by_child;
	bool *root;	     /* of unknown scale */
	double *x, *adjoint;
	double *var;	     /* by link, then by node (a root's scale) */
	double *shift;	     /* by error as var: its estimate so far */
	double *per_group;   /* instructions by ratios, errors so far taken off */
	double *by_ratios;   /* and as measured */
	double *base;	     /* by chosen: log instructions, extrapolated to no errors */
	uint32_t *chosen;    /* groups that have both time and counts, and then those with counts alone */
	uint32_t observed, n;
	struct row *row;     /* by chosen: elasticities */
	double *k;	     /* n * n: what links' errors do to the chosen */
	double *m, *lambda, *d, *tmp;
	double mean, spread;
};

static size_t errors_of(const struct solver *s)
{
	return s->t->links + s->t->nodes;
}

/* ---- the tree ---- */

static int check_input(const struct counts_tree *t)
{
	for (size_t i = 0; i < t->links; i++)
		if (t->link[i].parent >= t->nodes || t->link[i].child >= t->nodes || t->link[i].ratio.ratio < 0 ||
		    t->link[i].ratio.log_var < 0 || isinf(t->link[i].ratio.ratio))
			return -EINVAL;
	for (size_t i = 0; i < t->parts; i++)
		if (t->part[i].node >= t->nodes || t->part[i].group >= t->groups || !(t->part[i].instructions >= 0) ||
		    isinf(t->part[i].instructions))
			return -EINVAL;
	for (size_t i = 0; i < t->groups; i++)
		if (!(t->group[i].time >= 0) || isinf(t->group[i].time))
			return -EINVAL;
	return 0;
}

/* Parents first; a link that closes a cycle is left out, and its child becomes of unknown scale. */
static int order_nodes(struct solver *s)
{
	struct counts_tree *t = s->t;
	size_t *out_first = calloc((size_t)t->nodes + 2, sizeof(*out_first));
	size_t *out = malloc((t->links + 1) * sizeof(*out)), *at = malloc(((size_t)t->nodes + 1) * sizeof(*at));
	uint32_t *stack = malloc(((size_t)t->nodes + 1) * sizeof(*stack)), top, left = t->nodes;
	uint8_t *mark = calloc((size_t)t->nodes + 1, 1);
	int rc = out_first && out && at && stack && mark ? 0 : -ENOMEM;

	if (rc)
		goto out;
	for (size_t i = 0; i < t->links; i++) {
		out_first[t->link[i].parent + 1]++;
		s->first_in[t->link[i].child + 1]++;
	}
	for (uint32_t i = 0; i < t->nodes; i++) {
		out_first[i + 1] += out_first[i];
		s->first_in[i + 1] += s->first_in[i];
		at[i] = out_first[i];
	}
	for (size_t i = 0; i < t->links; i++)
		out[at[t->link[i].parent]++] = i;
	for (uint32_t i = 0; i < t->nodes; i++)
		at[i] = s->first_in[i];
	for (size_t i = 0; i < t->links; i++)
		s->by_child[at[t->link[i].child]++] = i;
	/* roots first, so that a cycle is cut where it is entered from outside */
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t r = 0; r < t->nodes; r++) {
			if (mark[r] || (!pass && s->first_in[r + 1] > s->first_in[r]))
				continue;
			top = 0;
			stack[top++] = r;
			mark[r] = 1;
			at[r] = out_first[r];
			while (top) {
				uint32_t v = stack[top - 1], to;

				if (at[v] == out_first[v + 1]) {
					mark[v] = 2;
					s->order[--left] = v;
					top--;
					continue;
				}
				to = t->link[out[at[v]]].child;
				if (mark[to] == 1) {
					t->link[out[at[v]]].cycle = true;
					t->cycles++;
				} else if (!mark[to]) {
					mark[to] = 1;
					at[to] = out_first[to];
					stack[top++] = to;
				}
				at[v]++;
			}
		}
out:
	free(out_first);
	free(out);
	free(at);
	free(stack);
	free(mark);
	return rc;
}

static double ratio_of(const struct solver *s, size_t link)
{
	double r = s->t->link[link].ratio.ratio;

	return (isnan(r) ? 1 : r) * exp(-s->shift[link]);
}

static void run_tree(struct solver *s)
{
	struct counts_tree *t = s->t;

	for (uint32_t i = 0; i < t->nodes; i++) {
		uint32_t v = s->order[i];
		bool cycle = false, any = false;

		s->x[v] = 0;
		for (size_t k = s->first_in[v]; k < s->first_in[v + 1]; k++) {
			size_t l = s->by_child[k];

			cycle |= t->link[l].cycle;
			if (t->link[l].cycle)
				continue;
			any = true;
			s->x[v] += ratio_of(s, l) * s->x[t->link[l].parent];
		}
		if (!any)
			s->x[v] = 1;
		s->root[v] = !any || cycle;
		s->x[v] *= exp(-s->shift[t->links + v]);
	}
}

static void set_variances(struct solver *s)
{
	struct counts_tree *t = s->t;

	for (size_t i = 0; i < t->links; i++) {
		const struct counts_ratio *r = &t->link[i].ratio;

		s->var[i] = isnan(r->ratio) || r->how == COUNTS_UNKNOWN ? UNKNOWN_VAR : fmin(r->log_var, UNKNOWN_VAR);
	}
	for (uint32_t v = 0; v < t->nodes; v++)
		s->var[t->links + v] = s->root[v] ? ROOT_VAR : 0;
}

static void sum_groups(struct solver *s)
{
	memset(s->per_group, 0, s->t->groups * sizeof(*s->per_group));
	for (size_t i = 0; i < s->t->parts; i++) {
		const struct counts_part *p = &s->t->part[i];

		s->per_group[p->group] += p->instructions * s->x[p->node];
	}
}

/* ---- which groups, and how each hangs on each link ---- */

static const struct counts_group *sort_groups;

static int by_time(const void *a, const void *b)
{
	double x = sort_groups[*(const uint32_t *)a].time, y = sort_groups[*(const uint32_t *)b].time;

	return x < y ? 1 : x > y ? -1 : 0;
}

static int choose_groups(struct solver *s)
{
	struct counts_tree *t = s->t;
	uint32_t *all = malloc((t->groups + 1) * sizeof(*all)), n = 0;

	if (!all)
		return -ENOMEM;
	for (size_t g = 0; g < t->groups; g++)
		if (s->per_group[g] > 0 && isfinite(s->per_group[g]))
			all[n++] = (uint32_t)g;
	sort_groups = t->group;
	qsort(all, n, sizeof(*all), by_time);
	s->n = n < COUNTS_MAX_GROUPS ? n : COUNTS_MAX_GROUPS;
	s->chosen = all;
	while (s->observed < s->n && t->group[all[s->observed]].time > 0)
		s->observed++;
	return 0;
}

static int row_add(struct row *r, uint32_t link, double weight)
{
	if (r->len == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 16;
		uint32_t *l = realloc(r->link, cap * sizeof(*l));
		double *w;

		if (!l)
			return -ENOMEM;
		r->link = l;
		w = realloc(r->weight, cap * sizeof(*w));
		if (!w)
			return -ENOMEM;
		r->weight = w;
		r->cap = cap;
	}
	r->link[r->len] = link;
	r->weight[r->len++] = weight;
	return 0;
}

/* d log(instructions of the group) / d log(ratio), for every link that is not exact. */
static int elasticities(struct solver *s, uint32_t which, const size_t *part_first, const size_t *part_of)
{
	struct counts_tree *t = s->t;
	uint32_t g = s->chosen[which];
	struct row *r = &s->row[which];
	int rc = 0;

	r->len = 0;
	if (!(s->per_group[g] > 0))
		return 0;
	memset(s->adjoint, 0, t->nodes * sizeof(*s->adjoint));
	for (size_t i = part_first[g]; i < part_first[g + 1]; i++)
		s->adjoint[t->part[part_of[i]].node] += t->part[part_of[i]].instructions;
	for (uint32_t i = t->nodes; i-- > 0 && !rc;) {
		uint32_t v = s->order[i];
		double flow = s->adjoint[v];

		if (flow <= 0)
			continue;
		if (s->root[v])
			rc = row_add(r, (uint32_t)t->links + v, flow * s->x[v] / s->per_group[g]);
		for (size_t k = s->first_in[v]; k < s->first_in[v + 1] && !rc; k++) {
			const struct counts_link *l = &t->link[s->by_child[k]];
			double via = flow * ratio_of(s, s->by_child[k]);

			if (l->cycle || via <= 0)
				continue;
			s->adjoint[l->parent] += via;
			if (s->var[s->by_child[k]] > 0)
				rc = row_add(r, (uint32_t)s->by_child[k], via * s->x[l->parent] / s->per_group[g]);
		}
	}
	return rc;
}

static int all_elasticities(struct solver *s)
{
	struct counts_tree *t = s->t;
	size_t *first = calloc(t->groups + 2, sizeof(*first)), *of = malloc((t->parts + 1) * sizeof(*of));
	size_t *at = malloc((t->groups + 1) * sizeof(*at));
	int rc = first && of && at ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->parts && !rc; i++)
		first[t->part[i].group + 1]++;
	for (size_t g = 0; g < t->groups && !rc; g++) {
		first[g + 1] += first[g];
		at[g] = first[g];
	}
	for (size_t i = 0; i < t->parts && !rc; i++)
		of[at[t->part[i].group]++] = i;
	for (uint32_t i = 0; i < s->n && !rc; i++)
		rc = elasticities(s, i, first, of);
	free(first);
	free(of);
	free(at);
	return rc;
}

/* ---- the most probable errors ---- */

static void fill_k(struct solver *s)
{
	memset(s->tmp, 0, errors_of(s) * sizeof(*s->tmp));
	for (uint32_t i = 0; i < s->n; i++) {
		const struct row *r = &s->row[i];

		for (size_t e = 0; e < r->len; e++)
			s->tmp[r->link[e]] = r->weight[e] * s->var[r->link[e]];
		for (uint32_t j = 0; j <= i; j++) {
			const struct row *q = &s->row[j];
			double sum = 0;

			for (size_t e = 0; e < q->len; e++)
				sum += q->weight[e] * s->tmp[q->link[e]];
			s->k[(size_t)i * s->n + j] = s->k[(size_t)j * s->n + i] = sum;
		}
		for (size_t e = 0; e < r->len; e++)
			s->tmp[r->link[e]] = 0;
	}
}

static double noise_of(const struct solver *s, uint32_t i)
{
	return s->spread * s->spread + 1.0 / ((double)s->t->group[s->chosen[i]].samples + 0.5);
}

/* Lower triangle of a into its Cholesky factor; half the log of its determinant. */
static double factor(double *a, size_t n)
{
	double half_log = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j <= i; j++) {
			double sum = a[i * n + j];

			for (size_t k = 0; k < j; k++)
				sum -= a[i * n + k] * a[j * n + k];
			if (i == j) {
				a[i * n + i] = sqrt(fmax(sum, 1e-12));
				half_log += log(a[i * n + i]);
			} else {
				a[i * n + j] = sum / a[j * n + j];
			}
		}
	}
	return half_log;
}

static void forward(const double *l, size_t n, double *b)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++)
			b[i] -= l[i * n + k] * b[k];
		b[i] /= l[i * n + i];
	}
}

static void backward(const double *l, size_t n, double *b)
{
	for (size_t i = n; i-- > 0;) {
		for (size_t k = i + 1; k < n; k++)
			b[i] -= l[k * n + i] * b[k];
		b[i] /= l[i * n + i];
	}
}

/* For the spread in force: lambda, and the log of how probable the observations are. */
static double solve_errors(struct solver *s)
{
	size_t n = s->observed;
	double half_log, fit = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j <= i; j++)
			s->m[i * n + j] = s->k[i * s->n + j];
		s->m[i * n + i] += noise_of(s, (uint32_t)i);
		s->lambda[i] = s->d[i] - s->mean;
	}
	half_log = factor(s->m, n);
	forward(s->m, n, s->lambda);
	for (size_t i = 0; i < n; i++)
		fit += s->lambda[i] * s->lambda[i];
	backward(s->m, n, s->lambda);
	return -0.5 * fit - half_log;
}

/* How much the functions' instructions per time differ, as far as the observations tell. */
static void fit_spread(struct solver *s)
{
	static const double grid[] = { 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0 };
	double best = -INFINITY, chosen = SPREAD_PRIOR;

	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++) {
		double off = log(grid[i] / SPREAD_PRIOR) / SPREAD_PRIOR_SD, fit;

		s->spread = grid[i];
		fit = solve_errors(s) - 0.5 * off * off;
		if (fit > best) {
			best = fit;
			chosen = grid[i];
		}
	}
	s->spread = chosen;
	solve_errors(s);
}

/* The link whose being broken would explain most; SIZE_MAX: none does. */
static size_t find_broken(struct solver *s)
{
	struct counts_tree *t = s->t;
	size_t n = s->observed, best = SIZE_MAX;
	double best_gain = -log(LINK_BROKEN_PRIOR / (1 - LINK_BROKEN_PRIOR));
	double *pull = s->tmp, *column = malloc((n + 1) * sizeof(*column));

	if (!column)
		return SIZE_MAX;
	memset(pull, 0, errors_of(s) * sizeof(*pull));
	for (size_t i = 0; i < n; i++)
		for (size_t e = 0; e < s->row[i].len; e++)
			pull[s->row[i].link[e]] += s->row[i].weight[e] * s->lambda[i];
	for (size_t l = 0; l < t->links; l++) {
		double add = BROKEN_VAR - s->var[l], reach = 0, gain;

		/* the gain's upper bound spares most links the work */
		if (add <= 0 || s->var[l] <= 0 || 0.5 * pull[l] * pull[l] * add <= best_gain)
			continue;
		memset(column, 0, n * sizeof(*column));
		for (size_t i = 0; i < n; i++)
			for (size_t e = 0; e < s->row[i].len; e++)
				if (s->row[i].link[e] == l)
					column[i] += s->row[i].weight[e];
		forward(s->m, n, column);
		for (size_t i = 0; i < n; i++)
			reach += column[i] * column[i];
		gain = 0.5 * (pull[l] * pull[l] / (1 / add + reach) - log1p(add * reach));
		if (gain > best_gain) {
			best_gain = gain;
			best = l;
		}
	}
	free(column);
	return best;
}

static void linearise(struct solver *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct counts_group *g = &s->t->group[s->chosen[i]];

		s->base[i] = log(fmax(s->per_group[s->chosen[i]], 1e-300));
		for (size_t e = 0; e < s->row[i].len; e++)
			s->base[i] += s->row[i].weight[e] * s->shift[s->row[i].link[e]];
		if (i < s->observed)
			s->d[i] = s->base[i] - log(g->time);
	}
}

static void find_errors(struct solver *s)
{
	memset(s->shift, 0, errors_of(s) * sizeof(*s->shift));
	for (uint32_t i = 0; i < s->observed; i++)
		for (size_t e = 0; e < s->row[i].len; e++)
			s->shift[s->row[i].link[e]] += s->row[i].weight[e] * s->lambda[i];
	for (size_t l = 0; l < errors_of(s); l++) {
		s->shift[l] *= s->var[l];
		if (l < s->t->links)
			s->shift[l] = fmax(-SHIFT_MAX, fmin(SHIFT_MAX, s->shift[l]));
	}
}

static void exclude_broken(struct solver *s)
{
	while (s->observed > 1 && s->t->broken < BROKEN_MAX) {
		size_t l = find_broken(s);

		if (l == SIZE_MAX)
			break;
		s->var[l] = BROKEN_VAR;
		s->t->link[l].broken = true;
		s->t->broken++;
		fill_k(s);
		solve_errors(s);
	}
}

/* Links are judged by a spread that they do not widen themselves: a broken one would pass for that. */
static int solve_all(struct solver *s)
{
	int rc = 0;

	for (int pass = 0; pass < PASSES && !rc; pass++) {
		if (pass) {
			find_errors(s);
			run_tree(s);
			sum_groups(s);
			rc = all_elasticities(s);
			if (rc)
				break;
			linearise(s);
		}
		fill_k(s);
		s->spread = fmin(s->spread, SPREAD_PRIOR);
		solve_errors(s);
		exclude_broken(s);
		fit_spread(s);
	}
	return rc;
}

/* ---- outcome ---- */

static void report_group(struct solver *s, uint32_t i, double *column)
{
	struct counts_group *g = &s->t->group[s->chosen[i]];
	size_t n = s->observed;
	double error = 0, prior = s->k[(size_t)i * s->n + i], left = prior, half;

	for (size_t j = 0; j < n; j++) {
		column[j] = s->k[(size_t)i * s->n + j];
		error += column[j] * s->lambda[j];
	}
	forward(s->m, n, column);
	for (size_t j = 0; j < n; j++)
		left -= column[j] * column[j];
	g->instructions = exp(s->base[i] - error);
	half = Z95 * sqrt(fmax(left, 0));
	g->low = g->instructions * exp(-half);
	g->high = g->instructions * exp(half);
	/* against what its time share alone would leave uncertain */
	g->trust = i < n ? fmax(0, 1 - left / noise_of(s, i)) : 1;
}

static void report_rest(struct solver *s)
{
	struct counts_tree *t = s->t;
	double half = Z95 * s->spread;

	for (size_t i = 0; i < t->groups; i++) {
		struct counts_group *g = &t->group[i];

		g->by_ratios = s->by_ratios[i] > 0 ? s->by_ratios[i] : NAN;
		g->by_time = g->time > 0 ? g->time * exp(s->mean) : NAN;
		g->instructions = g->by_time;
		g->trust = 0;
		half = Z95 * sqrt(s->spread * s->spread + 1.0 / ((double)g->samples + 0.5));
		g->low = g->instructions * exp(-half);
		g->high = g->instructions * exp(half);
	}
}

static int report(struct solver *s)
{
	struct counts_tree *t = s->t;
	double *column = malloc((s->n + 1) * sizeof(*column));

	if (!column)
		return -ENOMEM;
	report_rest(s);
	for (uint32_t i = 0; i < s->n; i++)
		report_group(s, i, column);
	free(column);
	find_errors(s);
	run_tree(s);
	for (size_t l = 0; l < t->links; l++)
		t->link[l].correction = exp(-s->shift[l]);
	for (uint32_t v = 0; t->runs && v < t->nodes; v++)
		t->runs[v] = s->x[v];
	t->ipc_spread = s->spread;
	return 0;
}

static int allocate(struct solver *s)
{
	struct counts_tree *t = s->t;

	s->order = malloc(((size_t)t->nodes + 1) * sizeof(*s->order));
	s->first_in = calloc((size_t)t->nodes + 2, sizeof(*s->first_in));
	s->by_child = malloc((t->links + 1) * sizeof(*s->by_child));
	s->root = calloc((size_t)t->nodes + 1, sizeof(*s->root));
	s->x = calloc((size_t)t->nodes + 1, sizeof(*s->x));
	s->adjoint = calloc((size_t)t->nodes + 1, sizeof(*s->adjoint));
	s->var = calloc(errors_of(s) + 1, sizeof(*s->var));
	s->tmp = calloc(errors_of(s) + 1, sizeof(*s->tmp));
	s->per_group = calloc(t->groups + 1, sizeof(*s->per_group));
	s->by_ratios = calloc(t->groups + 1, sizeof(*s->by_ratios));
	s->shift = calloc(errors_of(s) + 1, sizeof(*s->shift));
	return s->order && s->first_in && s->by_child && s->root && s->x && s->adjoint && s->var && s->tmp &&
	       s->per_group && s->by_ratios && s->shift ? 0 : -ENOMEM;
}

static int allocate_system(struct solver *s)
{
	size_t n = (size_t)s->n + 1;

	s->row = calloc(n, sizeof(*s->row));
	s->k = calloc(n * n, sizeof(*s->k));
	s->m = calloc(n * n, sizeof(*s->m));
	s->lambda = calloc(n, sizeof(*s->lambda));
	s->d = calloc(n, sizeof(*s->d));
	s->base = calloc(n, sizeof(*s->base));
	return s->row && s->k && s->m && s->lambda && s->d && s->base ? 0 : -ENOMEM;
}

static void release(struct solver *s)
{
	for (uint32_t i = 0; s->row && i < s->n; i++) {
		free(s->row[i].link);
		free(s->row[i].weight);
	}
	free(s->order);
	free(s->first_in);
	free(s->by_child);
	free(s->root);
	free(s->x);
	free(s->adjoint);
	free(s->var);
	free(s->tmp);
	free(s->per_group);
	free(s->chosen);
	free(s->row);
	free(s->k);
	free(s->m);
	free(s->lambda);
	free(s->d);
	free(s->base);
	free(s->shift);
	free(s->by_ratios);
}

/* What the observations are compared with: the scale is free, so any common level will do. */
static void set_mean(struct solver *s)
{
	double sum = 0, weight = 0;

	for (uint32_t i = 0; i < s->observed; i++) {
		double time = s->t->group[s->chosen[i]].time;

		sum += s->d[i] * time;
		weight += time;
	}
	s->mean = weight > 0 ? sum / weight : 0;
}

int counts_solve(struct counts_tree *t)
{
	struct solver s = { .t = t, .spread = SPREAD_PRIOR };
	int rc = check_input(t);

	if (rc)
		return rc;
	t->broken = t->cycles = 0;
	for (size_t i = 0; i < t->links; i++) {
		t->link[i].broken = t->link[i].cycle = false;
		t->link[i].correction = 1;
	}
	rc = allocate(&s);
	rc = rc ? rc : order_nodes(&s);
	if (!rc) {
		run_tree(&s);
		set_variances(&s);
		sum_groups(&s);
		memcpy(s.by_ratios, s.per_group, t->groups * sizeof(*s.by_ratios));
		rc = choose_groups(&s);
	}
	rc = rc ? rc : allocate_system(&s);
	rc = rc ? rc : all_elasticities(&s);
	if (!rc) {
		linearise(&s);
		set_mean(&s);
		rc = solve_all(&s);
	}
	if (!rc)
		rc = report(&s);
	release(&s);
	return rc;
}

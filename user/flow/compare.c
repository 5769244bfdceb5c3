// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/grow.h"
#include "util/path_name.h"

#define NOTEWORTHY 0.001 /* an edge below this share is neither missed nor invented */
#define RANKED 0.0001    /* share of all bytes: edges below it have no rank; by hand */

/* One side while it is matched: flow function index -> name index. */
struct compare_side {
	const struct flow *f;
	uint32_t *name_of;
	double total;
};

static const char *folded(const char *name, const struct compare_opts *o, bool plain_kernel)
{
	if (name[0] != '(')
		return name;
	if (o->fold_outside)
		return FLOW_OUTSIDE;
	return plain_kernel && !strncmp(name, "(kernel:", 8) ? FLOW_KERNEL : name;
}

static uint32_t name_index(struct flow_compare *c, const char *name, const char *object)
{
	char key[1024];
	size_t n = strnlen(name, 511), m = strnlen(object, 511);
	bool added;
	uint32_t id;
	const char *text;

	memcpy(key, name, n);
	key[n] = 0;
	memcpy(key + n + 1, object, m);
	id = intern_add(&c->strings, key, n + 1 + m, &added);
	if (!id)
		return FLOW_NONE;
	text = intern_get(&c->strings, id, NULL);
	if (added) {
		if (!GROW_TO(c->names, id, c->name_cap, 256))
			return FLOW_NONE;
		c->names[id - 1] = (struct compare_name){ text, text + n + 1 };
		c->name_count = id;
	}
	return id - 1;
}

/* The object that a function without one has on the other side, if its name is there once. */
static const char *borrowed_object(const struct flow *other, const char *name)
{
	const char *found = "";
	unsigned hits = 0;

	for (uint32_t i = 0; i < other->func_count && hits < 2; i++)
		if (!strcmp(other->funcs[i].name, name)) {
			found = other->funcs[i].object;
			hits++;
		}
	return hits == 1 ? found : "";
}

/* Some sources know the calls apart that others only know as the kernel. */
static bool kernel_is_plain(const struct flow *f)
{
	bool named = false, plain = false;

	for (uint32_t i = 0; i < f->func_count; i++) {
		named |= !strncmp(f->funcs[i].name, "(kernel:", 8);
		plain |= !strcmp(f->funcs[i].name, FLOW_KERNEL);
	}
	return plain && !named;
}

static int side_names(struct flow_compare *c, struct compare_side *s, const struct flow *other,
		      const struct compare_opts *o, bool plain_kernel)
{
	s->name_of = calloc(s->f->func_count + 1u, sizeof(*s->name_of));
	if (!s->name_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->f->func_count; i++) {
		const struct flow_func *fn = &s->f->funcs[i];
		const char *name = folded(fn->name, o, plain_kernel);
		const char *object =
			name[0] == '(' ? "" : path_last(*fn->object ? fn->object : borrowed_object(other, name));

		s->name_of[i] = name_index(c, name, object);
		if (s->name_of[i] == FLOW_NONE)
			return -ENOMEM;
	}
	return 0;
}

static bool pair_counts(const struct flow_compare *c, const struct compare_opts *o, uint32_t producer,
			uint32_t consumer)
{
	return !o->functions_only || (c->names[producer].name[0] != '(' && c->names[consumer].name[0] != '(');
}

static struct compare_pair *pair_at(struct flow_compare *c, struct map *at, size_t *cap, uint32_t producer,
				    uint32_t consumer)
{
	bool added;
	uint64_t *slot = map_put(at, (uint64_t)producer << 32 | consumer, &added);

	if (!slot)
		return NULL;
	if (added) {
		*slot = c->pair_count;
		if (!PUSH(c->pairs, c->pair_count, *cap, 256,
			  (struct compare_pair){ producer, consumer, 0, 0, NAN, NAN, true }))
			return NULL;
	}
	return &c->pairs[*slot];
}

static int collect_pairs(struct flow_compare *c, struct compare_side *truth, struct compare_side *estimate,
			 const struct compare_opts *o)
{
	struct map at = { 0 };
	size_t cap = 0;

	for (int is_estimate = 0; is_estimate < 2; is_estimate++) {
		struct compare_side *s = is_estimate ? estimate : truth;

		for (size_t i = 0; i < s->f->edge_count; i++) {
			const struct flow_edge *e = &s->f->edges[i];
			uint32_t p = s->name_of[e->producer], k = s->name_of[e->consumer];
			struct flow_range share = flow_edge_share(s->f, e);
			struct compare_pair *pair;

			if (!pair_counts(c, o, p, k))
				continue;
			pair = pair_at(c, &at, &cap, p, k);
			if (!pair) {
				map_release(&at);
				return -ENOMEM;
			}
			s->total += e->bytes;
			if (is_estimate) {
				double low = share.low * flow_whole(s->f), high = share.high * flow_whole(s->f);

				/* edges that fold into one: their intervals add, which is wide enough */
				pair->low = pair->estimate > 0 ? pair->low + low : low;
				pair->high = pair->estimate > 0 ? pair->high + high : high;
				pair->estimate += e->bytes;
				pair->resolved &= !e->unresolved;
			} else {
				pair->truth += e->bytes;
			}
		}
	}
	map_release(&at);
	return 0;
}

static void to_shares(struct flow_compare *c, double truth, double estimate)
{
	for (size_t i = 0; i < c->pair_count; i++) {
		c->pairs[i].truth /= truth;
		c->pairs[i].estimate /= estimate;
		c->pairs[i].low /= estimate;
		c->pairs[i].high /= estimate;
	}
}

static int by_index(const struct compare_pair *x, const struct compare_pair *y)
{
	if (x->producer != y->producer)
		return x->producer < y->producer ? -1 : 1;
	return (x->consumer > y->consumer) - (x->consumer < y->consumer);
}

static int by_truth(const void *a, const void *b)
{
	const struct compare_pair *x = a, *y = b;

	return x->truth != y->truth ? (x->truth < y->truth ? 1 : -1) : by_index(x, y);
}

static int by_estimate(const void *a, const void *b)
{
	const struct compare_pair *x = a, *y = b;

	return x->estimate != y->estimate ? (x->estimate < y->estimate ? 1 : -1) : by_index(x, y);
}

static int by_error(const void *a, const void *b)
{
	const struct compare_pair *x = a, *y = b;
	double dx = fabs(x->estimate - x->truth), dy = fabs(y->estimate - y->truth);

	return dx != dy ? (dx < dy ? 1 : -1) : by_index(x, y);
}

static double variation(const struct flow_compare *c, bool self_edges)
{
	double truth = 0, estimate = 0, sum = 0;

	for (size_t i = 0; i < c->pair_count; i++)
		if (self_edges || c->pairs[i].producer != c->pairs[i].consumer) {
			truth += c->pairs[i].truth;
			estimate += c->pairs[i].estimate;
		}
	if (!(truth > 0) || !(estimate > 0))
		return NAN;
	for (size_t i = 0; i < c->pair_count; i++)
		if (self_edges || c->pairs[i].producer != c->pairs[i].consumer)
			sum += fabs(c->pairs[i].estimate / estimate - c->pairs[i].truth / truth);
	return sum / 2;
}

/* Pairs stand by truth; the n-th largest estimate decides which of them would be shown, too. */
static struct compare_found found_in_top(const struct flow_compare *c, const struct compare_pair *estimated,
					 unsigned top)
{
	struct compare_found r = { 0 };
	double least;

	/* below that an edge is a handful of samples: which of many such comes tenth is chance */
	while (r.top < top && r.top < c->pair_count && c->pairs[r.top].truth > NOTEWORTHY)
		r.top++;
	if (!r.top)
		return r;
	least = estimated[r.top - 1].estimate;
	for (unsigned i = 0; i < r.top; i++)
		r.found += c->pairs[i].estimate > 0 && c->pairs[i].estimate >= least;
	return r;
}

static int relative_errors(struct flow_compare *c)
{
	double sum = 0, *error = calloc(c->pair_count + 1, sizeof(*error));
	unsigned n = 0;

	if (!error)
		return -ENOMEM;
	while (n < c->pair_count && c->pairs[n].truth > 0 && sum < 0.9 - 1e-12) {
		sum += c->pairs[n].truth;
		error[n] = fabs(c->pairs[n].estimate - c->pairs[n].truth) / c->pairs[n].truth;
		n++;
	}
	qsort(error, n, sizeof(*error), by_double);
	c->rel90_edges = n;
	c->rel90 = n ? (error[(n - 1) / 2] + error[n / 2]) / 2 : NAN;
	c->worst90 = n ? error[n - 1] : NAN;
	free(error);
	return 0;
}

static void cover(struct flow_compare *c)
{
	for (size_t i = 0; i < c->pair_count && i < 10 && c->pairs[i].truth > 0; i++) {
		const struct compare_pair *p = &c->pairs[i];

		if (isnan(p->low) && p->estimate > 0)
			continue; /* the estimate claims nothing about its error */
		c->coverable++;
		/* exact against exact: the same number divided by two sums may differ in its last bit */
		c->covered += p->truth >= p->low - 1e-12 && p->truth <= p->high + 1e-12;
	}
	for (size_t i = 0; i < c->pair_count; i++)
		c->unresolved += !c->pairs[i].resolved;
}

struct compare_ranked {
	double value[2], rank[2];
};

static int by_first(const void *a, const void *b)
{
	return by_double(((const struct compare_ranked *)a)->value, ((const struct compare_ranked *)b)->value);
}

static int by_second(const void *a, const void *b)
{
	return by_double(((const struct compare_ranked *)a)->value + 1, ((const struct compare_ranked *)b)->value + 1);
}

static void give_ranks(struct compare_ranked *r, unsigned n, int which)
{
	for (unsigned i = 0, end; i < n; i = end) {
		end = i + 1;
		while (end < n && r[end].value[which] == r[i].value[which])
			end++;
		for (unsigned k = i; k < end; k++)
			r[k].rank[which] = (i + end - 1) / 2.0; /* ties share their mean */
	}
}

/* Rank correlation; NaN for fewer than two functions or where one side does not vary. */
static double spearman(struct compare_ranked *r, unsigned n)
{
	double mean = (n - 1) / 2.0, xy = 0, xx = 0, yy = 0;

	if (n < 2)
		return NAN;
	qsort(r, n, sizeof(*r), by_first);
	give_ranks(r, n, 0);
	qsort(r, n, sizeof(*r), by_second);
	give_ranks(r, n, 1);
	for (unsigned i = 0; i < n; i++) {
		xy += (r[i].rank[0] - mean) * (r[i].rank[1] - mean);
		xx += (r[i].rank[0] - mean) * (r[i].rank[0] - mean);
		yy += (r[i].rank[1] - mean) * (r[i].rank[1] - mean);
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

static int rank_totals(struct flow_compare *c, bool out, double *result, unsigned *ranked)
{
	struct compare_ranked *r = calloc(c->name_count + 1u, sizeof(*r));
	unsigned n = 0;

	if (!r)
		return -ENOMEM;
	for (size_t i = 0; i < c->pair_count; i++) {
		uint32_t at = out ? c->pairs[i].producer : c->pairs[i].consumer;

		r[at].value[0] += c->pairs[i].truth;
		r[at].value[1] += c->pairs[i].estimate;
	}
	for (uint32_t i = 0; i < c->name_count; i++)
		if (r[i].value[0] > RANKED || r[i].value[1] > RANKED)
			r[n++] = r[i];
	*ranked = n;
	*result = spearman(r, n);
	free(r);
	return 0;
}

static void compare_uma(struct flow_compare *c, const struct compare_side *truth, const struct compare_side *estimate)
{
	unsigned within = 0, arrays = 0, held = 0;
	bool near;

	for (uint32_t i = 0; i < truth->f->func_count; i++) {
		const struct flow_func *t = &truth->f->funcs[i];

		if (t->in < 0.002 * truth->total || !(t->in_uma >= 64) || flow_is_pseudo(t))
			continue;
		for (uint32_t k = 0; k < estimate->f->func_count; k++) {
			const struct flow_func *s = &estimate->f->funcs[k];

			if (estimate->name_of[k] != truth->name_of[i] || isnan(s->in_uma))
				continue;
			near = s->in_uma <= 2 * t->in_uma && 2 * s->in_uma >= t->in_uma;
			c->uma_functions++;
			within += near;
			c->uma_arrays += t->array_share >= 0.5;
			arrays += near && t->array_share >= 0.5;
			c->uma_bounds += s->in_uma_bound;
			held += s->in_uma_bound && s->in_uma <= t->in_uma;
			break;
		}
	}
	c->uma_within2 = c->uma_functions ? (double)within / c->uma_functions : NAN;
	c->uma_arrays_within2 = c->uma_arrays ? (double)arrays / c->uma_arrays : NAN;
	c->uma_bounds_held = c->uma_bounds ? (double)held / c->uma_bounds : NAN;
}

static int measure_distance(struct flow_compare *c)
{
	struct compare_pair *estimated = malloc((c->pair_count + 1) * sizeof(*estimated));
	int err;

	if (!estimated)
		return -ENOMEM;
	memcpy(estimated, c->pairs, c->pair_count * sizeof(*estimated));
	qsort(estimated, c->pair_count, sizeof(*estimated), by_estimate);
	qsort(c->pairs, c->pair_count, sizeof(*c->pairs), by_truth);
	c->tv = variation(c, true);
	c->tv_off = variation(c, false);
	c->top5 = found_in_top(c, estimated, 5);
	c->top10 = found_in_top(c, estimated, 10);
	free(estimated);
	cover(c);
	err = relative_errors(c);
	if (!err)
		err = rank_totals(c, false, &c->spearman_in, &c->ranked_in);
	if (!err)
		err = rank_totals(c, true, &c->spearman_out, &c->ranked_out);
	for (size_t i = 0; i < c->pair_count; i++) {
		c->missed += c->pairs[i].truth > NOTEWORTHY && !(c->pairs[i].estimate > 0);
		c->invented += c->pairs[i].estimate > NOTEWORTHY && !(c->pairs[i].truth > 0);
	}
	qsort(c->pairs, c->pair_count, sizeof(*c->pairs), by_error);
	return err;
}

static int comparable(const struct flow *truth, const struct flow *estimate, struct err *e)
{
	if (truth->semantics != estimate->semantics)
		return err_set(e, -EINVAL, "one side is in %s, the other in %s semantics: compare like with like",
			       flow_semantics_str(truth->semantics), flow_semantics_str(estimate->semantics));
	if (truth->stack != estimate->stack)
		return err_set(e, -EINVAL, "one side counts the stack and the other does not: give --stack to both");
	if (truth->main_image != estimate->main_image)
		return err_set(e, -EINVAL,
			       "one side has library routines under their own names, the other under their caller's: "
			       "make both with the same --attribute");
	return 0;
}

#define LATE 0.005 /* of the bytes, written before: less is what any program inherits */

static double before_attach(const struct flow *f, const struct compare_opts *o)
{
	double sum = 0, all = flow_total(f);

	if (o->fold_outside || o->functions_only)
		return NAN;
	for (size_t i = 0; i < f->edge_count; i++)
		if (!strcmp(f->funcs[f->edges[i].producer].name, FLOW_BEFORE))
			sum += f->edges[i].bytes;
	return all > 0 ? sum / all : NAN;
}

bool flow_compare_one_began_late(const struct flow_compare *c)
{
	return (c->true_before >= LATE) != (c->estimated_before >= LATE);
}

int flow_compare(const struct flow *truth, const struct flow *estimate, const struct compare_opts *o,
		 struct flow_compare *out, struct err *e)
{
	struct compare_side t = { .f = truth }, s = { .f = estimate };
	bool plain = kernel_is_plain(truth) || kernel_is_plain(estimate);
	int err = comparable(truth, estimate, e);

	*out = (struct flow_compare){ .tv = NAN };
	if (err)
		return err;
	err = side_names(out, &t, estimate, o, plain);
	if (!err)
		err = side_names(out, &s, truth, o, plain);
	if (!err)
		err = collect_pairs(out, &t, &s, o);
	out->true_before = before_attach(truth, o);
	out->estimated_before = before_attach(estimate, o);
	out->true_bytes = t.total;
	out->estimated_bytes = s.total;
	if (err) {
		err_set(e, err, "out of memory while comparing");
	} else if (!(t.total > 0) || !(s.total > 0) || isinf(t.total) || isinf(s.total)) {
		err = err_set(e, -EINVAL, "the %s holds no bytes between functions: nothing to compare",
			      t.total > 0 ? "estimate" : "true profile");
	} else {
		to_shares(out, t.total, s.total);
		err = measure_distance(out);
		if (err)
			err_set(e, err, "out of memory while comparing");
		else
			compare_uma(out, &t, &s);
	}
	free(t.name_of);
	free(s.name_of);
	if (err)
		flow_compare_release(out);
	return err;
}

void flow_compare_release(struct flow_compare *c)
{
	if (!c)
		return;
	free(c->pairs);
	free(c->names);
	intern_release(&c->strings);
	memset(c, 0, sizeof(*c));
}

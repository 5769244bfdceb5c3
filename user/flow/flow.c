// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow.h"
#include "util/grow.h"
#include "util/normal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define INCLUSIVE_UNKNOWN                                                                                              \
	{                                                                                                              \
		NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN               \
	}

/* True speed over the nominal one where none was measured, as far as bytes of system calls over those of code tell: the
 * exact engine against 20 s live of eight programs of packages. */
#define UNMEASURED_LOW 0.05 /* times; memcached; the median was .6 */
#define UNMEASURED_HIGH 4.0 /* times; nginx: 2.9 */
#define UNKNOWN_FROM                                                                                                   \
	10.0 /* times as much, or as little: of a ratio whose interval reaches so far nothing is known; by hand */

void flow_init(struct flow *f)
{
	*f = (struct flow){ .engine = FLOW_SOFT,
			    .began_ns = NAN,
			    .duration_ns = NAN,
			    .loads = NAN,
			    .stores = NAN,
			    .windows = NAN,
			    .lost = NAN,
			    .speed_low = 1,
			    .speed_seconds = NAN,
			    .speed_high = 1,
			    .part = 1,
			    .guessed = NAN,
			    .unseen = NAN,
			    .earlier = NAN,
			    .earlier_compared = NAN,
			    .earlier_dropped = NAN,
			    .cut_stacks = NAN };
}

void flow_release(struct flow *f)
{
	if (!f)
		return;
	free(f->funcs);
	free(f->edges);
	free(f->calls);
	map_release(&f->edge_at);
	intern_release(&f->names);
	memset(f, 0, sizeof(*f));
}

void flow_drop_inclusive(struct flow *f)
{
	if (!f->inclusive)
		return;
	f->inclusive = false;
	f->cut_stacks = NAN;
	f->func_count = f->func_count_self;
	for (uint32_t i = 0; i < f->func_count; i++)
		f->funcs[i].inc = (struct flow_inclusive)INCLUSIVE_UNKNOWN;
}

static size_t name_key(const char *name, const char *object, char *key, size_t size)
{
	size_t n = strnlen(name, size / 2 - 1), o = object ? strnlen(object, size / 2 - 1) : 0;

	memcpy(key, name, n);
	key[n] = 0;
	if (o)
		memcpy(key + n + 1, object, o);
	return n + 1 + o;
}

uint32_t flow_func(struct flow *f, const char *name, const char *object)
{
	char key[8192];
	size_t len;
	bool added;
	uint32_t id;

	len = name_key(name && *name ? name : FLOW_UNKNOWN, object, key, sizeof(key));
	id = intern_add(&f->names, key, len, &added);
	if (!id || !GROW(f->funcs, f->func_count, f->func_cap, 64)) {
		f->failed = true;
		return FLOW_NONE;
	}
	if (!added)
		return id - 1;
	if (id - 1 != f->func_count) { /* an earlier addition failed half-way */
		f->failed = true;
		return FLOW_NONE;
	}
	f->funcs[f->func_count++] = (struct flow_func){
		.name = intern_get(&f->names, id, NULL),
		.object = (const char *)intern_get(&f->names, id, NULL) + strlen(key) + 1,
		.in = 0,
		.in_uma = NAN,
		.in_low = NAN,
		.in_high = NAN,
		.out = 0,
		.out_uma = NAN,
		.out_low = NAN,
		.out_high = NAN,
		.instructions = NAN,
		.compute = NAN,
		.compute_low = NAN,
		.compute_high = NAN,
		.unit_compute = NAN,
		.unit_bytes = NAN,
		.loads = NAN,
		.stores = NAN,
		.load_bytes = NAN,
		.store_bytes = NAN,
		.stack_bytes = NAN,
		.moved_variance = NAN,
		.self_ns = NAN,
		.calls = NAN,
		.samples = NAN,
		.array_share = NAN,
		.inc = INCLUSIVE_UNKNOWN,
	};
	return id - 1;
}

uint32_t flow_find(const struct flow *f, const char *name, const char *object)
{
	for (uint32_t i = 0; i < f->func_count; i++)
		if (!strcmp(f->funcs[i].name, name) && (!object || !strcmp(f->funcs[i].object, object)))
			return i;
	return FLOW_NONE;
}

static uint64_t hash_names(const char *name, const char *object)
{
	return XXH3_64bits_withSeed(name, strlen(name), XXH3_64bits(object, strlen(object)));
}

void flow_names_index(struct flow_names *n, const struct flow *f)
{
	*n = (struct flow_names){ .f = f };
	for (uint32_t i = 0; i < f->func_count; i++) {
		bool added;
		uint64_t *at = map_put(&n->at, hash_names(f->funcs[i].name, f->funcs[i].object), &added);

		if (!at) {
			map_release(&n->at);
			return;
		}
		if (added)
			*at = i;
	}
}

void flow_names_release(struct flow_names *n)
{
	map_release(&n->at);
}

uint32_t flow_names_find(const struct flow_names *n, const char *name, const char *object)
{
	const uint64_t *at = map_get(&n->at, hash_names(name, object));
	const struct flow_func *f = at ? &n->f->funcs[*at] : NULL;

	if (!at && n->at.cap)
		return FLOW_NONE;
	if (f && !strcmp(f->name, name) && !strcmp(f->object, object))
		return (uint32_t)*at;
	return flow_find(n->f, name, object);
}

static uint64_t edge_key(uint32_t producer, uint32_t consumer)
{
	return (uint64_t)producer << 32 | consumer;
}

struct flow_edge *flow_edge(struct flow *f, uint32_t producer, uint32_t consumer)
{
	bool added;
	uint64_t *at;

	f->summed = false;
	if (producer >= f->func_count || consumer >= f->func_count || !GROW(f->edges, f->edge_count, f->edge_cap, 64)) {
		f->failed = true;
		return NULL;
	}
	at = map_put(&f->edge_at, edge_key(producer, consumer), &added);
	if (!at) {
		f->failed = true;
		return NULL;
	}
	if (added) {
		*at = f->edge_count;
		f->edges[f->edge_count++] = (struct flow_edge){
			.producer = producer,
			.consumer = consumer,
			.unique = NAN,
			.unique_met = NAN,
			.low = NAN,
			.high = NAN,
			.sd = NAN,
			.samples = NAN,
		};
	}
	return &f->edges[*at];
}

const struct flow_edge *flow_get(const struct flow *f, uint32_t producer, uint32_t consumer)
{
	const uint64_t *at = map_get(&f->edge_at, edge_key(producer, consumer));

	return at ? &f->edges[*at] : NULL;
}

static int by_bytes_of_edges(const void *a, const void *b)
{
	const struct flow_edge *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->producer != y->producer)
		return x->producer < y->producer ? -1 : 1;
	return (x->consumer > y->consumer) - (x->consumer < y->consumer);
}

static int by_unique(const void *a, const void *b)
{
	const struct flow_edge *x = a, *y = b;

	if (isnan(x->unique) != isnan(y->unique))
		return isnan(x->unique) - isnan(y->unique);
	if (!isnan(x->unique) && x->unique != y->unique)
		return x->unique < y->unique ? 1 : -1;
	return by_bytes_of_edges(a, b);
}

static void sort_edges(struct flow *f, int (*order)(const void *, const void *))
{
	if (f->edge_count) /* qsort takes no NULL */
		qsort(f->edges, f->edge_count, sizeof(*f->edges), order);
	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *e = &f->edges[i];
		uint64_t *at = map_get(&f->edge_at, edge_key(e->producer, e->consumer));

		if (at)
			*at = i;
	}
}

void flow_sort_unique(struct flow *f)
{
	sort_edges(f, by_unique);
}

bool flow_is_call(const struct flow_func *fn)
{
	return !strncmp(fn->name, FLOW_KERNEL, strlen(FLOW_KERNEL) - 1);
}

static double flow_taken(const struct flow *f)
{
	double sum = 0;

	if (f->summed)
		return f->taken;
	for (size_t i = 0; i < f->edge_count; i++)
		sum += flow_is_call(&f->funcs[f->edges[i].consumer]) ? f->edges[i].bytes : 0;
	return sum;
}

void flow_finish(struct flow *f)
{
	for (uint32_t i = 0; i < f->func_count; i++)
		f->funcs[i].in = f->funcs[i].out = f->funcs[i].taken = 0;
	sort_edges(f, by_bytes_of_edges);
	f->summed = false;
	f->total = flow_total(f);
	f->taken = flow_taken(f);
	f->summed = true;
	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *e = &f->edges[i];

		f->funcs[e->consumer].in += e->bytes;
		f->funcs[e->producer].out += e->bytes;
		f->funcs[e->producer].taken += flow_is_call(&f->funcs[e->consumer]) ? e->bytes : 0;
	}
}

double flow_total(const struct flow *f)
{
	double sum = 0;

	/* views ask once an edge */
	if (f->summed)
		return f->total;
	for (size_t i = 0; i < f->edge_count; i++)
		sum += f->edges[i].bytes;
	return sum;
}

double flow_whole(const struct flow *f)
{
	return flow_total(f) / f->part;
}

struct flow_range flow_computes(const struct flow_func *fn)
{
	double unit = fn->unit_compute;

	return isnan(unit) ? (struct flow_range){ fn->compute, fn->compute_low, fn->compute_high }
			   : (struct flow_range){ unit, unit, unit };
}

/* The error of a ratio of what was drawn apart: of the computation by samples of the code, of the bytes by accesses. */
struct flow_range flow_ops_per_byte(const struct flow *f, const struct flow_func *fn)
{
	bool unit = !isnan(fn->unit_compute) && !fn->part_of_others;
	double bytes = unit ? fn->unit_bytes : fn->load_bytes + fn->store_bytes - fn->stack_bytes;
	double v = bytes > 0 ? (unit ? fn->unit_compute : fn->compute) / bytes : NAN;
	double of_compute = (fn->compute_high - fn->compute) / fn->compute, error;

	if (f->engine == FLOW_EXACT)
		return (struct flow_range){ v, v, v };
	error = hypot(of_compute, Z95 * sqrt(fn->moved_variance) / bytes);
	if (error > log(UNKNOWN_FROM))
		return (struct flow_range){ NAN, NAN, NAN };
	return (struct flow_range){ v, v * exp(-error), v * exp(error) };
}

bool flow_is_pseudo(const struct flow_func *fn)
{
	return fn->name[0] == '(';
}

bool flow_has_amounts(const struct flow *f)
{
	return !isnan(f->speed_low);
}

double flow_amount(const struct flow *f, double v)
{
	return flow_has_amounts(f) ? v : NAN;
}

struct flow_range flow_amounts(const struct flow *f, double v, double low, double high)
{
	return (struct flow_range){ flow_amount(f, v), low * f->speed_low, high * f->speed_high };
}

/* Errors that have nothing to do with each other add in squares. */
static double in_squares(double a, double b)
{
	return sqrt(a * a + b * b);
}

struct flow_range flow_amounts_taken(const struct flow *f, struct flow_range of, double taken)
{
	double rest = fmax(0, of.value - taken);
	struct flow_range r = of;

	if (!(taken > 0))
		return flow_amounts(f, of.value, of.low, of.high);
	if (flow_has_amounts(f)) {
		r.low = of.value - in_squares(of.value - of.low, rest * (1 - f->speed_low));
		r.high = of.value + in_squares(of.high - of.value, rest * (f->speed_high - 1));
	} else if (rest > 0) { /* what was taken is not less than the whole's lower end without the rest */
		r = (struct flow_range){ NAN, of.low - rest, NAN };
	}
	/* fmax() would make 0 of what is not known */
	r.low = r.low < 0 ? 0 : r.low;
	return r;
}

struct flow_range flow_edge_bytes(const struct flow *f, const struct flow_edge *e)
{
	/* whatever speed the code has */
	if (flow_is_call(&f->funcs[e->consumer]))
		return (struct flow_range){ e->bytes, e->low, e->high };
	return flow_amounts(f, e->bytes, e->low, e->high);
}

/* The share if code ran so many times as fast. */
static double share_at(const struct flow *f, double v, double taken, double speed)
{
	double called = flow_taken(f) / f->part, whole = called + (flow_whole(f) - called) * speed;

	return (taken + (v - taken) * speed) / whole;
}

struct flow_range flow_share(const struct flow *f, struct flow_range of, double taken)
{
	double whole = flow_whole(f), share = of.value / whole;
	double slow = share_at(f, of.value, taken, flow_has_amounts(f) ? f->speed_low : UNMEASURED_LOW);
	double fast = share_at(f, of.value, taken, flow_has_amounts(f) ? f->speed_high : UNMEASURED_HIGH);
	struct flow_range r = { share,
				share - in_squares(share - of.low / whole, share - fmin(share, fmin(slow, fast))),
				share + in_squares(of.high / whole - share, fmax(share, fmax(slow, fast)) - share) };

	/* fmax() would make 0 of what is not known */
	r.low = r.low < 0 ? 0 : r.low;
	r.high = r.high > 1 ? 1 : r.high;
	return r;
}

struct flow_range flow_edge_share(const struct flow *f, const struct flow_edge *e)
{
	return flow_share(f, (struct flow_range){ e->bytes, e->low, e->high },
			  flow_is_call(&f->funcs[e->consumer]) ? e->bytes : 0);
}

struct flow_range flow_edge_unique(const struct flow *f, const struct flow_edge *e)
{
	bool counted = f->engine == FLOW_EXACT && e->unique_met == e->unique;

	return (struct flow_range){ e->unique, e->unique_met,
				    counted            ? e->unique
				    : isnan(e->unique) ? NAN
						       : flow_edge_bytes(f, e).high };
}

/* Unknown plus known is unknown: a sum that leaves a part out would pass for the whole. */
static void add_figure(double *a, double b, double w, bool fresh)
{
	*a = fresh ? b * w : *a + b * w;
}

static void add_figures(struct flow_func *a, const struct flow_func *b, double w, bool fresh)
{
	add_figure(&a->instructions, b->instructions, w, fresh);
	add_figure(&a->compute, b->compute, w, fresh);
	add_figure(&a->loads, b->loads, w, fresh);
	add_figure(&a->stores, b->stores, w, fresh);
	add_figure(&a->load_bytes, b->load_bytes, w, fresh);
	add_figure(&a->store_bytes, b->store_bytes, w, fresh);
	add_figure(&a->stack_bytes, b->stack_bytes, w, fresh);
	add_figure(&a->self_ns, b->self_ns, w, fresh);
	add_figure(&a->calls, b->calls, w, fresh);
	/* the same addresses may recur from run to run: the larger is what is known */
	if (fresh || b->in_uma > a->in_uma)
		a->in_uma = b->in_uma;
	if (fresh || b->out_uma > a->out_uma)
		a->out_uma = b->out_uma;
	a->in_uma_bound |= b->in_uma_bound || !fresh;
	a->out_uma_bound |= b->out_uma_bound || !fresh;
}

int flow_add(struct flow *a, const struct flow *b, double weight)
{
	for (uint32_t i = 0; i < b->func_count; i++) {
		uint32_t before = a->func_count, id = flow_func(a, b->funcs[i].name, b->funcs[i].object);

		if (id == FLOW_NONE)
			return -ENOMEM;
		add_figures(&a->funcs[id], &b->funcs[i], weight, id == before);
	}
	for (size_t i = 0; i < b->edge_count; i++) {
		const struct flow_edge *from = &b->edges[i];
		const struct flow_func *p = &b->funcs[from->producer], *c = &b->funcs[from->consumer];
		size_t before = a->edge_count;
		struct flow_edge *to = flow_edge(a, flow_func(a, p->name, p->object), flow_func(a, c->name, c->object));
		bool fresh;
		double half, other;

		if (!to)
			return -ENOMEM;
		fresh = a->edge_count != before;
		/* independent errors add in squares */
		half = fresh ? 0 : (to->high - to->low) / 2;
		other = (from->high - from->low) / 2 * weight;
		to->bytes += from->bytes * weight;
		to->sd = fresh ? from->sd * weight : sqrt(to->sd * to->sd + from->sd * from->sd * weight * weight);
		half = sqrt(half * half + other * other);
		to->low = to->bytes > half ? to->bytes - half : isnan(half) ? NAN : 0;
		to->high = to->bytes + half;
		to->unique = fresh || from->unique > to->unique ? from->unique : to->unique;
		to->samples = fresh ? from->samples : to->samples + from->samples;
		to->unresolved |= from->unresolved;
	}
	a->guessed = isnan(a->guessed) ? b->guessed * weight : a->guessed + b->guessed * weight;
	a->unseen = isnan(a->unseen) ? b->unseen * weight : a->unseen + b->unseen * weight;
	a->earlier = isnan(a->earlier) ? b->earlier * weight : a->earlier + b->earlier * weight;
	flow_finish(a);
	return a->failed ? -ENOMEM : 0;
}

const char *flow_engine_str(enum flow_engine e)
{
	switch (e) {
	case FLOW_EXACT: return "exact";
	case FLOW_PMU: return "pmu";
	case FLOW_SOFT: return "soft";
	}
	return "unknown";
}

const char *flow_semantics_str(enum flow_semantics s)
{
	return s == FLOW_KE ? "ke" : "quad";
}

const char *flow_stack_str(enum flow_stack s)
{
	return s == FLOW_STACK_INCLUDE ? "include" : "exclude";
}

const struct flow_edge *flow_twin(const struct flow *from, const struct flow_edge *e, const struct flow_names *to)
{
	const struct flow_func *p = &from->funcs[e->producer], *c = &from->funcs[e->consumer];

	return flow_get(to->f, flow_names_find(to, p->name, p->object), flow_names_find(to, c->name, c->object));
}

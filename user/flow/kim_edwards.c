// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/kim_edwards.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "flow/estimators.h"
#include "util/grow.h"

#define CHUNK 4.0 /* bytes of a granule: an access counts once in each */
#define FEW 3     /* windows below which an edge's own ratio says little */

/* Sums over windows: counted chunks and bytes read, and what the spread between windows needs. */
struct ratio {
	double counted, bytes;
	double cc, cb, bb; /* squares and product of the windows' contributions */
	unsigned windows;
};

struct learner {
	const struct flow_input *in;
	struct flow *f;
	uint32_t *id;  /* function of the input -> of the result */
	double *size;  /* mean bytes of a read, by site */
	struct map at; /* producer << 32 | reader -> index; a reader alone: FLOW_NONE << 32 | reader */
	struct ratio *ratio;
	size_t count, cap;
	struct ratio all;
};

static struct ratio *ratio_between(struct learner *l, uint32_t producer, uint32_t reader)
{
	bool added;
	uint64_t *at = map_put(&l->at, (uint64_t)producer << 32 | reader, &added);

	if (!at)
		return NULL;
	if (added) {
		if (!GROW(l->ratio, l->count, l->cap, 1024))
			return NULL;
		l->ratio[l->count] = (struct ratio){ 0 };
		*at = l->count++;
	}
	return &l->ratio[*at];
}

static void add_measured(struct ratio *r, double counted, double bytes)
{
	r->counted += counted;
	r->bytes += bytes;
	r->cc += counted * counted;
	r->cb += counted * bytes;
	r->bb += bytes * bytes;
	r->windows++;
}

struct kim_edwards_seen {          /* within one window */
	uint32_t producer, reader; /* of the result */
	double counted, bytes;
};

static struct kim_edwards_seen *seen_of(struct kim_edwards_seen *s, unsigned *n, unsigned max, uint32_t producer,
					uint32_t reader)
{
	for (unsigned i = 0; i < *n; i++)
		if (s[i].producer == producer && s[i].reader == reader)
			return &s[i];
	if (*n == max)
		return NULL;
	s[*n] = (struct kim_edwards_seen){ producer, reader, 0, 0 };
	return &s[(*n)++];
}

static int learn_window(struct learner *l, const struct in_window *w, uint32_t producer)
{
	struct kim_edwards_seen seen[32];
	unsigned n = 0;
	/* Who read last: the access that chose the address, unless others came before the watchpoint did. */
	uint64_t reader = w->arm.flags & FMT_A_STORE ? 0 : w->arm_invocation,
		 delay = w->armed > w->arm.time ? w->armed - w->arm.time : 0;
	uint64_t last = w->count ? l->in->hit[w->first + w->count - 1].time : 0;
	bool known = last > w->armed && (double)delay * w->count < (double)(last - w->armed);
	int err = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		const struct in_hit *h = &l->in->hit[w->first + i];

		if ((h->flags & FMT_A_LOAD) && !(h->flags & FMT_A_KERNEL)) {
			double bytes = l->size[h->site] > 0 && l->size[h->site] < CHUNK ? l->size[h->site] : CHUNK;
			struct kim_edwards_seen *s = known ? seen_of(seen, &n, 32, producer, l->id[h->func]) : NULL;

			if (s) {
				s->bytes += bytes;
				s->counted += h->invocation != reader ? CHUNK : 0;
			}
			reader = h->invocation;
			known = true;
		}
		if (h->flags & FMT_A_STORE) {
			producer = l->id[h->func];
			reader = 0;
			known = true;
		}
	}
	for (unsigned i = 0; !err && i < n; i++) {
		/* a window stands for its address's reads, however many of them it could hold */
		double weight = 1.0 / w->count, c = seen[i].counted * weight, b = seen[i].bytes * weight;
		for (int k = 0; k < 2 && !err; k++) {
			struct ratio *r = ratio_between(l, k ? FLOW_NONE : seen[i].producer, seen[i].reader);

			if (r)
				add_measured(r, c, b);
			else
				err = -ENOMEM;
		}
		add_measured(&l->all, c, b);
	}
	return err;
}

static double counted_per_byte(const struct ratio *r)
{
	return r && r->bytes > 0 ? r->counted / r->bytes : NAN;
}

/* Standard error of a ratio of sums over independent windows. */
static double error(const struct ratio *r)
{
	double k = counted_per_byte(r), var = r->cc - 2 * k * r->cb + k * k * r->bb;

	return r->bytes > 0 && r->windows > 1 ? sqrt(var > 0 ? var : 0) / r->bytes : NAN;
}

static const struct ratio *best(const struct learner *l, const struct flow_edge *e, bool *own)
{
	const uint64_t *edge = map_get(&l->at, (uint64_t)e->producer << 32 | e->consumer);
	const uint64_t *one = map_get(&l->at, (uint64_t)FLOW_NONE << 32 | e->consumer);

	*own = edge && l->ratio[*edge].windows >= FEW;
	if (*own)
		return &l->ratio[*edge];
	*own = one && l->ratio[*one].windows >= FEW;
	return one && l->ratio[*one].bytes > 0 ? &l->ratio[*one] : l->all.bytes > 0 ? &l->all : NULL;
}

static void convert(const struct learner *l, struct flow_edge *e)
{
	bool own;
	const struct ratio *r = best(l, e, &own);
	double k = counted_per_byte(r), se = r ? error(r) : NAN, half, quad = e->bytes;

	/* none of its reads was seen: anything between once and always */
	if (isnan(k)) {
		k = 1;
		own = false;
	}
	half = isnan(e->low) ? 0 : (e->high - e->low) / 2 * k;
	if (!isnan(se))
		half = sqrt(half * half + 3.84 * se * se * quad * quad);
	e->bytes = quad * k;
	if (own && !isnan(se)) {
		e->low = e->bytes > half ? e->bytes - half : 0;
		e->high = e->bytes + half;
	} else {
		e->low = 0;
		e->high = e->bytes + half > quad ? e->bytes + half : quad;
		e->unresolved = true;
	}
	e->sd = NAN;
	e->unique = NAN;
}

/* Mean bytes of a read per instruction, and the result's number of each function. */
static int prepare_learning(struct learner *l)
{
	const struct flow_input *in = l->in;
	double *n = calloc(in->site_count + 1, sizeof(*n));

	l->id = malloc((in->func_count + 1) * sizeof(*l->id));
	l->size = calloc(in->site_count + 1, sizeof(*l->size));
	if (!n || !l->id || !l->size) {
		free(n);
		return -ENOMEM;
	}
	for (size_t i = 0; i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];

		if ((a->flags & FMT_A_LOAD) && !(a->flags & FMT_A_CENSUS)) {
			n[a->site]++;
			l->size[a->site] += (a->size - l->size[a->site]) / n[a->site];
		}
	}
	free(n);
	for (uint32_t i = 0; i < in->func_count; i++) {
		l->id[i] = flow_func(l->f, in->funcs[i].name, in->funcs[i].object);
		if (l->id[i] == FLOW_NONE)
			return -ENOMEM;
	}
	return 0;
}

int flow_kim_edwards(const struct flow_input *in, const struct est_opts *o, const struct last_writer *c,
		     struct flow *out)
{
	struct learner l = { .in = in, .f = out };
	int err = prepare_learning(&l);

	for (size_t i = 0; !err && i < in->window_count; i++) {
		const struct in_access *arm = &in->window[i].arm;

		/* before the window's first write: who the store records say */
		if (o->stack || !(arm->flags & FMT_A_STACK))
			err = learn_window(&l, &in->window[i],
					   l.id[arm->flags & FMT_A_STORE ? arm->func : c->window_start[i].producer]);
	}
	for (size_t i = 0; !err && i < out->edge_count; i++)
		convert(&l, &out->edges[i]);
	/* sums and their intervals are made anew; what was estimated for every byte does not hold */
	for (uint32_t i = 0; i < out->func_count; i++)
		out->funcs[i].in_low = out->funcs[i].in_high = out->funcs[i].out_low = out->funcs[i].out_high = NAN;
	free(l.id);
	free(l.size);
	free(l.ratio);
	map_release(&l.at);
	return err;
}

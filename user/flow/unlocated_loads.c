// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/unlocated_loads.h"
#include "util/bisect.h"
#include "util/grow.h"

#include <errno.h>
#include <stdlib.h>

struct producer_share { /* of a function's located reads */
	uint32_t func, producer;
	double bytes;
};

struct unlocated_loads_tally { /* per site */
	double located, stack; /* bytes of accesses with an address: all, on the stack */
	double reads;          /* bytes that c->reads holds */
	double blind;
};

static int by_func_and_producer(const void *a, const void *b)
{
	const struct producer_share *x = a, *y = b;

	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return (x->producer > y->producer) - (x->producer < y->producer);
}

/* The reads, added up by (function, producer), sorted. */
static size_t sum_reads(const struct last_writer *c, struct producer_share *s)
{
	size_t n = 0;

	for (size_t i = 0; i < c->read_count; i++)
		s[i] = (struct producer_share){ c->reads[i].func, c->reads[i].a.producer, c->reads[i].bytes };
	qsort(s, c->read_count, sizeof(*s), by_func_and_producer);
	for (size_t i = 0; i < c->read_count; i++) {
		if (n && s[n - 1].func == s[i].func && s[n - 1].producer == s[i].producer)
			s[n - 1].bytes += s[i].bytes;
		else
			s[n++] = s[i];
	}
	return n;
}

static bool push_read(struct last_writer *c, struct read_answer r)
{
	return PUSH(c->reads, c->read_count, c->read_cap, 64, r);
}

/* A load that was never seen with an address reads like the rest of its function. */
static bool like_function(const struct flow_input *in, struct last_writer *c, uint32_t site, double bytes,
			  const struct producer_share *s, size_t n)
{
	uint32_t func = in->sites[site].func;
	struct read_answer r = {
		.site = site, .func = func, .object = FLOW_NONE, .a = { .near = NEAR_BLIND, .site = FLOW_NONE }
	};
	size_t lo;
	double sum = 0;

	lo = BISECT(mid, n, s[mid].func < func);
	for (size_t i = lo; i < n && s[i].func == func; i++)
		sum += s[i].bytes;
	for (size_t i = lo; sum > 0 && i < n && s[i].func == func; i++) {
		r.a.producer = s[i].producer;
		r.bytes = bytes * s[i].bytes / sum;
		if (!push_read(c, r))
			return false;
	}
	if (sum > 0)
		return true;
	r.a.producer = in->unknown;
	r.bytes = bytes;
	return push_read(c, r);
}

int unlocated_loads_add(const struct flow_input *in, const struct est_opts *o, struct last_writer *c)
{
	struct unlocated_loads_tally *t = calloc(in->site_count + 1, sizeof(*t));
	struct producer_share *s = malloc((c->read_count + 1) * sizeof(*s));
	bool ok = t && s;
	size_t n;

	if (!in->blind_count || !ok)
		goto out;
	for (size_t i = 0; i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];

		if (!(a->flags & FMT_A_LOAD) || (a->flags & FMT_A_CENSUS))
			continue;
		t[a->site].located += a->weight * a->size;
		t[a->site].stack += a->flags & FMT_A_STACK ? a->weight * a->size : 0;
	}
	for (size_t i = 0; i < in->blind_count; i++)
		if (in->blind[i].flags & FMT_A_LOAD && (o->stack || !(in->blind[i].flags & FMT_A_STACK)))
			t[in->blind[i].site].blind += in->blind[i].weight * in->blind[i].size;
	for (size_t i = 0; i < c->read_count; i++)
		if (c->reads[i].site < in->site_count)
			t[c->reads[i].site].reads += c->reads[i].bytes;
	/* an instruction that reads the stack elsewhere does so here, too */
	for (uint32_t i = 0; i < in->site_count && !o->stack; i++)
		if (t[i].located > 0)
			t[i].blind *= 1 - t[i].stack / t[i].located;
	for (size_t i = 0; i < c->read_count; i++)
		if (c->reads[i].site < in->site_count && t[c->reads[i].site].reads > 0)
			c->reads[i].bytes *= 1 + t[c->reads[i].site].blind / t[c->reads[i].site].reads;
	n = sum_reads(c, s);
	for (uint32_t i = 0; ok && i < in->site_count; i++)
		if (t[i].blind > 0 && !(t[i].reads > 0))
			ok = like_function(in, c, i, t[i].blind, s, n);
out:
	free(t);
	free(s);
	return ok ? 0 : -ENOMEM;
}

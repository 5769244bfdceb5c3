// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/unique_addresses.h"

#include "flow/overwrite.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define MIN_GAP 4096  /* addresses closer than this never are two objects */
#define GAP_FACTOR 12 /* a gap this many times the usual one ends an object */
#define FEW 4         /* distinct addresses that say nothing about a stride */
#define MANY 20       /* accesses from which on repeats mean something */
/* part of the accesses whose address was met once only; below it nearly all were met; by hand */
#define SATURATED 0.05
#define FEW_MEETINGS 3
#define STRATA 4       /* parts of a range judged each by itself: one may be used far more than the rest */
#define ENOUGH_PAIRS 4 /* an error of a half */
#define MANY_PIECES 24 /* pieces from which on small ones are assumed to be missing */

static int by_object_and_address(const void *a, const void *b)
{
	const struct unique_addresses_item *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

static int ascending_sizes(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Sizes are few: the middle one of at most 101, evenly picked. */
static double median_size(const struct unique_addresses_item *it, size_t n)
{
	uint32_t s[101];
	size_t k = n < 101 ? n : 101;

	for (size_t i = 0; i < k; i++)
		s[i] = it[i * n / k].size ? it[i * n / k].size : 1;
	qsort(s, k, sizeof(s[0]), ascending_sizes);
	return s[k / 2];
}

/* A function that reads one field of each of many small blocks reads few of the addresses between the first
 * and the last: then two samples meet the same place more often than that range would let them. */
struct meetings {
	double drawn, places; /* samples of places that were met a few times at most, and how many such there are */
	double pairs;
	double often; /* places met more often: known one by one */
};

static void meet_items(struct meetings *m, const struct unique_addresses_item *it, size_t n)
{
	double c = 0;

	for (size_t i = 0; i < n; i++)
		c += it[i].bytes > 0;
	if (c > FEW_MEETINGS) {
		m->often++;
	} else if (c > 0) {
		m->drawn += c;
		m->places++;
		m->pairs += c * (c - 1) / 2;
	}
}

/* Of `extent` bytes; drawn by count alone. */
static double expected_meetings(const struct meetings *m, double extent, double size)
{
	double all = (m->drawn * (m->drawn - 1) / (2 * m->pairs) + m->often) * size;

	return m->pairs >= ENOUGH_PAIRS && all * (1 + 2 / sqrt(m->pairs)) < extent ? all : extent;
}

struct unique_addresses_piece {
	double bytes, seen;
	size_t distinct;
};

/* One object's addresses, sorted. `start`, `end`: its bounds, 0 when unknown. */
static struct unique_addresses_piece measure_object(const struct unique_addresses_item *it, size_t n, uint64_t start,
						    uint64_t end)
{
	struct unique_addresses_piece p = { .distinct = 1 };
	uint64_t low = it[0].addr, high = 0, step = 0, covered = 0;
	double density = 1, extent, once = 0, twice = 0, bytes = 0;
	bool undrawn = false; /* some samples were not drawn by count */
	size_t repeats = 0, first = 0;
	struct meetings m[STRATA] = { 0 };
	uint64_t stratum = (it[n - 1].addr - it[0].addr) / STRATA + 1;

	for (size_t i = 0; i < n; i++) {
		uint64_t from = it[i].addr, to = from + (it[i].size ? it[i].size : 1);

		bytes += it[i].bytes;
		undrawn |= !(it[i].bytes > 0);
		if (from < covered)
			from = covered;
		if (to > from)
			p.seen += (double)(to - from);
		if (to > covered)
			covered = to;
		if (i && it[i].addr != it[i - 1].addr) {
			p.distinct++;
			step = gcd(it[i].addr - it[i - 1].addr, step);
			repeats = 0;
		}
		repeats++;
		if (i + 1 == n || it[i + 1].addr != it[i].addr) {
			once += repeats == 1;
			twice += repeats == 2;
			meet_items(&m[(it[i].addr - low) / stratum], it + first, i + 1 - first);
			first = i + 1;
		}
	}
	high = covered;
	extent = (double)(high - low);
	if (p.distinct >= FEW) {
		double k = (double)p.distinct, size = median_size(it, n);

		if (step && size < (double)step)
			density = size / (double)step;
		/* the ends of a range are rarely hit: k draws fall short by 2/(k+1) of it on average */
		extent *= (k + 1) / (k - 1);
		if (end > start && extent > (double)(end - start))
			extent = (double)(end - start);
	}
	/* hardly an address that was met only once: there is little more to meet, however far apart they lie */
	if (n >= MANY && once < SATURATED * (double)n) {
		double all = chao1((double)p.distinct, once, twice) * median_size(it, n);

		if (all < extent * density)
			density = all / extent;
	}
	extent *= density;
	if (!undrawn) {
		double size = median_size(it, n), sum = 0;

		for (unsigned i = 0; i < STRATA; i++)
			sum += expected_meetings(&m[i], extent / STRATA, size);
		/* nothing is touched less than once */
		extent = fmin(sum, bytes);
	}
	p.bytes = extent > p.seen ? extent : p.seen;
	return p;
}

static double mean_gap_of_addresses(const struct unique_addresses_item *it, size_t n)
{
	double sum = 0;
	size_t k = 0;

	/* wide gaps would raise the mean they are to be told by */
	for (size_t i = 1; i < n; i++) {
		uint64_t gap = it[i].addr - it[i - 1].addr;

		if (gap && gap < 1u << 20) {
			sum += (double)gap;
			k++;
		}
	}
	return k ? sum / (double)k : 0;
}

static void add_piece(struct unique_addresses_result *r, struct unique_addresses_piece p, size_t *pieces, size_t *small)
{
	r->bytes += p.bytes;
	r->seen += p.seen;
	++*pieces;
	*small += p.distinct < FEW;
}

/* All items of one key, which are sorted. */
static struct unique_addresses_result measure_key(const struct flow_input *in, struct unique_addresses_item *it,
						  size_t n)
{
	struct unique_addresses_result r = { 0 };
	size_t pieces = 0, small = 0;

	qsort(it, n, sizeof(*it), by_object_and_address);
	for (size_t i = 0; i < n;) {
		size_t j = i;
		uint32_t object = it[i].object;

		while (j < n && it[j].object == object)
			j++;
		if (object != FLOW_NONE) {
			add_piece(&r, measure_object(it + i, j - i, in->object[object].addr, in->object[object].end),
				  &pieces, &small);
		} else {
			double wide = mean_gap_of_addresses(it + i, j - i) * GAP_FACTOR;

			if (wide < MIN_GAP)
				wide = MIN_GAP;
			for (size_t k = i, from = i; k < j; k++) {
				if (k + 1 < j && (double)(it[k + 1].addr - it[k].addr) <= wide)
					continue;
				add_piece(&r, measure_object(it + from, k + 1 - from, 0, 0), &pieces, &small);
				from = k + 1;
			}
		}
		i = j;
	}
	r.bound = pieces >= MANY_PIECES && small * 2 > pieces;
	return r;
}

int unique_addresses_each(const struct flow_input *in, const struct unique_addresses_by *by)
{
	/* begin[k]: where the items of key k begin; while they are put in place: where the next one goes */
	size_t *begin = calloc((size_t)by->keys + 2, sizeof(*begin)), *next = begin + 1;
	struct unique_addresses_item *items = NULL;

	for (size_t i = 0; begin && i < by->count; i++) {
		uint32_t key = by->key(by->ctx, i);

		if (key < by->keys)
			begin[key + 2]++;
	}
	for (size_t k = 2; begin && k < (size_t)by->keys + 2; k++)
		begin[k] += begin[k - 1];
	if (begin)
		items = malloc((begin[by->keys + 1] + 1) * sizeof(*items));
	for (size_t i = 0; items && i < by->count; i++) {
		uint32_t key = by->key(by->ctx, i);

		if (key < by->keys)
			items[next[key]++] = by->item(by->ctx, i);
	}
	for (uint32_t k = 0; items && k < by->keys; k++) {
		struct unique_addresses_result r;

		if (begin[k] == begin[k + 1])
			continue;
		r = measure_key(in, items + begin[k], begin[k + 1] - begin[k]);
		by->take(by->ctx, k, &r);
	}
	free(begin);
	free(items);
	return items ? 0 : -ENOMEM;
}

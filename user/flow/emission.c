// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/emission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/bisect.h"
#include "util/grow.h"

#define MARKS (FMT_MARK_KINDS << FMT_MARK_BITS)
#define CALL_POINTS 0.01 /* part of what calls fill that looks like an address of the program; by hand */
#define ANYWHERE 0.05    /* that a field is just this one, of what stands at another than its writer's; by hand */

static unsigned kind_of_mark(uint16_t mark)
{
	return mark >> FMT_MARK_BITS;
}

static bool points(unsigned kind)
{
	return kind >= FMT_MARK_CODE && kind <= FMT_MARK_MEMORY;
}

int32_t emission_field(const struct flow_input *in, uint32_t site, uint64_t addr, uint64_t word)
{
	int32_t f = site < in->site_count ? in->sites[site].field : 0;

	return f ? (int32_t)((uint32_t)f + (uint32_t)(word - addr) * FMT_FIELD_BYTE) : 0;
}

static uint64_t key_of_mark(uint32_t func, uint16_t mark)
{
	return (uint64_t)func << 32 | mark;
}

static uint64_t field_key(unsigned kind, int32_t field)
{
	return (uint64_t)kind << 29 | ((uint32_t)field & ((1u << 29) - 1));
}

static uint64_t key_of_field(uint32_t func, unsigned kind, int32_t field)
{
	return (uint64_t)func << 32 | field_key(kind, field);
}

/* One more; 0: no memory. */
static uint64_t count_one(struct map *m, uint64_t key)
{
	bool added;
	uint64_t *at = map_put(m, key, &added);

	if (!at)
		return 0;
	return *at = added ? 1 : *at + 1;
}

static int count_store(struct emission *e, uint32_t func, uint16_t mark, int32_t field)
{
	size_t row = (size_t)func * FMT_MARK_KINDS;
	uint64_t n = count_one(&e->at, key_of_mark(func, mark));

	if (!n || (field && !count_one(&e->field_at, key_of_field(func, kind_of_mark(mark), field))))
		return -ENOMEM;
	e->once[row + kind_of_mark(mark)] += n == 1 ? 1 : n == 2 ? -1 : 0;
	e->of_kind[row + kind_of_mark(mark)]++;
	e->of_kind[row]++;
	e->mark[mark]++;
	e->kind[kind_of_mark(mark)]++;
	e->kind[0]++;
	return 0;
}

static int take_burst(struct emission *e, const struct in_burst *b)
{
	const struct flow_input *in = e->in;
	int err = 0;

	for (uint32_t k = b->loads; k < b->loads + b->stores && !err; k++) {
		const struct in_burst_item *it = &in->burst_item[b->first + k];

		if (it->site != FLOW_NONE && it->mark && in->sites[it->site].func != FLOW_NONE)
			err = count_store(e, in->sites[it->site].func, it->mark,
					  emission_field(in, it->site, it->addr, it->addr));
	}
	return err;
}

static int writers_by_key(const void *a, const void *b)
{
	const struct emission_writer *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->func > y->func) - (x->func < y->func);
}

static int list_writers(struct emission_list *l, const struct map *from)
{
	uint64_t key, *count;
	size_t pos = 0;

	while (map_next(from, &pos, &key, &count))
		if (!PUSH(l->writer, l->count, l->cap, 1024,
			  ((struct emission_writer){ (uint32_t)key, (uint32_t)(key >> 32), (uint32_t)*count })))
			return -ENOMEM;
	if (l->count)
		qsort(l->writer, l->count, sizeof(*l->writer), writers_by_key);
	return 0;
}

static void compare_fields(struct emission *e)
{
	const struct flow_input *in = e->in;
	double differ = 1, all = 2;

	for (size_t i = 0; i < in->burst_pair_count; i++) {
		const struct in_burst_pair *p = &in->burst_pair[i];

		if (p->writer == FLOW_NONE || !in->sites[p->reader].field || !in->sites[p->writer].field)
			continue;
		all += p->bytes;
		differ += in->sites[p->reader].field != in->sites[p->writer].field ? p->bytes : 0;
	}
	e->differ = differ / all;
}

int emission_learn(struct emission *e, const struct flow_input *in)
{
	size_t rows = (in->func_count + (size_t)1) * FMT_MARK_KINDS;
	int err = 0;

	*e = (struct emission){ .in = in };
	e->of_kind = calloc(rows, sizeof(*e->of_kind));
	e->once = calloc(rows, sizeof(*e->once));
	e->mark = calloc(MARKS, sizeof(*e->mark));
	if (!e->of_kind || !e->once || !e->mark)
		return -ENOMEM;
	for (size_t i = 0; i < in->burst_count && !err; i++)
		err = take_burst(e, &in->burst[i]);
	err = err ? err : list_writers(&e->marks, &e->at);
	err = err ? err : list_writers(&e->fields, &e->field_at);
	compare_fields(e);
	return err;
}

void emission_release(struct emission *e)
{
	free(e->marks.writer);
	free(e->fields.writer);
	map_release(&e->at);
	map_release(&e->field_at);
	free(e->of_kind);
	free(e->once);
	free(e->mark);
	memset(e, 0, sizeof(*e));
}

static double count_at(const struct map *m, uint64_t key)
{
	const uint64_t *at = map_get(m, key);

	return at ? (double)*at : 0;
}

/* A mark as one of its kind that nobody is known to prefer. */
static double any_of_kind(const struct emission *e, uint16_t mark)
{
	return (e->mark[mark] + 1) / (e->kind[kind_of_mark(mark)] + (1 << FMT_MARK_BITS));
}

/* Its kind first, then which one of that kind. What it has not written yet it writes as often as it wrote once what it
 * wrote of it (Good and Turing), and that as all functions together do. */
double emission_of(const struct emission *e, uint32_t func, uint16_t mark, int32_t field)
{
	unsigned k = kind_of_mark(mark);
	size_t row = (size_t)func * FMT_MARK_KINDS;
	double of_kind = e->of_kind[row + k], fresh = (e->once[row + k] + .5) / (of_kind + 1),
	       all_kind = (e->kind[k] + 1) / (e->kind[0] + FMT_MARK_KINDS - 1),
	       kind = (of_kind + all_kind) / (e->of_kind[row] + 1), known = 0, there = 1;

	if (of_kind > 0)
		known = count_at(&e->at, key_of_mark(func, mark)) / of_kind;
	if (field)
		there = (1 - e->differ) * count_at(&e->field_at, key_of_field(func, k, field)) / (of_kind + 1) +
			e->differ * ANYWHERE;
	return kind * there * ((1 - fresh) * known + fresh * any_of_kind(e, mark));
}

/* Of what files and sockets hold nothing is known, but that it is no address of the program. */
double emission_of_call(const struct emission *e, uint16_t mark, int32_t field)
{
	double kind = (points(kind_of_mark(mark)) ? CALL_POINTS : 1 - CALL_POINTS) / 3;

	return kind * any_of_kind(e, mark) * (field ? ANYWHERE : 1);
}

double emission_part(const struct emission *e, uint32_t func)
{
	return e->kind[0] > 0 ? e->of_kind[(size_t)func * FMT_MARK_KINDS] / e->kind[0] : 0;
}

size_t emission_writers(const struct emission *e, uint16_t mark, int32_t field, bool by_field,
			const struct emission_writer **out)
{
	const struct emission_list *l = by_field ? &e->fields : &e->marks;
	uint64_t key = by_field ? field_key(kind_of_mark(mark), field) : mark;
	size_t from = BISECT(i, l->count, l->writer[i].key < key), n = 0;

	if (by_field && !field)
		return 0;
	while (n < EMISSION_LISTED && from + n < l->count && l->writer[from + n].key == key)
		n++;
	*out = n ? &l->writer[from] : NULL;
	return n;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/branches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/map.h"

#define MOST_WAYS (2u << 20) /* 80 MB; a recorder tells 65,536 apart, and some hosts may be merged */

static int by_way(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->from_addr != y->from_addr)
		return x->from_addr < y->from_addr ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->to_addr > y->to_addr) - (x->to_addr < y->to_addr);
}

/* Those of one place become one; in order afterwards. */
static void branches_add_up(struct branches *b)
{
	size_t kept = 0;

	if (b->count)
		qsort(b->at, b->count, sizeof(*b->at), by_way);
	for (size_t i = 0; i < b->count; i++) {
		if (kept && !by_way(&b->at[kept - 1], &b->at[i]))
			b->at[kept - 1].times += b->at[i].times;
		else
			b->at[kept++] = b->at[i];
	}
	b->count = kept;
}

int branches_take(void *ctx, const void *rec, size_t size)
{
	struct branches *b = ctx;
	const struct fmt_burst_branch *r = rec;

	if (!r->times || !r->from_module || !r->to_module ||
	    (r->kind != FMT_BRANCH_TAKEN && r->kind != FMT_BRANCH_STRAIGHT))
		return 0;
	if (r->kind == FMT_BRANCH_STRAIGHT && (r->from > r->to || r->from_module != r->to_module))
		return 0;
	/* A recording of days tells each way many times over. */
	if (b->count == MOST_WAYS) {
		branches_add_up(b);
		/* Of damage few are alike: the next records would each be sorted in, for nothing. */
		if (b->count > MOST_WAYS / 2)
			return -E2BIG;
	}
	return PUSH(b->at, b->count, b->cap, 1024,
		    (struct branch){ r->kind, r->from_module, r->to_module, r->from, r->to, r->times })
		       ? 0
		       : -ENOMEM;
}

struct section_reader branches_reader(struct branches *b)
{
	static const struct section_row rows[] = { { FMT_BURST_BRANCH, sizeof(struct fmt_burst_branch), branches_take,
						     NULL } };

	return SECTION_READER(rows, b);
}

static bool one_object(const struct profile_module *x, const struct profile_module *y)
{
	return x->build_id_len == y->build_id_len && x->content == y->content && !strcmp(x->path, y->path) &&
	       !memcmp(x->build_id, y->build_id, x->build_id_len <= sizeof(x->build_id) ? x->build_id_len : 0);
}

/* The first one of that file: merged profiles name it once each. 0: a module that the file does not tell of. */
static uint32_t index_of_module(const struct profile *p, uint32_t id)
{
	size_t of = 1;

	while (of < p->module_count && p->modules[of].id != id)
		of++;
	for (size_t i = 1; i < of && of < p->module_count; i++)
		if (one_object(&p->modules[i], &p->modules[of]))
			return (uint32_t)i;
	return of < p->module_count ? (uint32_t)of : 0;
}

static void use_indexes(struct branches *b, const struct profile *p)
{
	uint32_t known[2] = { 0 }, index[2] = { 0 }; /* the last ones: most ways lie where the one before did */
	size_t kept = 0;

	for (size_t i = 0; i < b->count; i++) {
		struct branch w = b->at[i];
		uint32_t *side[] = { &w.from, &w.to };

		for (unsigned k = 0; k < 2; k++) {
			if (known[k] != *side[k]) {
				known[k] = *side[k];
				index[k] = index_of_module(p, known[k]);
			}
			*side[k] = index[k];
		}
		if (w.from && w.to)
			b->at[kept++] = w;
	}
	b->count = kept;
}

void branches_sum(struct branches *b, const struct profile *p)
{
	use_indexes(b, p);
	branches_add_up(b);
}

uint64_t branches_taken(const struct branches *b, uint32_t module)
{
	uint64_t n = 0;

	for (size_t i = 0; i < b->count; i++)
		n += b->at[i].kind == FMT_BRANCH_TAKEN && b->at[i].from == module ? b->at[i].times : 0;
	return n;
}

void branches_release(struct branches *b)
{
	free(b->at);
	*b = (struct branches){ 0 };
}

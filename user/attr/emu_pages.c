// SPDX-License-Identifier: GPL-2.0-or-later
#include "attr/emu_pages.h"

#include <math.h>
#include <stdlib.h>

#include "util/map.h"

#define KEEP 0.97 /* a run counts half after twenty-three others */
#define LEAST 0.033
#define MOST 2048 /* pages that are remembered */

struct hot {
	uint64_t addr;
	double score; /* at `run` */
	uint64_t run;
};

struct emu_pages {
	struct hot hot[MOST];
	uint32_t count;
	struct map at;
	uint64_t runs;
	double all; /* what a page would have that every run touched */
};

struct emu_pages *emu_pages_new(void)
{
	return calloc(1, sizeof(struct emu_pages));
}

void emu_pages_free(struct emu_pages *p)
{
	if (p)
		map_release(&p->at);
	free(p);
}

void emu_pages_forget(struct emu_pages *p)
{
	map_release(&p->at);
	p->count = 0;
	p->all = 0;
}

static double score_now(const struct emu_pages *p, const struct hot *h)
{
	return h->score * pow(KEEP, (double)(p->runs - h->run));
}

/* Those that may still be asked for stay. */
static void make_room(struct emu_pages *p)
{
	uint32_t out = 0;

	map_release(&p->at);
	for (uint32_t i = 0; i < p->count; i++) {
		uint64_t *at;

		if (score_now(p, &p->hot[i]) < LEAST * p->all || !(at = map_put(&p->at, p->hot[i].addr, NULL)))
			continue;
		*at = out;
		p->hot[out++] = p->hot[i];
	}
	p->count = out;
}

static void touched(struct emu_pages *p, uint64_t addr)
{
	bool added;
	uint64_t *at;
	struct hot *h;

	if (p->count == MOST)
		make_room(p);
	if (p->count == MOST && !map_get(&p->at, addr))
		return;
	at = map_put(&p->at, addr, &added);
	if (!at)
		return;
	if (added) {
		*at = p->count;
		p->hot[p->count++] = (struct hot){ .addr = addr, .run = p->runs };
	}
	h = &p->hot[*at];
	h->score = score_now(p, h) + 1;
	h->run = p->runs;
}

void emu_pages_run(struct emu_pages *p, const struct emu *e)
{
	struct emu_touched t;

	p->runs++;
	p->all = p->all * KEEP + 1;
	for (uint32_t i = 0; emu_touched(e, i, &t); i++)
		touched(p, t.addr);
}

static int by_score(const void *pa, const void *pb)
{
	const struct hot *a = pa, *b = pb;

	return a->score < b->score ? 1 : a->score > b->score ? -1 : 0;
}

uint32_t emu_pages_likely(struct emu_pages *p, uint64_t *addr, uint32_t max)
{
	static _Thread_local struct hot best[MOST];
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		best[n] = p->hot[i];
		best[n].score = score_now(p, &p->hot[i]);
		n += best[n].score >= LEAST * p->all;
	}
	qsort(best, n, sizeof(best[0]), by_score);
	n = n < max ? n : max;
	for (uint32_t i = 0; i < n; i++)
		addr[i] = best[i].addr;
	return n;
}

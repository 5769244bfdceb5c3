// SPDX-License-Identifier: GPL-2.0-or-later
#include "attr/emu_pages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/map.h"

#define KEEP 0.97 /* a run counts half after twenty-three others */
#define LEAST 0.033
#define MOST 2048 /* addresses that are remembered */
#define LATE_MOST 8 /* pages of one run whose pointers are looked for: the first ones */

struct hot {
	uint64_t addr;
	double score; /* at `run` */
	uint64_t run;
};

/* How often runs of late had to do with an address. */
struct scores {
	struct hot hot[MOST];
	uint32_t count;
	struct map at;
};

struct emu_pages {
	struct scores page, slot;
	uint64_t runs;
	double all; /* what one would have that every run touched */
};

struct emu_pages *emu_pages_new(void)
{
	return calloc(1, sizeof(struct emu_pages));
}

void emu_pages_free(struct emu_pages *p)
{
	if (!p)
		return;
	map_release(&p->page.at);
	map_release(&p->slot.at);
	free(p);
}

void emu_pages_forget(struct emu_pages *p)
{
	map_release(&p->page.at);
	map_release(&p->slot.at);
	p->page.count = p->slot.count = 0;
	p->all = 0;
}

static double score_now(const struct emu_pages *p, const struct hot *h)
{
	return h->score * pow(KEEP, (double)(p->runs - h->run));
}

/* Those that may still be asked for stay. */
static void make_room(const struct emu_pages *p, struct scores *s)
{
	uint32_t out = 0;

	map_release(&s->at);
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t *at;

		if (score_now(p, &s->hot[i]) < LEAST * p->all || !(at = map_put(&s->at, s->hot[i].addr, NULL)))
			continue;
		*at = out;
		s->hot[out++] = s->hot[i];
	}
	s->count = out;
}

static void met(const struct emu_pages *p, struct scores *s, uint64_t addr)
{
	bool added;
	uint64_t *at;
	struct hot *h;

	if (s->count == MOST)
		make_room(p, s);
	if (s->count == MOST && !map_get(&s->at, addr))
		return;
	at = map_put(&s->at, addr, &added);
	if (!at)
		return;
	if (added) {
		*at = s->count;
		s->hot[s->count++] = (struct hot){ .addr = addr, .run = p->runs };
	}
	h = &s->hot[*at];
	h->score = score_now(p, h) + 1;
	h->run = p->runs;
}

static void look_for_pointers(struct emu_pages *p, uint64_t to, const struct sample_page *given, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t at = 0; at < SAMPLE_PAGE; at += sizeof(uint64_t)) {
			uint64_t v;

			memcpy(&v, given[i].byte + at, sizeof(v));
			if (v - to < SAMPLE_PAGE)
				met(p, &p->slot, given[i].addr + at);
		}
	}
}

void emu_pages_run(struct emu_pages *p, const struct emu *e, const struct sample_page *given, uint32_t count)
{
	struct emu_touched t;
	unsigned late = 0;

	p->runs++;
	p->all = p->all * KEEP + 1;
	for (uint32_t i = 0; emu_touched(e, i, &t); i++) {
		met(p, &p->page, t.addr);
		if (!t.given && late++ < LATE_MOST)
			look_for_pointers(p, t.addr, given, count);
	}
}

static int by_score(const void *pa, const void *pb)
{
	const struct hot *a = pa, *b = pb;

	return a->score < b->score ? 1 : a->score > b->score ? -1 : 0;
}

static uint32_t likely(const struct emu_pages *p, const struct scores *s, uint64_t *addr, uint32_t max)
{
	static _Thread_local struct hot best[MOST];
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		best[n] = s->hot[i];
		best[n].score = score_now(p, &s->hot[i]);
		n += best[n].score >= LEAST * p->all;
	}
	qsort(best, n, sizeof(best[0]), by_score);
	n = n < max ? n : max;
	for (uint32_t i = 0; i < n; i++)
		addr[i] = best[i].addr;
	return n;
}

uint32_t emu_pages_likely(struct emu_pages *p, uint64_t *addr, uint32_t max)
{
	return likely(p, &p->page, addr, max);
}

uint32_t emu_pages_slots(struct emu_pages *p, uint64_t *addr, uint32_t max)
{
	return likely(p, &p->slot, addr, max);
}

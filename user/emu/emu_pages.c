// SPDX-License-Identifier: GPL-2.0-or-later
#include "emu/emu_pages.h"

#include <stdlib.h>
#include <string.h>

#include "util/map.h"

#define KEEP 0.97     /* a run counts half after twenty-three others */
#define UNIT_MOST 1e9 /* of a score: then all are scaled down, long before doubles end */
#define MOST 2048     /* addresses that are remembered */
#define LATE_MOST 8   /* pages of one run whose pointers are looked for: the first ones */

struct hot {
	uint64_t addr;
	double score; /* in units of when it was last raised: see `unit` */
};

/* How often recent runs had to do with an address. */
struct scores {
	struct hot hot[MOST];
	uint32_t count;
	uint64_t full; /* in this run there was no room left */
	struct map at;
};

struct emu_pages {
	struct scores page, slot;
	uint64_t runs;
	double unit; /* what to be met in this run is worth: instead of all older scores getting smaller, it grows */
	double all;  /* what one would have that every run touched */
};

struct emu_pages *emu_pages_new(void)
{
	struct emu_pages *p = calloc(1, sizeof(*p));

	if (p)
		p->unit = 1;
	return p;
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
	p->page.full = p->slot.full = 0;
	p->unit = 1;
	p->all = 0;
}

static void scale_scores(struct scores *s, double by)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->hot[i].score *= by;
}

static void next_run(struct emu_pages *p)
{
	p->runs++;
	p->unit /= KEEP;
	if (p->unit > UNIT_MOST) {
		scale_scores(&p->page, 1 / p->unit);
		scale_scores(&p->slot, 1 / p->unit);
		p->all /= p->unit;
		p->unit = 1;
	}
	p->all += p->unit;
}

/* Those that may still be asked for stay. */
static void drop_rarest_pages(const struct emu_pages *p, struct scores *s)
{
	uint32_t out = 0;

	map_release(&s->at);
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t *at;

		if (s->hot[i].score < EMU_PAGES_LEAST * p->all || !(at = map_put(&s->at, s->hot[i].addr, NULL)))
			continue;
		*at = out;
		s->hot[out++] = s->hot[i];
	}
	s->count = out;
}

static void score_page(const struct emu_pages *p, struct scores *s, uint64_t addr)
{
	bool added;
	uint64_t *at = map_get(&s->at, addr);

	/* once in a run: what begins in this one is worth no room in it */
	if (!at && s->count == MOST && s->full != p->runs) {
		s->full = p->runs;
		drop_rarest_pages(p, s);
	}
	if (!at && s->count < MOST && (at = map_put(&s->at, addr, &added))) {
		*at = s->count;
		s->hot[s->count++] = (struct hot){ .addr = addr };
	}
	if (at)
		s->hot[*at].score += p->unit;
}

struct late {
	uint64_t page[LATE_MOST], least, most;
	unsigned count;
};

static void add_late(struct late *l, uint64_t page)
{
	if (l->count == LATE_MOST)
		return;
	l->least = l->count && l->least < page ? l->least : page;
	l->most = l->count && l->most > page ? l->most : page;
	l->page[l->count++] = page;
}

static bool is_late(const struct late *l, uint64_t v)
{
	if (v < l->least || v - l->least >= l->most - l->least + SAMPLE_PAGE)
		return false;
	for (unsigned i = 0; i < l->count; i++)
		if (v - l->page[i] < SAMPLE_PAGE)
			return true;
	return false;
}

static void look_for_pointers(struct emu_pages *p, const struct late *l, const struct sample_page *given)
{
	for (uint32_t at = 0; at < SAMPLE_PAGE; at += sizeof(uint64_t)) {
		uint64_t v;

		memcpy(&v, given->byte + at, sizeof(v));
		if (is_late(l, v))
			score_page(p, &p->slot, given->addr + at);
	}
}

/* The run read the pointer before it went there, so it lies in what it touched: most of what was given it did not. */
static void look_in_touched(struct emu_pages *p, const struct late *l, const struct emu *e,
			    const struct sample_page *given, uint32_t count)
{
	struct emu_touched t;

	for (uint32_t i = 0; l->count && emu_touched(e, i, &t); i++)
		for (uint32_t k = 0; t.given && k < count; k++)
			if (given[k].addr == t.addr)
				look_for_pointers(p, l, &given[k]);
}

void emu_pages_run(struct emu_pages *p, const struct emu *e, const struct sample_page *given, uint32_t count)
{
	struct late late = { .count = 0 };
	struct emu_touched t;

	next_run(p);
	for (uint32_t i = 0; emu_touched(e, i, &t); i++) {
		if (t.spared)
			continue;
		score_page(p, &p->page, t.addr);
		if (!t.given)
			add_late(&late, t.addr);
	}
	look_in_touched(p, &late, e, given, count);
}

static int by_score(const void *pa, const void *pb)
{
	const struct hot *a = pa, *b = pb;

	return a->score < b->score ? 1 : a->score > b->score ? -1 : 0;
}

static uint32_t likely(const struct emu_pages *p, const struct scores *s, double least, uint64_t *addr, uint32_t max)
{
	static _Thread_local struct hot best[MOST];
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		best[n] = s->hot[i];
		n += best[n].score >= least * p->all;
	}
	qsort(best, n, sizeof(best[0]), by_score);
	n = n < max ? n : max;
	for (uint32_t i = 0; i < n; i++)
		addr[i] = best[i].addr;
	return n;
}

uint32_t emu_pages_likely(struct emu_pages *p, double least, uint64_t *addr, uint32_t max)
{
	return likely(p, &p->page, least, addr, max);
}

uint32_t emu_pages_slots(struct emu_pages *p, uint64_t *addr, uint32_t max)
{
	return likely(p, &p->slot, EMU_PAGES_LEAST, addr, max);
}

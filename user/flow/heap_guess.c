// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose block an address is that no recorded allocation covers: told from the neighbours that are known (heap.h). */
#include <string.h>

#include "flow/heap.h"
#include "sample.h"
#include "util/bisect.h"

#define BLOCKS_LOOKED_AT 64 /* on either side */
/* In neighbours' weights: a block that had the address, when it had, or only later. Allocators give addresses out again
 * for blocks of their size, which are likely the same site's. */
#define HAD_IT 8.0
#define HAD_IT_LATER 4.0 /* voices of a block that had the address after the access; by hand */

struct voices {
	uint32_t site[2 * BLOCKS_LOOKED_AT];
	double weight[2 * BLOCKS_LOOKED_AT];
	unsigned count;
	double sum, blocks;
};

/* Sites whose blocks live shortly tell of many that are no more: what holds memory is allocated times lives. */
static double lives(const struct heap_site *s)
{
	double ns = s->ended ? s->life_ns : s->seen_ns;

	return ns > 1 ? ns : 1;
}

static void add_voice(struct voices *v, const struct heap *h, const struct heap_life *b, double blocks)
{
	uint32_t site = b->site;
	double weight = blocks * b->weight * lives(&h->site[site]);
	unsigned i = 0;

	while (i < v->count && v->site[i] != site)
		i++;
	if (i == v->count) {
		v->site[v->count] = site;
		v->weight[v->count++] = 0;
	}
	v->weight[i] += weight;
	v->sum += weight;
	v->blocks += blocks;
}

/* The first block of the process that begins behind addr. */
static size_t first_behind(const struct heap *h, uint32_t pid, uint64_t addr)
{
	return BISECT(i, h->block_count, h->block[i].pid < pid || (h->block[i].pid == pid && h->block[i].addr <= addr));
}

static void hear(struct voices *v, const struct heap *h, const struct heap_life *b, uint64_t addr, uint64_t time)
{
	uint64_t page = addr / SAMPLE_PAGE;

	if (b->addr <= addr && addr < b->end)
		add_voice(v, h, b, b->born <= time ? HAD_IT : HAD_IT_LATER);
	else if (b->addr / SAMPLE_PAGE <= page && (b->end - 1) / SAMPLE_PAGE >= page)
		add_voice(v, h, b, 1);
}

bool heap_guess(const struct heap *h, uint32_t pid, uint64_t addr, uint64_t time, struct heap_guess *out)
{
	size_t at = first_behind(h, pid, addr);
	struct voices v;

	v.count = 0;
	v.sum = v.blocks = 0;
	for (size_t i = at; i-- > 0 && at - i <= BLOCKS_LOOKED_AT && h->block[i].pid == pid;)
		hear(&v, h, &h->block[i], addr, time);
	for (size_t i = at; i < h->block_count && i < at + BLOCKS_LOOKED_AT && h->block[i].pid == pid &&
			    h->block[i].addr / SAMPLE_PAGE <= addr / SAMPLE_PAGE;
	     i++)
		hear(&v, h, &h->block[i], addr, time);
	*out = (struct heap_guess){ .unknown = 1 };
	while (out->count < HEAP_GUESSES) {
		unsigned best = 0;

		for (unsigned i = 1; i < v.count; i++)
			best = v.weight[i] > v.weight[best] ? i : best;
		if (!v.count || v.weight[best] <= 0)
			break;
		out->site[out->count] = v.site[best];
		out->part[out->count] = v.weight[best] / v.sum * v.blocks / (v.blocks + 1);
		out->unknown -= out->part[out->count++];
		v.weight[best] = 0;
	}
	return out->count > 0;
}

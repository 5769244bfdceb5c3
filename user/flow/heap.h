/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocations that a live recording saw in turns (FMT_HEAP_*): by site, how much, how long blocks live; and what of
 * memory is known to be whose. Pure. Included by input.h.
 *
 * A site is the code that wanted memory: the first caller that is no allocator, nor one of the wrappers that many
 * programs have. Rates are means over a process's turns, which begin at moments of no meaning; a block stands for one
 * over the chance with which it was told.
 *
 * Frees between turns are not seen. So a block is only trusted as long as it is likely to live: each site has a rate
 * at which its blocks end, from the time that they were seen to live in turns, and a block of it is known until the
 * unseen time since its birth makes its end likelier than HEAP_DOUBT, or its end, or another block in its place.
 */
#ifndef ACCPERF_FLOW_HEAP_H
#define ACCPERF_FLOW_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/heap.h"

#define HEAP_DOUBT 0.2 /* share of unknown site from which it is said; by hand */

struct heap_raw {
	struct fmt_heap_turn *turn;
	struct fmt_heap_block *block;
	struct fmt_heap_freed *freed;
	size_t turn_count, turn_cap, block_count, block_cap, freed_count, freed_cap;
};

struct heap_site {
	uint32_t object_site; /* flow_input.object_site */
	uint32_t stack;       /* of its first block: the profile's index */
	uint32_t skip;        /* leaf frames of that which are the allocator's */
	uint64_t told, ended; /* blocks; those whose end was seen */
	double allocs, bytes; /* per second of the turns' time, all processes added up */
	double spread;        /* of `bytes`: a 95 % interval's half, relative; of the drawing alone; NaN unknown */
	double size;          /* mean bytes of a block */
	double seen_ns;       /* time that its blocks were seen to live */
	double life_ns;       /* mean; NaN: no end was seen */
};

/* A block that was told, by process and address. */
struct heap_life {
	uint64_t addr, end, born, died; /* died: as far as known; UINT64_MAX: no end was seen */
	uint64_t trusted;               /* until then it is known to be alive */
	double weight;                  /* blocks that it stands for */
	uint32_t pid, site, stack;
	bool ended; /* seen to */
};

struct heap {
	struct heap_site *site;
	size_t site_count, site_cap;
	struct heap_life *block;
	size_t block_count;
	uint64_t turns;
	double turn_ns;       /* how long all turns were */
	double allocs, bytes; /* per second, of all sites, as they were counted */
	uint64_t nowhere;     /* blocks whose stack tells no site */
};

/* Whose memory an address is, where no block is known: by the blocks told of, at whatever time, that had it or lie in
 * its page. Parts of a whole for the sites that speak for it, each block by what it stands for and how long its site's
 * live, and what is left is of a site that was not told: one block's part, whatever they are. */
#define HEAP_GUESSES 4

struct heap_guess {
	uint32_t site[HEAP_GUESSES];
	double part[HEAP_GUESSES]; /* largest first */
	unsigned count;
	double unknown;
};

/* false: nothing speaks for any site. */
bool heap_guess(const struct heap *h, uint32_t pid, uint64_t addr, uint64_t time, struct heap_guess *out);

void heap_raw_release(struct heap_raw *r);
void heap_release(struct heap *h);

#endif

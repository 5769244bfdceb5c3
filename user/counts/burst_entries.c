// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/burst_entries.h"

#include <math.h>
#include <stdlib.h>

#include "util/map.h"
#include "util/normal.h"

#define MODULE_SHIFT 48   /* bits: no address within a file is longer */
#define WAYS_MOST 65536   /* that a recorder tells apart (emulate_branches.c): of more it does not tell all */
#define NONE_SEEN_MOST 3. /* 95 times of a hundred nothing is seen of what is expected less often than that */
/* Bursts of one part of a program see the same entries: counts scatter by more than chance does. By hand, of the twenty
 * recordings: of 217 functions that were entered less than three times 195 are called less often than so (171 by 1). */
#define TOGETHER 2.
/* Of the log of calls for each entry, beyond what their number tells: of the same recordings' 482 functions that were
 * entered three to sixty times the logs were off by .62 (root of the mean square). */
#define ENTRIES_SD 0.6
#define CUT_MOST 0.5 /* of bursts that end at a system call: more than half */

static uint64_t key_of(uint32_t module, uint64_t addr)
{
	return (uint64_t)module << MODULE_SHIFT ^ addr;
}

/* 0: no frame of it is known, and no way leads there. */
static uint32_t frame_module(const struct counts_record *r, size_t g)
{
	uint32_t frame = profile_counts_frame(r->profile, r->func[g].id);

	return frame ? r->profile->frames[frame].module : 0;
}

/* A loop that begins where the function does. */
static bool turns(const struct fmt_counts_func *f, const struct branch *w)
{
	return !(f->flags & FMT_CF_RECURSIVE) && w->from == w->to && w->from_addr >= f->start && w->from_addr < f->end;
}

double *burst_entries(const struct counts_record *r)
{
	const struct branches *b = &r->branches;
	double *of = calloc(r->funcs + 1, sizeof(*of));
	struct map at = { 0 };
	bool whole = of && r->profile && !r->merged && !r->ways_lost && b->count && b->count < WAYS_MOST;

	for (size_t g = 0; whole && g < r->funcs; g++) {
		uint64_t *of_start = map_put(&at, key_of(frame_module(r, g), r->func[g].start), NULL);

		whole = of_start;
		if (whole)
			*of_start = g + 1;
	}
	for (size_t i = 0; whole && i < b->count; i++) {
		const struct branch *w = &b->at[i];
		const uint64_t *to = w->kind == FMT_BRANCH_TAKEN ? map_get(&at, key_of(w->to, w->to_addr)) : NULL;

		if (to && !turns(&r->func[*to - 1], w))
			of[*to - 1] += (double)w->times;
	}
	map_release(&at);
	if (whole)
		return of;
	free(of);
	return NULL;
}

/*
 * A burst begins with a tick in user code and ends at the next system call, or when it is long enough. Of a segment
 * that is shorter than a burst a part u of the way along is met by bursts that began before it, u of them, which run on
 * for half of the segment in the mean: entries over instructions are 2 u times the truth. u is anything from 0 to 1:
 * its log has an sd of 1.
 */
static double var_of_place(const struct counts_record *r)
{
	double part = r->bursts ? (double)r->bursts_cut / (double)r->bursts : 0;

	return part * part;
}

struct burst_entries_rate burst_entries_rate(const struct counts_record *r, double entries)
{
	double all = (double)r->burst_instructions, rate = entries / all, place = var_of_place(r);
	double off = exp(Z95 * sqrt(ENTRIES_SD * ENTRIES_SD + place + 1 / entries));

	if (entries < BURST_ENTRIES_LEAST)
		return (struct burst_entries_rate){
			NAN, 0, place > CUT_MOST * CUT_MOST ? NAN : TOGETHER * (entries + NONE_SEEN_MOST) / all
		};
	return (struct burst_entries_rate){ rate, rate / off, rate * off };
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/octaves.h"

#include <stdlib.h>

#define FAR 3 /* octaves above the median call's */
#define FEW 5 /* calls that are as likely to be none or twice as many: of these, nothing is known of a rate */

static int by_item_size_time(const void *a, const void *b)
{
	const struct octave_cell *x = a, *y = b;

	if (x->item != y->item)
		return x->item < y->item ? -1 : 1;
	if (x->bytes_bin != y->bytes_bin)
		return x->bytes_bin < y->bytes_bin ? -1 : 1;
	return (x->time_bin > y->time_bin) - (x->time_bin < y->time_bin);
}

static bool of_one_size(const struct octave_cell *x, const struct octave_cell *y)
{
	return x->item == y->item && x->bytes_bin == y->bytes_bin;
}

/* Of one size, by time. */
static void set_few_apart(const struct octave_cell *cell, size_t n, struct offload_octave *o)
{
	double all = 0, seen = 0;
	unsigned median = 0;

	for (size_t i = 0; i < n; i++)
		all += cell[i].calls;
	for (size_t i = 0; i < n && 2 * seen < all; i++) {
		seen += cell[i].calls;
		median = cell[i].time_bin;
	}
	for (size_t i = 0; i < n; i++)
		if (cell[i].time_bin >= median + FAR) {
			o->few += cell[i].calls;
			o->few_ns += cell[i].ns;
		}
	if (o->few >= FEW)
		o->few = o->few_ns = 0;
}

void octaves_set_few_apart(struct octave_cell *cell, size_t n, struct offload_item *items)
{
	if (n)
		qsort(cell, n, sizeof(*cell), by_item_size_time);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from; to < n && of_one_size(&cell[from], &cell[to]); to++)
			;
		set_few_apart(cell + from, to - from, &items[cell[from].item].octave[cell[from].bytes_bin]);
	}
}

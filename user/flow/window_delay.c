// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/window_delay.h"

#include <math.h>
#include <stdlib.h>

#define GAPS_MOST 64 /* of one window, for a median; by hand */
#define GAPS_LEAST 2 /* fewer do not tell how fast reads follow each other */
#define GAPS 8       /* so many, beyond what it takes to arm, are too late */

static int ascending_delays(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median time from one read to the next, with nothing between them; 0: too few. */
static double median_gap_of_reads(const struct flow_input *in, const struct in_window *w)
{
	double gap[GAPS_MOST];
	size_t n = 0;

	for (uint32_t i = 1; i < w->count && n < GAPS_MOST; i++) {
		const struct in_hit *a = &in->hit[w->first + i - 1], *b = &in->hit[w->first + i];

		if (!(a->flags & FMT_A_STORE) && !(b->flags & FMT_A_STORE) && b->time > a->time)
			gap[n++] = (double)(b->time - a->time);
	}
	qsort(gap, n, sizeof(*gap), ascending_delays);
	return n < GAPS_LEAST ? 0 : gap[n / 2];
}

static double first_hit(const struct flow_input *in, const struct in_window *w)
{
	uint64_t at = in->hit[w->first].time;

	return at > w->armed ? (double)(at - w->armed) : 0;
}

/* What passes from asking for a window to its first possible hit: most begin in time, so the lower quartile. */
static double arming_time(const struct flow_input *in)
{
	double *first = malloc((in->window_count + 1) * sizeof(*first)), t;
	size_t n = 0;

	if (!first)
		return -1;
	for (size_t i = 0; i < in->window_count; i++)
		if (in->window[i].count && (in->window[i].arm.flags & FMT_A_LOAD))
			first[n++] = first_hit(in, &in->window[i]);
	qsort(first, n, sizeof(*first), ascending_delays);
	t = n ? first[n / 4] : 0;
	free(first);
	return t;
}

bool *window_delay_apply(const struct flow_input *in)
{
	bool *late = calloc(in->window_count + 1, sizeof(*late));
	double arming = late ? arming_time(in) : -1;

	if (arming < 0) {
		free(late);
		return NULL;
	}
	for (size_t i = 0; i < in->window_count; i++) {
		const struct in_window *w = &in->window[i];
		double gap = median_gap_of_reads(in, w);

		late[i] = gap > 0 && first_hit(in, w) > 2 * arming + GAPS * gap;
	}
	return late;
}

double window_delay_undisturbed(const struct flow_input *in, const struct in_window *w)
{
	double writes = 0, open = w->ended > w->armed ? (double)(w->ended - w->armed) : 1;

	for (uint32_t i = 0; i < w->count; i++)
		writes += (in->hit[w->first + i].flags & FMT_A_STORE) != 0;
	return w->armed > w->arm.time ? exp(-writes / open * (double)(w->armed - w->arm.time)) : 1;
}

uint32_t window_delay_writer(const struct flow_input *in, const struct in_window *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (in->hit[w->first + i].flags & FMT_A_STORE)
			return in->hit[w->first + i].func;
	return FLOW_NONE;
}

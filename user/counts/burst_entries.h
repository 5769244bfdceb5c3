/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often bursts entered each function. They begin where time is, and are some ten thousand instructions long, a
 * microsecond: of a function whose calls last for longer than all of them together hardly any saw one begin. What the
 * tree (counts.h) says of its calls then rests on guesses, and is mostly far too much: of ten real programs, twenty
 * recordings, the median was 14 times too much where no burst entered, 2 times where one or two did, and right where
 * three or more did. Included by counts, view and tests.
 */
#ifndef ACCPERF_COUNTS_BURST_ENTRIES_H
#define ACCPERF_COUNTS_BURST_ENTRIES_H

#include "counts/counts_windows.h"

#define BURST_ENTRIES_LEAST 3 /* below, what the tree says of calls is not believed: above */

/* By function of r, malloc()ed. NULL: not told, as the recording holds no ways of bursts, or not all; or out of memory.
 * Jumps to its beginning from elsewhere count; of one that calls itself, all. */
double *burst_entries(const struct counts_record *r);

/* Calls for each instruction of the program that so many entries tell, 95 %. Value NaN: too few; high: the most. Where
 * most bursts end at a system call, what comes first behind one is met by none: few entries are no end then (high
 * NaN). */
struct burst_entries_rate {
	double value, low, high;
};
struct burst_entries_rate burst_entries_rate(const struct counts_record *r, double entries);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether it pays to carry segments on: programs that change more memory than is copied come to another entry than the
 * one that was observed, time and again, and bursts make more of the recorder's time. Pure arithmetic. Included by
 * part_segments.c and tests.
 */
#ifndef ACCPERF_RECORD_SEGMENT_WORTH_H
#define ACCPERF_RECORD_SEGMENT_WORTH_H

#include <stdbool.h>

/* Zero-initialise. */
struct segment_worth {
	double paid_ns, fruit_ns; /* what carrying on took lately, and of that what was verified */
};

/* One was carried on, which took so long. */
void segment_worth_learn(struct segment_worth *w, double ns, bool verified);
/* A stretch is over: what was seen counts for less from now on. */
void segment_worth_fade(struct segment_worth *w);
/* The part of such time that is not in vain; 1 before anything was seen. */
double segment_worth(const struct segment_worth *w);

#endif

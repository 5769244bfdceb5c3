/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recording's part for segments: in short stretches of time returns of system calls are drawn by count, carried on
 * (segment_run.h) or timed, and written as FMT_SEGMENT. Within the ledger's account for them, and a part of a CPU for
 * the recorder's own work. Included by foreground.
 *
 * A stretch has a time for drawing and one to wait for the ends of what was drawn; all in it that is longer than the
 * latter is censored, so that what is long is not left out unseen. Behind calls that long segments follow, which can be
 * verified, more are carried on, and each stands for less. Its records stand for the returns that came by in
 * it, and stretches for the same length of time each.
 */
#ifndef ACCPERF_RECORD_PART_SEGMENTS_H
#define ACCPERF_RECORD_PART_SEGMENTS_H

#include "record/part_counts.h"

/* own: part of one CPU's time that the recorder may use. counts: is told what verified segments ran; NULL: nobody.
 * -errno: *e says why they cannot be had. */
int segments_part_add(struct session *s, double own, struct counts_part *counts, struct err *e);

#endif

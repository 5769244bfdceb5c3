/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From bursts in which every system call was seen to all calls of a recording. Each burst stands for `weight` times
 * itself; what that misjudges is set right by a measure of which the truth is known for the whole recording: the bytes
 * that the kernel itself counts as read, or as written, and for calls that it does not count the targets' CPU time, or
 * time where that is not known. How sure the
 * result is, is told by how much bursts differ, never by how many calls were seen. Pure arithmetic, no I/O. Included
 * by user/flow.
 */
#ifndef ACCPERF_FLOW_CALL_BURSTS_H
#define ACCPERF_FLOW_CALL_BURSTS_H

#include <stddef.h>
#include <stdint.h>

enum call_measure { CALLS_TIME, CALLS_READ, CALLS_WRITTEN, CALL_MEASURES };

struct call_burst {
	uint64_t begin, end; /* ns */
	double weight;       /* at least 1: times itself that it stands for */
	double seen[CALL_MEASURES];
	double ran_ns, spent_ns; /* CPU time of the targets: for their own ends, and for being observed */
};

struct call_bursts {
	struct call_burst *burst; /* by begin */
	size_t count, cap;
	double total[CALL_MEASURES]; /* of the whole recording; NaN: not known */
	double span_ns;              /* in which calls were observed at all */
};

/* By what weights are to be multiplied, so that what they make of the measure is its total. 1: nothing is known. */
double call_scale(const struct call_bursts *b, enum call_measure m);
/* Index of the burst that saw a call at that time; SIZE_MAX: none. */
size_t call_burst_at(const struct call_bursts *b, uint64_t time);
/* Half of the interval around a sum that is scaled: by_burst is, weighted, what each burst adds to it. Infinite where
 * one burst does not stand for itself alone. z: of the normal distribution, which is widened for few bursts. */
double call_half_width(const struct call_bursts *b, enum call_measure m, const double *by_burst, double z);
/* Part of a sum that is scaled by CPU time by which that may be off because what observing costs is known in part. */
double call_cost_unsure(const struct call_bursts *b, enum call_measure m);
/* A draw of bursts for resampling: `times` each; what its calls count then, by burst and measure. */
void call_draw(const struct call_bursts *b, const uint8_t *times, double (*factor)[CALL_MEASURES]);
void call_bursts_release(struct call_bursts *b);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From stretches in which every system call was seen to all calls of a recording. Each stretch stands for `weight`
 * times itself; what that misjudges is set right by a measure of which the truth is known for the whole recording: the
 * bytes that the kernel itself counts as read, or as written, and for calls that it does not count the targets' CPU
 * time (time where that is not known), or those bytes where such calls keep step with them. How sure the result is, is
 * told by how much stretches differ, never by how many calls were seen. Pure arithmetic, no I/O. Included by this
 * room and tests.
 */
#ifndef ACCPERF_FLOW_CALL_STRETCHES_H
#define ACCPERF_FLOW_CALL_STRETCHES_H

#include <stddef.h>
#include <stdint.h>

enum call_measure { CALLS_TIME, CALLS_READ, CALLS_WRITTEN, CALL_MEASURES };

struct call_stretch {
	uint64_t begin, end; /* ns */
	double weight;       /* at least 1: times itself that it stands for */
	double seen[CALL_MEASURES];
	double ran_ns, spent_ns; /* CPU time of the targets: for their own ends, and for being observed */
};

struct call_stretches {
	struct call_stretch *stretch; /* by begin */
	size_t count, cap;
	double total[CALL_MEASURES]; /* of the whole recording; NaN: not known */
	double span_ns;              /* in which calls were observed at all */
	uint64_t until;              /* ns: the end of that time */
	double busy;                 /* CPU time of the targets by time; NaN: not known */
};

/* By what weights are to be multiplied, so that what they make of the measure is its total. 1: nothing is known. */
double call_scale(const struct call_stretches *b, enum call_measure m);
/* Index of the stretch that saw a call at that time; SIZE_MAX: none. */
size_t call_stretch_at(const struct call_stretches *b, uint64_t time);
/* Half of the interval around a sum that is scaled: by_stretch is, weighted, what each stretch adds to it. Infinite
 * where one stretch does not stand for itself alone. z: of the normal distribution, which is widened for few
 * stretches. */
double call_half_width(const struct call_stretches *b, enum call_measure m, const double *by_stretch, double z);
/* Part of a sum that is scaled by CPU time by which that may be off because what observing costs is known in part. */
double call_cost_unsure(const struct call_stretches *b, enum call_measure m);
/* Part of a sum that is scaled by CPU time by which that errs in what the kernel did count: what it does not count goes
 * with the same time. 0: it counted nothing. */
double call_time_apart(const struct call_stretches *b);
/* A draw of stretches for resampling: `times` each; what its calls count then, by stretch and measure. */
void call_draw(const struct call_stretches *b, const uint8_t *times, double (*factor)[CALL_MEASURES]);
void call_stretches_release(struct call_stretches *b);

#endif

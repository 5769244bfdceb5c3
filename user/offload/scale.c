// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/scale.h"

#include <math.h>
#include <stdbool.h>

#include "util/normal.h"

static double worked(const struct stretch *s, double part)
{
	return s->to - s->from - part * s->hits_ns;
}

/* Between at[i - 1] and at[i], or the end. */
static double gap_before(const struct stretch *at, size_t i, size_t n, double end)
{
	return i ? fmax(0, (i < n ? at[i].from : end) - at[i - 1].to) : 0;
}

/* The pace at which at[i] goes on; too short a piece to tell: that of the whole. */
static double pace(const struct stretch *at, size_t i, double part, double whole)
{
	double x = worked(&at[i], part);

	return x > 0 ? at[i].calls / x : whole;
}

struct scaled scale_calls(const struct stretch *at, size_t n, double end, double outside_ns, double part)
{
	double calls = 0, work = 0, gaps = 0, weights = 0, squares = 0, filled = 0, mean, off = 0, weighted = 0;
	struct scaled out = { 1, 0 };
	size_t ends = 0, paces = 0;

	for (size_t i = 0; i < n; i++) {
		calls += at[i].calls;
		work += worked(&at[i], part);
		gaps += gap_before(at, i + 1, n, end);
	}
	if (!(gaps > 0) || !(calls > 0))
		return out;
	if (!(work > 0) || !(gaps > part * outside_ns))
		return (struct scaled){ INFINITY, NAN };
	for (size_t i = 1; i < n; i++) {
		double weight = at[i].gap > 0 ? at[i].gap : gap_before(at, i, n, end);

		if (!(gap_before(at, i, n, end) > 0))
			continue;
		weights += weight;
		squares += weight * weight;
		filled += weight * pace(at, i, part, calls / work);
		ends++;
	}
	mean = ends ? filled / weights : calls / work;
	out.factor = 1 + mean * (gaps - part * outside_ns) / calls;
	if (ends < 2) {
		out.error = NAN;
		return out;
	}
	/*
	 * Rates of stretches differ by more than counting would make them, so their own spread tells: all
	 * as uncertain as each other, or each by what it was off, the larger of the two. The pace at which
	 * one ended counts as well: a few that all began in a quiet phase would seem to agree. Student's t
	 * is that for 95 %, because with few stretches of two paces this covers some 90.
	 */
	for (size_t i = 0; i < n; i++) {
		double d = pace(at, i, part, calls / work) - mean,
		       weight = at[i].gap > 0 ? at[i].gap : gap_before(at, i, n, end);
		bool first = i && gap_before(at, i, n, end) > 0, last = gap_before(at, i + 1, n, end) > 0;

		if (first)
			weighted += weight * weight * d * d;
		if (first || last) {
			off += d * d;
			paces++;
		}
	}
	off = fmax(weighted, squares * off / (double)paces) * (double)ends / (double)(ends - 1);
	out.error = student_half((double)ends - 1) * sqrt(off) / weights * (gaps - part * outside_ns) /
		    (calls * out.factor);
	return out;
}

bool scale_paced(const struct stretch *clock, const struct stretch *cpu, size_t n, double least_part)
{
	double gap = 0, gap_cpu = 0, in = 0, in_cpu = 0, hits = 0, busy;

	for (size_t i = 0; i < n; i++) {
		in += clock[i].to - clock[i].from;
		in_cpu += cpu[i].to - cpu[i].from;
		hits += cpu[i].hits_ns;
		if (!i)
			continue;
		gap += fmax(0, clock[i].from - clock[i - 1].to);
		gap_cpu += fmax(0, cpu[i].from - cpu[i - 1].to);
	}
	busy = gap > 0 ? gap_cpu / gap : 1;
	return busy < SCALE_BUSY && in_cpu - busy * in >= least_part * hits;
}

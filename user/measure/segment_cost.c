// SPDX-License-Identifier: GPL-2.0-or-later
/* What drawing segments costs, and what of their time is no segment's, on calls of our own. */
#include <math.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kmod-free/call_segments.h"
#include "measure/price_table.h"
#include "util/clock.h"

/* Short rounds of which the quickest counts: it was not interrupted. */
#define ROUNDS 40
#define CALLS 25
#define MOST_NS 20000.0 /* nothing on any machine costs more: it was disturbed all the time */

struct gaps {
	double ns[ROUNDS * CALLS];
	unsigned n;
};

static double a_call(void)
{
	uint64_t best = UINT64_MAX;

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t began = clock_now(), took;

		for (int i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		took = clock_now() - began;
		best = took < best ? took : best;
	}
	return (double)best / CALLS;
}

static int drop_begin(void *ctx, const struct sample *s)
{
	return 0;
}

static int keep_gap(void *ctx, const struct call_segment_end *e)
{
	struct gaps *g = ctx;

	if (!e->open && e->nr == SYS_getppid && e->from_nr == SYS_getppid && g->n < ROUNDS * CALLS)
		g->ns[g->n++] = (double)e->ran_ns;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double added_by(double with, double without)
{
	return with > without && with - without < MOST_NS ? with - without : NAN;
}

void measure_segments(void *call_segments, double *ns)
{
	struct call_segments_draw draw = { .until = UINT64_MAX };
	struct call_segments *s = call_segments;
	struct gaps g = { .n = 0 };
	struct call_segment_reader to = { .begun = drop_begin, .ended = keep_gap, .ctx = &g };
	double plain = a_call();

	ns[0] = ns[1] = ns[2] = NAN;
	if (call_segments_attach(s, NULL))
		return;
	if (!call_segments_add(s, getpid())) {
		call_segments_open(s, &draw);
		ns[0] = added_by(a_call(), plain);
		draw.timed = 1;
		call_segments_open(s, &draw);
		ns[1] = added_by(a_call(), plain);
		call_segments_close(s, &to);
		call_segments_remove(s, getpid());
	}
	call_segments_close(s, &to);
	if (!g.n)
		return;
	qsort(g.ns, g.n, sizeof(*g.ns), by_size);
	ns[2] = g.ns[g.n / 2] < MOST_NS ? g.ns[g.n / 2] : NAN;
}

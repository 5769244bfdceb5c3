// SPDX-License-Identifier: GPL-2.0-or-later
/* What a timer sample takes from the thread it hits, with our program attached: of a piece of work that samples come
 * into as seldom as in a recording. */
#include <math.h>
#include <stddef.h>

#include "kmod-free/sampler.h"
#include "measure/price.h"
#include "measure/price_table.h"

#define TICK_NS 4100000 /* as rare as those of a recording, nearly; not in step with the kernel's own */
#define TICKS 32        /* of a trial; by hand */

struct times {
	uint64_t *at;
	unsigned count, max;
};

static int note_time(void *ctx, const struct sample *s)
{
	struct times *t = ctx;

	if (s->kind == SAMPLE_TICK && t->count < t->max)
		t->at[t->count++] = s->time;
	return 0;
}

static bool attach_timer(void *ctx, int tid)
{
	return !sampler_attach_self(ctx, TICK_NS, NULL);
}

static double end_timer(void *ctx, uint64_t *at, unsigned max)
{
	struct times t = { .at = at, .max = max };

	sampler_stop(ctx);
	sampler_read(ctx, note_time, &t);
	return t.count;
}

void measure_tick(void *sampler, double *ns)
{
	static const struct trial tick = { .begin = attach_timer, .end = end_timer, .wait_ns = TICKS * TICK_NS };
	double cost = price_rare(&tick, sampler);

	sampler_forget(sampler);
	*ns = cost > 0 ? cost : NAN;
}

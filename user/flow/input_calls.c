// SPDX-License-Identifier: GPL-2.0-or-later
/* Weights of system calls: what was seen in bursts, scaled to what the kernel counted (call_bursts.h). */
#include <errno.h>
#include <math.h>

#include "flow/input_priv.h"

#define LONGEST 1e18 /* ns or bytes: whatever is more is damage */

static double sane(double v)
{
	return v >= 0 && v < LONGEST ? v : 0;
}

int input_call_burst(struct raw *r, const struct fmt_sysio_burst *b)
{
	struct call_bursts *c = &r->in->calls;

	c->total[CALLS_TIME] += sane((double)b->span_ns);
	for (int i = 0; i < 2; i++)
		c->total[CALLS_READ + i] += b->flags & FMT_IOB_MOVED ? sane((double)b->moved[i]) : NAN;
	if (!(b->weight > 0) || b->end < b->begin)
		return 0;
	if (!input_room((void **)&c->burst, c->count, &c->cap, sizeof(*c->burst), r->e))
		return r->e->code;
	c->burst[c->count++] = (struct call_burst){
		.begin = b->begin,
		.end = b->end,
		.weight = fmax(1, sane(b->weight)),
		.seen = { sane((double)(b->end - b->begin)), sane((double)b->seen[0]), sane((double)b->seen[1]) },
	};
	return 0;
}

void input_calls(struct raw *r)
{
	struct flow_input *in = r->in;
	double scale[CALL_MEASURES];

	if (!in->calls.count)
		return;
	for (int m = 0; m < CALL_MEASURES; m++)
		scale[m] = call_scale(&in->calls, m);
	for (size_t i = 0; i < in->sysio_count; i++) {
		struct in_sysio *s = &in->sysio[i];

		s->burst = (uint32_t)(call_burst_at(&in->calls, s->time) + 1);
		s->weight *= scale[s->measure];
	}
}

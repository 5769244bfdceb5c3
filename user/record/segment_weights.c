// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/segment_weights.h"

#include <math.h>

#include "abi.h"

static double kept_of(const struct stretch_drawn *d, const struct fmt_segment *s)
{
	return d->kept[(uint32_t)s->nr % WIRE_CALLS];
}

double segment_weights(struct fmt_segment *s, size_t n, const struct stretch_drawn *d)
{
	double timed = 0, carried = 0, kept = 0, each;

	for (size_t i = 0; i < n; i++) {
		if (s[i].state != FMT_SEG_TIMED) {
			carried++;
			continue;
		}
		timed++;
		kept += kept_of(d, &s[i]);
	}
	kept = timed > 0 ? kept / timed : d->usually;
	each = d->returns * kept / fmax(1, carried) * d->as_long;
	for (size_t i = 0; i < n; i++)
		s[i].weight = s[i].state == FMT_SEG_TIMED ? d->returns / fmax(1, d->timed) * d->as_long
							  : each / kept_of(d, &s[i]);
	return each;
}

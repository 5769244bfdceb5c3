// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/counts_repeats.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "counts/counts_windows.h"
#include "emu/emu.h"

struct counts_repeats counts_repeats_of(const struct fmt_counts_repeats *r)
{
	struct counts_repeats out = { .times = 1 };
	double ratio, rest;

	if (!r || !(r->instructions > 0))
		return out;
	ratio = r->repeats / r->instructions;
	out.times = 1 + ratio;
	/* of a ratio of sums over what was seen; seen once, it may be anything */
	rest = fmax(0, r->repeats2 - 2 * ratio * r->both + ratio * ratio * r->instructions2);
	rest = r->seen > 1 ? rest * r->seen / (r->seen - 1) : r->repeats * r->repeats;
	out.log_var = rest / (r->instructions * r->instructions) / (out.times * out.times);
	out.loads = r->loads / r->instructions;
	out.stores = r->stores / r->instructions;
	out.load_bytes = r->load_bytes / r->instructions;
	out.store_bytes = r->store_bytes / r->instructions;
	return out;
}

double *counts_repeats_cycles(const struct counts_record *r, double *usual)
{
	double *of = calloc(r->funcs + 1, sizeof(*of)), timed = 0, cycles = 0;

	for (size_t i = 0; of && i < r->repeated; i++) {
		struct counts_repeats n = counts_repeats_of(&r->repeats[i]);

		of[r->repeats[i].function] = fmax(n.load_bytes, n.store_bytes) / EMU_REPEAT_BYTES;
	}
	for (size_t g = 0; of && g < r->funcs; g++) {
		timed += r->func[g].timed;
		cycles += fmax(0, r->func[g].cycles - of[g] * r->func[g].timed);
	}
	*usual = timed > 0 && cycles > 0 ? cycles / timed : NAN;
	return of;
}

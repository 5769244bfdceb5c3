// SPDX-License-Identifier: GPL-2.0-or-later
/* How often `rep` instructions went on, by function: a run of one is one instruction to the burst that it is part of,
 * and as many as it has repetitions to who counts them. */
#include "record/counts_plan_priv.h"

void plan_repeats_add(struct plan_func *f, enum plan_repeats_of of, const struct emu_count *c)
{
	struct fmt_counts_repeats *r = &f->repeats;
	double n = (double)c->repeats;

	f->repeats_now[of].instructions += (double)c->runs;
	f->repeats_now[of].repeats += n;
	r->loads += n * c->loads;
	r->stores += n * c->stores;
	r->load_bytes += n * c->loads * c->bytes;
	r->store_bytes += n * c->stores * c->bytes;
}

void plan_repeats_fold(struct plan_func *f, enum plan_repeats_of of)
{
	struct fmt_counts_repeats *r = &f->repeats;
	double x = f->repeats_now[of].instructions, y = f->repeats_now[of].repeats;

	r->seen++;
	r->instructions += x;
	r->repeats += y;
	r->instructions2 += x * x;
	r->both += x * y;
	r->repeats2 += y * y;
	f->repeats_now[of].instructions = f->repeats_now[of].repeats = 0;
}

void plan_write_repeats(struct plan *p)
{
	for (uint32_t i = 0; i < p->funcs; i++) {
		struct plan_func *f = &p->func[i];

		f->repeats.function = f->rec.id;
		if (f->repeats.repeats > 0)
			plan_put(p, FMT_COUNTS_REPEATS, f->rec.id, &f->repeats, sizeof(f->repeats));
	}
}

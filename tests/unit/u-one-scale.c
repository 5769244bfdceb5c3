// SPDX-License-Identifier: GPL-2.0-or-later
/* Operations per byte where counts, time and accesses are in three units: the unit must not matter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/estimators.h"
#include "flow/input_priv.h"
#include "unit/unit.h"

static const struct {
	const char *name;
	double time;     /* instructions that its time would be at the nominal speed */
	double runs;     /* what it executed in truth, */
	double per_insn; /* of which such a part computes, */
	double bytes;    /* and each moves so many */
} made[] = { { "slow", 8e9, 2e9, 0.3, 1.5 }, { "quick", 2e9, 3e9, 0.6, 0.25 } };

#define MADE (sizeof(made) / sizeof(made[0]))

/* unit: of counts, over truth. Accesses are shared out by counts, and add up to what time says. */
static void plant(struct flow_input *in, double unit, double trust, bool rate)
{
	double time = 0, runs = 0;

	*in = (struct flow_input){ .engine = FLOW_SOFT,
				   .has_compute = true,
				   .speed = { .known = rate, .low = 1, .high = 1 },
				   .counted_count = MADE };
	in->times = calloc(MADE + 1, sizeof(*in->times));
	in->counted = calloc(MADE + 1, sizeof(*in->counted));
	in->access = calloc(MADE, sizeof(*in->access));
	for (size_t i = 0; i < MADE; i++) {
		time += made[i].time;
		runs += made[i].runs;
	}
	for (size_t i = 0; i < MADE; i++) {
		struct in_counted *c = &in->counted[i];

		assert_int_equal(in_func_add(in, made[i].name, "app"), i);
		in->times[i] = (struct in_function_time){ .samples = 100,
							  .self_ns = made[i].time,
							  .instructions = made[i].time,
							  .compute = made[i].time * made[i].per_insn,
							  .compute_samples = 100 };
		c->total = c->instructions = made[i].runs * unit;
		c->compute = c->total * made[i].per_insn;
		c->load_bytes = c->total * made[i].bytes;
		c->trust = trust;
		in->access[in->access_count++] =
			(struct in_access){ .func = (uint32_t)i,
					    .size = 1,
					    .flags = FMT_A_LOAD | FMT_A_TIME,
					    .weight = made[i].runs / runs * time * made[i].bytes };
	}
	input_one_scale(in);
}

TEST(operations_per_byte_need_no_unit)
{
	static const double units[] = { 0.02, 1, 40 };
	struct est_opts o = EST_OPTS_DEFAULT;

	for (int u = 0; u < 3; u++)
		for (int k = 0; k < 4; k++) {
			struct flow_input in;
			struct flow f;

			plant(&in, units[u], k & 1 ? 0.9 : 0.2, k & 2);
			flow_init(&f);
			assert_int_equal(flow_figures(&in, &o, &f), 0);
			for (size_t i = 0; i < MADE; i++) {
				const struct flow_func *fn = &f.funcs[flow_find(&f, made[i].name, "app")];
				double truth = made[i].per_insn / made[i].bytes;

				assert_true(fabs((fn->compute / fn->load_bytes) / truth - 1) < 1e-6);
				/* without a rate there is the nominal speed, for counts, too */
				if (!(k & 2))
					assert_true(fn->instructions > 1e9 && fn->instructions < 1e10);
			}
			flow_release(&f);
			flow_input_release(&in);
		}
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/kept_price.h"

#include <math.h>

#include "kmod-free/uprobe.h"
#include "kmod-free/uprobe_self.h"
#include "measure/prices.h"

#define ROUNDS_KEPT 16 /* of each measurement, as the engine makes them */

/* Under one name stand as many values as prices.h keeps together. */
enum kept_price_kept { STEPPED, EMULATED, INSIDE, FIRST, KEPT };
static const char *const names[KEPT] = { "probe-stepped", "probe-emulated", "probe-inside", "probe-first" };

/* A class as a number whose median tells when measurements disagree: 1, 2, or none. */
static double of_class(enum fmt_probe_class c)
{
	return c == FMT_PROBE_STEPPED ? 1 : c == FMT_PROBE_EMULATED ? 2 : NAN;
}

static enum fmt_probe_class class_kept(double v)
{
	return v == 1 ? FMT_PROBE_STEPPED : v == 2 ? FMT_PROBE_EMULATED : FMT_PROBE_UNKNOWN;
}

bool kept_price_known(const struct prices *p, struct uprobe_cost *c)
{
	struct uprobe_class_cost *of = c->of;
	double v[KEPT][PRICES_VALUES];

	for (unsigned i = 0; i < KEPT; i++)
		if (!prices_known(p, names[i], v[i], PRICES_VALUES))
			return false;
	*c = (struct uprobe_cost){ .nop_ns = v[INSIDE][2],
				   .hot_ns = v[FIRST][0],
				   .rounds = PRICES_ENOUGH * ROUNDS_KEPT };
	of[FMT_PROBE_STEPPED] = (struct uprobe_class_cost){ v[STEPPED][0], v[STEPPED][1], v[STEPPED][2], v[INSIDE][0] };
	c->class_of[SELF_STEPPED] = FMT_PROBE_STEPPED;
	if (v[EMULATED][0] > 0) {
		of[FMT_PROBE_EMULATED] =
			(struct uprobe_class_cost){ v[EMULATED][0], v[EMULATED][1], v[EMULATED][2], v[INSIDE][1] };
		c->class_of[SELF_PUSH] = FMT_PROBE_EMULATED;
		c->class_of[SELF_ENDBR] = class_kept(v[FIRST][1]);
		c->class_of[SELF_LONG_NOP] = class_kept(v[FIRST][2]);
	}
	uprobe_cost_of_unknown(c);
	return of[FMT_PROBE_STEPPED].call_ns > 0;
}

void kept_price_add(struct prices *p, const struct uprobe_cost *c)
{
	const struct uprobe_class_cost *s = &c->of[FMT_PROBE_STEPPED], *e = &c->of[FMT_PROBE_EMULATED];
	double v[KEPT][PRICES_VALUES] = {
		[STEPPED] = { s->call_ns, s->call_low, s->call_high },
		[EMULATED] = { e->call_ns, e->call_low, e->call_high },
		[INSIDE] = { s->inside_ns, e->inside_ns, c->nop_ns },
		[FIRST] = { c->hot_ns, of_class(c->class_of[SELF_ENDBR]), of_class(c->class_of[SELF_LONG_NOP]) },
	};

	for (unsigned i = 0; i < KEPT; i++)
		prices_add(p, names[i], v[i], PRICES_VALUES);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "advise/placed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double placed_roof(const struct roofline *r, int level, double ops_per_byte)
{
	return fmin(r->ops_per_s, ops_per_byte * r->level[level].bytes_per_s);
}

/* What the middle pass left of it. */
static double placed_usual(const struct roofline *r, int level, double ops_per_byte)
{
	return fmin(r->usual_ops, ops_per_byte * r->level[level].usual_bytes);
}

const char *placed_bound_str(enum placed_bound b)
{
	switch (b) {
	case PLACED_MEMORY: return "memory";
	case PLACED_DEPENDS: return "depends";
	case PLACED_COMPUTATION: return "computation";
	case PLACED_UNKNOWN: break;
	}
	return "unknown";
}

static enum placed_bound bound_at(const struct roofline *r, double ops_per_byte)
{
	if (!r || isnan(ops_per_byte))
		return PLACED_UNKNOWN;
	if (placed_roof(r, ROOFLINE_LEVELS - 1, ops_per_byte) >= r->ops_per_s)
		return PLACED_COMPUTATION;
	return placed_roof(r, 0, ops_per_byte) < r->ops_per_s ? PLACED_MEMORY : PLACED_DEPENDS;
}

static struct placed place_one(const struct flow *f, const struct flow_func *n, const struct roofline *roof)
{
	struct flow_range ops = flow_amounts(f, n->compute, n->compute_low, n->compute_high);
	struct flow_range per = n->compute > 0 ? flow_ops_per_byte(f, n) : (struct flow_range){ NAN, NAN, NAN };
	/* the exact engine's time is not the machine's */
	double ns = n->self_ns > 0 && f->engine != FLOW_EXACT ? n->self_ns : NAN;
	struct placed p = { .name = n->name,
			    .object = n->object,
			    .self_ns = ns,
			    .ops_per_byte = per.value,
			    .per_byte_low = per.low,
			    .per_byte_high = per.high,
			    .ops_per_s = ops.value / ns * 1e9,
			    .low = ops.low / ns * 1e9,
			    .high = ops.high / ns * 1e9 };

	p.bound = bound_at(roof, p.ops_per_byte);
	p.part = p.part_low = p.part_high = NAN;
	if (roof && !isnan(p.ops_per_byte)) {
		p.part = p.ops_per_s / placed_roof(roof, 0, p.ops_per_byte);
		if (!isnan(p.per_byte_low) && !isnan(p.per_byte_high)) {
			p.part_low = p.low / placed_roof(roof, 0, p.per_byte_high);
			p.part_high = p.high / placed_usual(roof, 0, p.per_byte_low);
		}
	}
	return p;
}

static double unknown_last(double v)
{
	return isnan(v) ? -1 : v;
}

static int by_time_then_operations(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	double d = unknown_last(y->self_ns) - unknown_last(x->self_ns);

	d = d != 0 ? d : unknown_last(y->ops_per_byte) - unknown_last(x->ops_per_byte);
	return d != 0 ? (d > 0 ? 1 : -1) : strcmp(x->name, y->name);
}

long place_functions(const struct flow *f, const struct roofline *roof, struct placed **out)
{
	struct placed *rows = calloc(f->func_count + 1, sizeof(*rows));
	long n = 0;

	*out = rows;
	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->func_count; i++) {
		if (flow_is_pseudo(&f->funcs[i]))
			continue;
		rows[n] = place_one(f, &f->funcs[i], roof);
		n += !isnan(rows[n].ops_per_byte) || !isnan(rows[n].ops_per_s);
	}
	qsort(rows, (size_t)n, sizeof(*rows), by_time_then_operations);
	return n;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Figures per function that need no producer: counts, bytes, time, unique addresses. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/estimators.h"
#include "flow/unique_addresses.h"
#include "util/normal.h"

/* id: what is known so far, FLOW_NONE where nothing is. */
static uint32_t func_for_known(struct flow *out, const struct flow_input *in, uint32_t *id, uint32_t f)
{
	if (id[f] == FLOW_NONE)
		id[f] = flow_func(out, in->funcs[f].name, in->funcs[f].object);
	return id[f];
}

static void add_figure_known(double *figure, double v)
{
	*figure = isnan(*figure) ? v : *figure + v;
}

/* Unknown where most of the code could not be read; else what was read stands for the rest. */
static void computation(const struct in_function_time *t, struct flow_func *fn)
{
	double read = t->instructions - t->undecoded, half;

	if (!(t->instructions > 0) || !(read >= t->instructions / 2))
		return;
	add_figure_known(&fn->compute, t->compute * t->instructions / read);
	half = t->compute_samples > 0 ? Z95 * fn->compute / sqrt(t->compute_samples) : 0;
	fn->compute_low = fn->compute > half ? fn->compute - half : 0;
	fn->compute_high = fn->compute + half;
}

static void add_counted_figures(const struct flow_input *in, uint32_t f, struct flow_func *fn)
{
	const struct in_counted *c = f < in->counted_count ? &in->counted[f] : NULL;
	double sampled = fn->load_bytes + fn->store_bytes;

	if (!c || !(c->total > 0) || fn->by_counts)
		return;
	if (c->trust < IN_TRUSTED) {
		double factor = fn->instructions > 0 ? c->total / fn->instructions : NAN;

		fn->instructions = c->total;
		fn->compute *= factor;
		fn->compute_low *= factor;
		fn->compute_high *= factor;
		return;
	}
	fn->by_counts = true;
	fn->instructions = c->total;
	fn->compute = c->compute;
	/* of one function's blocks some may be counted too high and others too low: that stands in no total, and each
	 * of its figures may be off by as much as the whole */
	fn->compute_low = c->compute * c->low / c->total;
	fn->compute_high = c->compute * c->high / c->total;
	fn->loads = c->loads;
	fn->stores = c->stores;
	/* what samples tell is the stack's part of them */
	fn->stack_bytes *= sampled > 0 ? (c->load_bytes + c->store_bytes) / sampled : NAN;
	fn->load_bytes = c->load_bytes;
	fn->store_bytes = c->store_bytes;
	fn->moved_variance =
		pow((fn->load_bytes + fn->store_bytes - fn->stack_bytes) * (c->high - c->low) / (2 * Z95 * c->total),
		    2);
	fn->calls = c->calls;
}

static int figures(const struct flow_input *in, uint32_t *ids, struct flow *out)
{
	for (size_t i = 0; i < in->access_count + in->blind_count; i++) {
		const struct in_access *a = i < in->access_count ? &in->access[i] : &in->blind[i - in->access_count];
		double bytes = a->weight * a->size, moved;
		struct flow_func *fn;
		uint32_t id;

		if (a->flags & FMT_A_CENSUS)
			continue;
		id = func_for_known(out, in, ids, a->func);
		if (id == FLOW_NONE)
			return -ENOMEM;
		fn = &out->funcs[id];
		add_figure_known(&fn->samples, 1);
		add_figure_known(&fn->loads, a->flags & FMT_A_LOAD ? a->weight : 0);
		add_figure_known(&fn->stores, a->flags & FMT_A_STORE ? a->weight : 0);
		add_figure_known(&fn->load_bytes, a->flags & FMT_A_LOAD ? bytes : 0);
		add_figure_known(&fn->store_bytes, a->flags & FMT_A_STORE ? bytes : 0);
		add_figure_known(&fn->stack_bytes, a->flags & FMT_A_STACK ? bytes : 0);
		/* how often each was drawn is what varies */
		moved = bytes * (((a->flags & FMT_A_LOAD) != 0) + ((a->flags & FMT_A_STORE) != 0) -
				 ((a->flags & FMT_A_STACK) != 0));
		add_figure_known(&fn->moved_variance, moved * moved);
	}
	for (uint32_t f = 0; f < in->func_count && in->times; f++) {
		uint32_t id;

		if (!in->times[f].samples)
			continue;
		id = func_for_known(out, in, ids, f);
		if (id == FLOW_NONE)
			return -ENOMEM;
		if (in->times[f].self_ns > 0)
			add_figure_known(&out->funcs[id].self_ns, in->times[f].self_ns);
		if (in->times[f].instructions > 0)
			add_figure_known(&out->funcs[id].instructions, in->times[f].instructions);
		if (in->has_compute)
			computation(&in->times[f], &out->funcs[id]);
		add_counted_figures(in, f, &out->funcs[id]);
	}
	return 0;
}

struct uma_target {
	const struct flow_input *in;
	const struct est_opts *o;
	struct flow *out;
	const uint32_t *ids;
	bool writes;
};

static uint32_t uma_key(const void *ctx, size_t i)
{
	const struct uma_target *t = ctx;
	const struct in_access *a = &t->in->access[i];

	if (!(a->flags & (t->writes ? FMT_A_STORE : FMT_A_LOAD)) || (!t->o->stack && (a->flags & FMT_A_STACK)) ||
	    ((a->flags & FMT_A_CENSUS) && (!t->writes || !t->o->use_census)))
		return FLOW_NONE;
	return a->func;
}

static struct unique_addresses_item uma_item(const void *ctx, size_t i)
{
	const struct uma_target *t = ctx;
	const struct in_access *a = &t->in->access[i];
	const struct in_object *obj = in_object_at(t->in, a->pid, a->addr, a->time);

	return (struct unique_addresses_item){ .addr = a->addr,
					       .size = a->size,
					       .bytes =
						       a->flags & (FMT_A_CENSUS | FMT_A_TIME) ? 0 : a->weight * a->size,
					       .object = obj ? (uint32_t)(obj - t->in->object) : FLOW_NONE };
}

static void take_uma(const void *ctx, uint32_t key, const struct unique_addresses_result *r)
{
	const struct uma_target *t = ctx;
	struct flow_func *fn = t->ids[key] == FLOW_NONE ? NULL : &t->out->funcs[t->ids[key]];

	if (!fn)
		return;
	if (t->writes) {
		fn->out_uma = r->bytes;
		fn->out_uma_bound = r->bound;
	} else {
		fn->in_uma = r->bytes;
		fn->in_uma_bound = r->bound;
	}
}

static int unique_addresses(const struct flow_input *in, const struct est_opts *o, const uint32_t *ids,
			    struct flow *out)
{
	int err = 0;

	for (int writes = 0; writes < 2 && !err; writes++) {
		const struct uma_target t = { in, o, out, ids, writes };

		err = unique_addresses_each(in, &(struct unique_addresses_by){ .count = in->access_count,
									       .keys = in->func_count,
									       .key = uma_key,
									       .item = uma_item,
									       .take = take_uma,
									       .ctx = &t });
	}
	return err;
}

int flow_figures(const struct flow_input *in, const struct est_opts *o, struct flow *out)
{
	uint32_t *ids = malloc((in->func_count + 1) * sizeof(*ids));
	int err = -ENOMEM;

	if (ids) {
		memset(ids, 0xff, (in->func_count + 1) * sizeof(*ids));
		err = figures(in, ids, out);
		if (!err)
			err = unique_addresses(in, o, ids, out);
	}
	free(ids);
	return err;
}

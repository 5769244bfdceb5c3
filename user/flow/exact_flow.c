// SPDX-License-Identifier: GPL-2.0-or-later
/* Not estimates: what the exact engine counted, and results stored by merge. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "flow/estimators.h"

#define ARRAY_BYTES 1024 /* from so many on an object is an array to show by itself; by hand */

static double known_or_nan(uint64_t v)
{
	return v == FMT_X_UNKNOWN ? NAN : (double)v;
}

static uint32_t func_for_exact(struct flow *out, const struct flow_input *in, uint32_t f)
{
	return f < in->func_count ? flow_func(out, in->funcs[f].name, in->funcs[f].object) : FLOW_NONE;
}

/* Several records may bear one name (static functions of different files): figures add up. */
static void add_where_known(double *sum, double v)
{
	*sum = isnan(*sum) ? v : *sum + v;
}

static void take_figures(struct flow_func *n, const struct fmt_x_func *x, bool stack, bool unique)
{
	int class = stack ? FMT_X_BOTH : FMT_X_DATA;
	double load_bytes = 0, store_bytes = 0;

	for (int i = 0; i < 4; i++) {
		load_bytes += known_or_nan(x->load_bytes[i]);
		store_bytes += known_or_nan(x->store_bytes[i]);
	}
	add_where_known(&n->instructions, known_or_nan(x->instructions));
	add_where_known(&n->compute, known_or_nan(x->compute));
	n->compute_low = n->compute_high = n->compute;
	add_where_known(&n->loads, known_or_nan(x->loads));
	add_where_known(&n->stores, known_or_nan(x->stores));
	add_where_known(&n->load_bytes, load_bytes);
	add_where_known(&n->store_bytes, store_bytes);
	add_where_known(&n->stack_bytes,
			known_or_nan(x->load_bytes[FMT_X_R_STACK]) + known_or_nan(x->store_bytes[FMT_X_R_STACK]));
	add_where_known(&n->calls, known_or_nan(x->calls));
	add_where_known(&n->in_uma, unique ? known_or_nan(x->in_unique[class]) : NAN);
	add_where_known(&n->out_uma, unique ? known_or_nan(x->out_unique[class]) : NAN);
}

/* The part of each function's distinct addresses that lies in arrays: variables and heap blocks of some
 * size. Many small blocks are another matter for an estimate of their extent. */
static int arrays(const struct flow_input *in, struct flow *out)
{
	double *large = calloc(out->func_count + 1u, sizeof(*large)), *all = calloc(out->func_count + 1u, sizeof(*all));
	bool *is_large = calloc(in->object_site_count + 1, sizeof(*is_large));
	bool ok = large && all && is_large;

	for (size_t i = 0; ok && i < in->object_site_count; i++)
		is_large[i] = (double)in->object_site[i].size >= ARRAY_BYTES;
	for (size_t i = 0; ok && i < in->x_object_count; i++) {
		const struct fmt_x_object *x = &in->x_object[i];

		if (x->object < in->object_site_count && x->blocks)
			is_large[x->object] = (double)x->bytes / (double)x->blocks >= ARRAY_BYTES;
	}
	for (size_t i = 0; ok && i < in->x_use_count; i++) {
		const struct fmt_x_use *x = &in->x_use[i];
		uint32_t f = x->object < in->object_site_count ? func_for_exact(out, in, x->function) : FLOW_NONE, kind;

		/* one that was added just now has no edges either */
		if (f == FLOW_NONE || f >= out->func_count || x->unique == FMT_X_UNKNOWN || !x->reads)
			continue;
		kind = in->object_site[x->object].kind;
		if (kind == FMT_OBJ_STACK || kind == FMT_OBJ_LOCAL)
			continue;
		all[f] += (double)x->unique;
		large[f] += is_large[x->object] ? (double)x->unique : 0;
	}
	for (uint32_t f = 0; ok && f < out->func_count; f++)
		if (all[f] > 0)
			out->funcs[f].array_share = large[f] / all[f];
	free(large);
	free(all);
	free(is_large);
	return ok ? 0 : -ENOMEM;
}

static void larger(double *figure, double v)
{
	if (!(*figure >= v))
		*figure = v;
}

static double class_sum(const uint64_t figure[2], bool stack)
{
	return known_or_nan(figure[FMT_X_DATA]) + (stack ? known_or_nan(figure[FMT_X_STACK]) : 0);
}

/* What each function exchanges, with all it calls. */
static int take_whole(const struct flow_input *in, const struct est_opts *o, struct flow *out)
{
	bool stack = o->stack;
	uint32_t f;

	for (size_t i = 0; i < in->x_subtree_count; i++) {
		const struct fmt_x_subtree *x = &in->x_subtree[i];
		struct flow_inclusive *inc;

		f = func_for_exact(out, in, x->function);
		if (f == FLOW_NONE)
			return -ENOMEM;
		inc = &out->funcs[f].inc;
		if (!o->ke) {
			inc->in = class_sum(x->in, stack);
			inc->out = class_sum(x->out, stack);
			inc->local = class_sum(x->local, stack);
		}
		if (!stack) {
			inc->in_uma = known_or_nan(x->in_unique[FMT_X_DATA]);
			inc->out_uma = known_or_nan(x->out_unique[FMT_X_DATA]);
			inc->local_uma = known_or_nan(x->local_unique[FMT_X_DATA]);
		}
	}
	for (size_t i = 0; i < in->x_subtree_ke_count; i++) {
		const struct fmt_x_subtree_ke *x = &in->x_subtree_ke[i];
		struct flow_inclusive *inc;

		f = func_for_exact(out, in, x->function);
		if (f == FLOW_NONE)
			return -ENOMEM;
		inc = &out->funcs[f].inc;
		if (o->ke) {
			inc->in = class_sum(x->in, stack) * in->x_run.chunk;
			inc->out = class_sum(x->out, stack) * in->x_run.chunk;
			inc->local = class_sum(x->local, stack) * in->x_run.chunk;
		}
		if (stack) {
			inc->in_uma = known_or_nan(x->unique[0]);
			inc->out_uma = known_or_nan(x->unique[1]);
			inc->local_uma = known_or_nan(x->unique[2]);
		}
	}
	for (f = 0; f < out->func_count; f++) {
		struct flow_inclusive *inc = &out->funcs[f].inc;

		inc->in_low = inc->in_high = inc->in;
		inc->out_low = inc->out_high = inc->out;
	}
	return 0;
}

/* Of two functions of one name, one may have called the other: the larger is what is certain. */
static int take_inclusive(const struct flow_input *in, const struct est_opts *o, struct flow *out)
{
	out->func_count_self = out->func_count;
	for (size_t i = 0; i < in->x_func_count; i++) {
		const struct fmt_x_func *x = &in->x_func[i];
		double load = 0, store = 0;
		struct flow_inclusive *inc;
		uint32_t f;

		if (x->scope != FMT_X_INCLUSIVE)
			continue;
		f = func_for_exact(out, in, x->function);
		if (f == FLOW_NONE)
			return -ENOMEM;
		for (int k = 0; k < 4; k++) {
			load += known_or_nan(x->load_bytes[k]);
			store += known_or_nan(x->store_bytes[k]);
		}
		inc = &out->funcs[f].inc;
		larger(&inc->instructions, known_or_nan(x->instructions));
		larger(&inc->compute, known_or_nan(x->compute));
		larger(&inc->load_bytes, load);
		larger(&inc->store_bytes, store);
	}
	if (take_whole(in, o, out))
		return -ENOMEM;
	out->inclusive = true;
	return 0;
}

static void take_times(const struct flow_input *in, struct flow *out)
{
	struct flow_names names;

	if (!in->times)
		return;
	flow_names_index(&names, out);
	for (uint32_t f = 0; f < in->func_count; f++) {
		uint32_t id = flow_names_find(&names, in->funcs[f].name, in->funcs[f].object);

		if (id != FLOW_NONE && in->times[f].self_ns > 0)
			out->funcs[id].self_ns = in->times[f].self_ns;
	}
	flow_names_release(&names);
}

static int run_exact(const struct flow_input *in, const struct est_opts *o, struct flow *out, struct err *e)
{
	bool unique = in->x_run.has & FMT_X_HAS_UNIQUE, units = false;

	if (!in->has_x)
		return err_set(e, -ENODATA,
			       "the profile holds no exact figures; make one with `accperf exact -- COMMAND`");
	if (o->ke ? !(in->x_run.has & FMT_X_HAS_KE) : !(in->x_run.has & FMT_X_HAS_QUAD))
		return err_set(
			e, -ENODATA,
			"the profile holds no figures in %s semantics; record again with `accperf exact --semantics %s`",
			o->ke ? "ke" : "quad", o->ke ? "ke" : "quad");
	out->engine = FLOW_EXACT;
	out->main_image = in->recorded_main;
	for (size_t i = 0; i < in->x_func_count; i++) {
		const struct fmt_x_func *x = &in->x_func[i];
		uint32_t f;

		if (x->scope != FMT_X_SELF && x->scope != FMT_X_UNIT)
			continue;
		f = func_for_exact(out, in, x->function);
		if (f == FLOW_NONE)
			return -ENOMEM;
		if (x->scope == FMT_X_UNIT) {
			add_where_known(&out->funcs[f].unit_compute, known_or_nan(x->compute));
			for (int k = 0; k < 4; k++)
				if (k != FMT_X_R_STACK)
					add_where_known(&out->funcs[f].unit_bytes,
							known_or_nan(x->load_bytes[k]) +
								known_or_nan(x->store_bytes[k]));
			units = true;
			continue;
		}
		take_figures(&out->funcs[f], x, o->stack, unique);
	}
	for (uint32_t f = 0; units && f < out->func_count; f++)
		if (isnan(out->funcs[f].unit_compute)) {
			out->funcs[f].unit_compute = 0;
			out->funcs[f].part_of_others = !flow_is_pseudo(&out->funcs[f]);
		}
	for (size_t i = 0; i < in->x_edge_count; i++) {
		const struct fmt_x_edge *x = &in->x_edge[i];
		const uint64_t *from = o->ke ? x->ke_chunks : x->bytes;
		double bytes = 0;
		struct flow_edge *edge;

		if (from[FMT_X_DATA] != FMT_X_UNKNOWN)
			bytes += (double)from[FMT_X_DATA];
		if (o->stack && from[FMT_X_STACK] != FMT_X_UNKNOWN)
			bytes += (double)from[FMT_X_STACK];
		bytes *= o->ke ? in->x_run.chunk : 1;
		if (!(bytes > 0))
			continue;
		edge = flow_edge(out, func_for_exact(out, in, x->producer), func_for_exact(out, in, x->consumer));
		if (!edge)
			return -ENOMEM;
		edge->bytes += bytes;
		edge->low = edge->high = edge->bytes;
		edge->sd = 0;
		if (unique)
			add_where_known(&edge->unique,
					o->ke ? NAN : known_or_nan(x->unique[o->stack ? FMT_X_BOTH : FMT_X_DATA]));
		edge->unique_met = edge->unique;
	}
	if (!o->ke && arrays(in, out))
		return -ENOMEM;
	if (o->inclusive && take_inclusive(in, o, out))
		return -ENOMEM;
	take_times(in, out);
	return 0;
}

static int run_cached(const struct flow_input *in, const struct est_opts *o, struct flow *out, struct err *e)
{
	const struct flow *c = flow_cache_get(&in->cache, o->ke ? FLOW_KE : FLOW_QUAD,
					      o->stack ? FLOW_STACK_INCLUDE : FLOW_STACK_EXCLUDE, in->main_image);

	if (!c)
		return err_set(e, -ENODATA,
			       "the profile holds no stored flow of this kind; merge with the options wanted here");
	out->engine = c->engine;
	out->time_bias = c->time_bias;
	out->speed_low = c->speed_low;
	out->speed_high = c->speed_high;
	out->speed_seconds = c->speed_seconds;
	out->main_image = c->main_image;
	out->level = c->level;
	out->duration_ns = c->duration_ns;
	out->loads = c->loads;
	out->stores = c->stores;
	out->windows = c->windows;
	out->lost = c->lost;
	return flow_add(out, c, 1);
}

const struct est_ops flow_exact = { "exact", run_exact };
const struct est_ops flow_stored = { "stored", run_cached };

// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/by_object.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/path_name.h"

static uint32_t folded_object(struct flow *to, const struct flow_func *fn)
{
	const char *object = path_last(fn->object);

	if (flow_is_pseudo(fn))
		return flow_func(to, fn->name, "");
	object = *object ? object : "(no object)";
	return flow_func(to, object, object); /* which a filter of objects finds */
}

/* What one function has; *to is new and knows nothing, or has that of others. */
static void fold_function(struct flow_func *to, const struct flow_func *fn, bool fresh)
{
	const double figure[] = { fn->instructions, fn->compute,  fn->compute_low, fn->compute_high,
				  fn->loads,        fn->stores,   fn->load_bytes,  fn->store_bytes,
				  fn->stack_bytes,  fn->self_ns,  fn->in_low,      fn->in_high,
				  fn->out_low,      fn->out_high, fn->samples,     fn->moved_variance };
	double *const sum[] = { &to->instructions, &to->compute,  &to->compute_low, &to->compute_high,
				&to->loads,        &to->stores,   &to->load_bytes,  &to->store_bytes,
				&to->stack_bytes,  &to->self_ns,  &to->in_low,      &to->in_high,
				&to->out_low,      &to->out_high, &to->samples,     &to->moved_variance };

	for (size_t i = 0; i < sizeof(figure) / sizeof(*figure); i++)
		*sum[i] = fresh ? figure[i] : *sum[i] + figure[i];
	to->in_uma = fresh ? fn->in_uma : NAN;
	to->out_uma = fresh ? fn->out_uma : NAN;
	to->in_uma_bound = fresh && fn->in_uma_bound;
	to->out_uma_bound = fresh && fn->out_uma_bound;
	to->array_share = fresh ? fn->array_share : NAN;
	to->calls = NAN; /* of functions, which call each other */
	to->by_counts |= fn->by_counts;
}

static void fold_edge(struct flow_edge *to, const struct flow_edge *e, bool fresh)
{
	to->bytes += e->bytes;
	to->low = fresh ? e->low : to->low + e->low;
	to->high = fresh ? e->high : to->high + e->high;
	to->sd = fresh ? e->sd : to->sd + e->sd;
	to->samples = fresh ? e->samples : to->samples + e->samples;
	to->unique = fresh ? e->unique : NAN;
	to->unique_met = fresh ? e->unique_met : NAN;
	to->unresolved |= e->unresolved;
}

static bool fold_all(const struct flow *f, struct flow *to, uint32_t *of)
{
	for (uint32_t i = 0; i < f->func_count; i++) {
		uint32_t before = to->func_count;

		of[i] = folded_object(to, &f->funcs[i]);
		if (of[i] == FLOW_NONE)
			return false;
		fold_function(&to->funcs[of[i]], &f->funcs[i], to->func_count != before);
	}
	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *e = &f->edges[i];
		size_t before = to->edge_count;
		struct flow_edge *sum = flow_edge(to, of[e->producer], of[e->consumer]);

		if (!sum)
			return false;
		fold_edge(sum, e, to->edge_count != before);
	}
	return true;
}

int flow_fold_by_object(struct flow *f)
{
	uint32_t *of = calloc(f->func_count + 1, sizeof(*of));
	struct flow to = *f;
	bool done;

	flow_drop_inclusive(f);
	to.funcs = NULL;
	to.edges = NULL;
	to.func_count = to.func_cap = to.func_count_self = 0;
	to.edge_count = to.edge_cap = 0;
	to.edge_at = (struct map){ 0 };
	to.names = (struct intern){ 0 };
	to.inclusive = false;
	done = of && fold_all(f, &to, of);
	if (!done) {
		to.calls = NULL;
		flow_release(&to);
		free(of);
		return -ENOMEM;
	}
	for (size_t i = 0; i < to.call_count; i++)
		to.calls[i].func = of[to.calls[i].func];
	f->calls = NULL;
	flow_release(f);
	*f = to;
	flow_finish(f);
	free(of);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Figures per function that need no producer: counts, bytes, time, unique addresses. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/estimators.h"

/* id: what is known so far, FLOW_NONE where nothing is. */
static uint32_t func_for(struct flow *out, const struct flow_input *in, uint32_t *id, uint32_t f)
{
	if (id[f] == FLOW_NONE)
		id[f] = flow_func(out, in->funcs[f].name, in->funcs[f].object);
	return id[f];
}

static void add(double *figure, double v)
{
	*figure = isnan(*figure) ? v : *figure + v;
}

static int figures(const struct flow_input *in, uint32_t *ids, struct flow *out)
{
	for (size_t i = 0; i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];
		struct flow_func *fn;
		uint32_t id;

		if (a->flags & FMT_A_CENSUS)
			continue;
		id = func_for(out, in, ids, a->func);
		if (id == FLOW_NONE)
			return -ENOMEM;
		fn = &out->funcs[id];
		add(&fn->loads, a->flags & FMT_A_LOAD ? a->weight : 0);
		add(&fn->stores, a->flags & FMT_A_STORE ? a->weight : 0);
		add(&fn->load_bytes, a->flags & FMT_A_LOAD ? a->weight * a->size : 0);
		add(&fn->store_bytes, a->flags & FMT_A_STORE ? a->weight * a->size : 0);
		add(&fn->stack_bytes, a->flags & FMT_A_STACK ? a->weight * a->size : 0);
	}
	for (uint32_t f = 0; f < in->func_count && in->times; f++) {
		uint32_t id;

		if (!in->times[f].samples)
			continue;
		id = func_for(out, in, ids, f);
		if (id == FLOW_NONE)
			return -ENOMEM;
		if (in->times[f].self_ns > 0)
			add(&out->funcs[id].self_ns, in->times[f].self_ns);
		if (in->times[f].instructions > 0)
			add(&out->funcs[id].instructions, in->times[f].instructions);
	}
	return 0;
}

int flow_figures(const struct flow_input *in, const struct est_opts *o, struct flow *out)
{
	uint32_t *ids = malloc((in->func_count + 1) * sizeof(*ids));
	int err = -ENOMEM;

	if (ids) {
		memset(ids, 0xff, (in->func_count + 1) * sizeof(*ids));
		err = figures(in, ids, out);
	}
	free(ids);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Demo: a flow estimator to begin with (include/estimate.h). It knows of no byte who wrote it. */
#include <errno.h>

#include "flow/estimator_table.h"
#include "flow/estimators.h"
#include "format.h"

static int run(const struct flow_input *in, const struct est_opts *o, struct flow *out, struct err *e)
{
	uint32_t unknown = flow_func(out, FLOW_UNKNOWN, "");

	for (size_t i = 0; i < in->access_count; i++) {
		const struct in_access *a = &in->access[i];
		struct flow_edge *edge;

		if (!(a->flags & FMT_A_LOAD) || (a->flags & FMT_A_CENSUS))
			continue;
		edge = flow_edge(out, unknown, flow_func(out, in->funcs[a->func].name, in->funcs[a->func].object));
		if (!edge)
			return err_set(e, -ENOMEM, "out of memory");
		edge->bytes += a->weight * a->size;
	}
	return flow_figures(in, o, out);
}

const struct est_ops flow_demo = { "demo", run };

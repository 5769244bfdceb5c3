// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/estimators.h"
#include "flow/estimator_table.h"
#include "flow/shared_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROW(name) &flow_##name,
static const struct est_ops *const table[] = { FLOW_ESTIMATORS(ROW) };
#undef ROW

const struct est_ops *flow_estimator(const struct flow_input *in, const char *name)
{
	if (!name)
		return in->x_edge_count || (in->has_x && !in->access_count) ? &flow_exact
		       : in->cache.count && !in->access_count               ? &flow_stored
									    : &flow_fused;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i]->name, name))
			return table[i];
	return NULL;
}

int flow_estimate(const struct flow_input *in, const char *name, const struct est_opts *o, struct flow *out,
		  struct err *e)
{
	const struct est_ops *ops = flow_estimator(in, name);
	int err;

	if (!ops)
		return err_set(e, -EINVAL, "there is no estimator '%s'; it is one of %s", name, FLOW_ESTIMATOR_CHOICES);
	if (!name && flow_take_ready(in, o, out))
		return 0;
	flow_init(out);
	out->semantics = o->ke ? FLOW_KE : FLOW_QUAD;
	out->stack = o->stack ? FLOW_STACK_INCLUDE : FLOW_STACK_EXCLUDE;
	out->engine = in->engine;
	/* of no samples there are no bytes either */
	out->part = in->kept.loaded > 0 ? in->kept.loaded : 1;
	out->began_ns = in->began_ns;
	out->duration_ns = in->duration_ns;
	out->lost = in->lost;
	out->main_image = in->main_image;
	err = ops->run(in, o, out, e);
	/* a stored flow knows for itself */
	if (!err && out->time_bias && in->engine != FLOW_EXACT && ops != &flow_stored) {
		out->speed_low = in_has_amounts(in, true) ? in->speed.low : NAN;
		out->speed_high = in_has_amounts(in, true) ? in->speed.high : NAN;
		out->speed_seconds = in->speed.seconds;
	}
	if (!err && out->failed)
		err = err_set(e, -ENOMEM, "out of memory");
	if (err)
		flow_release(out);
	else
		flow_finish(out);
	return err;
}

int flow_estimate_part(const struct flow_input *in, bool part, const char *name, const struct est_opts *o,
		       struct flow *out, struct err *e)
{
	if (part && in->has_x && (name ? !strcmp(name, "exact") : !in->access_count))
		return err_set(e, -ENODATA,
			       "exact figures are not kept by process or thread: leave out --pid and --comm, or add "
			       "samples: `accperf exact --emit-samples 1000 -- COMMAND`");
	return flow_estimate(in, name ? name : part && in->access_count ? "fused" : NULL, o, out, e);
}

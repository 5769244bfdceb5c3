// SPDX-License-Identifier: GPL-2.0-or-later
/* What text, JSON and graphs of a flow share: which edges they show. */
#include <math.h>
#include <stdio.h>

#include "profile/filter.h"
#include "view/flow.h"
#include "view/text.h"

/* Counts are whole numbers in JSON, estimates rounded to one. */
void flow_range_json(struct json *j, const char *key, struct flow_range r)
{
	char bound[40];

	text_json_whole(j, key, r.value);
	snprintf(bound, sizeof(bound), "%s_low", key);
	text_json_whole(j, bound, r.low);
	snprintf(bound, sizeof(bound), "%s_high", key);
	text_json_whole(j, bound, r.high);
}

static bool list_asks(const struct filter_list *l)
{
	return l && l->count;
}

static bool passes(const struct flow_view *v, const struct flow_func *f)
{
	return filter_code(v->filter, f->name, f->object);
}

bool flow_named(const struct flow_view *v, const struct flow_func *f)
{
	if (!passes(v, f))
		return false;
	return (!list_asks(v->producer) && !list_asks(v->consumer)) ||
	       (list_asks(v->producer) && filter_list_takes(v->producer, f->name)) ||
	       (list_asks(v->consumer) && filter_list_takes(v->consumer, f->name));
}

bool flow_shown(const struct flow_view *v, const struct flow_edge *e)
{
	const struct flow *f = v->flow;

	if (!passes(v, &f->funcs[e->producer]) && !passes(v, &f->funcs[e->consumer]))
		return false;
	return e->bytes >= v->min_share * flow_whole(v->flow) &&
	       (!list_asks(v->producer) || filter_list_takes(v->producer, f->funcs[e->producer].name)) &&
	       (!list_asks(v->consumer) || filter_list_takes(v->consumer, f->funcs[e->consumer].name));
}

struct filtered flow_filtered(const struct flow_view *v)
{
	struct filtered out = { .by = v->filter, .of = "bytes", .shown = NAN };
	double bytes = 0;

	for (size_t i = 0; i < v->flow->edge_count; i++)
		if (flow_shown(v, &v->flow->edges[i]))
			bytes += v->flow->edges[i].bytes;
	out.shown = bytes / flow_whole(v->flow);
	return out;
}

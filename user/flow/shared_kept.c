// SPDX-License-Identifier: GPL-2.0-or-later
/* The shelf of what is shared: readers and estimators look here first. */
#include <stdlib.h>

#include "flow/shared_priv.h"

/* Of this process, as profiles are. */
static struct shared_flow *all;

void flow_keep_shared(struct shared_flow *s)
{
	s->next = all;
	all = s;
}

struct shared_flow *flow_last_shared(void)
{
	struct shared_flow *s = all;

	all = s ? s->next : NULL;
	return s;
}

static bool same_but_inclusive(const struct est_opts *a, const struct est_opts *b)
{
	return a->stack == b->stack && a->ke == b->ke && a->use_census == b->use_census &&
	       a->use_windows == b->use_windows && a->edges_alone == b->edges_alone && a->bootstraps == b->bootstraps &&
	       a->level == b->level && a->seed == b->seed;
}

static bool asks_for_all(const struct flow_input_opts *o)
{
	return !o->main_image && !o->no_earlier && !flow_input_in_part(o);
}

bool flow_take_shared(const struct profile *p, const struct flow_input_opts *o, struct flow_input *out)
{
	for (struct shared_flow *s = all; s; s = s->next) {
		if (s->profile != p || !s->there || !asks_for_all(o))
			continue;
		*out = s->in;
		s->there = false;
		return true;
	}
	return false;
}

bool flow_take_ready(const struct flow_input *in, const struct est_opts *o, struct flow *out)
{
	for (struct flow_ready *r = in->ready; r; r = r->next) {
		if (!r->flow.func_count || !same_but_inclusive(&r->o, o))
			continue;
		*out = r->flow;
		flow_init(&r->flow);
		if (!o->inclusive)
			flow_drop_inclusive(out);
		return true;
	}
	return false;
}

void flow_ready_release(struct flow_input *in)
{
	while (in->ready) {
		struct flow_ready *r = in->ready;

		in->ready = r->next;
		flow_release(&r->flow);
		free(r);
	}
}

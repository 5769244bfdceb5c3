// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/shared.h"

#include <errno.h>
#include <stdlib.h>

#include "flow/shared_priv.h"
#include "profile/shared.h"

static int estimate_at(struct flow_input *in, double level, struct flow_ready **first)
{
	struct flow_ready *r = calloc(1, sizeof(*r));
	struct err why = { 0 };

	if (!r)
		return -ENOMEM;
	r->o = (struct est_opts)EST_OPTS_DEFAULT;
	r->o.inclusive = true;
	r->o.level = level;
	if (flow_estimate(in, NULL, &r->o, &r->flow, &why)) {
		free(r); /* the caller gets the reason */
		return why.code == -ENOMEM ? -ENOMEM : 0;
	}
	r->next = *first;
	*first = r;
	return 0;
}

int flow_share_estimate(const char *path, const double *levels, struct err *e)
{
	struct flow_input_opts o = { .bytes = true, .stacks = true, .compute = true, .locals = true };
	struct shared_flow *s = calloc(1, sizeof(*s));
	struct err why = { 0 };
	struct profile *p = s ? flow_input_and_profile(&s->in, path, &o, &why, e) : NULL;
	struct flow_ready *ready = NULL;
	int err = 0;

	if (!p) {
		free(s);
		return e->code ? e->code : err_set(e, -ENOMEM, "out of memory");
	}
	s->profile = p;
	/* without times it was not resolved: there is nothing but time in it, which is asked for in other ways */
	s->there = !why.code && s->in.times;
	if (!s->there)
		flow_input_release(&s->in);
	for (; s->there && !err && levels && *levels; levels++)
		err = estimate_at(&s->in, *levels, &ready);
	s->in.ready = ready;
	flow_keep_shared(s);
	if (err) {
		profile_free(p);
		return err_set(e, err, "out of memory");
	}
	return profile_share_open(path, p, e);
}

void flow_share_end(void)
{
	struct shared_flow *s;

	while ((s = flow_last_shared())) {
		if (s->there)
			flow_input_release(&s->in);
		free(s);
	}
	profile_share_end();
}

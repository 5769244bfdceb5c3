// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/counts_guess.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define Z95 1.96
#define TIME_VAR 0.7 /* of a ratio by time alone: instructions per time differ as between functions, twice */
#define LOOP_VAR 12.0 /* the time of what is in it decides, not that of its header against what is around it */
#define ENOUGH 3.0   /* samples that would be there if it ran whenever its surroundings do */

/* Logs of how often: a branch is taken, one that is known to be taken at all, a loop goes round, a loop
 * is entered that might be passed by. */
static const struct { double mean, var; } commonly[] = { { -0.9, 0.8 }, { -0.2, 0.15 }, { 2.3, 9 }, { -0.1, 0.04 } };

static bool inside(const struct fmt_counts_link *l)
{
	return (l->how == FMT_CL_RATIO || l->how == FMT_CL_TRIPS || l->how == FMT_CL_ONCE) && !(l->flags & FMT_CL_CALL) && l->parent;
}

/* From what was seen up to what alone leads there: at most as many rounds as loops are nested. */
static void spread_activity(struct counts_guess *g)
{
	bool changed = true;

	for (int round = 0; round < 32 && changed; round++) {
		changed = false;
		for (size_t i = 0; i < g->r->links; i++) {
			const struct fmt_counts_link *l = &g->r->link[i].l;

			if (!inside(l) || !g->active[l->child] || g->active[l->parent])
				continue;
			g->active[l->parent] = changed = true;
		}
	}
}

int counts_guess_begin(struct counts_guess *g, const struct counts_record *r)
{
	*g = (struct counts_guess){ .r = r, .active = calloc(r->nodes + 1, sizeof(*g->active)) };
	g->guard = calloc(r->nodes + 1, sizeof(*g->guard));
	if (!g->active || !g->guard)
		return -ENOMEM;
	for (size_t n = 1; n < r->nodes; n++)
		g->active[n] = r->node[n].samples > 0;
	for (size_t i = 0; i < r->links; i++) {
		const struct fmt_counts_link *l = &r->link[i].l;

		if (!l->how)
			continue;
		if ((l->flags & FMT_CL_CALL) && l->seen > 0)
			g->active[l->parent] = true;
		for (size_t k = r->link[i].window; k < r->link[i].window + r->link[i].windows; k++) {
			if (l->how != FMT_CL_RATE && r->window[k].anchor > 0)
				g->active[l->parent] = true;
			if (l->how == FMT_CL_TRIPS && r->window[k].anchor > 0)
				g->guard[l->parent] = true;
			if (r->window[k].child > 0)
				g->active[l->child] = true;
		}
	}
	spread_activity(g);
	return 0;
}

void counts_guess_end(struct counts_guess *g)
{
	free(g->active);
	free(g->guard);
	g->active = g->guard = NULL;
}

/* Too few hits for a ratio of its own are still a hint. */
static void add_hits(const struct counts_record *r, size_t link, bool loop, double *log_ratio, double *var)
{
	const struct counts_rec_link *k = &r->link[link];
	double x = 0, y = 0, part, hit_var;

	for (size_t i = k->window; i < k->window + k->windows; i++) {
		x += r->window[i].anchor;
		y += r->window[i].child;
	}
	if (!(x >= 3))
		return;
	part = (y + 0.25) / (x + 0.25);
	part = loop ? part : fmin(part, 1);
	hit_var = (fmax(1 - part, 0) + 0.25) / (part * x) + (loop ? 0.5 : 0);
	*log_ratio = (*log_ratio / *var + log(part) / hit_var) / (1 / *var + 1 / hit_var);
	*var = 1 / (1 / *var + 1 / hit_var);
}

void counts_guess_link(const struct counts_guess *g, size_t link, struct counts_ratio *out)
{
	const struct counts_record *r = g->r;
	const struct fmt_counts_link *l = &r->link[link].l;
	const struct fmt_counts_node *p = &r->node[l->parent], *c = &r->node[l->child];
	double parent = (double)p->samples, child = (double)c->samples, per_run, log_ratio, var, time_var;
	bool loop = c->kind == FMT_CN_LOOP;
	int kind = loop ? 2 : g->guard[l->child] ? 3 : g->active[l->child] ? 1 : 0;

	if (l->how != FMT_CL_RATIO || !inside(l) || !(c->instructions > 0) || !(p->instructions > 0))
		return;
	log_ratio = commonly[kind].mean;
	var = commonly[kind].var;
	per_run = p->instructions / c->instructions;
	/* no sample where there could be none says nothing */
	if (child > 0 || parent / per_run > ENOUGH) {
		time_var = TIME_VAR + 1 / (child + 0.5) + 1 / (parent + 0.5);
		log_ratio = (log_ratio / var + log((child + (child > 0 ? 0 : 0.3)) / (parent + 0.5) * per_run) / time_var) /
			    (1 / var + 1 / time_var);
		var = 1 / (1 / var + 1 / time_var);
	}
	add_hits(r, link, loop, &log_ratio, &var);
	if (!loop)
		log_ratio = fmin(log_ratio, 0);
	out->how = COUNTS_TIME;
	out->ratio = exp(log_ratio);
	out->log_var = loop ? fmax(var, LOOP_VAR) : var;
	out->low = out->ratio * exp(-Z95 * sqrt(var));
	out->high = out->ratio * exp(Z95 * sqrt(var));
}

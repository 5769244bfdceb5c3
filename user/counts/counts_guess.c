// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/counts_guess.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "util/normal.h"

#define LOOP_VAR 400.0     /* how often a loop goes round is anybody's guess: the time of all that is in it decides */
#define LOOP_LOG 2.3       /* log of how often a loop goes round, ten times, where nothing tells; by hand */
#define HINT_MOST 50       /* executions a time; by hand */
#define COLD_VAR 4.0       /* of a loop without a single sample */
#define GRID_STEP 0.25     /* log: a step of the grid is a factor of 1.28; by hand */
#define PACE_SD 1.0        /* sd of the log: a factor of e; by hand */
#define STRAYED 0.03       /* of the samples around: found where an interrupt comes through late */
#define MOST_SAMPLES 40.0  /* more do not tell a branch better: what is unsure is not how many they are */
#define GUESS_VAR 1.0      /* guesses that were checked scattered so much beyond what they claimed */
#define NEARLY_ALWAYS 0.85 /* part of its parent's runs; above it a guess scatters less; by hand */
#define COLD_FROM 8        /* grid points: what is run less often than that is cold */
#define NEGLIGIBLE 40.0    /* log: what is that much less likely adds less than rounding does */

/* What branches commonly do: nearly always, anything between, hardly ever. Of blocks that are not known
 * to run; of those that are; of the way into a loop that was seen to run, which might be passed by: once
 * in a function, or in a loop around it. */
enum { COLD, WARM, GUARD, GUARD_IN_LOOP };
static const struct {
	double always, between, cold;
} commonly[] = {
	[COLD] = { 0.15, 0.2, 0.65 },
	[WARM] = { 0.7, 0.3, 0 },
	[GUARD] = { 0.97, 0.03, 0 },
	[GUARD_IN_LOOP] = { 0.6, 0.2, 0.2 },
};

static bool inside(const struct fmt_counts_link *l)
{
	return (l->how == FMT_CL_RATIO || l->how == FMT_CL_TRIPS || l->how == FMT_CL_ONCE) &&
	       !(l->flags & FMT_CL_CALL) && l->parent;
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

void counts_guess_end(struct counts_guess *g)
{
	free(g->active);
	free(g->guard);
	free(g->turns);
	g->active = g->guard = g->turns = NULL;
}

static void sum_hits(const struct counts_record *r, size_t link, double *anchor, double *child)
{
	const struct counts_rec_link *k = &r->link[link];

	*anchor = *child = 0;
	for (size_t i = k->window; i < k->window + k->windows; i++) {
		*anchor += r->window[i].anchor;
		*child += r->window[i].child;
	}
}

/* What follows a window's last hit of the anchor may come after its end: where turns are long, mostly. */
static void whole_turns(const struct counts_record *r, size_t link, double *anchor, double *child)
{
	const struct counts_rec_link *k = &r->link[link];

	*anchor = *child = 0;
	for (size_t i = k->window; i < k->window + k->windows; i++) {
		double turns = r->window[i].anchor - 1;

		if (!(turns > 0) && !(r->window[i].child > 0))
			continue;
		*anchor += fmax(turns, fmin(r->window[i].child, 1));
		*child += fmin(r->window[i].child, fmax(turns, 1));
	}
}

/* Samples of the child, `expected` if it ran always, at any pace that is likely. */
static double chance_of_samples(const struct guess_grid *g, double samples, double expected, double around, double part)
{
	double term[PACE_STEPS], most = -INFINITY, sum = 0, scale = fmin(1, MOST_SAMPLES / fmax(samples, expected));

	for (int i = 0; i < PACE_STEPS; i++) {
		double z = i - (PACE_STEPS - 1) / 2, mean = expected * part * g->pace[i] + STRAYED * around + 1e-6;

		term[i] = -z * z / 2 + scale * ((samples > 0 ? samples * log(mean) : 0) - mean);
		most = fmax(most, term[i]);
	}
	for (int i = 0; i < PACE_STEPS; i++)
		sum += term[i] > most - NEGLIGIBLE ? exp(term[i] - most) : 0;
	return most + log(sum);
}

/* Hits of both, where the child cannot come more often; some are lost at a window's ends. */
static double by_hits(const struct guess_grid *g, double anchor, double child, int at)
{
	child = fmin(child, anchor);
	return child * g->log_hit[at] + (anchor - child) * g->log_missed[at];
}

/* A branch: samples of what is behind it and of what is before; hits of both. */
struct branch_seen {
	double samples, expected, around;
	double anchor, child;
};

static void fill_grid(struct guess_grid *g)
{
	for (int i = 0; i < PACE_STEPS; i++)
		g->pace[i] = exp((i - (PACE_STEPS - 1) / 2) * PACE_SD);
	for (int i = 0; i < GRID; i++) {
		double part = exp(-GRID_STEP * i), p = fmin(fmax(part, 1e-5), 0.98);

		g->part[i] = part;
		g->log_hit[i] = log(p);
		g->log_missed[i] = log1p(-p);
		for (int kind = COLD; kind <= GUARD_IN_LOOP; kind++) {
			double prior = i < 2           ? commonly[kind].always / 2
				       : i < COLD_FROM ? commonly[kind].between / (COLD_FROM - 2)
						       : commonly[kind].cold / (GRID - COLD_FROM);

			g->log_prior[kind][i] = log(prior + 1e-9);
		}
	}
}

static void guess_kind(const struct guess_grid *g, int kind, const struct branch_seen *b, struct counts_ratio *out)
{
	double log_like[GRID], most = -INFINITY, sum = 0, mean = 0, square = 0, var;
	double log_mean = 0, log_square = 0;

	for (int i = 0; i < GRID; i++) {
		log_like[i] = g->log_prior[kind][i] +
			      chance_of_samples(g, b->samples, b->expected, b->around, g->part[i]) +
			      (b->anchor > 0 ? by_hits(g, b->anchor, b->child, i) : 0);
		most = fmax(most, log_like[i]);
	}
	for (int i = 0; i < GRID; i++) {
		double part = g->part[i], weight = log_like[i] > most - NEGLIGIBLE ? exp(log_like[i] - most) : 0;

		sum += weight;
		mean += weight * part;
		square += weight * part * part;
		log_mean -= weight * GRID_STEP * i;
		log_square += weight * GRID_STEP * GRID_STEP * i * i;
	}
	mean /= sum;
	log_mean /= sum;
	var = log1p(fmax(square / sum - mean * mean, 0) / (mean * mean)) + 1e-3;
	/* much may hang on it, which its time may tell more of */
	if (kind == GUARD_IN_LOOP)
		var = fmax(var, log_square / sum - log_mean * log_mean);
	var += mean < NEARLY_ALWAYS ? GUESS_VAR : GUESS_VAR / 10;
	out->ratio = mean;
	out->log_var = var;
	out->low = mean * exp(-Z95 * sqrt(var));
	out->high = fmin(1, mean * exp(Z95 * sqrt(var)));
}

int counts_guess_begin(struct counts_guess *g, const struct counts_record *r)
{
	*g = (struct counts_guess){ .r = r, .active = calloc(r->nodes + 1, sizeof(*g->active)) };
	g->guard = calloc(r->nodes + 1, sizeof(*g->guard));
	g->turns = calloc(r->nodes + 1, sizeof(*g->turns));
	if (!g->active || !g->guard || !g->turns)
		return -ENOMEM;
	fill_grid(&g->grid);
	for (int kind = COLD; kind <= GUARD_IN_LOOP; kind++)
		guess_kind(&g->grid, kind, &(struct branch_seen){ 0 }, &g->unseen[kind]);
	for (size_t n = 1; n < r->nodes; n++)
		g->active[n] = r->node[n].samples > 0;
	for (size_t i = 0; i < r->links; i++) {
		const struct fmt_counts_link *l = &r->link[i].l;

		if (!l->how)
			continue;
		if (inside(l) && r->node[l->parent].kind == FMT_CN_BLOCK)
			g->turns[l->parent] = true;
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

static void guess_branch(const struct counts_guess *g, size_t link, struct counts_ratio *out)
{
	const struct counts_record *r = g->r;
	const struct fmt_counts_link *l = &r->link[link].l;
	const struct fmt_counts_node *p = &r->node[l->parent], *c = &r->node[l->child];
	struct branch_seen b = { .samples = (double)c->samples,
				 .expected = (double)p->samples * c->instructions / p->instructions,
				 .around = (double)p->samples };
	int kind = !g->guard[l->child]       ? g->active[l->child] ? WARM : COLD
		   : p->kind == FMT_CN_ENTRY ? GUARD
					     : GUARD_IN_LOOP;

	whole_turns(r, link, &b.anchor, &b.child);
	if (p->samples || c->samples || b.anchor > 0) {
		guess_kind(&g->grid, kind, &b, out);
		return;
	}
	out->ratio = g->unseen[kind].ratio;
	out->log_var = g->unseen[kind].log_var;
	out->low = g->unseen[kind].low;
	out->high = g->unseen[kind].high;
}

static void guess_loop(const struct counts_guess *g, size_t link, struct counts_ratio *out)
{
	const struct counts_record *r = g->r;
	const struct fmt_counts_link *l = &r->link[link].l;
	const struct fmt_counts_node *p = &r->node[l->parent], *c = &r->node[l->child];
	double parent = (double)p->samples, child = (double)c->samples, x, y, ratio = LOOP_LOG, var = LOOP_VAR, hit_var;

	sum_hits(r, link, &x, &y);
	if (!g->active[l->child]) {
		/* nothing in it was ever seen: it took half a sample's worth, if it ran at all */
		ratio = fmin(0, log(0.5 / (parent + 0.5) * p->instructions / c->instructions));
		var = COLD_VAR;
	} else if (child > 0)
		ratio = log((child + 0.5) / (parent + 0.5) * p->instructions / c->instructions);
	/* too few hits for a ratio of its own are still a hint, unless windows are too short for it */
	if (x >= 3 && y < HINT_MOST * x) {
		hit_var = 1 / (x + 0.5) + 1 / (y + 0.5) + 0.5;
		ratio = (ratio / var + log((y + 0.25) / (x + 0.25)) / hit_var) / (1 / var + 1 / hit_var);
		var = 1 / (1 / var + 1 / hit_var);
	}
	out->ratio = exp(ratio);
	out->log_var = var;
	out->low = out->ratio * exp(-Z95 * sqrt(var));
	out->high = out->ratio * exp(Z95 * sqrt(var));
}

void counts_guess_link(const struct counts_guess *g, size_t link, struct counts_ratio *out)
{
	const struct counts_record *r = g->r;
	const struct fmt_counts_link *l = &r->link[link].l;

	if (l->how != FMT_CL_RATIO || !inside(l) || !(r->node[l->child].instructions > 0) ||
	    !(r->node[l->parent].instructions > 0))
		return;
	out->how = COUNTS_TIME;
	if (r->node[l->child].kind == FMT_CN_LOOP || g->turns[l->child])
		guess_loop(g, link, out);
	else
		guess_branch(g, link, out);
}

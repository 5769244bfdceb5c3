// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree that is solved, of what a recording measured: which links are used, and what they claim. */
#include "counts/burst_shares.h"
#include "counts/counts_cache.h"
#include "counts/counts_guess.h"
#include "counts/counts_pace.h"
#include "counts/counts_repeats.h"
#include "counts/model_rate.h"
#include "counts/segment_shares.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "util/normal.h"

/* A return address tells the call, not that the callee was entered by it: code that jumps to another
 * function leaves its caller's address there. */
#define CALL_VAR 1e-4
#define RECURSION_VAR 400.0 /* variance of a log: nothing is known of how deep it goes */
#define LIST_BIAS 0.15      /* sd of the log of a list's length; by hand */
#define WHOLE 4             /* activations in each burst: of fewer, those that are cut off are too many */
#define DOUBT_SD 3 /* standard deviations between two statements of one link, from which both are doubted; by hand */
#define CALLEES_VAR 0.7 /* of the part of one of several callees, by where time was spent */
/* Samples are many and know the pace badly, bursts are few and know it: both are about as far off. Ten real programs,
 * 80 recordings: mean TV of shares .156 by this part, .156 by a half, .162 by bursts alone. */
#define LED_PART 0.6

static bool at_most_once(const struct counts_record *r, const struct fmt_counts_link *l)
{
	const struct fmt_counts_node *child = &r->node[l->child];

	return l->how == FMT_CL_RATIO && !(l->flags & FMT_CL_CALL) && child->kind == FMT_CN_BLOCK &&
	       child->depth == r->node[l->parent].depth && (r->func[child->function].flags & FMT_CF_COMPLETE);
}

/* The program may have changed the list before it was walked. */
static void doubt_ratio(struct counts_ratio *out, double log_var)
{
	out->log_var += log_var;
	out->low = out->ratio * exp(-Z95 * sqrt(out->log_var));
	out->high = out->ratio * exp(Z95 * sqrt(out->log_var));
}

static void doubt_list(struct counts_ratio *out)
{
	out->few = true;
	doubt_ratio(out, LIST_BIAS * LIST_BIAS);
}

/* Where a burst was cut its last runs of the anchor were seen, and not all that follows from them. */
static void doubt_cut(const struct counts_record *r, const struct fmt_counts_link *l, struct counts_ratio *out)
{
	double lost = r->func[r->node[l->parent].function].cut / out->anchor;

	doubt_ratio(out, lost * lost);
}

static int link_ratio(const struct counts_record *r, size_t i, struct counts_ratio *out)
{
	const struct counts_rec_link *l = &r->link[i];
	struct counts_window *w;
	struct counts_range *range;

	*out = counts_ratio_unknown();
	if (l->l.how == FMT_CL_ONCE) {
		*out = counts_ratio_once();
		out->ratio = out->low = out->high = l->l.ratio;
		out->log_var = l->l.flags & FMT_CL_CALL ? CALL_VAR : 0;
		return 0;
	}
	w = malloc((l->windows + 1) * sizeof(*w));
	range = malloc((l->windows + 1) * sizeof(*range));
	if (!w || !range) {
		free(w);
		free(range);
		return -ENOMEM;
	}
	for (size_t k = 0; k < l->windows; k++) {
		const struct fmt_counts_window *seen = &r->window[l->window + k];

		w[k] = (struct counts_window){ seen->anchor, seen->child };
		range[k] = (struct counts_range){ seen->least, seen->most };
	}
	switch (l->l.how) {
	case FMT_CL_TRIPS: counts_trips_of(w, range, l->windows, out); break;
	case FMT_CL_RATIO: counts_ratio_of(w, l->windows, COUNTS_RATIO, out); break;
	case FMT_CL_RATE: counts_ratio_of(w, l->windows, COUNTS_RATE, out); break;
	case FMT_CL_REPLAY: counts_ratio_of(w, l->windows, COUNTS_REPLAY, out); break;
	}
	free(w);
	free(range);
	if ((l->l.flags & FMT_CL_LIST) && out->how == COUNTS_TRIPS)
		doubt_list(out);
	if (out->how == COUNTS_REPLAY)
		doubt_cut(r, &l->l, out);
	if (out->how == COUNTS_UNKNOWN)
		counts_cache_ratio(&l->others, out);
	/* each call from outside may lead to any number of runs */
	if (out->how == COUNTS_UNKNOWN && (l->l.flags & FMT_CL_CALL) &&
	    (r->func[r->node[l->l.child].function].flags & FMT_CF_RECURSIVE))
		out->log_var = RECURSION_VAR;
	/* what is not around it cannot run a block more often than once */
	if ((out->how == COUNTS_RATIO || out->how == COUNTS_REPLAY || out->how == COUNTS_CACHED) &&
	    at_most_once(r, l->l.how == FMT_CL_REPLAY ? &r->link[l->l.rival].l : &l->l))
		out->ratio = fmin(out->ratio, 1);
	return 0;
}

struct counts_build_builder {
	const struct counts_record *r;
	struct counts_ratio *ratio;  /* by link of the record */
	struct counts_ratio *replay; /* of a RATIO link: as its rival has it */
	bool *used;
	size_t *best; /* by node: the better known of the rivals within the function, plus one */
	/* by node: the link within the function by which bursts met it, or that it follows from, plus one */
	size_t *way;
};

/* ---- one return address, several callees ---- */

struct counts_build_site {
	uint64_t addr;
	uint32_t parent;
	size_t link;
};

static int by_call_site(const void *a, const void *b)
{
	const struct counts_build_site *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->link < y->link ? -1 : x->link > y->link;
}

static uint64_t samples_of_callee(const struct counts_record *r, size_t link)
{
	return r->func[r->node[r->link[link].l.child].function].samples;
}

/* A call enters one function. Of several that hold its return address, all but one were jumped to from
 * there: how often, nobody knows. The one that takes most time is taken for the callee. */
static void doubt_rivals(struct counts_build_builder *b, const struct counts_build_site *site, size_t n)
{
	const struct counts_record *r = b->r;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < n; i++)
		if (r->link[site[i].link].l.how == FMT_CL_ONCE &&
		    (best == SIZE_MAX || samples_of_callee(r, site[i].link) > samples_of_callee(r, site[best].link)))
			best = i;
	for (size_t i = 0; i < n; i++)
		if (i != best && r->link[site[i].link].l.how == FMT_CL_ONCE)
			b->ratio[site[i].link] = counts_ratio_unknown();
}

/* No window saw a call through a register, or by way of a function that jumps on, but some of the
 * entries: where all had one callee, each call enters that; else as often as the entries say, which were
 * seen where time is spent. */
static void guess_calls(struct counts_build_builder *b, const struct counts_build_site *site, size_t n)
{
	const struct counts_record *r = b->r;
	double all = 0;

	for (size_t i = 0; i < n; i++)
		all += r->link[site[i].link].l.seen;
	for (size_t i = 0; i < n; i++) {
		const struct fmt_counts_link *l = &r->link[site[i].link].l;
		struct counts_ratio *out = &b->ratio[site[i].link];
		double half;

		if (l->how != FMT_CL_RATIO || out->how != COUNTS_UNKNOWN || !(l->seen >= 1) || !(all > 0) ||
		    (r->func[r->node[l->child].function].flags & FMT_CF_RECURSIVE))
			continue;
		*out = (struct counts_ratio){ .how = COUNTS_TIME, .ratio = fmin(1, l->seen / all), .windows = 0 };
		out->log_var = (l->seen < all ? CALLEES_VAR : 0) + 1 / (l->seen + 1);
		half = Z95 * sqrt(out->log_var);
		out->low = out->ratio * exp(-half);
		out->high = fmin(1, out->ratio * exp(half));
	}
}

static int judge_calls(struct counts_build_builder *b)
{
	const struct counts_record *r = b->r;
	struct counts_build_site *site = malloc((r->links + 1) * sizeof(*site));
	size_t n = 0;

	if (!site)
		return -ENOMEM;
	for (size_t i = 0; i < r->links; i++) {
		const struct fmt_counts_link *l = &r->link[i].l;

		if (l->how && (l->flags & FMT_CL_CALL) && l->site)
			site[n++] = (struct counts_build_site){ l->site, l->parent, i };
	}
	qsort(site, n, sizeof(*site), by_call_site);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && site[end].parent == site[i].parent && site[end].addr == site[i].addr;)
			end++;
		doubt_rivals(b, site + i, end - i);
		guess_calls(b, site + i, end - i);
	}
	free(site);
	return 0;
}

static int replays(struct counts_build_builder *b)
{
	const struct counts_record *r = b->r;
	int rc = 0;

	for (size_t i = 0; i < r->links; i++)
		b->replay[i] = counts_ratio_unknown();
	for (size_t i = 0; i < r->links && !rc; i++)
		if (r->link[i].l.how == FMT_CL_REPLAY)
			rc = link_ratio(r, i, &b->replay[r->link[i].l.rival]);
	return rc;
}

/* What leads to a node as often as is known without a window: NULL: nothing. */
static const struct counts_ratio *way_to(const struct counts_build_builder *b, uint32_t node, uint32_t from)
{
	size_t i = b->way[node];

	if (!i-- || b->r->link[i].l.parent != from)
		return NULL;
	return b->replay[i].how == COUNTS_REPLAY ? &b->replay[i] : &b->ratio[i];
}

/* Trips of a loop by what bursts saw, of activations that are whole in most of them; NaN: they did not. */
static double trips_by_bursts(const struct counts_build_builder *b, const struct fmt_counts_link *trips,
			      double *log_var)
{
	size_t i = b->way[trips->child];
	const struct counts_ratio *runs, *entry;
	uint32_t from;

	if (!i-- || (runs = &b->replay[i])->how != COUNTS_REPLAY)
		return NAN;
	from = b->r->link[i].l.parent;
	*log_var = runs->log_var;
	if (from == trips->parent)
		return runs->anchor >= WHOLE * runs->windows ? runs->ratio : NAN;
	entry = way_to(b, trips->parent, from);
	if (!entry || !(entry->how == COUNTS_ONCE || entry->child >= WHOLE * entry->windows) ||
	    !(runs->anchor >= WHOLE * runs->windows))
		return NAN;
	*log_var += entry->log_var;
	return runs->ratio / entry->ratio;
}

/* Windows of trips see some activations one after the other, often the first ones after the thread came there: a loop
 * that turns otherwise later passes for one that always turns as often. Bursts begin anywhere. Where they say
 * otherwise neither is sure. */
static void doubt_trips(struct counts_build_builder *b)
{
	const struct counts_record *r = b->r;

	for (size_t i = 0; i < r->links; i++) {
		const struct fmt_counts_link *l = &r->link[i].l;

		if (l->how && !(l->flags & FMT_CL_CALL) && l->how != FMT_CL_REPLAY && l->how != FMT_CL_TRIPS &&
		    (l->how == FMT_CL_ONCE || b->replay[i].how == COUNTS_REPLAY))
			b->way[l->child] = i + 1;
	}
	for (size_t i = 0; i < r->links; i++) {
		struct counts_ratio *t = &b->ratio[i];
		double log_var = 0, by_bursts, off;

		if (r->link[i].l.how != FMT_CL_TRIPS || t->how != COUNTS_TRIPS)
			continue;
		by_bursts = trips_by_bursts(b, &r->link[i].l, &log_var);
		off = log(t->ratio / by_bursts);
		if (!(fabs(off) > DOUBT_SD * sqrt(t->log_var + log_var)))
			continue;
		doubt_ratio(t, off * off);
		t->few = true;
	}
}

/* Calls add up and are all needed; rates stand beside them as what the sum is compared with. Within
 * a function there is one way from above, and the better known measurement of it is taken. */
static int choose_links(struct counts_build_builder *b)
{
	const struct counts_record *r = b->r;
	struct counts_guess guess;
	int rc = counts_guess_begin(&guess, r);

	rc = rc ? rc : replays(b);
	for (size_t i = 0; i < r->links && !rc; i++) {
		b->ratio[i] = counts_ratio_unknown();
		/* refused when it was read: its ends are no nodes; or it is asked when its rival's turn is */
		if (r->link[i].l.how && r->link[i].l.how != FMT_CL_REPLAY)
			rc = link_ratio(r, i, &b->ratio[i]);
	}
	if (!rc)
		doubt_trips(b);
	for (size_t i = 0; i < r->links && !rc; i++) {
		const struct fmt_counts_link *l = &r->link[i].l;
		size_t *best = &b->best[l->child];

		if (!l->how || l->how == FMT_CL_REPLAY)
			continue;
		/* what was counted comes before what is guessed, however sure of itself that is */
		if (b->replay[i].log_var < b->ratio[i].log_var)
			b->ratio[i] = b->replay[i];
		if (b->ratio[i].how == COUNTS_UNKNOWN)
			counts_guess_link(&guess, i, &b->ratio[i]);
		if (l->how == FMT_CL_RATE)
			b->used[i] = b->ratio[i].how == COUNTS_RATE;
		else if (l->flags & FMT_CL_CALL)
			b->used[i] = true;
		else if (!*best || b->ratio[i].log_var < b->ratio[*best - 1].log_var)
			*best = i + 1;
	}
	for (size_t n = 1; n < r->nodes; n++)
		if (b->best[n])
			b->used[b->best[n] - 1] = true;
	counts_guess_end(&guess);
	return rc ? rc : judge_calls(b);
}

static int fill_tree(struct counts_build_builder *b, struct counts_built *out)
{
	const struct counts_record *r = b->r;
	struct counts_tree *t = &out->tree;
	struct model_rate model = counts_model_rate(r);
	double time = 0, samples = 0;

	t->nodes = (uint32_t)r->nodes;
	t->link = calloc(r->links + 1, sizeof(*t->link));
	out->link_of = calloc(r->links + 1, sizeof(*out->link_of));
	t->part = calloc(r->nodes + 1, sizeof(*t->part));
	t->group = calloc(r->funcs + 1, sizeof(*t->group));
	t->runs = calloc(r->nodes + 1, sizeof(*t->runs));
	if (!t->link || !out->link_of || !t->part || !t->group || !t->runs)
		return -ENOMEM;
	for (size_t i = 0; i < r->links; i++) {
		if (!b->used[i])
			continue;
		t->link[t->links] = (struct counts_link){ .parent = r->link[i].l.parent,
							  .child = r->link[i].l.child,
							  .ratio = b->ratio[i],
							  .at_most_once = at_most_once(r, &r->link[i].l),
							  .call = r->link[i].l.flags & FMT_CL_CALL };
		out->link_of[t->links++] = i;
	}
	for (uint32_t n = 1; n < r->nodes; n++)
		if (r->node[n].function != UINT32_MAX)
			t->part[t->parts++] = (struct counts_piece){ .node = n,
								     .group = r->node[n].function,
								     .instructions = r->node[n].instructions };
	t->groups = r->funcs;
	t->absolute = true;
	t->speed = model.per_ns > 0 ? model.per_ns * 1e9 : 0;
	t->speed_var = model.log_var;
	for (size_t g = 0; g < r->funcs; g++) {
		const struct fmt_counts_func *f = &r->func[g];

		t->group[g] = (struct counts_group){ .time = f->self_ns,
						     .samples = f->samples,
						     .partial = !(f->flags & FMT_CF_GRAPH) };
		time += f->self_ns;
		samples += (double)f->samples;
	}
	t->sample = samples > 0 ? time / samples : 0;
	return 0;
}

/* Over how many nodes a function's samples are spread: as many as would hold equal parts. */
static void set_variety(const struct counts_record *r, struct counts_tree *t)
{
	double *square = calloc(r->funcs + 1, sizeof(*square)), *sum = calloc(r->funcs + 1, sizeof(*sum));

	for (size_t n = 1; square && sum && n < r->nodes; n++) {
		double samples = (double)r->node[n].samples;

		if (r->node[n].function == UINT32_MAX)
			continue;
		square[r->node[n].function] += samples * fmax(samples - 1, 0);
		sum[r->node[n].function] += samples;
	}
	for (size_t g = 0; square && sum && g < r->funcs; g++)
		t->group[g].variety = square[g] > 0 ? sum[g] * (sum[g] - 1) / square[g] : 0;
	free(square);
	free(sum);
}

/* By function: bytes that an instruction of it moves in bulk, where its samples were. NULL: out of memory. */
static double *bytes_in_bulk(const struct counts_record *r)
{
	double *bytes = calloc(r->funcs + 1, sizeof(*bytes)), *samples = calloc(r->funcs + 1, sizeof(*samples));

	for (size_t n = 1; bytes && samples && n < r->nodes; n++) {
		const struct fmt_counts_node *k = &r->node[n];
		const struct counts_pace_moves m = { k->loads, k->stores, k->load_bytes, k->store_bytes };

		if (k->function == UINT32_MAX)
			continue;
		samples[k->function] += (double)k->samples;
		bytes[k->function] += (double)k->samples * counts_pace_bulk(k->instructions, &m);
	}
	for (size_t g = 0; bytes && samples && g < r->funcs; g++)
		bytes[g] = samples[g] > 0 ? bytes[g] / samples[g] : 0;
	free(samples);
	return bytes;
}

/* The time of each function over how long its instructions take, by the model. */
static void time_at_one_pace(const struct counts_record *r, double *time)
{
	double usual, *bulk = bytes_in_bulk(r), *repeated = counts_repeats_cycles(r, &usual);

	/* a recording of before there was a model, or without bursts: one pace for all */
	for (size_t g = 0; g < r->funcs && repeated && usual > 0; g++)
		time[g] /= counts_pace_repeated(r->func[g].timed, r->func[g].cycles, usual, bulk ? bulk[g] : 0,
						repeated[g]);
	free(bulk);
	free(repeated);
}

static double total_of(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum;
}

/* The time of each function becomes what its instructions would have taken at everybody's pace. Where that lies is told
 * twice, by samples and by where bursts lead from there. */
static int lead_time(const struct counts_record *r, struct counts_tree *t)
{
	double *own = malloc((r->funcs + 1) * sizeof(*own)), *led = malloc((r->funcs + 1) * sizeof(*led));
	double all = 0, owns, leds;
	int rc = own && led ? 0 : -ENOMEM;

	for (size_t g = 0; g < r->funcs && !rc; g++)
		all += own[g] = r->func[g].self_ns;
	if (!rc)
		time_at_one_pace(r, own);
	if (!rc) {
		memcpy(led, own, r->funcs * sizeof(*led));
		rc = burst_shares(r, led);
	}
	owns = rc ? 0 : total_of(own, r->funcs);
	leds = rc ? 0 : total_of(led, r->funcs);
	for (size_t g = 0; g < r->funcs && owns > 0 && leds > 0; g++)
		t->group[g].time = all * ((1 - LED_PART) * own[g] / owns + LED_PART * led[g] / leds);
	free(own);
	free(led);
	return rc;
}

int counts_record_tree(const struct counts_record *r, struct counts_built *out, struct err *e)
{
	struct counts_build_builder b = { .r = r };
	int err;

	memset(out, 0, sizeof(*out));
	b.ratio = calloc(r->links + 1, sizeof(*b.ratio));
	b.replay = calloc(r->links + 1, sizeof(*b.replay));
	b.used = calloc(r->links + 1, sizeof(*b.used));
	b.best = calloc(r->nodes + 1, sizeof(*b.best));
	b.way = calloc(r->nodes + 1, sizeof(*b.way));
	err = b.ratio && b.replay && b.used && b.best && b.way ? 0 : -ENOMEM;
	err = err ? err : choose_links(&b);
	err = err ? err : fill_tree(&b, out);
	if (!err)
		set_variety(r, &out->tree);
	err = err ? err : lead_time(r, &out->tree);
	free(b.ratio);
	free(b.replay);
	free(b.used);
	free(b.best);
	free(b.way);
	if (err) {
		counts_built_release(out);
		return err_set(e, err, "out of memory");
	}
	return 0;
}

int counts_record_solve(const struct counts_record *r, struct counts_built *b)
{
	int err = counts_solve(&b->tree);

	if (err)
		return err;
	b->segments = calloc(1, sizeof(*b->segments));
	err = b->segments ? segment_shares(r, b->segments) : -ENOMEM;
	if (!err)
		segment_shares_apply(b->segments, r, &b->tree);
	return err;
}

struct counts_built *counts_built_new(const struct counts_record *r, int *err)
{
	struct counts_built *b = calloc(1, sizeof(*b));

	*err = b ? counts_record_tree(r, b, NULL) : -ENOMEM;
	if (!*err) {
		b->tree.keep = true;
		*err = counts_record_solve(r, b);
	}
	if (!*err)
		return b;
	counts_built_free(b);
	return NULL;
}

void counts_built_free(struct counts_built *b)
{
	if (b)
		counts_built_release(b);
	free(b);
}

void counts_built_release(struct counts_built *b)
{
	counts_solved_release(&b->tree);
	if (b->segments)
		segment_shares_release(b->segments);
	free(b->segments);
	free(b->tree.link);
	free(b->tree.part);
	free(b->tree.group);
	free(b->tree.runs);
	free(b->link_of);
	memset(b, 0, sizeof(*b));
}

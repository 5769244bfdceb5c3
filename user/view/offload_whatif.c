// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/offload_whatif.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/catalogue_files.h"
#include "model/fit.h"
#include "offload/operation.h"
#include "offload/points.h"

#define MOST 64       /* calls with a line of their own; by hand */
#define RESAMPLES 100 /* enough for the 5 % and 95 % of a break-even, and a tenth of a second */

static bool concerns(const struct offload_item *it)
{
	return it->kind == FMT_OK_CALL && it->variant != FMT_OV_ACCELERATED && it->samples_cnt;
}

/* Where the host's curve through the calls crosses the catalogue's T1, which is put in as points, so that what pays is
 * read off the same kind of curves as everywhere. */
static void find_break_even(struct offload_whatif *w, const struct offload_item *it, const struct logca *accel)
{
	struct points pts = { .unit = "ns" };
	struct fit_opts opts = fit_defaults;
	struct err e = { 0 };
	struct fit f;
	int r = offload_points(it, RUN_HOST, &pts, &e);

	opts.resamples = RESAMPLES;
	for (size_t i = 0; i < pts.run[RUN_HOST].count && !r; i++) {
		double g = pts.run[RUN_HOST].at[i].g;

		r = points_add(&pts, RUN_ACCEL, g, logca_accel(accel, g), false, &e);
	}
	if (!r) {
		points_thin(&pts);
		r = fit_logca(&pts, &opts, &f, &e);
	}
	points_release(&pts);
	w->fitted = !r;
	if (r) {
		snprintf(w->why_not, sizeof(w->why_not), "%.*s", (int)sizeof(w->why_not) - 1, e.text);
		return;
	}
	w->fit_error = f.error;
	w->gmin = f.gmin;
	w->gmax = f.gmax;
	w->doubt = fit_doubt(&f);
	logca_payoff(&f.p, f.gmin, f.gmax, &w->payoff);
}

/* The sizes the accelerator was measured at. */
static void sizes_measured(const struct catalogue_entry *a, double *lo, double *hi)
{
	const struct point_list *l = &a->pts.run[RUN_ACCEL];

	*lo = l->count ? INFINITY : 0;
	*hi = l->count ? 0 : INFINITY;
	for (size_t i = 0; i < l->count; i++) {
		*lo = fmin(*lo, l->at[i].g);
		*hi = fmax(*hi, l->at[i].g);
	}
}

/* Calls of a recording by what would become of them; times of those that were timed. */
struct fate {
	double lose, win, outside, unsure;
	double lost, gained, host; /* ns; host: of all that were timed */
};

static void add_fate_of_call(struct fate *f, const struct offload_whatif *w, const struct offload_sample *s,
			     double accel)
{
	double floor = w->item->below_ns;

	f->host += s->ns;
	if (s->ns < floor && accel < floor) {
		f->unsure++; /* both too short to say which is the longer */
	} else if (s->ns < accel) {
		f->lose++;
		f->lost += accel - fmax(s->ns, 0);
	} else {
		f->win++;
		f->gained += s->ns - accel;
	}
}

/*
 * What a call would gain is its own time less T1 at its size. What all would gain is that part of the CPU time that
 * they took: their elapsed times hold others' work, and no more can be gained than was spent.
 */
static void judge_move(struct offload_whatif *w, const struct offload_item *it, const struct catalogue_entry *a)
{
	double lo, hi, all, spent;
	struct fate f = { 0 };

	sizes_measured(a, &lo, &hi);
	for (size_t i = 0; i < it->samples_cnt; i++) {
		const struct offload_sample *s = &it->samples[i];

		if (s->switched)
			continue;
		if (s->bytes < lo || s->bytes > hi)
			f.outside++; /* how fast it is there is not known */
		else
			add_fate_of_call(&f, w, s, logca_accel(&a->p, s->bytes));
	}
	all = f.lose + f.win + f.outside + f.unsure;
	w->calls = isnan(it->estimate) ? it->low : it->estimate;
	w->at_least = isnan(it->estimate);
	w->known = f.lose + f.win > 0;
	if (!w->known) {
		snprintf(
			w->why_not, sizeof(w->why_not), "%s",
			f.unsure > 0
				? "its calls and the accelerator's are both too short to be told from what a probe takes"
				: "no timed call without a context switch at a size the accelerator was measured at");
		return;
	}
	w->outside = f.outside / all;
	w->unsure = f.unsure / all;
	w->below = f.lose / all;
	w->lost_ns = f.lose > 0 ? f.lost / f.lose : 0;
	w->gained_ns = f.win > 0 ? f.gained / f.win : 0;
	spent = it->calls ? it->host_cpu_ns / (double)it->calls * w->calls : 0;
	w->spent_ns = spent;
	w->all_gained_ns = f.host > 0 ? spent * (f.gained / f.host) * (1 - w->outside) : NAN;
	w->all_lost_ns = f.host > 0 ? w->lost_ns * w->below * w->calls : NAN;
}

/* At which level the accelerator was measured, of work that has any. */
static bool level_measured(const struct offload_item *it, const struct catalogue_entry *a, int *level)
{
	const struct operation *op = operation_of(it->api, it->name);

	return operation_level_said(op, a->device, level) || operation_level_said(op, a->baseline, level);
}

/* One item of each function: that at the accelerator's level, or, where none is, what stands for its calls. */
static bool stands_for_its_calls(const struct offload_summary *s, const struct offload_item *it,
				 const struct catalogue_entry *a)
{
	const struct offload_item *best = it;
	int level;

	if (!level_measured(it, a, &level))
		return true;
	for (size_t i = 0; i < s->items_cnt; i++) {
		const struct offload_item *o = &s->items[i];

		if (concerns(o) && offload_same_call(o, it) && o->levelled && o->level == level)
			return o == it;
		best = concerns(o) && offload_same_call(o, it) && o < best ? o : best;
	}
	return best == it;
}

static void whatif_of_item(struct offload_whatif *w, const struct offload_summary *s, const struct offload_item *it,
			   const struct catalogue_entry *a)
{
	const struct operation *does = operation_of(it->api, it->name), *other = operation_of(NULL, a->name);
	double unseen, elsewhere = offload_part_elsewhere(s, it, &unseen);
	bool at_level;

	*w = (struct offload_whatif){ .item = it,
				      .accelerator = a->name,
				      .device = a->device,
				      .baseline = a->baseline,
				      .gmin = NAN,
				      .gmax = NAN,
				      .fit_error = NAN,
				      .same_level = NAN,
				      .other_level = NAN,
				      .no_level = NAN,
				      .all_gained_ns = NAN,
				      .all_lost_ns = NAN,
				      .note = does && does->note ? does->note
					      : other            ? other->note
								 : NULL };
	if (level_measured(it, a, &w->level) && unseen < 1) {
		at_level = it->levelled && it->level == w->level;
		w->same_level = at_level ? it->part : 0;
		w->no_level = unseen;
		w->other_level = at_level ? elsewhere : 1 - unseen;
		w->note = NULL; /* told in figures */
		if (!at_level) {
			snprintf(w->why_not, sizeof(w->why_not),
				 "no call was seen at level %d, at which it was measured", w->level);
			return;
		}
	}
	find_break_even(w, it, &a->p);
	judge_move(w, it, a);
}

/* NULL: the two do the same, or nobody knows what either does. */
static const char *unlike(const struct offload_item *it, const struct catalogue_entry *a)
{
	const struct operation *call = operation_of(it->api, it->name), *accel = operation_of(NULL, a->name);

	if (call == accel)
		return NULL;
	if (!call)
		return "what it does is not known";
	if (!accel)
		return "what the accelerator does is not known";
	return call->open ? "which algorithm it ran is not recorded" : "it does something else";
}

static const struct catalogue_entry *find_catalogue_entry(const struct catalogue *c, const char *path, const char *name,
							  struct err *e)
{
	const struct catalogue_entry *a = catalogue_find(c, name);
	AUTO_BUF(names);

	for (size_t i = 0; !a && i < c->count; i++)
		buf_addf(&names, "%s%s", i ? ", " : "", c->entries[i].name);
	if (!a)
		err_set(e, -ENOENT, "%s has no '%s'; it has: %s", path, name, names.len ? names.data : "nothing");
	else if (!a->has_params)
		err_set(e, -EINVAL, "'%s' in %s has no parameters: measure it with `accperf calibrate %s`", name, path,
			name);
	else if (!a->unit || strcmp(a->unit, "ns"))
		err_set(e, -EINVAL,
			"'%s' in %s is in %s, calls are measured in ns: only measured accelerators can be compared",
			name, path, a->unit ? a->unit : "an unknown unit");
	else
		return a;
	return NULL;
}

/* NAME or NAME=CALL: the user says that this call could go there, whatever its name tells. */
struct wanted {
	char *accelerator, *call;
};

static bool is_call(const struct offload_item *it, const char *call)
{
	const char *own = strrchr(it->name, ':');

	return !strcmp(it->name, call) || (own && !strcmp(own + 1, call));
}

/* Every call that the accelerator could take over; *apart says of the others why not. */
static size_t match(struct whatif_list *l, const struct offload_summary *s, const struct wanted *w,
		    const struct catalogue_entry *a, struct buf *apart)
{
	size_t before = l->count;

	for (size_t i = 0; i < s->items_cnt && l->count < MOST; i++) {
		const struct offload_item *it = &s->items[i];
		const char *why = w->call ? NULL : unlike(it, a);

		if (!concerns(it) || (w->call && !is_call(it, w->call)) || !stands_for_its_calls(s, it, a))
			continue;
		if (why)
			buf_addf(apart, "%s%s (%s)", apart->len ? ", " : "", it->name, why);
		else
			whatif_of_item(&l->at[l->count++], s, it, a);
	}
	return l->count - before;
}

static int nothing_alike(const struct wanted *w, struct buf *apart, struct err *e)
{
	if (w->call)
		return err_set(e, -ENOENT, "the profile has no timed host call '%s' of known size", w->call);
	if (apart->len)
		return err_set(
			e, -ENOENT,
			"no call of the profile does what %s does: %s; if one does all the same, say which: -x %s=CALL",
			w->accelerator, apart->data, w->accelerator);
	return err_set(e, -ENOENT, "the profile has no timed host call of known size to compare with an accelerator");
}

int whatif_all(struct whatif_list *l, const struct offload_summary *s, const char *path, const char *names,
	       struct err *e)
{
	char own[PATH_MAX];
	AUTO_BUF(list);
	char *rest = NULL;
	int r;

	*l = (struct whatif_list){ 0 };
	if (!path)
		path = catalogue_own_path(own, sizeof(own));
	r = catalogue_read(&l->catalogue, path, e);
	if (r) {
		err_prefix(e, "no catalogue to compare with (`accperf calibrate` makes one)");
		return r;
	}
	l->at = calloc(MOST, sizeof(*l->at));
	buf_addstr(&list, names);
	if (!l->at || buf_failed(&list))
		return err_set(e, -ENOMEM, "out of memory");
	for (char *name = strtok_r(list.data, ",", &rest); name && !r; name = strtok_r(NULL, ",", &rest)) {
		struct wanted w = { .accelerator = name, .call = strchr(name, '=') };
		const struct catalogue_entry *a;
		AUTO_BUF(apart);

		if (w.call)
			*w.call++ = 0;
		a = find_catalogue_entry(&l->catalogue, path, name, e);
		if (!a)
			return e->code ? e->code : -EINVAL;
		buf_addstr(&apart, "");
		r = match(l, s, &w, a, &apart) ? 0 : nothing_alike(&w, &apart, e);
	}
	return r;
}

void whatif_release(struct whatif_list *l)
{
	free(l->at);
	catalogue_release(&l->catalogue);
	*l = (struct whatif_list){ 0 };
}

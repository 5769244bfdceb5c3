// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/offload_whatif.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/logca_source.h"
#include "model/fit.h"

#define MOST 64
#define PER_BIN 12

static bool concerns(const struct offload_item *it)
{
	return it->kind == FMT_OK_CALL && it->variant != FMT_OV_ACCELERATED && it->samples_cnt;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Where sizes are too few for a curve: the median of the calls within an eighth of an octave. */
static double median_near(const struct offload_item *it, double bytes, double *room)
{
	size_t n = 0;

	for (size_t i = 0; i < it->samples_cnt; i++)
		if (!it->samples[i].switched && fabs(log2(it->samples[i].bytes / bytes)) < 1. / 16)
			room[n++] = it->samples[i].ns;
	if (!n)
		return NAN;
	qsort(room, n, sizeof(*room), by_value);
	return room[n / 2];
}

/* The host's curve through the calls; T1 is the catalogue's, put in as points so that what pays is read
 * off the same kind of curves as everywhere. */
static bool fit_host(struct offload_whatif *w, const struct logca *accel, struct logca *p)
{
	struct points pts = { .unit = "ns" };
	struct fit_opts opts = fit_defaults;
	struct err e = { 0 };
	struct fit f;
	int r = 0;

	opts.resamples = 0;
	for (size_t i = 0; i < w->item->samples_cnt && !r; i++) {
		const struct offload_sample *s = &w->item->samples[i];

		r = points_add(&pts, RUN_HOST, s->bytes, s->ns, s->switched, &e);
		if (!r)
			r = points_add(&pts, RUN_ACCEL, s->bytes, logca_accel(accel, s->bytes), false, &e);
	}
	if (!r) {
		points_thin(&pts, PER_BIN);
		r = fit_logca(&pts, &opts, &f, &e);
	}
	points_release(&pts);
	if (r) {
		snprintf(w->why_not, sizeof(w->why_not), "%.*s", (int)sizeof(w->why_not) - 1, e.text);
		return false;
	}
	*p = f.p;
	w->fit_error = f.error;
	w->gmin = f.gmin;
	w->gmax = f.gmax;
	logca_payoff(p, f.gmin, f.gmax, &w->payoff);
	return true;
}

/* The sizes the accelerator was measured at. */
static void measured(const struct catalogue_entry *a, double *lo, double *hi)
{
	const struct point_list *l = &a->pts.run[RUN_ACCEL];

	*lo = l->count ? INFINITY : 0;
	*hi = l->count ? 0 : INFINITY;
	for (size_t i = 0; i < l->count; i++) {
		*lo = fmin(*lo, l->at[i].g);
		*hi = fmax(*hi, l->at[i].g);
	}
}

static int one(struct offload_whatif *w, const struct offload_item *it, const struct catalogue_entry *a, struct err *e)
{
	double *room = malloc(it->samples_cnt * sizeof(*room)), lose = 0, win = 0, lost = 0, gained = 0, outside = 0, lo, hi;
	struct logca p;

	if (!room)
		return err_set(e, -ENOMEM, "out of memory");
	*w = (struct offload_whatif){ .item = it, .accelerator = a->name, .device = a->device, .gmin = NAN, .gmax = NAN, .fit_error = NAN };
	measured(a, &lo, &hi);
	w->fitted = fit_host(w, &a->p, &p);
	for (size_t i = 0; i < it->samples_cnt; i++) {
		double g = it->samples[i].bytes, host = w->fitted ? logca_host(&p, g) : median_near(it, g, room), gain;

		if (!(host > 0))
			continue;
		/* nobody knows how fast it is there */
		if (g < lo || g > hi) {
			outside++;
			continue;
		}
		gain = host - logca_accel(&a->p, g);
		if (gain < 0) {
			lose++;
			lost -= gain;
		} else {
			win++;
			gained += gain;
		}
	}
	free(room);
	w->outside = outside / fmax(lose + win + outside, 1);
	w->below = lose / fmax(lose + win + outside, 1);
	w->lost_ns = lose > 0 ? lost / lose : 0;
	w->gained_ns = win > 0 ? gained / win : 0;
	w->calls = isnan(it->estimate) ? it->low : it->estimate;
	w->at_least = isnan(it->estimate);
	if (!(lose + win > 0))
		snprintf(w->why_not, sizeof(w->why_not), "no timed call without a context switch at a size the accelerator was measured at");
	w->known = lose + win > 0;
	return 0;
}

static const struct catalogue_entry *entry_of(const struct catalogue *c, const char *path, const char *name, struct err *e)
{
	const struct catalogue_entry *a = catalogue_find(c, name);
	AUTO_BUF(names);

	for (size_t i = 0; !a && i < c->count; i++)
		buf_addf(&names, "%s%s", i ? ", " : "", c->entries[i].name);
	if (!a)
		err_set(e, -ENOENT, "%s has no '%s'; it has: %s", path, name, names.len ? names.data : "nothing");
	else if (!a->has_params)
		err_set(e, -EINVAL, "'%s' in %s has no parameters: measure it with `accperf calibrate %s`", name, path, name);
	else if (!a->unit || strcmp(a->unit, "ns"))
		err_set(e, -EINVAL, "'%s' in %s is in %s, calls are measured in ns: only measured accelerators can be compared", name, path,
			a->unit ? a->unit : "an unknown unit");
	else
		return a;
	return NULL;
}

int whatif_all(struct whatif_list *l, const struct offload_summary *s, const char *path, const char *names, struct err *e)
{
	char own[PATH_MAX];
	AUTO_BUF(text);
	AUTO_BUF(list);
	char *rest = NULL;
	int r;

	*l = (struct whatif_list){ 0 };
	if (!path)
		path = logca_own_catalogue(own, sizeof(own));
	r = logca_slurp(path, &text, e);
	if (!r)
		r = catalogue_parse(&l->catalogue, text.data ? text.data : "", text.len, e);
	if (r) {
		err_prefix(e, "no catalogue to compare with (`accperf calibrate` makes one)");
		return r;
	}
	l->at = calloc(MOST, sizeof(*l->at));
	buf_addstr(&list, names);
	if (!l->at || buf_failed(&list))
		return err_set(e, -ENOMEM, "out of memory");
	for (char *name = strtok_r(list.data, ",", &rest); name && !r; name = strtok_r(NULL, ",", &rest)) {
		const struct catalogue_entry *a = entry_of(&l->catalogue, path, name, e);

		if (!a)
			return e->code ? e->code : -EINVAL;
		for (size_t i = 0; i < s->items_cnt && l->count < MOST && !r; i++)
			if (concerns(&s->items[i]))
				r = one(&l->at[l->count++], &s->items[i], a, e);
	}
	if (!r && !l->count)
		r = err_set(e, -ENOENT, "the profile has no timed host call of known size to compare with an accelerator");
	return r;
}

void whatif_release(struct whatif_list *l)
{
	free(l->at);
	catalogue_release(&l->catalogue);
	*l = (struct whatif_list){ 0 };
}

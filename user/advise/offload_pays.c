// SPDX-License-Identifier: GPL-2.0-or-later
#include "advise/offload_pays.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "offload/points.h"
#include "util/path_name.h"

const char *offload_library(const struct offload_item *it)
{
	return path_last(it->library);
}

bool offload_passes(const struct filter *f, const struct offload_item *it)
{
	return filter_code(f, it->name, offload_library(it));
}

/* Where the model says that the host would have been faster, and by how much. */
static void wrong_side(struct offload_verdict *d, const struct offload_item *accel)
{
	double wrong = 0, lost = 0;

	for (size_t i = 0; i < accel->samples_cnt; i++) {
		double gain = logca_accel(&d->fit.p, accel->samples[i].bytes) -
			      logca_host(&d->fit.p, accel->samples[i].bytes);

		if (gain > 0) {
			wrong++;
			lost += gain;
		}
	}
	d->below = accel->samples_cnt ? wrong / (double)accel->samples_cnt : NAN;
	d->wasted_ns = wrong > 0 ? lost / wrong : 0;
}

static void judge_pair(struct offload_verdict *d, const struct offload_item *host, const struct offload_item *accel)
{
	struct points pts = { .unit = "ns" };
	struct err e = { 0 };
	int r = offload_points(host, RUN_HOST, &pts, &e);

	d->api = host->api;
	d->name = host->name;
	d->accelerated_calls = accel->estimate;
	d->below = d->wasted_ns = NAN;
	if (!r)
		r = offload_points(accel, RUN_ACCEL, &pts, &e);
	if (!r)
		r = fit_logca(&pts, &fit_defaults, &d->fit, &e);
	if (r) {
		snprintf(d->why_not, sizeof(d->why_not), "%.*s", (int)sizeof(d->why_not) - 1, e.text);
	} else {
		d->fitted = true;
		d->doubt = fit_doubt(&d->fit);
		logca_payoff(&d->fit.p, d->fit.gmin, d->fit.gmax, &d->payoff);
		if (!d->doubt)
			wrong_side(d, accel);
	}
	points_release(&pts);
}

size_t offload_verdicts(const struct offload_summary *s, const struct filter *f, struct offload_verdict *out,
			size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < s->items_cnt; i++) {
		const struct offload_item *h = &s->items[i];

		if (h->variant != FMT_OV_HOST)
			continue;
		for (size_t k = 0; k < s->items_cnt; k++) {
			const struct offload_item *a = &s->items[k];

			if (a->variant != FMT_OV_ACCELERATED || strcmp(h->name, a->name) || !offload_same_level(h, a) ||
			    (!offload_passes(f, h) && !offload_passes(f, a)))
				continue;
			if (n < most)
				judge_pair(&out[n], h, a);
			n++;
		}
	}
	return n;
}

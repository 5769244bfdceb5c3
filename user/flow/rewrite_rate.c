// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an instruction reads is a mixture: of addresses that are never written, and of those that are
 * written now and then, at a rate. A window that ends without a write speaks for the former the longer it
 * was open, and so does a word that was read and is still the same when it is looked at again. Both are fitted to all
 * windows and words of an instruction, drawn towards those of the whole recording.
 */
#include "flow/rewrite_rate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 30      /* of expectation and maximum; by hand */
#define AS_WINDOWS 1.0 /* what is usual counts as many windows or words */
#define LEAST_NS 1e3   /* that a window or word counts: 0 would make its rate infinite */

struct rewrite_rate_tally { /* of one arming instruction, or of all */
	double still, rate; /* the fit */
	double n, stills, writes, exposed;
};

static bool window_counts(const struct in_window *w, const struct est_opts *o)
{
	return o->use_windows && (o->stack || !(w->arm.flags & FMT_A_STACK));
}

/* Time until the first write, or until the end. */
static double exposure(const struct flow_input *in, const struct in_window *w, bool *written)
{
	uint64_t end = w->ended;

	*written = false;
	for (uint32_t i = 0; i < w->count && !*written; i++) {
		const struct in_hit *h = &in->hit[w->first + i];

		if (h->flags & FMT_A_STORE) {
			*written = true;
			end = h->time;
		}
	}
	return end > w->armed ? fmax((double)(end - w->armed), LEAST_NS) : LEAST_NS;
}

static double still_after(const struct rewrite_rate_tally *t, double ns)
{
	double changes = (1 - t->still) * exp(-t->rate * ns);

	return t->still / (t->still + changes);
}

static void fit(struct rewrite_rate_tally *site, uint32_t sites, struct rewrite_rate_tally *all)
{
	for (uint32_t i = 0; i < sites; i++) {
		struct rewrite_rate_tally *t = &site[i];

		t->still = (t->stills + AS_WINDOWS * all->still) / (t->n + AS_WINDOWS);
		t->rate = (t->writes + AS_WINDOWS) / (t->exposed + AS_WINDOWS / all->rate);
	}
}

/* Of memory that is written now and then, the part that was not yet, on average over so long. */
static double not_yet(double rate, double ns)
{
	return rate * ns > 1e-6 ? -expm1(-rate * ns) / (rate * ns) : 1;
}

/* Early in a recording, what changes may not have done so yet. */
static void conclude(struct rewrite_rate *s, const struct flow_input *in, const struct rewrite_rate_tally *site,
		     const struct rewrite_rate_tally *all)
{
	uint64_t begin = in->access_count ? in->access[0].time : 0,
		 end = in->access_count ? in->access[in->access_count - 1].time : 0;
	double whole = (double)(end - begin);

	for (uint32_t i = 0; i < in->window_count; i++) {
		const struct in_window *w = &in->window[i];
		double since = w->armed > begin ? (double)(w->armed - begin) : 0;

		s->window[i] += (1 - s->window[i]) * exp(-site[w->arm.site].rate * since);
	}
	for (uint32_t i = 0; i < s->sites; i++) {
		s->site[i] = site[i].still + (1 - site[i].still) * not_yet(site[i].rate, whole);
		s->rate[i] = site[i].rate;
	}
	s->usual_rate = all->rate;
	s->usual = all->still + (1 - all->still) * not_yet(all->rate, whole);
}

/* Mean time until the first write, where that is known to lie between these two. */
static double mean_between(double rate, double from, double to)
{
	double x = rate * (to - from);

	return from + (to - from) * (x > 1e-3 ? 1 / x - exp(-x) / -expm1(-x) : 0.5);
}

/* One window or word: that long, and with this probability in memory that nobody writes. */
static void tally_one(struct rewrite_rate_tally *site, struct rewrite_rate_tally *all, double ns, double still,
		      bool written)
{
	struct rewrite_rate_tally *const both[] = { site, all };

	for (unsigned k = 0; k < 2; k++) {
		both[k]->n++;
		both[k]->stills += still;
		both[k]->writes += written;
		both[k]->exposed += ns * (1 - still);
	}
}

static void tally_revisits(const struct flow_input *in, uint32_t sites, struct rewrite_rate_tally *site,
			   struct rewrite_rate_tally *all)
{
	for (size_t i = 0; i < in->revisit_count; i++) {
		const struct in_revisit *v = &in->revisit[i];
		struct rewrite_rate_tally *t = v->site < sites ? &site[v->site] : NULL;

		if (t && v->changed > 0)
			tally_one(t, all, fmax(mean_between(t->rate, v->same, v->changed), LEAST_NS), 0, true);
		else if (t)
			tally_one(t, all, v->same, still_after(t, v->same), false);
	}
}

static void learn_rates(struct rewrite_rate *s, const struct flow_input *in, const struct est_opts *o,
			struct rewrite_rate_tally *site)
{
	struct rewrite_rate_tally all = { .still = 0.5, .rate = 1e-7 };

	fit(site, s->sites, &all);
	for (int round = 0; round < ROUNDS; round++) {
		struct rewrite_rate_tally sum = { 0 };

		for (uint32_t i = 0; i < s->sites; i++)
			site[i].n = site[i].stills = site[i].writes = site[i].exposed = 0;
		for (uint32_t i = 0; i < in->window_count; i++) {
			const struct in_window *w = &in->window[i];
			struct rewrite_rate_tally *t = &site[w->arm.site];
			bool written;
			double ns = exposure(in, w, &written);

			if (!window_counts(w, o) || !(w->arm.flags & FMT_A_LOAD))
				continue;
			s->window[i] = written ? 0 : still_after(t, ns);
			tally_one(t, &sum, ns, s->window[i], written);
		}
		tally_revisits(in, s->sites, site, &sum);
		all.still = (sum.stills + 0.5) / (sum.n + 1);
		all.rate = (sum.writes + 1) / (sum.exposed + 1e7);
		fit(site, s->sites, &all);
	}
	conclude(s, in, site, &all);
}

int rewrite_rate_learn(struct rewrite_rate *s, const struct flow_input *in, const struct est_opts *o)
{
	struct rewrite_rate_tally *site = calloc(in->site_count + 1, sizeof(*site));
	int err;

	*s = (struct rewrite_rate){ .sites = in->site_count };
	s->window = calloc(in->window_count + 1, sizeof(double));
	s->site = calloc(in->site_count + 1, sizeof(double));
	s->rate = calloc(in->site_count + 1, sizeof(double));
	err = site && s->window && s->site && s->rate ? 0 : -ENOMEM;
	if (!err)
		learn_rates(s, in, o, site);
	free(site);
	return err;
}

double rewrite_rate_window(const struct rewrite_rate *s, uint32_t window)
{
	return s->window[window];
}

double rewrite_rate_site(const struct rewrite_rate *s, uint32_t site)
{
	return site < s->sites ? s->site[site] : s->usual;
}

double rewrite_rate_writes(const struct rewrite_rate *s, uint32_t site, uint64_t age)
{
	return (double)age * (site < s->sites ? s->rate[site] : s->usual_rate);
}

double rewrite_rate_valid(const struct rewrite_rate *s, uint32_t site, uint64_t age)
{
	return exp(-rewrite_rate_writes(s, site, age));
}

void rewrite_rate_release(struct rewrite_rate *s)
{
	free(s->window);
	free(s->site);
	free(s->rate);
	memset(s, 0, sizeof(*s));
}

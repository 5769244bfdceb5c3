// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/segment_shares.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "counts/drawn_time.h"
#include "counts/segment_rate.h"
#include "util/grow.h"
#include "util/map.h"
#include "util/normal.h"

#define PART_LEAST 0.05  /* of the time: less tells next to nothing, and costs the rest */
#define PART_MOST 0.999  /* of the tree something stays, which knows code that no segment met */
#define FASTER_MOST 4.0  /* times as fast as segments are in the mean: code under way */
#define RATE_SD 0.5      /* of the log of the rate that is taken for what is not verified */
#define UNKNOWN_HALF 1.0 /* half the interval, as part of the figure, where the tree tells none */
#define CALLED_LEAST 4   /* stretches that a function was called in: fewer do not tell how they differ */
#define DRAWING_SD 0.1   /* of the log of calls a second: what is drawn holds the thread up meanwhile; by hand */

/* ---- which part of the instructions ---- */

/* Segments from one system call to another, of all that were drawn. */
struct kind {
	double timed, timed_ns, gap_ns; /* that were only timed: nothing disturbed them */
	double verified, insns, ns;     /* that were carried on */
	double open;                    /* the same, and are not verified */
};

struct kinds {
	struct kind *of;
	size_t count, cap;
	struct map at;
	double square; /* of each stretch's timed_ns */
	double closed_ns, gap_ns, stretches;
};

static struct kind *kind_of_segment(struct kinds *k, const struct fmt_segment *s)
{
	bool added;
	uint64_t *at = map_put(&k->at, (uint64_t)(uint32_t)s->nr << 32 | (uint32_t)s->entry_nr, &added);

	if (!at)
		return NULL;
	if (added) {
		if (!GROW(k->of, k->count, k->cap, 16))
			return NULL;
		*at = k->count;
		k->of[k->count++] = (struct kind){ 0 };
	}
	return &k->of[*at];
}

static bool is_open(const struct fmt_segment *s)
{
	return s->state == FMT_SEG_DIVERGED || (s->state == FMT_SEG_CENSORED && s->cause != FMT_SEGC_LONG);
}

static int sort_by_kind(struct kinds *k, const struct counts_record *r)
{
	double stretch_ns = 0;

	for (size_t i = 0; i < r->segments; i++) {
		const struct fmt_segment *s = &r->segment[i];
		double ns = segment_user_ns(s);
		bool timed = s->state == FMT_SEG_TIMED && s->cause == FMT_SEGC_NONE;
		struct kind *of = isnan(ns) ? NULL : kind_of_segment(k, s);

		if (!of && !isnan(ns))
			return -ENOMEM;
		if (of && timed) {
			of->timed += s->weight;
			of->timed_ns += s->weight * ns;
			k->closed_ns += s->weight * ns;
			k->gap_ns += s->weight * s->gap_ns;
			stretch_ns += s->weight * ns;
		} else if (of && s->state == FMT_SEG_VERIFIED) {
			of->verified += s->weight;
			of->insns += s->weight * (double)s->instructions;
			of->ns += s->weight * ns;
		} else if (of && is_open(s)) {
			of->open += s->weight;
		}
		if (i + 1 == r->segments || r->segment[i + 1].stretch != s->stretch) {
			k->square += stretch_ns * stretch_ns;
			stretch_ns = 0;
		}
	}
	if (r->segments)
		k->stretches = (double)(r->segment[r->segments - 1].stretch - r->segment[0].stretch) + 1;
	return 0;
}

/* Instructions a ns of code that is under way. A segment begins slowly, with caches that the kernel used:
 *
 *	time = start + instructions / rate
 *
 * by least squares over kinds, each as often as it was met. */
static double rate_under_way(const struct kinds *k, double *start)
{
	double n = 0, x = 0, y = 0, xx = 0, xy = 0, mean, spread, slope, rate;

	for (size_t i = 0; i < k->count; i++) {
		const struct kind *of = &k->of[i];
		/* others of the kind may take far longer; and these, as taking pages made them */
		double insns = of->insns / of->verified, ns = fmin(of->timed_ns / of->timed, of->ns / of->verified);

		if (!(of->verified > 0) || !(of->timed > 0))
			continue;
		n += of->timed;
		x += of->timed * insns;
		y += of->timed * ns;
		xx += of->timed * insns * insns;
		xy += of->timed * insns * ns;
	}
	if (!(n > 0) || !(x > 0) || !(y > 0))
		return NAN;
	mean = x / y;
	spread = xx / n - x / n * x / n;
	slope = (xy / n - x / n * y / n) / spread;
	rate = spread > 0 && slope > 0 ? 1 / slope : mean;
	rate = fmin(fmax(rate, mean), FASTER_MOST * mean);
	*start = fmax(0, (y - x / rate) / n);
	return rate;
}

/* Samples tell how much user time there was, timed segments how much of it they hold and of which kind, and those that
 * were carried on which of them are verified. What took longer than any is waited for is in none. All of it in
 * instructions: what is not verified is often what is long, and long code runs faster than what has just begun. */
static void set_part(const struct counts_record *r, const struct kinds *k, struct segment_shares *out)
{
	struct drawn_running running = drawn_running(r);
	double start = 0, rate = rate_under_way(k, &start), told = 0, all = 0, chance;

	if (!(running.cpus > 0) || !(running.ticks > 0) || !(rate > 0) || !(k->stretches > 0))
		return;
	for (size_t i = 0; i < k->count; i++) {
		const struct kind *of = &k->of[i];
		double each = of->verified > 0 ? of->insns / of->verified : 0;
		double verified = of->verified > 0 ? of->timed * of->verified / (of->verified + of->open) : 0;
		/* verified ones take what such take; what else the kind took is of the others */
		double open_ns = of->timed_ns - of->timed * start - verified * each / rate;

		told += verified * each;
		all += fmax((of->timed - verified) * each, rate * open_ns);
	}
	all += told + rate * fmax(0, running.cpus * FMT_SEGMENT_STRETCH_NS * k->stretches - k->closed_ns - k->gap_ns);
	chance = fmax(0, k->square / (k->closed_ns * k->closed_ns) - 1 / k->stretches) + 1 / running.ticks;
	out->told = told / (running.cpus * FMT_SEGMENT_STRETCH_NS * k->stretches) * 1e9;
	out->told_var = chance + DRAWING_SD * DRAWING_SD;
	out->part = fmin(PART_MOST, told / all);
	out->part_var = pow(out->part * (1 - out->part), 2) * (chance + RATE_SD * RATE_SD);
	if (!(out->part >= PART_LEAST))
		out->part = 0;
}

static int find_part(const struct counts_record *r, struct segment_shares *out)
{
	struct kinds k = { 0 };
	int err = sort_by_kind(&k, r);

	if (!err && k.closed_ns > 0)
		set_part(r, &k, out);
	free(k.of);
	map_release(&k.at);
	return err;
}

/* ---- shares ---- */

static int set_shares(const struct counts_record *r, struct segment_shares *out)
{
	double all = 0, square = 0, usual = 0, more = (double)out->stretches / (out->stretches - 1.0);

	out->share = calloc(r->funcs + 1, sizeof(*out->share));
	out->var = calloc(r->funcs + 1, sizeof(*out->var));
	out->calls = calloc(r->funcs + 1, sizeof(*out->calls));
	out->calls_var = calloc(r->funcs + 1, sizeof(*out->calls_var));
	if (!out->share || !out->var || !out->calls || !out->calls_var)
		return -ENOMEM;
	for (size_t i = 0; i < r->funcs; i++)
		out->calls[i] = out->calls_var[i] = NAN;
	for (size_t i = 0; i < r->drawns; i++) {
		all += r->drawn[i].instructions;
		square += r->drawn[i].with_all;
	}
	if (!(all > 0) || !isfinite(square)) {
		out->part = 0;
		return 0;
	}
	for (size_t i = 0; i < r->drawns; i++) {
		const struct fmt_counts_drawn *d = &r->drawn[i];
		double share = d->instructions / all;

		usual += share * share;
		if (d->function == UINT32_MAX)
			continue;
		out->share[d->function] = share;
		out->var[d->function] =
			more * fmax(0, d->square - 2 * share * d->with_all + share * share * square) / (all * all);
		if (d->called < CALLED_LEAST || !(d->calls > 0))
			continue;
		out->calls[d->function] = d->calls / all;
		out->calls_var[d->function] =
			more * fmax(0, d->calls_square / (d->calls * d->calls) -
					       2 * d->calls_with_all / (d->calls * all) + square / (all * all));
	}
	/* another stretch may have met what none did, or have met only that */
	for (size_t i = 0; i < r->funcs; i++)
		out->var[i] += usual * usual / ((out->stretches + 1.0) * (out->stretches + 1.0));
	return 0;
}

int segment_shares(const struct counts_record *r, struct segment_shares *out)
{
	uint64_t dropped = 0;
	struct segment_rate rate = segment_rate(r->segment, r->segments, NAN, &dropped);
	int err;

	*out = (struct segment_shares){ .stretches = (uint32_t)rate.stretches };
	if (rate.stretches < STRETCHES_LEAST || rate.count[FMT_SEG_VERIFIED] < VERIFIED_LEAST || !r->drawns)
		return 0;
	err = find_part(r, out);
	return !err && out->part > 0 ? set_shares(r, out) : err;
}

void segment_shares_release(struct segment_shares *s)
{
	free(s->share);
	free(s->var);
	free(s->calls);
	free(s->calls_var);
	*s = (struct segment_shares){ 0 };
}

/* ---- into the tree ---- */

struct mixed {
	double total, rests; /* of the tree's figures; of their rests as parts of it */
};

static double tree_share(const struct counts_group *g, double total)
{
	return g->instructions > 0 ? g->instructions / total : 0;
}

static double rest_of(const struct segment_shares *s, size_t f, double share)
{
	return fmax(0, share - s->part * s->share[f]);
}

/* Its figure and what it may be off by, each to its side. */
static void mix_group(const struct segment_shares *s, const struct mixed *m, size_t f, struct counts_group *g)
{
	double share = tree_share(g, m->total), by = (1 - s->part) / m->rests, rest = by * rest_of(s, f, share);
	double sure = s->part * s->share[f], mixed = sure + rest;
	double half =
		Z95 * Z95 * (s->part * s->part * s->var[f] + pow(s->share[f] - rest / (1 - s->part), 2) * s->part_var);
	double below = share > 0 && isfinite(g->low) ? share - g->low / m->total : UNKNOWN_HALF * share;
	double above = share > 0 && isfinite(g->high) ? g->high / m->total - share : UNKNOWN_HALF * share;

	/* of what segments do not stand for there is no more than that, and of this function's not less than none */
	below = fmin(by * below, rest);
	above = fmin(by * above, 1 - s->part - rest);

	g->instructions = mixed * m->total;
	g->low = m->total * fmax(0, mixed - sqrt(half + below * below));
	g->high = m->total * fmin(1, mixed + sqrt(half + above * above));
	g->trust = mixed > 0 ? (sure + rest * g->trust) / mixed : g->trust;
	g->by_segments = mixed > 0 ? sure / mixed : 0;
}

void segment_shares_apply(const struct segment_shares *s, const struct counts_record *r, struct counts_tree *t)
{
	struct mixed m = { 0 };

	if (!(s->part > 0))
		return;
	for (size_t f = 0; f < t->groups; f++)
		m.total += t->group[f].instructions > 0 ? t->group[f].instructions : 0;
	for (size_t f = 0; f < t->groups && m.total > 0; f++)
		m.rests += rest_of(s, f, tree_share(&t->group[f], m.total));
	if (!(m.total > 0) || !isfinite(m.total) || !(m.rests > 0))
		return;
	for (uint32_t n = 1; t->runs && n < t->nodes; n++) {
		uint32_t f = r->node[n].function;
		double share = f == UINT32_MAX ? 0 : tree_share(&t->group[f], m.total);

		if (share > 0)
			t->runs[n] *= (s->part * s->share[f] + (1 - s->part) * rest_of(s, f, share) / m.rests) / share;
	}
	for (size_t f = 0; f < t->groups; f++)
		if (t->group[f].instructions > 0 || s->share[f] > 0)
			mix_group(s, &m, f, &t->group[f]);
}

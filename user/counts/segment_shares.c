// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/segment_shares.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "counts/segment_rate.h"
#include "util/normal.h"

#define STRETCHES_LEAST 4 /* fewer do not tell how they differ */
#define VERIFIED_LEAST 20 /* segments: fewer do not tell what runs in them */
#define PART_LEAST 0.05   /* of the time: less tells next to nothing, and costs the rest */
#define PART_MOST 0.999   /* of the tree something stays, which knows code that no segment met */
#define FASTER_MOST 4.0   /* times as fast as segments are in the mean: code under way */
#define UNKNOWN_HALF 1.0  /* half the interval, as part of the figure, where the tree tells none */

/* ---- which part of the instructions ---- */

/* Of the time of a recording that stretches stand for: FMT_SEGMENT_STRETCH_NS each. */
struct looked_at {
	double stretches;
	double closed, closed_ns;            /* segments that ended, and their time, by those that were only timed */
	double gap_ns;                       /* that was taken off it: samples may have found it in user mode */
	double verified, insns, ns;          /* those that were carried on */
	double insns_square, insns_times_ns; /* sums of products */
	double open, open_ns;                /* carried on, too, and not verified */
	double square;                       /* of each stretch's closed_ns */
};

static void add_carried(struct looked_at *l, const struct fmt_segment *s, double ns)
{
	double insns = (double)s->instructions;

	if (s->state == FMT_SEG_VERIFIED) {
		l->verified += s->weight;
		l->insns += s->weight * insns;
		l->ns += s->weight * ns;
		l->insns_square += s->weight * insns * insns;
		l->insns_times_ns += s->weight * insns * ns;
	} else if (s->state == FMT_SEG_DIVERGED || (s->state == FMT_SEG_CENSORED && s->cause != FMT_SEGC_LONG)) {
		l->open += s->weight;
		l->open_ns += s->weight * ns;
	}
}

static struct looked_at look_at_segments(const struct counts_record *r)
{
	struct looked_at l = { 0 };
	double stretch_ns = 0;

	for (size_t i = 0; i < r->segments; i++) {
		const struct fmt_segment *s = &r->segment[i];
		double ns = segment_user_ns(s);

		if (isnan(ns))
			continue;
		if (s->state == FMT_SEG_TIMED && s->cause == FMT_SEGC_NONE) {
			l.closed += s->weight;
			l.closed_ns += s->weight * ns;
			l.gap_ns += s->weight * s->gap_ns;
			stretch_ns += s->weight * ns;
		} else {
			add_carried(&l, s, ns);
		}
		if (i + 1 == r->segments || r->segment[i + 1].stretch != s->stretch) {
			l.square += stretch_ns * stretch_ns;
			stretch_ns = 0;
		}
	}
	if (r->segments)
		l.stretches = (double)(r->segment[r->segments - 1].stretch - r->segment[0].stretch) + 1;
	return l;
}

/* Instructions a ns of code that is under way. A segment begins slowly, with caches that the kernel used and what the
 * observation itself takes: time = start + instructions / rate, by least squares. */
static double rate_under_way(const struct looked_at *l, double *start)
{
	double n = l->verified, x = l->insns / n, y = l->ns / n, mean = l->insns / fmax(l->ns, 1);
	double spread = l->insns_square / n - x * x, slope = (l->insns_times_ns / n - x * y) / spread;
	double rate = spread > 0 && slope > 0 ? 1 / slope : mean;

	rate = fmin(fmax(rate, mean), FASTER_MOST * mean);
	*start = fmax(0, y - x / rate);
	return rate;
}

/* Samples tell how much user time there was, timed segments how much of it they hold, and those that were carried on
 * how much of that is verified. What took longer than any is waited for is in none. All of it in instructions: what is
 * not verified is often what is long, and long code runs faster than what has just begun. */
static void set_part(const struct counts_record *r, struct segment_shares *out)
{
	struct looked_at l = look_at_segments(r);
	double wall = r->profile ? (double)r->profile->duration_ns : 0, user = 0, samples = 0;
	double rate, start, open, each, closed, rest;

	for (size_t i = 0; i < r->funcs; i++) {
		user += r->func[i].self_ns;
		samples += (double)r->func[i].samples;
	}
	if (!(wall > 0) || !(user > 0) || !(samples > 0) || !(l.closed_ns > 0) || !(l.insns > 0) || !(l.stretches > 0))
		return;
	rate = rate_under_way(&l, &start);
	open = rate * fmax(0, l.open_ns - start * l.open);
	each = (l.insns + open) / (l.verified + l.open);
	closed = each * l.closed / l.stretches;
	rest = rate * fmax(0, user / wall * FMT_SEGMENT_STRETCH_NS - (l.closed_ns + l.gap_ns) / l.stretches);
	out->part = fmin(PART_MOST, l.insns / (l.insns + open) * closed / (closed + rest));
	out->part_var = pow(out->part * (1 - out->part), 2) *
			(fmax(0, l.square / (l.closed_ns * l.closed_ns) - 1 / l.stretches) + 1 / samples +
			 1 / (double)out->stretches);
	if (!(out->part >= PART_LEAST))
		out->part = 0;
}

/* ---- shares ---- */

static int set_shares(const struct counts_record *r, struct segment_shares *out)
{
	double all = 0, square = 0, usual = 0, more = (double)out->stretches / (out->stretches - 1.0);

	out->share = calloc(r->funcs + 1, sizeof(*out->share));
	out->var = calloc(r->funcs + 1, sizeof(*out->var));
	if (!out->share || !out->var)
		return -ENOMEM;
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
	}
	/* another stretch may have met what none did, or have met only that */
	for (size_t i = 0; i < r->funcs; i++)
		out->var[i] += usual * usual / ((out->stretches + 1.0) * (out->stretches + 1.0));
	return 0;
}

int segment_shares(const struct counts_record *r, struct segment_shares *out)
{
	uint64_t dropped = 0;
	struct segment_rate rate = segment_rate(r->segment, r->segments, &dropped);

	*out = (struct segment_shares){ .stretches = (uint32_t)rate.stretches };
	if (rate.stretches < STRETCHES_LEAST || rate.count[FMT_SEG_VERIFIED] < VERIFIED_LEAST || !r->drawns)
		return 0;
	set_part(r, out);
	return out->part > 0 ? set_shares(r, out) : 0;
}

void segment_shares_release(struct segment_shares *s)
{
	free(s->share);
	free(s->var);
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

	g->instructions = mixed * m->total;
	g->low = m->total * fmax(0, mixed - sqrt(half + pow(by * below, 2)));
	g->high = m->total * fmin(1, mixed + sqrt(half + pow(by * above, 2)));
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

// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/counts_speed.h"

#include <math.h>
#include <stdio.h>

#include "counts/counts_windows.h"
#include "counts/segment_rate.h"
#include "util/normal.h"

/* Of the log of the speed: within a factor of two, 95 times of a hundred. A rate of code that tells little of what
 * else runs leaves it wider, and what may be off by more than that is no amount. */
#define SPEED_SD_MOST 0.354
/* Of the log of a rate of code: what it is off by whatever its windows say (RATIO_BIAS in counts_ratio.c), and a hit's
 * price, which rates are made up for, is known no better. Segments that know the speed more closely tell it alone. */
#define RATE_SD_LEAST 0.1
#define LONGER 1.5       /* times this recording, which was too short, at least */
#define LONG_SECONDS 600 /* nobody waits for longer, and what windows do not see in that time they hardly see later */
#define ROUND_BELOW 100  /* seconds: to tens, and to minutes from there on */

/* Times as long as this recording until a rate has enough windows and hits, at the pace of the best one so far. */
static double until_a_rate(const struct counts_record *r)
{
	double best = INFINITY;

	for (size_t i = 0; i < r->links; i++) {
		const struct counts_rec_link *l = &r->link[i];
		double hits = 0;

		for (size_t k = 0; l->l.how == FMT_CL_RATE && k < l->windows; k++)
			hits += r->window[l->window + k].child;
		if (hits > 0)
			best = fmin(best, fmax(COUNTS_RATE_WINDOWS / (double)l->windows, COUNTS_RATE_HITS / hits));
	}
	return best;
}

/* Bursts need no breakpoint, and tell no time. */
static bool by_bursts_alone(const struct counts_record *r)
{
	for (size_t i = 0; i < r->windows; i++)
		if (r->link[r->window[i].link].l.how != FMT_CL_REPLAY)
			return false;
	return true;
}

/* What scatters by chance does so half as much in four times the time. */
static double seconds_needed(const struct counts_record *r, double sd, bool rate)
{
	double seconds = r->profile ? (double)r->profile->duration_ns * 1e-9 : 0, times;

	if (by_bursts_alone(r))
		return INFINITY;
	times = rate ? pow(sd / SPEED_SD_MOST, 2) : until_a_rate(r);
	return seconds > 0 && isfinite(times) ? seconds * fmax(times, LONGER) : NAN;
}

struct counts_speed counts_speed(const struct counts_record *r, const struct counts_built *b)
{
	struct counts_speed s = { .low = NAN, .high = NAN, .seconds = NAN };
	double sd = sqrt(b->tree.total_var);

	for (size_t i = 0; i < b->tree.links; i++)
		s.measured |= b->tree.link[i].ratio.how == COUNTS_RATE && !b->tree.link[i].broken;
	if (!s.measured || !(sd <= SPEED_SD_MOST)) {
		s.seconds = seconds_needed(r, sd, s.measured);
		s.measured = false;
		return s;
	}
	s.low = exp(-Z95 * sd);
	s.high = exp(Z95 * sd);
	return s;
}

struct segment_rate counts_segments(const struct counts_record *r, uint64_t *dropped)
{
	double wall = r->profile ? (double)r->profile->duration_ns : 0, user = 0;

	for (size_t i = 0; i < r->funcs; i++)
		user += r->func[i].self_ns;
	return segment_rate(r->segment, r->segments, wall > 0 ? user / wall : NAN, dropped);
}

bool counts_speed_by_segments(const struct counts_record *r)
{
	uint64_t dropped = 0;
	struct segment_rate rate = counts_segments(r, &dropped);

	return rate.known && log(rate.high / rate.low) <= 2 * Z95 * RATE_SD_LEAST;
}

struct counts_speed counts_speed_settle(const struct counts_record *r, struct counts_built *b)
{
	struct counts_speed s = counts_speed(r, b);
	uint64_t dropped = 0;
	struct segment_rate rate = counts_segments(r, &dropped);
	struct counts_tree *t = &b->tree;
	double all = 0, by;

	for (size_t i = 0; i < t->groups; i++)
		all += t->group[i].instructions > 0 ? t->group[i].instructions : 0;
	if (s.measured || !rate.known || !(all > 0))
		return s;
	by = rate.per_ns * 1e9 / all;
	for (size_t i = 0; i < t->groups; i++) {
		t->group[i].instructions *= by;
		t->group[i].low *= by;
		t->group[i].high *= by;
	}
	for (uint32_t n = 0; n < t->nodes; n++)
		t->runs[n] *= by;
	return (struct counts_speed){ .measured = true,
				      .by_segments = true,
				      .low = rate.low / rate.per_ns,
				      .high = rate.high / rate.per_ns,
				      .seconds = NAN };
}

const char *counts_speed_note(struct counts_speed_note *n, double seconds)
{
	static const char why[] =
		"amounts are unknown: how fast the code runs was not measured, so only shares are told";
	double unit = seconds < ROUND_BELOW ? 10 : 60;

	if (isnan(seconds))
		snprintf(n->text, sizeof(n->text), "%s; record for 30 s or longer, with hardware breakpoints", why);
	else if (isinf(seconds))
		snprintf(
			n->text, sizeof(n->text),
			"%s; no hardware breakpoint was hit while it was recorded: `accperf doctor --breakpoints` says "
			"whether they can be used here",
			why);
	else if (seconds > LONG_SECONDS)
		snprintf(n->text, sizeof(n->text),
			 "%s; record with --effort high: at this one it would take more than %d s", why, LONG_SECONDS);
	else
		snprintf(n->text, sizeof(n->text), "%s; record for about %.0f s", why, ceil(seconds / unit) * unit);
	return n->text;
}

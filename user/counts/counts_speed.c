// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/counts_speed.h"

#include <math.h>
#include <stdio.h>

#include "counts/counts_windows.h"
#include "counts/drawn_time.h"
#include "counts/segment_rate.h"
#include "util/normal.h"

/* Of the log of the speed: within a factor of three, 95 times of a hundred. A rate of code that tells little of what
 * else runs leaves it wider, and so do two that contradict each other; what may be off by more than that is no amount.
 * By hand: zstd, whose threads wake each other three times a millisecond, is known to a factor of 2.4 by the model (and
 * was within 4 %). */
#define SPEED_SD_MOST 0.56
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

static struct counts_speed unknown_speed(double seconds, double guess)
{
	return (struct counts_speed){ .guessed = guess > 0 && isfinite(guess),
				      .by = SPEED_BY_NOTHING,
				      .times = guess > 0 && isfinite(guess) ? guess : 1,
				      .low = NAN,
				      .high = NAN,
				      .seconds = seconds };
}

struct segment_rate counts_segments(const struct counts_record *r, uint64_t *dropped)
{
	return segment_rate(r->segment, r->segments, drawn_running(r).cpus, dropped);
}

/* The log of instructions a second. */
struct counts_speed_told {
	double log, var; /* var: infinite: nothing is */
};

/* Two that know nothing of each other weigh by their variances. Where they differ by more than chance allows one is
 * wrong, and it is not known which: what is beyond that is the error of both. */
static struct counts_speed_told weighed(struct counts_speed_told a, struct counts_speed_told b)
{
	double apart = a.log - b.log, beyond, var;

	if (isinf(a.var) || isinf(b.var))
		return isinf(a.var) ? b : a;
	beyond = fmax(0, apart * apart - Z95 * Z95 * (a.var + b.var)) / 2;
	a.var += beyond;
	b.var += beyond;
	var = 1 / (1 / a.var + 1 / b.var);
	return (struct counts_speed_told){ .log = var * (a.log / a.var + b.log / b.var), .var = var };
}

static double total_instructions(const struct counts_tree *t)
{
	double all = 0;

	for (size_t i = 0; i < t->groups; i++)
		all += t->group[i].instructions > 0 ? t->group[i].instructions : 0;
	return all;
}

static bool has_rate(const struct counts_tree *t)
{
	for (size_t i = 0; i < t->links; i++)
		if (t->link[i].ratio.how == COUNTS_RATE && !t->link[i].broken)
			return true;
	return false;
}

/* Where there are rates, the tree was solved with them and the model as its prior (counts_record_tree()). */
struct counts_speed counts_speed(const struct counts_record *r, const struct counts_built *b)
{
	const struct counts_speed_told nothing = { .log = NAN, .var = INFINITY };
	struct counts_speed_told before = nothing, between = nothing, all;
	bool rated = has_rate(&b->tree);
	uint64_t dropped = 0;
	struct segment_rate s = counts_segments(r, &dropped);
	double own = log(total_instructions(&b->tree));

	if (rated)
		before = (struct counts_speed_told){ own, b->tree.total_var };
	else if (b->tree.speed > 0)
		before = (struct counts_speed_told){ log(b->tree.speed), b->tree.speed_var };
	if (s.known)
		between = (struct counts_speed_told){ log(s.per_ns * 1e9), pow(log(s.high / s.low) / (2 * Z95), 2) };
	all = weighed(before, between);
	if (!(all.var <= SPEED_SD_MOST * SPEED_SD_MOST) || !isfinite(own))
		return unknown_speed(seconds_needed(r, sqrt(all.var), rated), exp(all.log - own));
	return (struct counts_speed){ .known = true,
				      .by = between.var < before.var ? SPEED_BY_SEGMENTS
					    : rated                  ? SPEED_BY_RATES
								     : SPEED_BY_MODEL,
				      .times = exp(all.log - own),
				      .added_var = rated ? 0 : all.var,
				      .low = exp(-Z95 * sqrt(all.var)),
				      .high = exp(Z95 * sqrt(all.var)),
				      .seconds = NAN };
}

const char *counts_speed_by_str(enum counts_speed_by by)
{
	static const char *const name[] = { NULL, "rates", "segments", "model" };

	return (unsigned)by < sizeof(name) / sizeof(name[0]) ? name[by] : NULL;
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

const char *counts_speed_spread(struct counts_speed_note *n, double low, double high)
{
	if (!(low < 1 || high > 1))
		return NULL;
	snprintf(n->text, sizeof(n->text),
		 "Amounts rest on how fast the code runs: in truth they are %.2f to %.2f times as many (95 %%). Shares "
		 "do not.",
		 low, high);
	return n->text;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* One link: its ratio and how far to believe it. */
#include <math.h>

#include "counts/counts.h"
#include "util/normal.h"

/* Stretches of neighbouring windows: what they differ by beyond the windows' own scatter is phases,
 * whose length nobody knows. */
static const size_t stretches[] = { 32, 16, 8 };

/* Relative errors that no number of windows removes: windows begin where time is spent, not where
 * code is executed (runs of the prototype scattered by about a tenth); a trip count's is that the
 * activations seen are not all. */
/* How far off what a hit costs may be, in seconds: a rate that is not far below its inverse may be
 * anything. */
#define HIT_DOUBT 10e-6
#define RATIO_BIAS 0.1 /* sd of the log: the scatter of about a tenth named above */
/* Bursts begin where time is spent, too, and some end where it cannot be known how the code went on. */
#define REPLAY_BIAS 0.03
/* Windows that are too short for two runs of the anchor met it for a reason, where they met it. */
#define MANY 20.0
#define MANY_BIAS 0.3        /* of the log of how far the ratio is beyond MANY; by hand */
#define TURN_BIAS 0.2        /* windows that are hardly longer than a turn: which part of it they hold is no chance */
#define APART_SD 1.5         /* of the log, where no window met both */
#define BY_CHANCE 0.125      /* windows have some eight hits of each */
#define TRIP_PAIRS_BIAS 0.01 /* sd of the log, at least: not all activations were seen; by hand */
/* Activations that all turned as often: enough for a ratio, as those that nobody saw may turn otherwise;
 * and enough to say that all do. */
#define SAME_TRIPS 2.99
#define SURE_TRIPS 9.99   /* activations: ten */
#define FEW_SAME_VAR 0.15 /* over how many there were */
/* Activations that differ are met where windows begin, which is not where they are made: that much of what they
 * differ by, and far more of what windows differ by beyond it, as phases do. A few windows do not tell that: before
 * the first of them it is half of what activations differ by, and as much as in most loops. */
#define VARY_BIAS 0.08
#define PHASE_BIAS 0.3        /* part of what windows differ by beyond VARY_BIAS; by hand */
#define PHASE_PRIOR 0.3       /* sd of the log before windows tell; by hand */
#define PHASE_PRIOR_WINDOWS 2 /* the prior weighs as much as so many windows; by hand */
#define UNEVEN 1.5            /* times the anchor's effective hits: how many windows count at most; by hand */
#define RANGE_SD 4            /* of what some two dozen numbers range over */
#define VARY_WINDOWS 12       /* fewer may all lie in one phase */
/* over how many: how far off they are then, in logs, if what they met ranges over a factor of e; by its square */
#define FEW_VARY 1.5
#define FEW_POWER 1.5        /* as Student's quantiles have it, about */
#define TWO_WINDOWS_VAR 0.35 /* one or two windows do not know it at all */

const char *counts_how_str(enum counts_how how)
{
	switch (how) {
	case COUNTS_UNKNOWN: return "time share";
	case COUNTS_ONCE: return "once";
	case COUNTS_TRIPS: return "trip count";
	case COUNTS_RATIO: return "ratio";
	case COUNTS_RATE: return "rate";
	case COUNTS_CACHED: return "other recordings";
	case COUNTS_REPLAY: return "replay";
	case COUNTS_TIME: return "time inside";
	case COUNTS_SEGMENTS: return "segments";
	}
	return "unknown";
}

enum counts_how counts_ratio_shown(const struct counts_ratio *r)
{
	return r->how == COUNTS_TRIPS && r->few ? COUNTS_RATIO : r->how;
}

struct counts_ratio counts_ratio_once(void)
{
	return (struct counts_ratio){ .how = COUNTS_ONCE, .ratio = 1, .low = 1, .high = 1 };
}

struct counts_ratio counts_ratio_unknown(void)
{
	return (struct counts_ratio){
		.how = COUNTS_UNKNOWN, .ratio = NAN, .log_var = INFINITY, .low = NAN, .high = NAN
	};
}

/* Variance of the sums' ratio from residuals of `groups` runs of windows. */
static double scatter(const struct counts_window *w, size_t n, size_t groups, double ratio, double anchor)
{
	double sum = 0;

	for (size_t g = 0; g < groups; g++) {
		double x = 0, y = 0;

		for (size_t i = g * n / groups; i < (g + 1) * n / groups; i++) {
			x += w[i].anchor;
			y += w[i].child;
		}
		sum += (y - ratio * x) * (y - ratio * x);
	}
	return sum / (anchor * anchor) * (double)groups / (double)(groups - 1);
}

/* Whether windows held hits of both, or some of them of one and some of the other: 0 and 1. What a window holds by
 * chance, as few as its hits are, is no sign. */
static double windows_part(const struct counts_window *w, size_t n)
{
	double sum = 0, square = 0, windows = 0, mean, most;

	for (size_t i = 0; i < n; i++) {
		double part = w[i].child / (w[i].anchor + w[i].child);

		if (!(w[i].anchor + w[i].child > 0))
			continue;
		windows++;
		sum += part;
		square += part * part;
	}
	mean = sum / windows;
	most = mean * (1 - mean);
	if (!(windows >= 3) || !(most > 0))
		return 0;
	return fmin(1, fmax(0, ((square / windows - mean * mean) / most - BY_CHANCE) / (1 - BY_CHANCE)));
}

/* A mean that is no whole number is one of activations that differ, however much windows agree. */
static bool all_same(const struct counts_window *w, size_t n, double ratio)
{
	if (fabs(ratio - round(ratio)) > 1e-9 * ratio)
		return false;
	for (size_t i = 0; i < n; i++)
		if (fabs(w[i].child - ratio * w[i].anchor) > 1e-9 * w[i].child)
			return false;
	return true;
}

/* What all activations that were met range over, in logs. */
static double reach(const struct counts_window *w, size_t n, double ratio, const struct counts_range *range)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < n; i++) {
		double mean = w[i].anchor > 0 ? w[i].child / w[i].anchor : ratio;

		least = fmin(least, range ? range[i].least : mean);
		most = fmax(most, range ? range[i].most : mean);
	}
	return log(fmax(most, 1) / fmax(least, 1));
}

/* By how much windows differ beyond what activations within them do: relative standard deviation. */
static double phases(const struct counts_window *w, size_t n, double ratio, const struct counts_range *range)
{
	double anchor = 0, square = 0, within = 0, prior, beyond;

	for (size_t i = 0; i < n; i++) {
		double mean = w[i].anchor > 0 ? w[i].child / w[i].anchor : ratio,
		       wide = range ? (range[i].most - range[i].least) / RANGE_SD : 0;

		anchor += w[i].anchor;
		square += w[i].anchor * (mean - ratio) * (mean - ratio);
		within += w[i].anchor * wide * wide;
	}
	beyond = fmin(fmax(square - within * (double)n / anchor, 0) / (anchor * ratio * ratio), 1);
	prior = fmin(PHASE_PRIOR, reach(w, n, ratio, range) / 2);
	return sqrt((PHASE_PRIOR_WINDOWS * prior * prior + (double)n * beyond) / (PHASE_PRIOR_WINDOWS + (double)n));
}

static double trips_bias(const struct counts_window *w, size_t n, double ratio, double var, double anchor,
			 const struct counts_range *range)
{
	double few = n < VARY_WINDOWS ? FEW_VARY / (double)n * fmin(1, pow(reach(w, n, ratio, range), 2)) : 0;

	return TRIP_PAIRS_BIAS + fmax(few, fmax(VARY_BIAS * fmin(1, sqrt(var * anchor) / ratio),
						PHASE_BIAS * phases(w, n, ratio, range)));
}

/* Not only windows agree. */
static bool each_same(const struct counts_range *range, size_t n)
{
	for (size_t i = 0; range && i < n; i++)
		if (range[i].least != range[0].least || range[i].most != range[0].least)
			return false;
	return true;
}

double counts_sums_ratio(const struct counts_sums *s)
{
	/* none seen is not never: half a hit, as uncertain as that */
	return (s->y > 0 ? s->y : 0.5) / s->x;
}

double counts_sums_scatter(const struct counts_sums *s)
{
	double ratio = counts_sums_ratio(s);

	if (s->windows < 2)
		return 0;
	return fmax(s->yy - 2 * ratio * s->xy + ratio * ratio * s->xx, 0) / (s->x * s->x) * s->windows /
	       (s->windows - 1);
}

double counts_chance(const struct counts_sums *s, double scatter, enum counts_how how, bool same)
{
	double ratio = counts_sums_ratio(s), var = scatter, windows = s->windows;

	/* a rate's anchor is time: what may be too few there are the hits */
	if (!(s->x > 0) || windows < (how == COUNTS_RATE ? COUNTS_RATE_WINDOWS : 1))
		return INFINITY;
	if (how == COUNTS_RATE ? s->y < COUNTS_RATE_HITS : s->x < (same ? SAME_TRIPS : COUNTS_ANCHOR_MIN))
		return INFINITY;
	/* As many windows as would have the same say: one that stands for far more activations than others is nearly
	 * all there is. Most hold more or fewer. How far few windows scatter is hardly known itself. */
	if (how != COUNTS_RATE && !same)
		windows = fmin(windows, UNEVEN * s->x * s->x / s->xx);
	if (windows < 2.5)
		var = fmax(var, ratio * ratio * TWO_WINDOWS_VAR / windows);
	else
		var *= pow((windows + 2) / (windows - 1), FEW_POWER);
	/* a window ends anywhere between two hits of the rarer one */
	if (how == COUNTS_RATIO)
		var = fmax(var, fmax(ratio, 1) * fmax(ratio, 1) / 12 * s->windows / (s->x * s->x));
	/* few hits of the child: its own chance, too */
	var = fmax(var, ratio * ratio * (s->y < 30 ? 1 / (s->y + 0.5) : 0));
	return same && s->x < SURE_TRIPS ? var + ratio * ratio * FEW_SAME_VAR / s->x : var;
}

/* Whether the activations met are too few to claim a trip count for all. */
static bool few_activations(const struct counts_sums *s, bool same)
{
	if (same && s->windows > 2)
		return s->x < SURE_TRIPS;
	return (same ? s->windows : fmin(s->windows, UNEVEN * s->x * s->x / s->xx)) < VARY_WINDOWS;
}

/* sd of the log that no number of windows removes. */
static double bias_of(const struct counts_sums *s, enum counts_how how, double ratio)
{
	double bias = how == COUNTS_REPLAY ? REPLAY_BIAS : RATIO_BIAS;

	if (how == COUNTS_RATIO && ratio > MANY && s->x < 2 * s->windows)
		bias += MANY_BIAS * log(ratio / MANY) * (2 - s->x / s->windows) / 2;
	if (how == COUNTS_RATIO && s->x < 2 * s->windows)
		bias += TURN_BIAS * (2 - s->x / s->windows) / 2;
	return bias;
}

static bool sum_windows(const struct counts_window *w, size_t n, struct counts_sums *s)
{
	*s = (struct counts_sums){ 0 };
	for (size_t i = 0; i < n; i++) {
		if (!(w[i].anchor >= 0) || !(w[i].child >= 0) || isinf(w[i].anchor) || isinf(w[i].child))
			return false;
		counts_sums_add(s, w[i].anchor, w[i].child);
	}
	return true;
}

static void ratio_of_windows(const struct counts_window *w, size_t n, enum counts_how how,
			     const struct counts_range *range, struct counts_ratio *out)
{
	struct counts_sums s;
	double ratio, var, half;
	bool same;

	*out = counts_ratio_unknown();
	if (!sum_windows(w, n, &s))
		return;
	out->windows = (uint32_t)n;
	out->anchor = s.x;
	out->child = s.y;
	ratio = counts_sums_ratio(&s);
	same = how == COUNTS_TRIPS && each_same(range, n) && all_same(w, n, s.y / s.x);
	var = n > 1 ? scatter(w, n, n, ratio, s.x) : 0;
	for (size_t i = 0; i < sizeof(stretches) / sizeof(stretches[0]); i++)
		if (n >= 4 * stretches[i])
			var = fmax(var, scatter(w, n, stretches[i], ratio, s.x));
	var = counts_chance(&s, var, how, same);
	if (isinf(var) || (how == COUNTS_RATE && ratio > COUNTS_RATE_MOST))
		return;
	if (how == COUNTS_RATE)
		var += ratio * ratio * (ratio * HIT_DOUBT) * (ratio * HIT_DOUBT);
	out->few = how == COUNTS_TRIPS && few_activations(&s, same);
	out->how = how;
	out->ratio = ratio;
	/* how often one ran for each second that it ran, against the other: that shows only where both are met
	 * together */
	if (how == COUNTS_RATIO || how == COUNTS_REPLAY)
		var += pow(ratio * APART_SD * windows_part(w, n), 2);
	half = how != COUNTS_TRIPS ? bias_of(&s, how, ratio)
	       : same              ? TRIP_PAIRS_BIAS
				   : trips_bias(w, n, ratio, var, s.x, range);
	out->log_var = log1p(var / (ratio * ratio)) + half * half;
	half = Z95 * sqrt(out->log_var);
	out->low = ratio * exp(-half);
	out->high = ratio * exp(half);
}

void counts_ratio_of(const struct counts_window *w, size_t n, enum counts_how how, struct counts_ratio *out)
{
	ratio_of_windows(w, n, how, NULL, out);
}

void counts_trips_of(const struct counts_window *w, const struct counts_range *range, size_t n,
		     struct counts_ratio *out)
{
	ratio_of_windows(w, n, COUNTS_TRIPS, range, out);
}

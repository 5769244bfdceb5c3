// SPDX-License-Identifier: GPL-2.0-or-later
/* The most probable errors of links, scales and rates, given what was observed. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts/counts_priv.h"
#include "util/grow.h"
#include "util/normal.h"

#define ROOT_VAR 1e4         /* of the log of a scale that nobody knows */
#define UNKNOWN_VAR 16.0     /* of a ratio that nobody knows, in the same function or to a callee */
#define MOST_VAR 400.0       /* of a log: a factor of e^20, which says nothing */
#define PASSES 4             /* each takes the errors found as the place around which all is linear */
#define SHIFT_MAX 30.0       /* log: beyond e^30 numbers are damage */
#define LINEAR_FROM 0.7      /* of what is observed hangs on an error: its log is linear */
#define STEP_MAX 1.5         /* log: by how much an error may change in one pass, so that passes converge; by hand */
#define BROKEN_MAX 24        /* links that may be excluded: each costs a solution; by hand */
#define NO_EFFECT 3e-4       /* elasticities below this are left out */
#define SPREAD_PRIOR_SD 0.8  /* of its logarithm */
#define SPREAD_PRIOR 0.7     /* of log instructions per time between functions, as measured: factors of 2, seldom 5 */
#define JUDGE_SPREAD 0.5     /* at most, while links are judged */
#define STRETCH_PRIOR_SD 1.0 /* of the logarithm of the windows' stretch; by hand */
#define FAST_RATE 10000.0    /* hits per second */
/* degrees of freedom of Student's t: a heavy tail, so that one odd function does not widen all; by hand */
#define TAIL_DOF 4.0
/* A large function is made of much code, whose differences even out; its instructions per time say more
 * about the program's than those of a small one. */
#define SMALL_SHARE 0.02
#define SMALL_MOST 20.0  /* times a function's part of the variance; by hand */
#define SMALL_COMMON 0.1 /* of that variance */
#define FEW_SAMPLES 100
#define SAMPLES_MORE 3.0 /* that chance alone may have kept from it */
#define ABOVE_SPREAD 2.0 /* times the spread's variance: instructions beyond what the time makes likely */
#define VARIETY_FROM 4.0 /* pieces of code in a function, from which its differences even out; by hand */
/* Time by bursts and ratios by bursts agree better than either with the truth. Of functions of ten real programs
 * without breakpoints the error is so many times what the solution claims: intervals of 95 % widened by 1.75 held 409
 * of 444 functions of 1 % and more (30 recordings), widened by 2 419. */
#define OPTIMISM 2.0
#define STRAY 0.001 /* of all time may have been counted for the wrong function */

static const double spreads[] = { 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0 };
static const double stretches[] = { 1, 3, 10, 30 };

/* How far off a broken link may be, and how many of a hundred are; of calls by the control flow fewer.
 * Trip counts are never taken for broken: nothing between two breakpoints can mislead them. */
static const struct {
	double var, part;
} broken_kinds[] = { { 0.5, 0.03 }, { 3, 0.02 }, { 12, 0.02 } };
#define BROKEN_ONCE 0.01  /* of the parts above, for calls by the control flow; by hand */
#define BROKEN_BEYOND 0.1 /* of the parts above, for links that say "at most once" and are pulled below; by hand */
/* Of 3,963 links of tuned programs that bursts claimed to know so well, 23 were off by a factor of 1.35 and more. */
#define BROKEN_REPLAY 0.1
#define REPLAY_SURE 0.05 /* sd of the log: "so well" above */

static bool guessed(const struct counts_link *l)
{
	return l->ratio.how == COUNTS_RATIO && !l->broken;
}

static void set_variances(struct counts_solver *s)
{
	struct counts_tree *t = s->t;

	for (size_t i = 0; i < t->links; i++) {
		const struct counts_ratio *r = &t->link[i].ratio;

		if (r->how == COUNTS_UNKNOWN || isnan(r->ratio))
			s->var[i] = isfinite(r->log_var) ? fmin(r->log_var, MOST_VAR) : UNKNOWN_VAR;
		else
			s->var[i] = fmin(r->log_var, MOST_VAR);
		if (counts_is_rate(&t->link[i]))
			s->var[i] = 0;
	}
	for (uint32_t v = 0; v < t->nodes; v++)
		s->var[t->links + v] = s->root[v] && !(t->absolute && !v) ? ROOT_VAR : 0;
}

/* ---- the matrices ---- */

struct effects {
	struct cell {
		uint32_t error, on;
		float by;
	} * cell;
	size_t len, cap;
};

static int add_effect(struct effects *f, size_t error, uint32_t on, double by)
{
	if (!GROW(f->cell, f->len, f->cap, 4096))
		return -ENOMEM;
	f->cell[f->len++] = (struct cell){ (uint32_t)error, on, (float)by };
	return 0;
}

/* By error: what it does to each observation. What is too small to matter is left out. */
static int set_columns(struct counts_solver *s, const struct effects *f)
{
	size_t errors = counts_errors(s->t);
	struct counts_effect *c = realloc(s->column, (f->len + 1) * sizeof(*c));

	if (!c)
		return -ENOMEM;
	s->column = c;
	memset(s->column_first, 0, (errors + 2) * sizeof(*s->column_first));
	for (size_t i = 0; i < f->len; i++)
		s->column_first[f->cell[i].error + 2]++;
	for (size_t e = 0; e < errors; e++)
		s->column_first[e + 1] += s->column_first[e];
	for (size_t i = 0; i < f->len; i++)
		c[s->column_first[f->cell[i].error + 1]++] = (struct counts_effect){ f->cell[i].on, f->cell[i].by };
	return 0;
}

static void add_products(struct counts_solver *s, size_t error, double *to, double var)
{
	const struct counts_effect *c = s->column + s->column_first[error];
	size_t len = s->column_first[error + 1] - s->column_first[error];

	for (size_t i = 0; i < len; i++) {
		double *row = to + (size_t)c[i].on * s->observed;
		double by = var * (double)c[i].by;

		/* observations ascend: the lower triangle */
		for (size_t k = 0; k <= i; k++)
			row[c[k].on] += by * (double)c[k].by;
	}
}

static int fill_equations(struct counts_solver *s)
{
	const struct counts_tree *t = s->t;
	size_t errors = counts_errors(t), square = (size_t)s->observed * s->observed;
	struct effects f = { 0 };
	int rc = 0;

	for (uint32_t k = 0; k < s->observed && !rc; k++) {
		counts_row(s, k);
		/* what the extrapolation to no errors adds */
		s->base[k] = 0;
		for (size_t i = 0; i < s->touched_count && !rc; i++) {
			size_t e = s->touched[i];

			if (s->var[e] <= 0)
				continue;
			s->base[k] += s->pull[e] * s->shift[e];
			if (s->pull[e] > NO_EFFECT)
				rc = add_effect(&f, e, k, s->pull[e]);
		}
	}
	rc = rc ? rc : set_columns(s, &f);
	free(f.cell);
	memset(s->fixed, 0, square * sizeof(*s->fixed));
	memset(s->guessed, 0, square * sizeof(*s->guessed));
	for (size_t e = 0; e < errors && !rc; e++)
		add_products(s, e, e < t->links && guessed(&t->link[e]) ? s->guessed : s->fixed, s->var[e]);
	return rc;
}

static double prior(const struct counts_solver *s, uint32_t i, uint32_t j)
{
	size_t at = i < j ? (size_t)j * s->observed + i : (size_t)i * s->observed + j;

	return s->fixed[at] + s->stretch * s->guessed[at];
}

static double share_of_time(const struct counts_solver *s, const struct counts_group *g)
{
	return fmax(g->time, COUNTS_TINY) / fmax(s->all_time, COUNTS_TINY);
}

/* Of the variance of instructions per time: what is made of many pieces has about what all have. */
static double evened_out(const struct counts_group *g)
{
	return g->variety > VARIETY_FROM ? sqrt(VARIETY_FROM / g->variety) : 1;
}

/* What small functions differ by all together (they lock, wait, are called often): else many of them would
 * outvote a large one. */
static double in_common(const struct counts_solver *s, const struct counts_group *g)
{
	return s->spread * sqrt(evened_out(g) * SMALL_COMMON * fmin(SMALL_SHARE / share_of_time(s, g), SMALL_MOST));
}

static double group_noise(const struct counts_solver *s, const struct counts_group *g)
{
	double share = share_of_time(s, g), strayed = STRAY / share;

	return s->spread * s->spread * evened_out(g) * (1 + fmin(SMALL_SHARE / share, SMALL_MOST)) +
	       1.0 / ((double)g->samples + 0.5) + fmin(strayed * strayed, 4);
}

/* What the processor executes in a time is bounded: far more instructions than a function's time makes
 * likely are not explained by its being small, or by time counted for others. */
static double noise_above(const struct counts_solver *s, const struct counts_group *g)
{
	return fmin(group_noise(s, g) - pow(in_common(s, g), 2),
		    ABOVE_SPREAD * s->spread * s->spread * evened_out(g) + 1.0 / ((double)g->samples + 0.5));
}

static double noise_of(const struct counts_solver *s, uint32_t i)
{
	const struct counts_tree *t = s->t;

	if (s->seen[i].rate)
		return t->link[s->seen[i].index].ratio.log_var;
	return group_noise(s, &t->group[s->seen[i].index]) - pow(in_common(s, &t->group[s->seen[i].index]), 2);
}

static double dot(const double *a, const double *b, size_t n)
{
	double sum[4] = { 0 };
	size_t k = 0;

	for (; k + 4 <= n; k += 4)
		for (int i = 0; i < 4; i++)
			sum[i] += a[k + i] * b[k + i];
	for (; k < n; k++)
		sum[0] += a[k] * b[k];
	return sum[0] + sum[1] + sum[2] + sum[3];
}

/* Lower triangle of a into its Cholesky factor; half the log of its determinant. */
static double factor(double *a, size_t n)
{
	double half_log = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j <= i; j++) {
			double sum = a[i * n + j] - dot(a + i * n, a + j * n, j);

			if (i == j) {
				a[i * n + i] = sqrt(fmax(sum, 1e-12));
				half_log += log(a[i * n + i]);
			} else {
				a[i * n + j] = sum / a[j * n + j];
			}
		}
	}
	return half_log;
}

static void forward(const double *l, size_t n, double *b)
{
	for (size_t i = 0; i < n; i++)
		b[i] = (b[i] - dot(l + i * n, b, i)) / l[i * n + i];
}

static void backward(const double *l, size_t n, double *b)
{
	for (size_t i = n; i-- > 0;) {
		for (size_t k = i + 1; k < n; k++)
			b[i] -= l[k * n + i] * b[k];
		b[i] /= l[i * n + i];
	}
}

/* For the spread and the stretch in force: lambda, and the log of how probable the observations are. */
static double solve_errors(struct counts_solver *s)
{
	size_t n = s->observed;
	double half_log, fit = 0;

	for (uint32_t i = 0; i < s->timed; i++)
		s->side[i] = in_common(s, &s->t->group[s->seen[i].index]);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j <= i; j++)
			s->m[i * n + j] = prior(s, i, j) + (i < s->timed ? s->mean_var + s->side[i] * s->side[j] : 0);
		s->m[i * n + i] += noise_of(s, i) / s->weight[i];
		s->lambda[i] = s->d[i];
	}
	half_log = factor(s->m, n);
	forward(s->m, n, s->lambda);
	for (size_t i = 0; i < n; i++)
		fit += s->lambda[i] * s->lambda[i];
	backward(s->m, n, s->lambda);
	return -0.5 * fit - half_log;
}

static double loss_of_spread(struct counts_solver *s, double spread, double stretch)
{
	double off = log(spread / SPREAD_PRIOR) / SPREAD_PRIOR_SD, wide = log(stretch) / 2 / STRETCH_PRIOR_SD;

	s->spread = spread;
	s->stretch = stretch;
	return solve_errors(s) - 0.5 * off * off - 0.5 * wide * wide;
}

/* How much the functions' instructions per time differ, and how much the links scatter beyond what
 * their windows tell, as far as the observations know. */
static void fit_spread(struct counts_solver *s, double spread_max)
{
	double best = -INFINITY, spread = s->spread, stretch = s->stretch, fit;

	for (size_t i = 0; i < sizeof(spreads) / sizeof(spreads[0]) && spreads[i] <= spread_max; i++)
		if ((fit = loss_of_spread(s, spreads[i], stretch)) > best) {
			best = fit;
			spread = spreads[i];
		}
	for (size_t k = 0; k < sizeof(stretches) / sizeof(stretches[0]); k++)
		if ((fit = loss_of_spread(s, spread, stretches[k])) > best) {
			best = fit;
			stretch = stretches[k];
		}
	loss_of_spread(s, spread, stretch);
}

/* Hits that come nearly as fast as traps can: the rate may be right, or as fast as traps can. It begins
 * without a say, and gets one if it agrees with what the others make of it. */
static bool fast_rate(const struct counts_solver *s, uint32_t i)
{
	return s->seen[i].rate && s->t->link[s->seen[i].index].ratio.ratio > FAST_RATE;
}

/* A function may wait for memory: few instructions for its time are less of a surprise than many. */
static void reweigh(struct counts_solver *s)
{
	for (uint32_t i = 0; i < s->observed; i++) {
		double noise = noise_of(s, i), off = noise / s->weight[i] * s->lambda[i];

		if (s->seen[i].rate && !fast_rate(s, i))
			continue;
		if (!s->seen[i].rate && off > 0) {
			s->weight[i] = noise / noise_above(s, &s->t->group[s->seen[i].index]);
			continue;
		}
		s->weight[i] = off < 0 || s->seen[i].rate ? (TAIL_DOF + 1) / (TAIL_DOF + off * off / noise) : 1;
		s->weight[i] = fmin(s->weight[i], 1);
	}
}

/* ---- links that lie ---- */

struct suspect {
	size_t link;
	double add, gain;
};

/* Variance of what the observations have not explained, along what this error does. */
static double reach_of(struct counts_solver *s, size_t error)
{
	memset(s->side, 0, s->observed * sizeof(*s->side));
	for (size_t i = s->column_first[error]; i < s->column_first[error + 1]; i++)
		s->side[s->column[i].on] = (double)s->column[i].by;
	forward(s->m, s->observed, s->side);
	return dot(s->side, s->side, s->observed);
}

static void sum_pulls(struct counts_solver *s)
{
	for (size_t e = 0; e < counts_errors(s->t); e++) {
		s->total[e] = 0;
		for (size_t i = s->column_first[e]; i < s->column_first[e + 1]; i++)
			s->total[e] += (double)s->column[i].by * s->lambda[s->column[i].on];
	}
}

/* Whether it would have to be so far off that a block ran more often than what is around it. */
static double suspicion(const struct counts_link *l, double pull)
{
	if (l->ratio.how == COUNTS_ONCE)
		return BROKEN_ONCE;
	if (l->ratio.how == COUNTS_REPLAY && l->ratio.log_var < REPLAY_SURE * REPLAY_SURE)
		return BROKEN_REPLAY;
	return l->at_most_once && pull < 0 ? BROKEN_BEYOND : 1;
}

/* The link whose being broken would explain most. */
static bool find_broken(struct counts_solver *s, struct suspect *out)
{
	struct counts_tree *t = s->t;
	size_t kinds = sizeof(broken_kinds) / sizeof(broken_kinds[0]);

	sum_pulls(s);
	*out = (struct suspect){ .link = SIZE_MAX };
	for (size_t l = 0; l < t->links; l++) {
		double reach = -1, pull = s->total[l] * s->total[l];

		/* what nobody measured needs no such excuse */
		if (s->var[l] <= 0 || s->var[l] >= UNKNOWN_VAR || t->link[l].broken ||
		    t->link[l].ratio.how == COUNTS_TIME ||
		    (t->link[l].ratio.how == COUNTS_TRIPS && !t->link[l].ratio.few))
			continue;
		for (size_t k = 0; k < kinds; k++) {
			double add = broken_kinds[k].var, gain;
			double need = -log(broken_kinds[k].part * suspicion(&t->link[l], s->total[l]));

			/* the gain's upper bound spares most links the work */
			if (0.5 * pull * add <= need + out->gain)
				continue;
			reach = reach < 0 ? reach_of(s, l) : reach;
			gain = 0.5 * (pull / (1 / add + reach) - log1p(add * reach)) - need;
			if (gain > out->gain)
				*out = (struct suspect){ l, add, gain };
		}
	}
	return out->link != SIZE_MAX;
}

static void exclude_broken(struct counts_solver *s)
{
	struct suspect found;

	while (s->observed > 1 && s->t->broken < BROKEN_MAX && find_broken(s, &found)) {
		struct counts_link *l = &s->t->link[found.link];

		/* no longer a guess to be stretched */
		if (guessed(l)) {
			add_products(s, found.link, s->guessed, -s->var[found.link]);
			add_products(s, found.link, s->fixed, s->var[found.link]);
		}
		add_products(s, found.link, s->fixed, found.add);
		s->var[found.link] += found.add;
		l->broken = true;
		s->t->broken++;
		solve_errors(s);
	}
}

/* ---- passes ---- */

static void set_mean(struct counts_solver *s)
{
	const struct counts_tree *t = s->t;
	double sum = 0, weight = 0;

	for (size_t g = 0; g < t->groups; g++)
		s->all_time += t->group[g].time;
	if (t->absolute) {
		/* nodes run so often a second: as is expected, or a typical machine's instructions, give or take */
		s->mean = log((t->speed > 0 ? t->speed : 2e9) / fmax(s->all_time, COUNTS_TINY));
		/* without a rate nothing here tells it: what does (counts_speed.h) has an interval of its own */
		s->mean_var = s->observed <= s->timed ? 0 : t->speed > 0 ? t->speed_var : 4;
		return;
	}
	for (uint32_t i = 0; i < s->timed; i++) {
		const struct counts_group *g = &t->group[s->seen[i].index];

		sum += log(s->per_group[s->seen[i].index] / g->time) * g->time;
		weight += g->time;
	}
	s->mean = weight > 0 ? sum / weight : 0;
	s->mean_var = 0;
}

static int linearise(struct counts_solver *s)
{
	const struct counts_tree *t = s->t;

	int rc = fill_equations(s);

	for (uint32_t i = 0; i < s->observed; i++) {
		uint32_t at = s->seen[i].index;

		if (s->seen[i].rate) {
			s->base[i] += log(s->x[t->link[at].child]);
			s->d[i] = s->base[i] - log(t->link[at].ratio.ratio);
			continue;
		}
		s->base[i] += log(fmax(s->per_group[at], COUNTS_TINY));
		s->d[i] = s->base[i] - log(t->group[at].time) - s->mean;
	}
	return rc;
}

/* What adds little to a sum would have to change a thousandfold to explain it, as long as that looks linear:
 * it is not, and what else adds to it would be lost. */
static double bounded_step(const struct counts_solver *s, size_t error, double to)
{
	double most = 0;

	for (size_t i = s->column_first[error]; i < s->column_first[error + 1]; i++)
		most = fmax(most, (double)s->column[i].by);
	return most >= LINEAR_FROM ? to : fmax(s->shift[error] - STEP_MAX, fmin(s->shift[error] + STEP_MAX, to));
}

static void find_errors(struct counts_solver *s)
{
	const struct counts_tree *t = s->t;

	sum_pulls(s);
	for (size_t e = 0; e < counts_errors(t); e++) {
		double stretch = e < t->links && guessed(&t->link[e]) ? s->stretch : 1;

		s->shift[e] = bounded_step(s, e, s->total[e] * s->var[e] * stretch);
		if (e < t->links)
			s->shift[e] = fmax(-SHIFT_MAX, fmin(SHIFT_MAX, s->shift[e]));
	}
}

/* Links are judged by a spread that they do not widen themselves: a broken one would pass for that. */
static int solve_all(struct counts_solver *s)
{
	int rc = 0;

	for (int pass = 0; pass < PASSES && !rc; pass++) {
		if (pass) {
			find_errors(s);
			counts_run_tree(s);
		}
		rc = linearise(s);
		if (rc)
			break;
		fit_spread(s, JUDGE_SPREAD);
		exclude_broken(s);
		fit_spread(s, INFINITY);
		for (int i = 0; i < 3; i++) {
			reweigh(s);
			solve_errors(s);
		}
	}
	return rc;
}

/* ---- outcome ---- */

/* For intervals of shares of all instructions: what the observations leave of each group, of the
 * groups without counts (which all hang on the level), and of the sum. Products of L^-1 K. */
struct solve_shares {
	double *a;     /* by timed: a row of L^-1 K */
	double *mean;  /* sum of these by weight */
	double *level; /* L^-1 of what the level does */
	double *prior; /* by timed: K times the weights */
	double level_var, by_time;
};

static void report_timed(struct counts_solver *s)
{
	struct counts_tree *t = s->t;

	for (size_t i = 0; i < t->groups; i++) {
		struct counts_group *g = &t->group[i];

		g->by_ratios = s->by_ratios[i] > 0 ? s->by_ratios[i] : NAN;
		g->by_time = g->time > 0 ? g->time * t->level : NAN;
		g->instructions = g->by_time;
		g->low = g->high = NAN;
		g->trust = 0;
	}
}

/* What so few samples leave room for: code that hardly any of all samples met does not run much, whatever its links
 * say. Of many the time is known, and links are weighed against it as all are: a loop that never waits ran seven
 * times as much as its time says. */
static double most_of(const struct counts_solver *s, const struct counts_group *g)
{
	double k = (double)g->samples, samples = k > 0 ? k + 2 * sqrt(k) + SAMPLES_MORE : 1;

	if (k > FEW_SAMPLES)
		return INFINITY;
	return samples * s->t->sample * s->t->level * exp((k > 0 ? 3 : 1) * s->spread);
}

/* Not sampled even once: hardly more than a sample's worth. The interval is that of the links above,
 * as if the other groups told nothing about them. */
static void report_unseen(struct counts_solver *s, uint32_t i)
{
	uint32_t at = s->seen[i].index;
	struct counts_group *g = &s->t->group[at];
	double var = 0, half;

	counts_row(s, i);
	for (size_t k = 0; k < s->touched_count; k++)
		var += s->pull[s->touched[k]] * s->pull[s->touched[k]] * s->var[s->touched[k]];
	half = Z95 * sqrt(fmin(var, UNKNOWN_VAR));
	g->instructions = s->per_group[at];
	if (s->t->sample > 0)
		g->instructions = fmin(g->instructions, most_of(s, g));
	g->low = g->instructions * exp(-half);
	g->high = g->instructions * exp(half);
	g->trust = 1;
}

static int shares_begin(struct counts_solver *s, struct solve_shares *h, double total)
{
	const struct counts_tree *t = s->t;
	uint32_t n = s->observed;
	double in_tree = 0, all = 0;

	h->a = malloc(((size_t)s->timed * n + 1) * sizeof(double));
	h->mean = calloc(n + 1, sizeof(double));
	h->level = calloc(n + 1, sizeof(double));
	h->prior = calloc(s->timed + 1, sizeof(double));
	if (!h->a || !h->mean || !h->level || !h->prior)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->timed; i++)
		h->level[i] = s->mean_var;
	forward(s->m, n, h->level);
	h->level_var = fmax(0, s->mean_var - dot(h->level, h->level, n));
	for (uint32_t i = 0; i < s->timed; i++) {
		double *a = h->a + (size_t)i * n, w = t->group[s->seen[i].index].instructions / total;

		in_tree += w;
		for (uint32_t j = 0; j < n; j++)
			a[j] = prior(s, i, j);
		for (uint32_t j = 0; j < s->timed; j++)
			h->prior[j] += w * a[j];
		forward(s->m, n, a);
		for (uint32_t j = 0; j < n; j++)
			h->mean[j] += w * a[j];
	}
	for (size_t g = 0; g < t->groups; g++)
		all += isnan(t->group[g].instructions) ? 0 : t->group[g].instructions / total;
	h->by_time = fmax(0, all - in_tree);
	return 0;
}

/* Of the log of group i (by tree), with the log of the sum. */
static double with_sum(const struct counts_solver *s, const struct solve_shares *h, uint32_t i)
{
	const double *a = h->a + (size_t)i * s->observed;

	return h->prior[i] - dot(a, h->mean, s->observed) + h->by_time * dot(a, h->level, s->observed);
}

static void set_interval(struct counts_group *g, double var)
{
	double half = OPTIMISM * Z95 * sqrt(fmax(var, 0));

	g->low = g->instructions * exp(-half);
	g->high = g->instructions * exp(half);
}

/* Of the log of all instructions: what groups that no link reaches, and time alone tells, do to it of their own. */
static double noise_by_time(const struct counts_solver *s, double total)
{
	const struct counts_tree *t = s->t;
	double sum = 0;

	for (size_t i = 0; i < t->groups; i++) {
		double w = t->group[i].instructions / total;

		sum += t->group[i].time > 0 ? w * w * group_noise(s, &t->group[i]) : 0;
	}
	for (uint32_t i = 0; i < s->timed; i++) {
		double w = t->group[s->seen[i].index].instructions / total;

		sum -= w * w * group_noise(s, &t->group[s->seen[i].index]);
	}
	return fmax(0, sum);
}

/* Intervals of shares: what all have in common is left out. */
static int report_shares(struct counts_solver *s)
{
	struct counts_tree *t = s->t;
	struct solve_shares h = { 0 };
	uint32_t n = s->observed;
	double total = 0, time_with_sum, sum_var;
	int rc;

	for (size_t g = 0; g < t->groups; g++)
		total += isnan(t->group[g].instructions) ? 0 : t->group[g].instructions;
	rc = shares_begin(s, &h, fmax(total, COUNTS_TINY));
	if (!rc) {
		time_with_sum = dot(h.mean, h.level, n) + h.by_time * h.level_var;
		sum_var = h.by_time * time_with_sum;
		for (uint32_t i = 0; i < s->timed; i++)
			sum_var += t->group[s->seen[i].index].instructions / total * with_sum(s, &h, i);
		sum_var += noise_by_time(s, total);
		t->total_var = fmax(0, sum_var);
		for (size_t i = 0; i < t->groups; i++) {
			struct counts_group *g = &t->group[i];
			double w = g->instructions / total;

			if (g->time > 0)
				set_interval(g, h.level_var + (1 - 2 * w) * group_noise(s, g) - 2 * time_with_sum +
							sum_var);
		}
		for (uint32_t i = 0; i < s->timed; i++) {
			struct counts_group *g = &t->group[s->seen[i].index];
			const double *a = h.a + (size_t)i * n;
			double left = prior(s, i, i) - dot(a, a, n);

			set_interval(g, left - 2 * with_sum(s, &h, i) + sum_var);
			/* how little its own time moves it */
			memcpy(s->side, a, n * sizeof(*a));
			backward(s->m, n, s->side);
			g->trust = fmin(1, fmax(0, 1 - s->side[i]));
		}
	}
	free(h.a);
	free(h.mean);
	free(h.level);
	free(h.prior);
	return rc;
}

/* What of a node's variance the observations leave. */
static double node_var(struct counts_solver *s, uint32_t node)
{
	double var = 0;

	counts_node_row(s, node);
	memset(s->side, 0, s->observed * sizeof(*s->side));
	for (size_t k = 0; k < s->touched_count; k++) {
		size_t e = s->touched[k];
		double v = s->pull[e] * s->var[e] * (e < s->t->links && guessed(&s->t->link[e]) ? s->stretch : 1);

		if (!(v > 0))
			continue;
		var += s->pull[e] * v;
		for (size_t i = s->column_first[e]; i < s->column_first[e + 1]; i++)
			s->side[s->column[i].on] += v * (double)s->column[i].by;
	}
	forward(s->m, s->observed, s->side);
	return fmax(0, var - dot(s->side, s->side, s->observed));
}

void counts_infer_nodes(struct counts_solver *s)
{
	const struct counts_tree *t = s->t;

	for (uint32_t v = 0; t->runs_var && v < t->nodes; v++)
		t->runs_var[v] = t->want && t->want[v] ? node_var(s, v) : NAN;
}

static void report_level(struct counts_solver *s)
{
	double sum = 0, left = s->mean_var;

	for (uint32_t i = 0; i < s->observed; i++)
		s->side[i] = i < s->timed ? s->mean_var : 0;
	for (uint32_t i = 0; i < s->timed; i++)
		sum += s->lambda[i];
	forward(s->m, s->observed, s->side);
	left -= dot(s->side, s->side, s->observed);
	/* the mean was taken too low by this much */
	s->t->level = exp(s->mean + s->mean_var * sum);
	s->t->level_var = fmax(0, left);
}

/* What rests on time alone gets as many instructions for its time as what is known by counts has in all,
 * not as its average function has: then a small part that is known leaves the rest as constant
 * instructions per time would have it. */
static void rest_by_time(struct counts_solver *s)
{
	struct counts_tree *t = s->t;
	double known = 0, time = 0, by;

	for (uint32_t i = 0; i < s->timed; i++) {
		const struct counts_group *g = &t->group[s->seen[i].index];

		known += g->trust * g->instructions;
		time += g->trust * g->time;
	}
	if (!(time > 0) || !(known > 0))
		return;
	by = known / time / t->level;
	for (size_t i = 0; i < t->groups; i++) {
		struct counts_group *g = &t->group[i];
		double factor = g->time > 0 ? pow(by, 1 - g->trust) : 1;

		g->instructions *= factor;
		g->low *= factor;
		g->high *= factor;
		g->by_time *= by;
	}
	t->level *= by;
}

/* What is hardly known may claim anything; a small part of a claim that functions differ thousandfold would
 * still move a function far. So a claim counts as what functions commonly differ by, beyond which it must be
 * trusted. */
static void bound_claims(struct counts_solver *s)
{
	for (uint32_t i = 0; i < s->timed; i++) {
		struct counts_group *g = &s->t->group[s->seen[i].index];
		double moved = log(g->instructions / g->by_time),
		       most = SPREAD_PRIOR * g->trust / fmax(1 - g->trust, COUNTS_TINY);
		double factor = isfinite(moved) ? exp(fmax(-most, fmin(most, moved)) - moved) : 1;

		g->instructions *= factor;
		g->low *= factor;
		g->high *= factor;
	}
}

static int report_all(struct counts_solver *s)
{
	struct counts_tree *t = s->t;
	int rc;

	report_level(s);
	report_timed(s);
	for (uint32_t i = 0; i < s->timed; i++) {
		double error = 0;

		for (uint32_t j = 0; j < s->observed; j++)
			error += prior(s, i, j) * s->lambda[j];
		t->group[s->seen[i].index].instructions = exp(s->base[i] - error);
		if (t->sample > 0)
			t->group[s->seen[i].index].instructions =
				fmin(t->group[s->seen[i].index].instructions, most_of(s, &t->group[s->seen[i].index]));
	}
	rc = report_shares(s);
	if (!rc) {
		bound_claims(s);
		rest_by_time(s);
	}
	find_errors(s);
	counts_run_tree(s);
	for (uint32_t i = s->observed; i < s->all; i++)
		report_unseen(s, i);
	for (size_t l = 0; l < t->links; l++)
		t->link[l].correction = counts_is_rate(&t->link[l]) ? s->x[t->link[l].child] / t->link[l].ratio.ratio
								    : exp(-s->shift[l]);
	for (uint32_t v = 0; t->runs && v < t->nodes; v++)
		t->runs[v] = s->x[v];
	t->ipc_spread = s->spread;
	t->stretch = s->stretch;
	return rc;
}

int counts_infer(struct counts_solver *s)
{
	size_t n = (size_t)s->observed + 1;
	int rc;

	s->fixed = calloc(n * n, sizeof(double));
	s->guessed = calloc(n * n, sizeof(double));
	s->m = calloc(n * n, sizeof(double));
	s->lambda = calloc(n, sizeof(double));
	s->d = calloc(n, sizeof(double));
	s->weight = calloc(n, sizeof(double));
	s->side = calloc(n, sizeof(double));

	s->base = calloc(n, sizeof(double));
	rc = s->fixed && s->guessed && s->m && s->lambda && s->d && s->weight && s->side && s->base ? 0 : -ENOMEM;
	if (!rc) {
		for (size_t i = 0; i < n; i++)
			s->weight[i] = i + 1 < n && fast_rate(s, (uint32_t)i) ? 0.01 : 1;
		s->spread = SPREAD_PRIOR;
		s->stretch = 1;
		set_variances(s);
		set_mean(s);
		rc = solve_all(s);
	}
	return rc ? rc : report_all(s);
}

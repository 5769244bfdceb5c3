// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/phases.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/random.h"

#define KINDS 16     /* the functions with most samples, and all others together */
#define BLOCK 3      /* bins that stay together when the order is shuffled: samples come in runs of one work */
#define SHORTEST 2   /* bins of a phase */
#define SHUFFLES 199 /* with the true order 200: a level of 5 % is ten of them */
#define EXCEEDED 2   /* of the shuffles may have gained more than what is believed, */

#define MOST_SAMPLES (1u << 18) /* more tell nothing new: they are scaled to so many */
#define MARGIN 1.1              /* times so much: that many shuffles do not tell the extreme well */
#define LEAST_PRICE 4           /* where shuffled orders show nothing: log likelihoods of so much are chance */

struct phases_search {
	uint32_t kinds;
	uint32_t count[KINDS][PHASES_BINS];
	uint32_t sum[PHASES_BINS + 1][KINDS]; /* of the bins before; what is added up lies together */
	double *xlogx;                        /* x log x, by x */
};

/* How well one mix explains bins [from, to): the log of its likelihood, less what all mixes have in common. */
static double likelihood(const struct phases_search *s, uint32_t from, uint32_t to)
{
	double sum = 0;
	uint32_t all = 0;

	for (uint32_t k = 0; k < s->kinds; k++) {
		uint32_t n = s->sum[to][k] - s->sum[from][k];

		all += n;
		sum += s->xlogx[n];
	}
	return sum - s->xlogx[all];
}

static void lay_out_bins(struct phases_search *s, const uint32_t order[PHASES_BINS])
{
	for (uint32_t k = 0; k < s->kinds; k++) {
		s->sum[0][k] = 0;
		for (uint32_t b = 0; b < PHASES_BINS; b++)
			s->sum[b + 1][k] = s->sum[b][k] + s->count[k][order ? order[b] : b];
	}
}

/* What is gained where a stretch, what comes before and what comes after have mixes of their own: the most of all
 * stretches. One that begins or ends with the recording divides it in two. */
static double best_gain(const struct phases_search *s)
{
	double whole = likelihood(s, 0, PHASES_BINS), best = 0, after[PHASES_BINS + 1];

	for (uint32_t to = 0; to <= PHASES_BINS; to++)
		after[to] = likelihood(s, to, PHASES_BINS);
	for (uint32_t from = 0; from < PHASES_BINS; from++) {
		double before = likelihood(s, 0, from) - whole;

		for (uint32_t to = from + SHORTEST; to <= PHASES_BINS; to++) {
			double gain = before + likelihood(s, from, to) + after[to];

			best = gain > best ? gain : best;
		}
	}
	return best;
}

static int descending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* What a change must gain to be believed: the order of time must show more than shuffled orders do. */
static double least_gain(struct phases_search *s)
{
	double gain[SHUFFLES];
	uint64_t state = 0x9e3779b97f4a7c15;

	for (uint32_t n = 0; n < SHUFFLES; n++) {
		uint32_t block[PHASES_BINS / BLOCK], order[PHASES_BINS];

		for (uint32_t i = 0; i < PHASES_BINS / BLOCK; i++) {
			uint32_t other = (uint32_t)((random_next(&state) >> 20) % (i + 1));

			block[i] = block[other];
			block[other] = i;
		}
		for (uint32_t i = 0; i < PHASES_BINS; i++)
			order[i] = block[i / BLOCK] * BLOCK + i % BLOCK;
		lay_out_bins(s, order);
		gain[n] = best_gain(s);
	}
	lay_out_bins(s, NULL);
	qsort(gain, SHUFFLES, sizeof(*gain), descending);
	return gain[EXCEEDED - 1];
}

struct phase_stretch {
	uint32_t from, to, phase;
};

/* The division into stretches that is most likely, if each change costs so much. */
static uint32_t divide_time(const struct phases_search *s, double price, struct phase_stretch *out)
{
	double best[PHASES_BINS + 1] = { 0 };
	uint32_t before[PHASES_BINS + 1] = { 0 }, n = 0;

	for (uint32_t to = 1; to <= PHASES_BINS; to++) {
		best[to] = -INFINITY;
		for (uint32_t from = 0; from + SHORTEST <= to; from++) {
			double v = best[from] + likelihood(s, from, to) - (from ? price : 0);

			if (v > best[to]) {
				best[to] = v;
				before[to] = from;
			}
		}
	}
	for (uint32_t to = PHASES_BINS; to > 0; to = before[to])
		out[n++] = (struct phase_stretch){ .from = before[to], .to = to };
	for (uint32_t i = 0; i < n / 2; i++) {
		struct phase_stretch x = out[i];

		out[i] = out[n - 1 - i];
		out[n - 1 - i] = x;
	}
	return n;
}

struct mix {
	uint32_t n[KINDS];
	bool gone;
};

static double mix_likelihood(const struct phases_search *s, const struct mix *a, const struct mix *b)
{
	double sum = 0;
	uint32_t all = 0;

	for (uint32_t k = 0; k < s->kinds; k++) {
		uint32_t n = a->n[k] + (b ? b->n[k] : 0);

		all += n;
		sum += s->xlogx[n];
	}
	return sum - s->xlogx[all];
}

/* Stretches that do not differ by as much are one phase that comes back; the likest first. */
static void join_alike(const struct phases_search *s, double price, struct phase_stretch *st, uint32_t n)
{
	struct mix mix[PHASES_BINS] = { 0 };
	uint32_t left = n;

	for (uint32_t i = 0; i < n; i++) {
		st[i].phase = i;
		for (uint32_t k = 0; k < s->kinds; k++)
			mix[i].n[k] = s->sum[st[i].to][k] - s->sum[st[i].from][k];
	}
	while (left > 1) {
		double least = INFINITY;
		uint32_t a = 0, b = 0;

		for (uint32_t i = 0; i < n; i++) {
			for (uint32_t j = i + 1; j < n && !mix[i].gone; j++) {
				double loss = mix[j].gone ? INFINITY
							  : mix_likelihood(s, &mix[i], NULL) +
								    mix_likelihood(s, &mix[j], NULL) -
								    mix_likelihood(s, &mix[i], &mix[j]);

				if (loss < least) {
					least = loss;
					a = i;
					b = j;
				}
			}
		}
		if (least > price && left <= PHASES_MOST)
			break;
		for (uint32_t k = 0; k < s->kinds; k++)
			mix[a].n[k] += mix[b].n[k];
		mix[b].gone = true;
		for (uint32_t i = 0; i < n; i++)
			st[i].phase = st[i].phase == b ? a : st[i].phase;
		left--;
	}
}

struct phases_ranked {
	uint32_t row;
	double n;
};

static int by_samples(const void *a, const void *b)
{
	const struct phases_ranked *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n ? 1 : -1) : (x->row > y->row) - (x->row < y->row);
}

static int choose_kinds(struct phases_search *s, const uint32_t *counts, uint32_t rows)
{
	struct phases_ranked *r = calloc(rows + 1, sizeof(*r));
	double all = 0, scale;
	uint32_t sum = 0;

	if (!r)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows; i++) {
		r[i].row = i;
		for (uint32_t b = 0; b < PHASES_BINS; b++)
			r[i].n += counts[(size_t)i * PHASES_BINS + b];
		all += r[i].n;
	}
	scale = all > MOST_SAMPLES ? MOST_SAMPLES / all : 1;
	qsort(r, rows, sizeof(*r), by_samples);
	s->kinds = rows < KINDS ? rows : KINDS;
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t b = 0; b < PHASES_BINS; b++)
			s->count[i < KINDS ? i : KINDS - 1][b] +=
				(uint32_t)(counts[(size_t)r[i].row * PHASES_BINS + b] * scale + (scale < 1 ? 0.5 : 0));
	free(r);
	for (uint32_t k = 0; k < s->kinds; k++)
		for (uint32_t b = 0; b < PHASES_BINS; b++)
			sum += s->count[k][b];
	s->xlogx = malloc((sum + 1) * sizeof(*s->xlogx));
	if (!s->xlogx)
		return -ENOMEM;
	s->xlogx[0] = 0;
	for (uint32_t x = 1; x <= sum; x++)
		s->xlogx[x] = x * log(x);
	return 0;
}

int phases_find(const uint32_t *counts, uint32_t rows, uint8_t phase[PHASES_BINS], uint32_t *phases)
{
	struct phases_search *s = calloc(1, sizeof(*s));
	struct phase_stretch st[PHASES_BINS];
	uint32_t n, letter[PHASES_BINS];
	double price;
	int err = s ? choose_kinds(s, counts, rows) : -ENOMEM;

	memset(phase, 0, PHASES_BINS);
	*phases = 1;
	if (err) {
		free(s);
		return err;
	}
	price = fmax(least_gain(s) * MARGIN, LEAST_PRICE);
	n = divide_time(s, price / 2, st);
	if (n == 2 &&
	    likelihood(s, 0, st[1].from) + likelihood(s, st[1].from, PHASES_BINS) - likelihood(s, 0, PHASES_BINS) <
		    price) {
		n = 1;
		st[0].to = PHASES_BINS;
	}
	join_alike(s, price / 2, st, n);
	*phases = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool first = true;

		for (uint32_t j = 0; j < i && first; j++)
			first = st[j].phase != st[i].phase;
		if (first)
			letter[st[i].phase] = (*phases)++;
		memset(phase + st[i].from, (int)letter[st[i].phase], st[i].to - st[i].from);
	}
	free(s->xlogx);
	free(s);
	return 0;
}

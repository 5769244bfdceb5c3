/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LogCA (Altaf and Wood, ISCA 2017) with a fixed host call cost t0: times, speed-ups, exact
 * crossings, bottlenecks, regions. Pure functions, no I/O, no allocation. Included by advise, view and tests. Sizes
 * in bytes, times in one unit throughout.
 *
 *     T0(g) = t0 + C g^beta           on the host
 *     T1(g) = o + Lat(g) + C g^beta / A,  Lat = L (indep) or L g (dep)
 *
 * To add a question about the curves: write it as a sum of at most three c g^k and hand it to
 * expsum.h, add a function here, a field in view/logca_json.c and a line in view/logca_text.c.
 */
#ifndef ACCPERF_LOGCA_H
#define ACCPERF_LOGCA_H

#include <stdbool.h>
#include <stddef.h>

#include "util/err.h"

enum logca_latency { LOGCA_INDEP, LOGCA_DEP };
enum logca_letter { LOGCA_L, LOGCA_O, LOGCA_C, LOGCA_A, LOGCA_LETTERS };
#define LOGCA_LETTER_NAMES "LoCA"

struct logca {
	double t0;               /* 0: the published model */
	double o, L, C, A, beta; /* A may be infinite */
	enum logca_latency kind;
};

#define LOGCA_GMIN 16.0       /* bytes: the smallest size of the paper's figures */
#define LOGCA_GMAX 33554432.0 /* bytes: the largest, 32 MB */
#define LOGCA_IMPROVE 10.0    /* "ten times better" */
#define LOGCA_RATIO 1.2       /* the gain that makes a bottleneck */

/* "L=..,o=..,C=..,A=..,beta=..,latency=indep|dep[,t0=..]"; A=inf allowed. */
int logca_parse(const char *text, struct logca *p, struct err *e);
/* A sentence when a parameter is outside what the model means. */
int logca_check(const struct logca *p, struct err *e);
const char *logca_latency_str(enum logca_latency kind);

double logca_host(const struct logca *p, double g);
double logca_accel(const struct logca *p, double g);
double logca_speedup(const struct logca *p, double g);
/* min(A, (C/L) g^(beta-1)): what no smaller o can exceed. With t0: T0 / (Lat + X). */
double logca_bound(const struct logca *p, double g);
/* Limit for g -> infinity. */
double logca_limit(const struct logca *p);

/* Every size with speed-up s, ascending; returns 0, 1 or 2. dep, beta not 1: within 1e-40..1e40. */
int logca_solve(const struct logca *p, double s, double g[2]);
/* The published one-step forms, dep only; may be negative. */
void logca_newton(const struct logca *p, double *g1, double *ga2);
/* Largest speed-up in [lo, hi]. */
void logca_peak(const struct logca *p, double lo, double hi, double *g, double *s);
/* Smallest size with half of `peak`; NaN if there is none. */
double logca_half_peak(const struct logca *p, double peak);
bool logca_compute_bound(const struct logca *p);

/* S with the letter's parameter k times better over S; C: k times more work per byte. */
double logca_gain(const struct logca *p, enum logca_letter letter, double k, double g);
void logca_improve(struct logca *p, enum logca_letter letter, double k);
/* Closed intervals of [lo, hi] where the letter is a bottleneck; returns their number (<= 2). */
int logca_cut(const struct logca *p, enum logca_letter letter, double lo, double hi, double iv[2][2]);
/* Share of T1: o, latency (L) and computation (A) for the letter; C has none (NaN). */
double logca_share(const struct logca *p, enum logca_letter letter, double g);

struct logca_region {
	double first, last; /* powers of two */
	char letters[LOGCA_LETTERS + 1];
};
#define LOGCA_MAX_REGIONS 64 /* of sizes in which it pays or not; by hand */
/* Over the powers of two in [lo, hi], equal neighbours merged. */
int logca_regions(const struct logca *p, double lo, double hi, struct logca_region *r, int max);

enum logca_verdict { LOGCA_ALWAYS, LOGCA_NEVER, LOGCA_FROM, LOGCA_UNTIL, LOGCA_BETWEEN, LOGCA_OUTSIDE };
struct logca_payoff {
	enum logca_verdict verdict; /* over [lo, hi] */
	double from, to;            /* gain between these; NaN where it does not apply */
	enum logca_letter binding;  /* largest term of T1 at the peak: why never */
	double g1[2];
	int roots; /* anywhere, not limited to the range */
};
void logca_payoff(const struct logca *p, double lo, double hi, struct logca_payoff *out);

/* Least number of calls of g bytes each, handed over as one, with which offloading pays; NaN: none. */
double logca_batch(const struct logca *p, double g);
/* Speed-up of n calls of g bytes handed over as one. */
double logca_batch_speedup(const struct logca *p, double g, double n);

#endif

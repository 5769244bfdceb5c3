/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One measured curve and the robust fit of c0 + c1 g + c2 g^beta to it, at a given beta or with beta
 * searched. Included by user/model only. No I/O.
 *
 * Relative errors count, coefficients are never negative, a few wild points do not matter: weights
 * and targets are Huber's on ln T, refreshed for some rounds; each round is a non-negative least
 * squares by trying every set of columns.
 */
#ifndef ACCPERF_CURVE_H
#define ACCPERF_CURVE_H

#include <stddef.h>

#include "offload/points.h"

enum curve_columns { CURVE_CONST = 1, CURVE_LINEAR = 2, CURVE_POWER = 4 };

struct curve {
	size_t n;
	double *g, *t, *ln_t; /* g after padding */
	double *pow_g;        /* g^beta of the beta at hand */
	double *offset;       /* known part of the fit, 0 unless set */
	double *w, *y, *f, *r, *scratch;
	size_t sizes;       /* different g */
	double *size;       /* ascending */
	size_t *index;      /* point -> size */
	double early, late; /* point_list's: all times may be off by so much alike */
	double reach;       /* weights fall from so many scales on; curve_init(): CURVE_HUBER */
};

struct curve_fit {
	unsigned columns;
	double beta;
	double c[3]; /* const, linear, power */
};

int curve_init(struct curve *c, const struct point_list *l, double pad_block, double pad_bytes, struct err *e);
void curve_release(struct curve *c);
double curve_at(const struct curve_fit *f, double g);

/* At fixed beta; residuals ln t - ln f are left in c->r. */
void curve_fit_at(struct curve *c, unsigned columns, double beta, int rounds, struct curve_fit *out);
/* Sum of Huber's rho over c->r: r^2 up to k, then 2k|r| - k^2. */
double curve_rho(const struct curve *c, double k);
/* 1.4826 MAD of c->r, at least `floor`. */
double curve_scale(struct curve *c, double floor);
struct curve_range {
	double lo, hi;   /* of beta */
	int steps;       /* points looked at first */
	int refinements; /* how often points around the best are, six times closer together each time */
};
/* Best beta in a range; returns the sum of rho(k) there and leaves its residuals. */
double curve_search(struct curve *c, unsigned columns, struct curve_range in, double k, struct curve_fit *out);
/* Median of v[0..n), which is reordered. */
double curve_median(double *v, size_t n);

#define CURVE_FLOOR 0.03  /* no real profile follows the model more closely */
#define CURVE_HUBER 1.345 /* standard deviations: 95 % efficient for normal errors (Huber 1964) */
#define CURVE_FINAL 2.5   /* once the terms are chosen: loses 1 % to least squares where noise is normal, Huber's 5 % */
#define CURVE_ROUNDS 8    /* of reweighing; by hand */

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fitting LogCA to measured calls: which terms there are (BIC), their values and intervals, what the
 * data cannot tell apart, or a refusal. Included by advise, view and tests. No I/O. Method: LOGCA.md beside this
 * file; its measured quality: MEASURED.md, which scripts/logca-synthetic prints.
 *
 * To fit a further quantity: estimate it in fit_host() or fit_accel(), give it a struct fit_value in struct fit,
 * a row in fit_interval.c, a line in view/logca_text.c and a field in view/logca_json.c.
 */
#ifndef ACCPERF_FIT_H
#define ACCPERF_FIT_H

#include <math.h>
#include <stdint.h>

#include "model/curve.h"
#include "model/logca.h"
#include "offload/points.h"

/* Nominal 90 %. NaN: not estimated; hi = infinity: the data set no upper bound. */
struct fit_value {
	double v, lo, hi;
};

enum fit_forced { FIT_BY_BIC, FIT_INDEP, FIT_DEP };

struct fit_opts {
	unsigned resamples; /* of the bootstrap; 0: no intervals from it */
	uint64_t seed;
	double near_one;             /* |beta - 1| below this: L and A cannot be told apart; 0: 0.1 */
	double pad_block, pad_bytes; /* work counts in blocks of so many bytes, after so many more */
	enum fit_forced latency;
	bool no_offset;   /* leave t0 out (the published model) */
	double min_sizes; /* refusal below; 0: 5 */
};

#define FIT_NOTES 10  /* sentences to a fit; by hand */
#define FIT_POOR 0.10 /* a mean |ln error| above this is no sound fit */

struct fit {
	struct logca p; /* the fitted curves; A may be infinite */
	struct fit_value t0, o, L, C, A, beta;
	struct fit_value fixed; /* fixed cost of an offload: o, plus L where latency is fixed */
	struct fit_value A_eff; /* speed-up that large sizes approach as far as seen: 1/(1/A + L/C) near beta = 1 */
	struct fit_value g1[2], half; /* crossings of S = 1; S = A/2 (or half the attainable peak) */
	int roots;
	bool half_attainable; /* half is that of the attainable peak, not A/2 */
	bool offset_used, near_one, zero_used, submit_used;
	double A_lowest, L_highest; /* where L and A cannot be told apart: A in [lowest, inf), L in [0, highest] */

	double peak_g, peak_s; /* within what was measured */
	double gmin, gmax;     /* measured on both sides */
	double uncertain;      /* all times may be off by so much alike; 0: they are as measured */
	double below_g;        /* largest size whose times are too short to measure; 0: none */
	/* share of the resamples that say the same of both ends of the range; NaN: none drawn */
	double agree;
	size_t host_calls, accel_calls, sizes, switched;
	double calls_per_size;                 /* mean, rounded down; the smaller of host and accelerator */
	double error, error_host, error_accel; /* mean |ln(median measured / fitted)| over the sizes */
	double worst_g, worst_error;
	double noise;                                     /* 1.4826 MAD of ln t within the sizes */
	double bic_indep, bic_dep, bic_plain, bic_offset; /* NaN: not compared */
	char note[FIT_NOTES][240];                        /* sentences for the user, most important first */
	unsigned notes;
};

extern const struct fit_opts fit_defaults;

/*
 * Why this fit cannot tell from which size on offloading pays; NULL: it can. Only where times are uncertain: elsewhere
 * the interval says it all. A break-even is told where it is known within FIT_TOLD either way.
 */
#define FIT_TOLD 1.5
#define FIT_AGREE .9  /* share of resamples: as often as intervals hold */
#define FIT_FALSE .25 /* mean |ln error| from which a crossing says nothing */
const char *fit_doubt(const struct fit *f);

/* -EINVAL with a sentence when no fit should be given. */
int fit_logca(const struct points *pts, const struct fit_opts *opts, struct fit *out, struct err *e);

/* One stretch of sizes between two change points. */
struct fit_segment {
	double first, last;
	struct fit fit;
};
/* Splits at the change points BIC asks for (at most max segments); returns their number or -errno. */
int fit_segments(const struct points *pts, const struct fit_opts *opts, struct fit_segment *seg, int max,
		 struct err *e);
/* The same, but one stretch as long as one curve (`one`, already fitted) is sound or several are hardly better. */
#define FIT_STRETCHES 4
int fit_stretches(const struct points *pts, const struct fit_opts *opts, const struct fit *one,
		  struct fit_segment seg[FIT_STRETCHES], struct err *e);
/* Mean misfit over all sizes of all stretches. */
double fit_segments_error(const struct fit_segment *seg, int n);

/* Between fit.c, fit_interval.c and fit_segment.c. */
struct fit_work {
	const struct fit_opts *opts;
	struct curve host, accel, zero, submit;
	struct curve_fit f0, f1, fz;
	double scale0, scale1;
	double slope_known; /* L per byte from the zero-work run; NaN: none */
};
void fit_profile(struct fit_work *w, struct fit *out);
void fit_bootstrap(struct fit_work *w, struct fit *out);
/* p's parameters and everything read off the curves, from the coefficients. */
static inline void fit_derive(const struct curve_fit *f0, const struct curve_fit *f1, double slope_known,
			      struct logca *p)
{
	double slope = isnan(slope_known) ? f1->c[1] : slope_known;

	*p = (struct logca){
		.t0 = f0->c[0],
		.C = f0->c[2],
		.beta = f0->beta,
		.o = f1->c[0],
		.L = slope,
		.kind = slope > 0 ? LOGCA_DEP : LOGCA_INDEP,
		.A = f1->c[2] > 0 ? f0->c[2] / f1->c[2] : INFINITY,
	};
}

#endif

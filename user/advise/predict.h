/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a function's calls would take on a device: times and speed-ups with intervals, break-even, batch, queue, limit
 * of the process. Included by this room and tests. Pure functions: no I/O, no state. No result from a guess: what an
 * input is missing for is NaN, and `lacks` names the input.
 *
 * Time on the device, per call of g bytes:	o + Lat(g) + X(g), plus the wait in its queue
 *     measured device (points)	interpolated between the medians of the sizes measured, the fitted curve outside
 *     given terms		o, L and either B (X = B g^beta) or A (X = host's own computation / A)
 *     units of another clock	only the ratio to its own host is used: cycles of another machine are no ns here
 * Intervals: the 5th and 95th percentile of PREDICT_DRAWS sets of inputs, spread evenly over the inputs' intervals.
 *
 * To add a design: enum catalogue_design, its row in caller_time() and catalogue_design_str(). To add a bound: enum
 * predict_bound and predict_bound_str(). To add a figure: struct predict_option, one_draw() and spread() in predict.c.
 */
#ifndef ACCPERF_ADVISE_PREDICT_H
#define ACCPERF_ADVISE_PREDICT_H

#include "advise/figure.h"
#include "model/catalogue.h"

#define PREDICT_DRAWS 100  /* for a 90 % interval: beyond each end lie five */
#define PREDICT_TARGET 1.5 /* speed-up that "how much faster must it compute" is asked for; by hand */
#define PREDICT_REFITS 60  /* of curves, for a 90 % interval: beyond each end lie three */
#define PREDICT_CLOSE 1.5  /* a break-even known less closely, as a factor, is told as a bound */

struct predict_size {
	double bytes, calls; /* typical size of a bin; weight in any unit */
	double host_ns;      /* mean host time of these calls; NaN: by t0 + C g^beta */
};

/* What the host does now. */
struct predict_work {
	const struct predict_size *size; /* ascending; none: sizes were not seen */
	size_t sizes;
	struct figure ns_per_call;   /* mean */
	struct figure timed;         /* the same, were `beside` and `cold` nothing, for where sizes are known; NaN */
	struct figure beside;        /* ns that each call takes more, whatever its size; value 0 */
	double cold;                 /* ns a byte that calls may take less: of the probe */
	double scv;                  /* squared coefficient of variation of the time per call; NaN */
	struct figure calls_per_s;   /* of elapsed time, whole process */
	struct figure bytes_in;      /* copied per call if nothing stays there */
	struct figure bytes_out;     /* the same, back */
	struct figure resident;      /* of both, per call: could stay on the device */
	struct figure t0, C, beta;   /* the host's curve, ns; C NaN: not fitted; t0 NaN: taken as 0 */
	struct figure share_thread;  /* of CPU time */
	struct figure share_process; /* of CPU time: Amdahl */
	double threads;              /* that call it at once, 1 or more; NaN: taken as 1 */
	double switch_ns;            /* of a thread here; NaN: no sync-os */
	double other_load;           /* the device's utilisation by others, 0 to 1; NaN: taken as 0 */
};

/* A catalogue entry made ready; the fit of its points is done once. Keeps no pointer into the entry. */
struct predict_device {
	struct figure o, L, B, A; /* ns; B and A: which of the two is known says how X is computed */
	double beta;
	enum logca_latency kind;
	bool o_alone;      /* o is known apart from a fixed L */
	bool L_alone;      /* L per byte is known apart from the computation */
	bool by_ratio;     /* times are of another clock: `own` over its own host */
	struct logca own;  /* as in the entry, for by_ratio */
	double gmin, gmax; /* sizes measured; NaN: none were, the terms hold everywhere */
	double *size, *t;  /* medians measured, ascending */
	size_t sizes;
	double spread;    /* standard deviation of ln T1 that is common to all sizes */
	double engines;   /* calls served at once; NaN: every core has its own, there is no queue */
	unsigned designs; /* 1 << enum catalogue_design */
	double threshold; /* bytes: the shipped one; NaN */
	bool elsewhere;
	char lacks[160]; /* "": usable */
};

enum predict_bound {
	PREDICT_OVERHEAD,
	PREDICT_LATENCY,
	PREDICT_BANDWIDTH,
	PREDICT_COMPUTATION,
	PREDICT_AMDAHL, /* ten times faster there, the process gains less than a fifth */
	PREDICT_QUEUE,
	PREDICT_BOUNDS,
};

/* One device, one design. Times are the calling thread's, per call, mean over the sizes. */
struct predict_option {
	enum catalogue_design design;
	struct figure ns_per_call;      /* the wait in the queue included */
	struct figure speedup;          /* time now over time then, all calls */
	struct figure process_speedup;  /* Amdahl with share_process */
	struct figure thread_speedup;   /* the same with share_thread */
	struct figure speedup_resident; /* with `resident` kept there */
	/* all its data placed in the device's memory: no copies, but the rest of the process reaches over for what it
	 * has in common with these calls, at best as quickly as copies move: at least so long, as share of the
	 * process's time, and at most so much faster */
	struct figure rest_loses, process_placed;
	struct figure speedup_chosen; /* the sizes that pay go there, the others stay */
	bool payoff_known;
	bool payoff_sure;           /* all sizes pay, or none: so in 95 % of the draws, too */
	struct logca_payoff payoff; /* within [lo, hi] */
	double lo, hi;              /* bytes: sizes seen, and those the device was measured at */
	/* bytes; value NaN: none, or unknown (payoff_known); g1's ends stand where not all sizes surely pay or lose */
	struct figure g1, g_half;
	bool g1_told;                     /* its ends lie within PREDICT_CLOSE of the value: else only they are known */
	double below;                     /* share of the calls at sizes that lose; NaN */
	double outside;                   /* share of the calls at sizes the device was not measured at; NaN */
	struct figure batch;              /* least calls handed over as one that pay; 1: single ones; NaN: none */
	struct figure speedup_batched;    /* of eight times that many */
	struct figure utilisation;        /* by these calls and others; NaN: no shared device, or no rate */
	struct figure wait_p50, wait_p99; /* ns in the queue; infinite: it grows without end */
	double needed_acceleration;       /* A for 1.5x where the device's is unknown; infinite: out of reach; NaN */
	double limit;                     /* speed-up as A grows without end */
	enum predict_bound bound;         /* largest term of the mean call */
	char lacks[200];                  /* "": complete; else a clause that names the missing input */
};

/* -EINVAL with a sentence: the points cannot be fitted. An entry that lacks a term is no error: d->lacks. */
int predict_device_init(struct predict_device *d, const struct catalogue_entry *entry, bool elsewhere, struct err *e);
void predict_device_release(struct predict_device *d);
/* Terms of T1 at g where the host takes host_ns, of which compute_ns grows with the work: o, Lat, X. */
void predict_device_at(const struct predict_device *d, double g, double host_ns, double compute_ns, double part[3]);

/* Every design that the device serves, into out[]; returns their number. 0: d->lacks or *why says what is missing. */
int predict(const struct predict_work *w, const struct predict_device *d, struct predict_option out[CATALOGUE_DESIGNS],
	    char why[200]);
const char *predict_bound_str(enum predict_bound b);

/*
 * M/G/1 (predict_queue.c), by Tijms' two exponentials: exact at scv 1. Mean and quantile q of the wait at a service
 * time of mean `service_ns` and squared coefficient of variation `scv`; infinite where calls come faster than they are
 * served.
 */
double predict_wait_mean(double per_s, double service_ns, double scv);
double predict_wait(double per_s, double service_ns, double scv, double q);

#endif

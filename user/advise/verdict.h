/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Candidates before devices: for each device whose kind fits or is unknown and each of its designs what predict.h says,
 * which verdict follows, and the sentence. No verdict on a guess: where a figure is missing or its interval spans 1,
 * the sentence says which, and how to get it. Pure. Included by view and tests; owns what advice_release() frees.
 *
 * To add a verdict: enum advise_verdict (append), verdict_str(), a branch in judge() of verdict.c and the schema's list
 * in view/advise_json.c.
 */
#ifndef ACCPERF_ADVISE_VERDICT_H
#define ACCPERF_ADVISE_VERDICT_H

#include "advise/candidates.h"
#include "advise/predict.h"

#define ADVISE_OUTSIDE_MOST 0.5 /* share of the calls at sizes a device was not measured at: of more nothing is told */

enum advise_verdict { VERDICT_OFFLOAD, VERDICT_BATCH, VERDICT_KEEP, VERDICT_SWITCH, VERDICT_IDLE, VERDICT_UNKNOWN };

struct advise_option {
	const char *accelerator; /* the catalogue's name; NULL: none of it, what any would have to do */
	const char *device;      /* NULL: unknown */
	bool elsewhere;          /* its figures are of another machine */
	bool ratio;              /* its times are known only beside those of its own host */
	bool predicted;          /* p holds figures */
	struct predict_option p;
	const char
		*in_the_limit; /* what holds ever larger calls back: "computation", "communication"; NULL: not known */
	double threshold;      /* bytes, the one shipped with the device; NaN */
	enum advise_verdict verdict;
	char text[400];
};

struct advised {
	const struct candidate *candidate;
	struct advise_option *option; /* the best first */
	size_t options, cap;
};

/* A device of the catalogue as predictions take it; what it lacks is unknown. Names are the catalogue's. */
struct advised_device {
	const char *name, *device; /* device NULL: unknown */
	bool elsewhere;
	struct figure o, L, A, B; /* ns; A or B is how its computation is known, or none */
	double beta;
	enum logca_latency kind;
	unsigned kinds;  /* 1 << enum catalogue_kind; 0: any, or unknown */
	char lacks[160]; /* "": usable */
};

struct advice {
	struct advised_device *device; /* all of the catalogue */
	struct advised *at;            /* one for each candidate that has no reason against it, by share */
	size_t count;
	size_t devices,
		left_out; /* in the catalogue; which cannot be judged: their terms are not known, or not in ns */
};

/* host: calibrate's text of this machine; NULL: all devices are another's. */
int advise_judge(const struct candidates *c, const struct catalogue *catalogue, const char *host, struct advice *out,
		 struct err *e);
void advice_release(struct advice *a);
const char *verdict_str(enum advise_verdict v);
/* "1.5 KB", "940 B", "3.1 MB". */
void advise_size(char out[24], double bytes);
/* "940 ns", "1.5 us", "3.1 ms", "2.5 s". */
void advise_time(char out[24], double ns);
/* "3.1x [2.6..3.5]"; near 1 with one digit more. */
const char *advise_times(char out[64], const struct figure *f);
/* The chance that a speed-up is above 1, by its interval, were its log normal to either side; NaN: it has none. */
double advise_gain_chance(const struct figure *s);
/* Speed-up of the whole if this share of it took no time; infinite where it is all of it; NaN. */
double advise_limit(const struct figure *share);
/* The same speed-up should the calls' page faults stay with the caller, as those of buffers that a device is handed do;
 * those of memory that the host's code uses by itself go. Unknown where none were counted. */
struct figure advise_faulting(const struct candidate *c, const struct figure *speedup);
/* What any device of the catalogue takes at least for a call and a byte: into the input, before candidates_find(). */
void advise_least(struct advise_input *in, const struct catalogue *catalogue);

#endif

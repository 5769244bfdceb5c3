/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measured calls: size, time, and which kind of run. What a fit starts from, whether it comes from a
 * CSV, a calibration or a profile. No I/O: the CSV parser reads memory. Included by model, advise, view and tests. It
 * sits left of the model, because calibration fills it.
 *
 * To add a kind of run: append to enum run_kind and its row in points.c; fit.c decides what it is for.
 */
#ifndef ACCPERF_POINTS_H
#define ACCPERF_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/err.h"

enum run_kind {
	RUN_HOST,   /* T0: the kernel on the host */
	RUN_ACCEL,  /* T1: the same through the accelerator */
	RUN_ZERO,   /* an offload of the same bytes that computes nothing: o + Lat(g) */
	RUN_SUBMIT, /* until the submitting call returns: o */
	RUN_KINDS,
};

struct point {
	double g, t;
	bool switched; /* a context switch happened inside: kept out of the fit */
};

struct point_list {
	struct point *at;
	size_t count, cap;
	/* all times may be too short, too long by so much alike: what a probe costs is not known better */
	double early, late;
	size_t censored;    /* calls left out by points_censor() */
	double censored_to; /* the largest size among them */
};

struct points {
	struct point_list run[RUN_KINDS];
	char unit[16]; /* of time, "ns" unless the source says otherwise */
};

const char *run_kind_str(enum run_kind k);
void points_release(struct points *p);
int points_add(struct points *p, enum run_kind k, double g, double t, bool switched, struct err *e);
/* Different sizes among the points that may enter a fit. */
size_t points_sizes(const struct point_list *l);

/* Keeps at most PER_BIN points of each kind in each quarter octave of size, evenly spread over their
 * order: a fit needs no more, and its time grows with them. Returns how many were left out. */
size_t points_thin(struct points *p);

/* Leaves out the sizes (quarter octaves) of which the middle call takes less than `floor`: such times are not
 * told from nothing. All calls of a size go together; the slow ones alone would make a false curve. */
void points_censor(struct points *p, enum run_kind k, double floor);

/*
 * CSV, two shapes, told apart by the header:
 *     bytes,host,accelerated[,zero][,submit][,switched]	one row a size (rows may repeat)
 *     bytes,run,time[,switched]				run = host|accelerated|zero|submit
 * `#` begins a comment; empty cells are missing values. An error names the line.
 */
int points_parse_csv(struct points *p, const char *text, size_t len, struct err *e);

#endif

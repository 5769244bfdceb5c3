/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the last complete profile of a service says, bounded: from what report, flow, offload and advise print with
 * --json. Pure. Included by user/daemon and tests.
 *
 * To add a figure of each function, edge or call: a name in the enum of its values here, where figures.c takes it, and
 * a row in metrics_profile.c.
 */
#ifndef ACCPERF_DAEMON_FIGURES_H
#define ACCPERF_DAEMON_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

#define FIGURES_TOP 10u /* rows of a kind: with six kinds some 100 series a service, which a scraper keeps for years */
#define FIGURES_NAME 120u  /* bytes of a name: a C++ name longer than that is cut */
#define FIGURES_NAMES 4u   /* that tell a row from the others */
#define FIGURES_VALUES 7u  /* of a row, at most */
#define FIGURES_FLOOR 0.01 /* of all bytes: an edge of less is one of many, and comes and goes by chance */

/* What prints them, in the order in which they are asked. */
enum figures_source { FIGURES_REPORT, FIGURES_FLOW, FIGURES_OFFLOAD, FIGURES_ADVISE, FIGURES_SOURCES };

enum figures_kind { FIGURES_FUNCTIONS, FIGURES_EDGES, FIGURES_CALLS, FIGURES_FITS, FIGURES_VERDICTS, FIGURES_GAINS };
#define FIGURES_KINDS (FIGURES_GAINS + 1u)

/* Values of a row; the first says which are the ten largest, and is added up in `other`. */
enum { OF_FUNCTION_SELF };
enum { OF_EDGE_SHARE, OF_EDGE_RATE };
enum { OF_CALLS_RATE, OF_CALLS_IN, OF_CALLS_OUT, OF_CALLS_MEAN, OF_CALLS_P99, OF_CALLS_CPU, OF_CALLS_FAILED };
enum { OF_FIT_CALLS, OF_FIT_O, OF_FIT_L, OF_FIT_A, OF_FIT_BETA, OF_FIT_FROM, OF_FIT_ERROR };
enum { OF_VERDICT_COUNT };
enum { OF_GAIN_PROCESS, OF_GAIN_LOW, OF_GAIN_HIGH };

struct figures_row {
	char name[FIGURES_NAMES][FIGURES_NAME + 1];
	double v[FIGURES_VALUES]; /* NaN: not told */
};

struct figures_top {
	struct figures_row at[FIGURES_TOP];
	unsigned count;
	double other; /* the first value of all beyond the top */
};

struct figures {
	bool known[FIGURES_SOURCES]; /* that command told something */
	double samples, lost;        /* NaN: not told */
	double seconds, slowdown;
	double loads, windows;                 /* samples of loads, watch windows */
	char trust[FIGURES_SOURCES][16];       /* what its figures are good for; "": not told */
	struct figures_top top[FIGURES_KINDS]; /* by value, the largest first */
};

/* Takes what that command printed; `report` first, which forgets all before. -EINVAL: it is no such thing. */
int figures_take(struct figures *f, enum figures_source source, const char *json, size_t len);
/* A label's value, within its quotes. */
void figures_label(const char *text, struct buf *out);
/* A figure; NaN is written so, for a scraper tells that from 0. */
void figures_value(double v, struct buf *out);

#endif

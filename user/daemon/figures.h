/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the last complete profile of a service says, bounded: from what `accperf report --json` printed. Pure.
 * Included by user/daemon and tests. */
#ifndef ACCPERF_DAEMON_FIGURES_H
#define ACCPERF_DAEMON_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

#define FIGURES_TOP 10u
#define FIGURES_NAME 120u

struct figures {
	bool known;
	double samples, lost; /* NaN: not told */
	double seconds, slowdown;
	struct {
		char function[FIGURES_NAME + 1], object[FIGURES_NAME + 1];
		double self; /* share of 1 */
	} top[FIGURES_TOP];
	unsigned top_count;
	double other; /* of all functions beyond the top */
};

/* -EINVAL: it is no report. */
int figures_take(const char *json, size_t len, struct figures *f);
/* A label's value, within its quotes. */
void figures_label(const char *text, struct buf *out);
/* A figure; NaN is written so, for a scraper tells that from 0. */
void figures_value(double v, struct buf *out);

#endif

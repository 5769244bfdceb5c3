/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program's run under the exact engine, kept as a profile and as logs. Included by user/cli. */
#ifndef ACCPERF_EXACT_RECORD_H
#define ACCPERF_EXACT_RECORD_H

#include <stdbool.h>

#include "exact/opts.h"
#include "util/err.h"

struct exact_end {
	int status; /* the program's, as of waitpid() */
	bool usage; /* what failed is what was asked for */
};

int exact_record(const struct exact_opts *o, char *const *argv, struct exact_end *end, struct err *e);

#endif

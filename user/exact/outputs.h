/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine writes to. It gets descriptors and no names: a name that it opened could be a link that another user
 * planted, and would stay when all is killed. Included by user/exact.
 */
#ifndef ACCPERF_EXACT_OUTPUTS_H
#define ACCPERF_EXACT_OUTPUTS_H

#include <stdio.h>

#include "exact/opts.h"
#include "util/err.h"
#include "util/newfile.h"

struct exact_outputs {
	int stream, core_log, lists, log[EXACT_LOGS]; /* -1: not wanted */
	struct newfile binary[EXACT_LOGS];            /* whose descriptor log[i] is where the binary form is kept */
};

/* exact_outputs_close() in any case. */
int exact_outputs_open(struct exact_outputs *out, const struct exact_opts *o, struct err *e);
/* After the run. The tool writes binary only; text is made of it. */
int exact_outputs_finish(struct exact_outputs *out, const struct exact_opts *o, struct err *e);
void exact_outputs_close(struct exact_outputs *out);
/* The stream of a copy of fd, from the file's beginning; NULL with errno. */
FILE *exact_stream_of(int fd, const char *mode);

#endif

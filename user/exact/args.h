/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tool's command line. Included by user/exact. To add an option of the tool: a field in exact/opts.h, a line in
 * exact_args_make(), and one in user/exact/tool.
 */
#ifndef ACCPERF_EXACT_ARGS_H
#define ACCPERF_EXACT_ARGS_H

#include "exact/opts.h"
#include "exact/outputs.h"
#include "exact/select.h"
#include "util/err.h"

struct exact_args {
	char *v[64]; /* NULL ends them */
	unsigned n;
};

void __attribute__((format(printf, 2, 3))) exact_arg(struct exact_args *a, const char *fmt, ...);
/* -EINVAL with a sentence: what was asked for contradicts itself. */
int exact_args_make(struct exact_args *a, const struct exact_opts *o, const struct exact_outputs *out, struct err *e);
/* All lists of functions: which are counted, and where counting begins and ends. */
int exact_args_select(struct exact_args *a, const struct exact_opts *o, struct exact_select *s, struct err *e);
void exact_args_release(struct exact_args *a);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options that choose a part of a recording, the same for every reading command: FILTER_PROCESS_OPTS and
 * FILTER_CODE_OPTS in its table, a struct filter_opts in its options, filter_from_opts() in its run(). Included by
 * cli.
 */
#ifndef ACCPERF_COMMAND_FILTER_OPTS_H
#define ACCPERF_COMMAND_FILTER_OPTS_H

#include "command/command.h"
#include "profile/filter.h"
#include "util/buf.h"

struct profile;
struct flow_input;

struct filter_opts {
	struct opt_list by[FILTER_KINDS];
};

#define FILTER_AT(struct_name, field, kind) (offsetof(struct_name, field) + (kind) * sizeof(struct opt_list))
#define FILTER_OPT(struct_name, field, kind, letter, text, takes, does)                                                \
	{                                                                                                              \
		OPT_LIST, letter, text, FILTER_AT(struct_name, field, kind), .arg = takes, .help = does                \
	}
#define FILTER_PROCESS_OPTS(struct_name, field)                                                                        \
	FILTER_OPT(struct_name, field, FILTER_PID, 'p', "pid", "PID,...", "only these processes"),                     \
		FILTER_OPT(struct_name, field, FILTER_COMM, 0, "comm", "NAME,...",                                     \
			   "only processes of these names or glob patterns")
#define FILTER_CODE_OPTS(struct_name, field)                                                                           \
	FILTER_OPT(struct_name, field, FILTER_DSO, 0, "dso", "NAME,...",                                               \
		   "only code of these objects (libz.so*, [kernel])"),                                                 \
		FILTER_OPT(struct_name, field, FILTER_SYMBOL, 0, "symbol", "NAME,...",                                 \
			   "only functions of these names or glob patterns, or those in @FILE, one a line")

/* The filter that the options ask for; to be released. 0 or -EINVAL, -ENOMEM. */
int filter_from_opts(const struct filter_opts *o, struct filter *f, struct err *e);
/* -ENOENT where a name fits nothing in there; the sentence offers the nearest. */
int filter_check_profile(const struct filter *f, const struct profile *p, const char *file, struct err *e);
/* Of processes alone. */
int filter_check_processes(const struct filter *f, const struct profile *p, const char *file, struct err *e);
int filter_check_flow(const struct filter *f, const struct flow_input *in, const char *file, struct err *e);
/* "; did you mean 'x', 'y'?", or nothing: names that hold what was typed, and the one nearest to it. */
void filter_offer(const char *typed, const char *(*nth)(const void *ctx, size_t i), const void *ctx, size_t count,
		  struct buf *out);
/* The same for names of any kind: nth() has them one by one. */
int filter_check(const struct filter *f, enum filter_by by, const char *(*nth)(const void *ctx, size_t i),
		 const void *ctx, size_t count, const char *file, struct err *e);

#endif

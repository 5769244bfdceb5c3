/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile in the files of other tools. One format is one .c file with one function; they render
 * into a buffer and do no I/O; what grows with the number of samples is drained on the way.
 * Included by cli and tests.
 *
 * To add a format: a file user/view/NAME.c with its export_NAME(), declared below, a row in
 * export_formats (export.c), an option in user/cli/export.c, and a test that opens the result with
 * a real consumer of the format (tests/cli/t-export.sh).
 */
#ifndef ACCPERF_VIEW_EXPORT_H
#define ACCPERF_VIEW_EXPORT_H

#include "profile/filter.h"
#include "profile/profile.h"
#include "flow/flow.h"
#include "profile/branches.h"
#include "profile/in_order.h"
#include "util/buf.h"
#include "util/err.h"

struct export_opts {
	bool inlined;                    /* inlined functions as frames of their own */
	const struct filter *filter;     /* for tables; samples of others are gone already (profile_keep_part()) */
	double shown;                    /* share of the time that the filter left; NaN: unknown */
	const struct flow *flow;         /* edges for the formats that can hold them (carries_flow); may be NULL */
	const struct in_order *in_order; /* for the formats that show time (timed) */
	const struct branches *branches; /* for formats of one object (branches) */
	uint32_t module;                 /* that object, in profile.modules */
	const uint64_t *calls; /* by stack, counted, of its innermost function from the next; NULL: not known */
	const char *service;   /* where the profile has no label of it (otlp); NULL: not known */
	/* Takes what is in the buffer, which is empty afterwards; 0 or -errno. NULL: it all stays in there. */
	int (*drain)(void *ctx, const struct buf *part, struct err *e);
	void *drain_ctx;
};

struct export_format {
	const char *name;
	const char *suffix; /* of the default file name */
	bool binary;
	bool carries_flow;
	bool timed;    /* wants in_order */
	bool branches; /* of one object: wants branches and module */
	bool table;    /* of shares of the whole: takes the filter itself, and has figures where there is no sample */
	int (*render)(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e);
};

extern const struct export_format export_formats[]; /* ends with name NULL */
const struct export_format *export_find(const char *name);

int export_pprof(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e);
int export_otlp(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e);
int export_collapsed(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e);
int export_callgrind(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e);
int export_speedscope(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e);
int export_firefox(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e);
int export_bolt(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e);
int export_csv(const struct profile *p, const struct export_opts *o, struct buf *out, struct err *e);

/* The lines of a stack, leaf first, each with the frame it belongs to: what most formats walk. */
struct export_step {
	const struct profile_frame *frame;
	const struct profile_line *line;
	bool inlined; /* into the next step */
};
struct export_steps {
	struct export_step *at;
	size_t count, cap;
};
int export_walk(const struct profile *p, uint32_t stack, bool inlined, struct export_steps *steps);

#endif

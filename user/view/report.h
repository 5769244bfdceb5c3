/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `accperf report`: which function has what part of the time, as text and as accperf.report/1.
 * report_build() does the sums, the renderers only write. Included by cli and tests.
 *
 * To add a column: a field in struct share (profile/time_shares.h), a cell in row() and a key in
 * json_functions(), and the key in report_schema.
 */
#ifndef ACCPERF_VIEW_REPORT_H
#define ACCPERF_VIEW_REPORT_H

#include "profile/profile.h"
#include "profile/rollup.h"
#include "profile/time_shares.h"
#include "profile/waits.h"
#include "util/buf.h"
#include "util/json.h"
#include "view/filtered.h"
#include "view/text.h"
#include "view/trust.h"

enum report_sort {
	REPORT_SELF,
	REPORT_INCLUSIVE,
	REPORT_SAMPLES,
	REPORT_FUNCTION,
	REPORT_OBJECT,
	REPORT_IN,
	REPORT_OUT,
	REPORT_COMPUTE
};

struct flow;

struct report_opts {
	enum report_sort sort;
	bool children; /* inclusive shares */
	bool inlined;
	bool per_thread;
	double limit;            /* share of 1 under which a row is left out */
	const char *callers;     /* of this function; NULL: none */
	bool callers_counted;    /* by the exact engine: its call tree stands for samples */
	const struct flow *flow; /* of the same profile, for the columns that need one; NULL: those are unknown */
	const uint32_t *flow_of; /* with flow, by function of the profile: the flow's, FLOW_NONE: none */
	const unsigned *columns; /* enum report_column; NULL: those of time */
	unsigned column_count;
	const struct trust *trust;   /* NULL: not judged */
	const struct filter *filter; /* NULL: all of the recording */
	bool grouped;                /* by `by` instead of by function */
	enum rollup_by by;
	bool more; /* the profile could fill more columns: say so */
};

struct report {
	const struct profile *profile;
	const char *file;
	struct report_opts opts;
	struct shares all;
	struct shares *threads; /* one each of profile->threads; NULL unless per_thread */
	uint32_t *thread_order; /* busiest first */
	struct callers callers;
	struct rollup groups;        /* with opts.grouped */
	uint32_t *flow_func;         /* by profile function; NULL without opts.flow */
	struct function_wait *waits; /* the same; NULL: waits were not observed */
};

int report_build(const struct profile *p, const char *file, const struct report_opts *o, struct report *r,
		 struct err *e);
void report_release(struct report *r);
/* Whether a row is large enough to stand in the table. */
bool report_shows(const struct report *r, const struct share *s);
void report_text(const struct report *r, const struct text_style *style, struct buf *out);
void report_json(const struct report *r, struct buf *out);
/* Parts of report_text() and report_json(): with opts.grouped. */
void report_groups_text(const struct report *r, const struct text_style *style, struct buf *out);
void report_groups_json(const struct report *r, struct json *j);
/* Slow-down of the target as a share of 1; NaN where unknown. */
double report_slowdown(const struct profile *p);
/* What part of the time between entry and return of a function's calls they were off the CPU. */
struct wait_share report_wait(const struct report *r, const struct share *s);

extern const char report_schema[];

#endif

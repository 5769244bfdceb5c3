/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders what flow/diff.h found. Appends to a struct buf, no I/O. Included by cli and tests. */
#ifndef ACCPERF_VIEW_FLOW_DIFF_H
#define ACCPERF_VIEW_FLOW_DIFF_H

#include "flow/diff.h"
#include "util/buf.h"
#include "view/filtered.h"
#include "view/programs.h"
#include "view/text.h"

struct diff_view {
	const struct flow_diff *diff;
	const char *base, *other;               /* file names */
	const char *base_labels, *other_labels; /* META_LABELS; NULL: none */
	unsigned rows;
	bool all; /* also changes that may be noise */
	bool time_bias;
	struct programs programs;    /* of the base, of the other */
	const struct filter *filter; /* rows of such functions, and of what such processes do; NULL: all */
	double kept;         /* share of the other's bytes that such processes read; 1: no process was asked for */
	double seconds;      /* flows are of so much of the longer one, as the shorter one has; NaN: of all of both */
	bool base_is_longer; /* with it */
};

void flow_diff_text(const struct diff_view *v, const struct text_style *s, struct buf *out);
void flow_diff_json(const struct diff_view *v, struct buf *out);
extern const char flow_diff_schema[];

#endif

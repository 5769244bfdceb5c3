/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders counts/counts_report.h: tables and JSON. Appends to a struct buf. Included by cli and tests. */
#ifndef ACCPERF_VIEW_COUNTS_H
#define ACCPERF_VIEW_COUNTS_H

#include "counts/counts_report.h"
#include "util/buf.h"
#include "view/filtered.h"
#include "view/text.h"
#include "view/trust.h"

struct counts_view {
	const struct counts_report *r;
	size_t rows;                 /* functions shown */
	const char *function;        /* only functions of this name; NULL: all */
	const struct filter *filter; /* NULL: all */
	const char *source;
	const struct trust *trust; /* NULL: not judged */
};

void counts_text(const struct counts_view *v, const struct text_style *s, struct buf *out);
void counts_json(const struct counts_view *v, struct buf *out);
extern const char counts_schema[];

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Renders what flow/compare.h measured. Appends to a struct buf, no I/O. Included by cli and tests. A new measure
 * needs a line in compare_text(), a key in compare_json() and in compare_schema.
 */
#ifndef ACCPERF_VIEW_COMPARE_H
#define ACCPERF_VIEW_COMPARE_H

#include "flow/compare.h"
#include "util/buf.h"
#include "view/filtered.h"
#include "view/programs.h"
#include "view/text.h"

struct compare_view {
	const struct flow_compare *result;
	const struct flow *truth, *estimate;
	const char *truth_path, *estimate_path;
	unsigned offenders;       /* rows of the table; 0 none */
	struct programs programs; /* of the truth, of the estimate */
	struct filtered filtered; /* shown: of the whole recording, what the processes asked for read */
};

void compare_text(const struct compare_view *v, const struct text_style *style, struct buf *out);
void compare_json(const struct compare_view *v, struct buf *out);
extern const char compare_schema[];

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `accperf advise`: candidates, what devices would make of them, and why the others are none; as text of one screen and
 * as accperf.advise/1. Rendering only. Included by cli, tests.
 *
 * To add a figure: its field in advise/candidates.h or advise/predict.h, a key in advise_json.c and in its schema.
 */
#ifndef ACCPERF_VIEW_ADVISE_H
#define ACCPERF_VIEW_ADVISE_H

#include "advise/verdict.h"
#include "util/buf.h"
#include "view/filtered.h"
#include "view/text.h"

struct advise_view {
	const char *file;
	const struct advise_input *input;
	const struct candidates *candidates;
	const struct advice *advice;
	bool all;                    /* every candidate, option and reason */
	double part;                 /* share of the time of the processes that were asked for */
	const struct filter *filter; /* candidates of such code; NULL: all */
};

/* Is one of its functions what the filter takes? */
bool advise_takes(const struct advise_view *v, const struct candidate *c);
/* By the time of such functions themselves. */
struct filtered advise_filtered(const struct advise_view *v);
void advise_text(const struct advise_view *v, const struct text_style *style, struct buf *out);
/* The one to three lines that end a report; nothing where there is nothing to say. */
void advise_brief(const struct advise_view *v, const struct text_style *style, struct buf *out);
/* Bars of what the best options would make of the process. */
void advise_svg(const struct advise_view *v, struct buf *out);
void advise_json(const struct advise_view *v, struct buf *out);
extern const char advise_schema[];

#endif

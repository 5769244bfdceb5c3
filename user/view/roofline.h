/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `accperf advise --roofline`: functions under the machine's roof (advise/placed.h), and `calibrate --roofline`: the
 * roof. As text, accperf.roofline/1 and a picture. Rendering only. Included by cli.
 */
#ifndef ACCPERF_VIEW_ROOFLINE_H
#define ACCPERF_VIEW_ROOFLINE_H

#include "advise/placed.h"
#include "util/buf.h"
#include "view/text.h"

struct roofline_view {
	const char *file;            /* NULL: the roof alone */
	const struct roofline *roof; /* NULL: not measured */
	const char *why_no_roof;
	const struct placed *at;
	size_t count;
	unsigned rows;
};

void roofline_text(const struct roofline_view *v, const struct text_style *style, struct buf *out);
void roofline_svg(const struct roofline_view *v, struct buf *out);
void roofline_json(const struct roofline_view *v, struct buf *out);
extern const char roofline_schema[];

#endif

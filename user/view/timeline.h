/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders flow/timeline.h: sparklines, CSV, SVG, JSON. Appends to a struct buf. Included by cli and tests. */
#ifndef ACCPERF_VIEW_TIMELINE_H
#define ACCPERF_VIEW_TIMELINE_H

#include "flow/timeline.h"
#include "util/buf.h"
#include "view/filtered.h"
#include "view/text.h"
#include "view/trust.h"

enum timeline_metric { TIMELINE_BOTH, TIMELINE_READS, TIMELINE_WRITES };

struct timeline_view {
	const struct timeline *t;
	enum timeline_metric metric;
	unsigned rows;
	const char *source;
	struct filtered filtered;  /* shown: the part that the input kept */
	const struct trust *trust; /* NULL: not judged */
	bool time_bias;
};

void timeline_text(const struct timeline_view *v, const struct text_style *s, struct buf *out);
void timeline_csv(const struct timeline_view *v, struct buf *out);
void timeline_svg(const struct timeline_view *v, struct buf *out);
void timeline_json(const struct timeline_view *v, struct buf *out);
extern const char timeline_schema[];

#endif

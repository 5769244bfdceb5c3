/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders flow/annotate.h: source and instructions with their figures, as text and JSON. Included by cli and tests. */
#ifndef ACCPERF_VIEW_ANNOTATE_H
#define ACCPERF_VIEW_ANNOTATE_H

#include "flow/annotate.h"
#include "view/filtered.h"
#include "view/source.h"
#include "view/text.h"
#include "view/trust.h"

struct annotate_view {
	const struct annotation *a;
	struct sources *sources;
	struct filtered filtered;
	const struct trust *trust; /* NULL: not judged */
	const char *source;        /* the profile's name */
};

void annotate_text(const struct annotate_view *v, const struct text_style *s, struct buf *out);
void annotate_json(const struct annotate_view *v, struct buf *out);
extern const char annotate_schema[];
/* "time", "instructions", "accesses" */
const char *annotate_unit(const struct annotation *a);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders flow/objects.h: tables and JSON. Appends to a struct buf. Included by cli and tests. */
#ifndef ACCPERF_VIEW_OBJECTS_H
#define ACCPERF_VIEW_OBJECTS_H

#include "flow/objects.h"
#include "util/buf.h"
#include "view/filtered.h"
#include "view/text.h"
#include "view/trust.h"

struct objects_view {
	const struct objects *o;
	unsigned rows;
	const char *source;
	struct filtered filtered;
	const struct trust *trust; /* NULL: not judged */
	bool regions;              /* objects, addresses and accesses of each function by region */
};

void objects_text(const struct objects_view *v, const struct text_style *s, struct buf *out);
/* Bars of the largest objects' shares. */
void objects_svg(const struct objects_view *v, struct buf *out);
void objects_json(const struct objects_view *v, struct buf *out);
extern const char objects_schema[];

#endif

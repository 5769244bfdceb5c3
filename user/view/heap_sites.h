/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders flow/heap.h: allocation sites with their stacks, as text and JSON. Included by cli and tests. */
#ifndef ACCPERF_VIEW_HEAP_SITES_H
#define ACCPERF_VIEW_HEAP_SITES_H

#include "flow/input.h"
#include "util/buf.h"
#include "view/text.h"

struct heap_sites_view {
	const struct flow_input *in;
	unsigned rows;
	const char *source;
};

void heap_sites_text(const struct heap_sites_view *v, const struct text_style *s, struct buf *out);
void heap_sites_json(const struct heap_sites_view *v, struct buf *out);
extern const char heap_sites_schema[];

#endif

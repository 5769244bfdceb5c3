/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address space as the exact engine saw it used: what is allocated, written, read, never read. Included by cli
 * and tests. */
#ifndef ACCPERF_VIEW_OBJECT_MAP_H
#define ACCPERF_VIEW_OBJECT_MAP_H

#include "flow/input.h"
#include "util/buf.h"
#include "view/text.h"

void object_map_text(const struct flow_input *in, const struct text_style *s, struct buf *out);
void object_map_json(const struct flow_input *in, struct buf *out);
void object_map_svg(const struct flow_input *in, struct buf *out);
extern const char object_map_schema[];

#endif

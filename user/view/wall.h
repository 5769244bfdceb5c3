/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders model/wall.h and model/growth.h: text, JSON, SVG. Appends to a struct buf. Included by cli. */
#ifndef ACCPERF_VIEW_WALL_H
#define ACCPERF_VIEW_WALL_H

#include "model/growth.h"
#include "model/wall.h"
#include "util/buf.h"
#include "view/filtered.h"
#include "view/text.h"
#include "view/trust.h"

struct wall_shown {
	const struct wall *wall;
	const struct flow *flow;
	const struct wall_opts *opts;
	unsigned views;            /* enum wall_view, added */
	const char *source;        /* what the profile is called */
	const struct trust *trust; /* NULL: not judged */
	struct filtered filtered;
};
void wall_text(const struct wall_shown *v, const struct text_style *s, struct buf *out);
void wall_json(const struct wall_shown *v, struct buf *out); /* accperf.wall/1 */
void wall_svg(const struct wall_shown *v, struct buf *out);
extern const char wall_schema[];

struct growth_shown {
	const struct growth *growth;
	const char *const *sources; /* by profile */
	bool by_work;               /* n is what was computed in all, as no sizes were given */
	bool estimated;
	unsigned rows;
	struct filtered filtered; /* of: set here; shown: what the processes asked for read, of the last profile */
};
void growth_text(const struct growth_shown *v, const struct text_style *s, struct buf *out);
void growth_json(const struct growth_shown *v, struct buf *out); /* accperf.scale/1 */
void growth_svg(const struct growth_shown *v, struct buf *out);
extern const char growth_schema[];

#endif

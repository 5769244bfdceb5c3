/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several curves of LogCA beside each other: devices that do the same, or one device and what ten times better
 * parameters would make of it. Rendering only. Included by this room alone.
 */
#ifndef ACCPERF_VIEW_LOGCA_CURVES_H
#define ACCPERF_VIEW_LOGCA_CURVES_H

#include "view/logca.h"

#define LOGCA_MOST_CURVES 19 /* the paper's table has so many rows */

struct logca_curves {
	const char *title;
	struct logca_view at[LOGCA_MOST_CURVES]; /* name: the label; all over one range of sizes */
	bool doubtful[LOGCA_MOST_CURVES];        /* published figures that contradict each other */
	unsigned count;
};

/* v as it is, and with L, o, C, A ten times better. */
void logca_curves_of_improvements(struct logca_curves *c, const struct logca_view *v);
void logca_curves_text(struct buf *b, const struct logca_curves *c, const struct text_style *s);
void logca_curves_svg(struct buf *b, const struct logca_curves *c);
void logca_curves_json(struct buf *b, const struct logca_curves *c);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LogCA by stretches of size, each with a curve of its own. Rendering only. Included by user/cli/logca.c. */
#ifndef ACCPERF_VIEW_LOGCA_SEGMENTS_H
#define ACCPERF_VIEW_LOGCA_SEGMENTS_H

#include "view/logca.h"

/* all: the view of the whole, whose range and name they share; seg: n of them, in order of size. */
void logca_segments_json(struct buf *out, const struct logca_view *all, const struct fit_segment *seg, int n);
void logca_segments_text(struct buf *out, const struct logca_view *all, const struct fit_segment *seg, int n,
			 const struct text_style *style);

#endif

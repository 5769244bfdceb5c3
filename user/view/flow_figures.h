/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of Kim & Edwards (2010) for any profile: the matrix of communication with its row of computation (figures 4
 * and 9), and the call tree with the flow on it (7 and 8). Text, JSON, SVG. Appends to a struct buf. Included by cli.
 */
#ifndef ACCPERF_VIEW_FLOW_FIGURES_H
#define ACCPERF_VIEW_FLOW_FIGURES_H

#include "flow/paths.h"
#include "view/flow.h"

/* v->top functions, by what they compute (or read, where nothing is known of that); the rest is one. */
int flow_matrix_text(const struct flow_view *v, const struct text_style *s, struct buf *out);
int flow_matrix_json(const struct flow_view *v, struct buf *out); /* accperf.matrix/1 */
int flow_matrix_svg(const struct flow_view *v, struct buf *out);
extern const char flow_matrix_schema[];

struct flow_tree_view {
	const struct flow_paths *paths;
	const struct flow *flow; /* for semantics, stack */
	const char *source;
	const struct trust *trust; /* NULL: not judged */
	unsigned rows;             /* edges listed or drawn */
};
void flow_tree_text(const struct flow_tree_view *v, const struct text_style *s, struct buf *out);
void flow_tree_json(const struct flow_tree_view *v, struct buf *out); /* accperf.tree/1 */
void flow_tree_svg(const struct flow_tree_view *v, struct buf *out);
extern const char flow_tree_schema[];

#endif

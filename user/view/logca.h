/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LogCA for people and programs: text with a plot, SVG, JSON. Rendering only: the figures come from
 * user/model. Included by cli and tests.
 *
 * To add a figure: a line in logca_text.c and a field in logca_json.c (and its schema in
 * logca_schema.c); a mark in logca_svg.c where it belongs on the plane of size and speed-up.
 */
#ifndef ACCPERF_VIEW_LOGCA_H
#define ACCPERF_VIEW_LOGCA_H

#include "model/fit.h"
#include "model/limits.h"
#include "model/logca.h"
#include "offload/points.h"
#include "util/buf.h"
#include "util/json.h"
#include "view/text.h"

/* of a drawn speed-up */
#define LOGCA_MOST_SHOWN 1e30

struct logca_view {
	const char *name, *unit; /* of time */
	struct logca p;
	const struct fit *fit;         /* NULL: parameters were given */
	const struct points *pts;      /* observed; NULL: none */
	double lo, hi;                 /* the range asked about: 16 B .. 32 MB, or what was measured */
	const struct fit_segment *seg; /* drawings: a curve each between change points; NULL: p is the only one */
	int segs;
	bool newton;             /* print the published one-step forms, too */
	const char *const *note; /* what is known to be wrong about the parameters */
	unsigned notes;
};

/* 16 B, 25.0 KB, 1.2e+40 B: powers of 1024, as the paper has them. */
void logca_size(struct buf *b, double g);
/* always / never / from 1.2 KB / ..., with the interval where there is one. */
void logca_verdict(struct buf *b, const struct logca_view *v);

void logca_text(struct buf *b, const struct logca_view *v, const struct text_style *s);
void logca_text_regions(struct buf *b, const struct logca_view *v, const struct text_style *s);
void logca_plot(struct buf *b, const struct logca_view *v, const struct text_style *s);
void logca_svg(struct buf *b, const struct logca_view *v);
/* The members of golden.json and the fit's, into an object that is open. */
void logca_json(struct json *j, const struct logca_view *v);

/* Median of observed T0 / T1 at each size both were measured at. Returns their number. */
size_t logca_observed(const struct points *pts, double *g, double *s, size_t max);
/* The stretch of v that holds g as a view of its own, from one change point to the next; *i: its number. */
struct logca_view logca_part(const struct logca_view *v, int i);
int logca_part_of(const struct logca_view *v, double g);
/* Bottleneck letters at g, in the order L, o, C, A. */
void logca_letters(const struct logca *p, double g, char letters[LOGCA_LETTERS + 1]);

#endif

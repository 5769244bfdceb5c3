/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Renders an edge table: heat-map and lists for a terminal, JSON, DOT, XML. Appends to a struct buf,
 * no I/O, computes nothing but shares. Included by cli and tests.
 *
 * To add a form: flow_NAME.c with a function of the same signature, an option in cli/flow.c.
 */
#ifndef ACCPERF_VIEW_FLOW_H
#define ACCPERF_VIEW_FLOW_H

#include "flow/flow.h"
#include "util/buf.h"
#include "view/filtered.h"
#include "view/text.h"
#include "view/trust.h"

struct flow_threads;
struct json;

/* KEY, KEY_low, KEY_high. */
void flow_range_json(struct json *j, const char *key, struct flow_range r);

/* How often a function was called, for figures per call. */
struct flow_per {
	const char *function;
	double calls, low, high; /* NaN: unknown */
	const char *source;      /* exact, probes or counts; NULL: unknown, for that reason */
	char reason[300];
};

struct flow_view {
	const struct flow *flow;
	double min_share; /* edges below this share of all bytes are left out of lists and graphs */
	const struct filter_list *producer, *consumer; /* names or glob patterns; NULL or empty: all */
	const struct filter *filter;                   /* NULL: all */
	unsigned top;                                  /* functions of the matrix, 0: 12 */
	unsigned rows;                                 /* edges listed; 0: 20 */
	const char *source;                            /* what the profile is called */
	const char *labels;                            /* its META_LABELS; NULL: it has none */
	const struct flow_threads *threads;            /* NULL: not asked for */
	const struct trust *trust;                     /* NULL: not judged */
	const struct flow_per *per;                    /* NULL: not asked for */
	bool by_unique;                                /* edges stand by distinct bytes */
};

/* The share of the edges that are shown. */
struct filtered flow_filtered(const struct flow_view *v);
bool flow_shown(const struct flow_view *v, const struct flow_edge *e);
/* Is it one of those that --producer and --consumer ask for? */
bool flow_named(const struct flow_view *v, const struct flow_func *f);
void flow_text(const struct flow_view *v, const struct text_style *s, struct buf *out);
void flow_json(const struct flow_view *v, struct buf *out); /* accperf.flow/1; not cut by min_share unless set */
void flow_dot(const struct flow_view *v, struct buf *out);
void flow_xml(const struct flow_view *v, struct buf *out);
/* A part of flow_text(), instead of the list of edges: with --per, or by distinct bytes. */
void flow_per_text(const struct flow_view *v, const struct text_style *s, struct buf *out);
void flow_per_json(const struct flow_per *p, struct json *j);
void flow_per_json_edge(const struct flow_per *p, const struct flow *f, const struct flow_edge *e, struct json *j);
extern const char flow_schema[];

#endif

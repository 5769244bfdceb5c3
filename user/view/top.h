/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `accperf top`: what is known of a recording at one moment, and the lines that a terminal of some size shows of it.
 * One process reads the recording and prints the moment as accperf.top/1, another reads that and draws. Pure but for
 * memory; knows no terminal. Included by top and tests. A moment owns its tables; names are its own.
 *
 * To add a figure of functions: a value of enum top_figure, its row in top_figures[] of top.c, its value in
 * top_build.c. To add a column: a row in columns[] of top_lines.c.
 */
#ifndef ACCPERF_VIEW_TOP_H
#define ACCPERF_VIEW_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/err.h"
#include "util/map.h"

/* Rows of one moment: more than anybody scrolls through, and a moment stays below a megabyte; by hand. */
#define TOP_FUNCTIONS 1000
#define TOP_CALLS 4000
#define TOP_FLOWS 1000
#define TOP_THREADS 1000

enum top_figure {
	TOP_SELF, /* shares of the CPU time */
	TOP_SELF_LOW,
	TOP_SELF_HIGH,
	TOP_INCLUSIVE,
	TOP_SAMPLES,
	TOP_IN, /* bytes per second */
	TOP_IN_LOW,
	TOP_IN_HIGH,
	TOP_OUT,
	TOP_OUT_LOW,
	TOP_OUT_HIGH,
	TOP_IN_SHARE, /* of all bytes that are read */
	TOP_OUT_SHARE,
	TOP_INSTRUCTIONS, /* per second */
	TOP_OPS,          /* per byte */
	TOP_CALLS_PER_S,
	TOP_CALLS_LOW,
	TOP_CALLS_HIGH,
	TOP_OFFLOADED, /* calls per second of a function that is an accelerator's, or a library's that could be one */
	TOP_FIGURES
};

struct top_function {
	const char *name, *object;
	const char *verdict, *why; /* NULL: none */
	double figure[TOP_FIGURES];
};

struct top_call {
	uint32_t caller, callee; /* functions */
	double share, samples;
};

struct top_flow {
	const char *producer, *consumer;
	double share, low, high, samples; /* of all bytes; NaN: unknown */
	double bytes;                     /* per second; NaN */
};

struct top_thread {
	const char *comm;
	uint32_t pid, tid;
	double share, low, high, samples;
};

struct top_moment {
	struct intern names;
	struct top_function *functions; /* by time */
	struct top_call *calls;
	struct top_flow *flows;
	struct top_thread *threads;
	size_t function_count, call_count, flow_count, thread_count;
	size_t function_cap, call_cap, flow_cap, thread_cap;
	double functions_in_all;
	double seconds; /* that the figures are of */
	double samples, lost, cpus, slowdown;
	bool complete;    /* bytes, calls and verdicts were read, too */
	double full_at;   /* they are of so many seconds; NaN: not yet */
	const char *note; /* what is missing, and why; NULL */
	bool failed;      /* memory ran out */
};

struct profile;
struct gathered;
struct shares;
struct advice;
struct candidates;

/* What a moment is made of: without `gathered` of time alone. */
struct top_source {
	const struct profile *profile;
	const struct shares *shares;
	const struct gathered *gathered;
	const struct candidates *candidates;
	const struct advice *advice;
};

int top_build(const struct top_source *s, struct top_moment *out);
const char *top_keep_name(struct top_moment *m, const char *name); /* NULL stays NULL */
void top_release(struct top_moment *m);
void top_json(const struct top_moment *m, struct buf *out);
/* -EINVAL: no moment. */
int top_parse(struct top_moment *m, const char *json, size_t len, struct err *e);
/* Bytes, calls and verdicts of an earlier moment stand where this one has read none. */
int top_complete(struct top_moment *m, const struct top_moment *earlier);
extern const char *const top_figures[TOP_FIGURES]; /* keys */
extern const char top_schema[];

enum top_screen { TOP_SCREEN_FUNCTIONS, TOP_SCREEN_ONE, TOP_SCREEN_PROCESSES, TOP_SCREEN_THREADS, TOP_SCREEN_HELP };

/* What the person at the keys has chosen. */
struct top_view {
	enum top_screen screen;
	unsigned sort; /* column */
	bool reversed, frozen, ended;
	char filter[80];
	bool typing; /* the filter */
	size_t selected, first;
	char chosen[256], chosen_object[256]; /* the selected function: it stays that where rows change places */
	char status[200];                     /* "": the keys */
	const char *file;                     /* what is observed, in words */
};

/* Characters, below which the table says that it is too small; by hand. */
#define TOP_LEAST_WIDTH 60u
#define TOP_LEAST_HEIGHT 10u
#define TOP_DEFAULT_SORT 1u /* a column of top_lines.c: self */

enum top_look { TOP_PLAIN, TOP_HOT, TOP_WARM, TOP_DIM, TOP_BOLD };

struct top_line {
	struct buf text;
	enum top_look look;
	bool selected;
};

struct top_lines {
	struct top_line *at;
	size_t count, cap;
	bool failed;
};

/* Fills a screen, never more than height lines of width columns. height 0: all rows, without keys. */
void top_draw(const struct top_moment *m, struct top_view *v, unsigned width, unsigned height, struct top_lines *out);
void top_lines_release(struct top_lines *l);

/* Keys: characters as typed, or one of these. False: it means nothing here. */
enum top_key {
	TOP_KEY_UP = 256,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_BACKSPACE
};
enum top_wish { TOP_NOTHING, TOP_REDRAW, TOP_SAVE, TOP_QUIT };
enum top_wish top_key(struct top_view *v, const struct top_moment *m, int key, unsigned height);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pieces of text output that every view shares: figures a person reads, names from foreign files
 * made safe for a terminal, colours. Rendering only: appends to a struct buf, knows no profile.
 * Included by command, cli, daemon, top and tests.
 */
#ifndef ACCPERF_VIEW_TEXT_H
#define ACCPERF_VIEW_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/json.h"
#include "util/whole.h"

struct text_style {
	unsigned width; /* columns; 0: as wide as it gets */
	bool colour;
};

enum text_hue { TEXT_PLAIN, TEXT_HOT, TEXT_WARM, TEXT_DIM, TEXT_BOLD };

/* A whole number in JSON; what is unknown or no count is null. */
void text_json_whole(struct json *j, const char *key, double v);
/* What a recording's labels (META_LABELS) tell: of which service, unit, container and pod. NULL: it has none, and
 * nothing is written. */
void text_json_labels(struct json *j, const char *key, const char *labels);
/* 1234567 -> 1,234,567 */
void text_count(struct buf *b, uint64_t n);
/* The same padded on the left, ? where it is unknown (NaN). */
void text_amount(struct buf *b, double bytes, unsigned columns);
void text_bytes(struct buf *b, uint64_t n);    /* 22.1 MB */
void text_seconds(struct buf *b, uint64_t ns); /* 12.3 s, 850 ms */
void text_pad_left(struct buf *b, const char *s, unsigned columns);
/* A name: control bytes and broken UTF-8 become '?', one of more than `max` columns is shortened as its language makes
 * names (symbol/shortname.h), or loses its middle, with ".." for it: so that within one text two names that are cut to
 * one width differ. max 0: no limit. Padded with blanks to `columns`. */
void text_name(struct buf *b, const char *s, unsigned max, unsigned columns);
/* The lines of a text that are wider than `width` (0: none is), broken at blanks; what goes on is indented. */
void text_fit(struct buf *b, const char *text, unsigned width);
/* A text is complete: the next may give names anew. */
void text_names_forget(void);
unsigned text_columns(const char *s);
/* A paragraph whose first line begins at column `at` and whose others are indented by `indent`,
 * broken at blanks before `width` (0: never); ends with a newline. */
void text_wrap(struct buf *b, const char *s, unsigned at, unsigned indent, unsigned width);
/* Below a view without amounts, why; seconds: of struct counts_speed. */
void text_no_amounts(struct buf *b, double seconds, unsigned width);
/* How wide amounts are that rest on a speed; nothing where none do. */
void text_amounts_spread(struct buf *b, double low, double high, unsigned width);
void text_hue_on(struct buf *b, const struct text_style *s, enum text_hue hue);
void text_hue_off(struct buf *b, const struct text_style *s, enum text_hue hue);

#endif

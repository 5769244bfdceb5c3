/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What part of a recording a view shows where a filter is in force: one line, and in JSON. Included by this room
 * alone. */
#ifndef ACCPERF_VIEW_FILTERED_H
#define ACCPERF_VIEW_FILTERED_H

#include "profile/filter.h"
#include "util/json.h"
#include "view/text.h"

struct filtered {
	const struct filter *by; /* NULL, or one that asks for nothing: all is shown, and nothing said */
	const char *of;          /* "time", "bytes"... */
	double shown;            /* share of 1 of the whole recording; NaN unknown */
	bool alone;              /* the view's shares are of these processes alone */
};

/* "38.0% of the time shown (comm nginx; dso libz*)"; of a filter that asks for something. */
void filtered_phrase(const struct filtered *f, struct buf *out);
/* "filtered: 38.0% of the time shown (comm nginx; dso libz*); shares are of the whole recording" */
void filtered_text(const struct filtered *f, const char *prefix, const struct text_style *s, struct buf *out);
/* "filter":{"comm":["nginx"],"shown":0.38}; nothing where there is no filter */
void filtered_json(const struct filtered *f, struct json *j);

#define FILTERED_NAMES "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
#define FILTERED_SCHEMA                                                                                                   \
	"\"filter\":{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"of\",\"shown\"],\"properties\":{" \
	"\"of\":{\"type\":\"string\"},\"shown\":{\"type\":[\"number\",\"null\"]},\"pid\":" FILTERED_NAMES                 \
	",\"comm\":" FILTERED_NAMES ",\"dso\":" FILTERED_NAMES ",\"symbol\":" FILTERED_NAMES "}}"

#endif

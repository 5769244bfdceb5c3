/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of which programs two profiles are that stand in one view: a sentence where they are two, and in JSON. Included by
 * cli. */
#ifndef ACCPERF_VIEW_PROGRAMS_H
#define ACCPERF_VIEW_PROGRAMS_H

#include <stdbool.h>

#include "util/json.h"
#include "view/text.h"

struct programs {
	const char *first, *second; /* base names of the main images; NULL or "": unknown */
};

/* Both are known, and two. */
bool programs_differ(const struct programs *p);
/* "Two programs, rot and ingestd: what differs is that."; nothing where they do not differ. */
void programs_text(const struct programs *p, struct buf *out);
/* "programs":["rot",null],"same_program":null: null where unknown */
void programs_json(const struct programs *p, struct json *j);

#define PROGRAMS_SCHEMA                                                                                                \
	"\"programs\":{\"type\":\"array\",\"minItems\":2,\"maxItems\":2,\"items\":{\"type\":[\"string\",\"null\"]}},"  \
	"\"same_program\":{\"type\":[\"boolean\",\"null\"]}"

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that are run by a runtime which can tell the names of what it compiles or interprets, and did not: what to
 * do, as a sentence. Read from a profile's samples. Included by foreground and tests.
 *
 * To add a runtime: a row of runtimes[] in run_time_code.c, and a case in u-run-time-code.c.
 */
#ifndef ACCPERF_VIEW_RUN_TIME_CODE_H
#define ACCPERF_VIEW_RUN_TIME_CODE_H

#include "profile/profile.h"
#include "util/json.h"
#include "view/text.h"

#define RUN_TIME_HINTS 4 /* processes; more make a page of them */
/* Less of the recording is not worth a line. */
#define RUN_TIME_SHARE 0.05
#define RUN_TIME_SAMPLES 10

struct run_time_hint {
	uint32_t pid;
	const char *comm, *runtime; /* NULL: unknown */
	double share;               /* of the whole recording's time */
	char text[400];
};

/* Largest share first; how many. */
unsigned run_time_hints(const struct profile *p, struct run_time_hint out[RUN_TIME_HINTS]);
/* Lines "# hint: ...". */
void run_time_hints_text(const struct profile *p, const struct text_style *s, struct buf *out);
/* "hints":[...]; nothing where there is none. */
void run_time_hints_json(const struct profile *p, struct json *j);

#define RUN_TIME_HINTS_SCHEMA                                                                                          \
	"\"hints\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"pid\",\"comm\",\"runtime\","     \
	"\"share\",\"text\"],\"properties\":{\"pid\":{\"type\":\"integer\"},\"comm\":{\"type\":[\"string\",\"null\"]}" \
	",\"runtime\":{\"type\":[\"string\",\"null\"]},\"share\":{\"type\":\"number\"},\"text\":{\"type\":"            \
	"\"string\"}}}}"

#endif

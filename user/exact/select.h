/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of functions that a user gives to the exact engine: names and glob patterns with commas between them, or
 * @FILE with one a line. They are held against the symbols of the program and of the libraries it needs before it
 * runs, as far as these can tell, and against the functions that ran afterwards. Included by this room alone.
 *
 *     exact_select_add(&s, XS_LIST_FUNCTIONS, "--functions", "parse_*,@more.txt", &e);
 *     exact_select_check(&s, "/usr/bin/tool", &e);     what cannot be there is refused, the nearest names are offered
 *     fd = exact_select_file(&s);                      for the tool
 *     exact_select_met(&s, "_Z5parsev", "parse()");    each function that ran
 *     exact_select_verify(&s, &e);
 */
#ifndef ACCPERF_EXACT_SELECT_H
#define ACCPERF_EXACT_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "util/err.h"
#include "util/map.h"

struct exact_wanted {
	char *text;
	const char *option; /* borrowed: "--functions" */
	char list;          /* XS_LIST_* */
	bool known;         /* some symbol bears it */
	bool met;           /* a function that ran does */
};

struct exact_select {
	struct exact_wanted *wanted;
	size_t count, cap;
	char **found; /* "f linkage_name": what the tool is told */
	size_t found_count, found_cap;
	char **names; /* of all symbols, or functions that ran, as people write them: to offer the nearest */
	size_t name_count, name_cap;
	struct intern seen; /* names */
};

void exact_select_release(struct exact_select *s);
/* -EINVAL: an empty list; -ENOENT and the like: a file that cannot be read. */
int exact_select_add(struct exact_select *s, char list, const char *option, const char *text, struct err *e);
/* -ENOENT with a sentence where a name can be that of no function of this program. */
int exact_select_check(struct exact_select *s, const char *program, struct err *e);
/* A file without a name, at its beginning; -1 with errno. */
int exact_select_file(const struct exact_select *s);
void exact_select_met(struct exact_select *s, const char *linkage, const char *shown);
/* The first that no function that ran bears: *missing, NULL none. -ENOENT where this is an error: it is no
 * symbol either, or nothing of its list ran. */
int exact_select_verify(struct exact_select *s, const struct exact_wanted **missing, struct err *e);

#endif

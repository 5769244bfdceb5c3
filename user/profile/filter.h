/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which part of a recording is looked at: processes by number and name, code by object and function. One filter
 * serves all views: what reads rows asks filter_process(), what shows functions filter_code(). Shares stay those of
 * the whole recording. Included by all that reads profiles (flow, offload, model, advise, view, command and exact);
 * owns its patterns, until filter_release().
 */
#ifndef ACCPERF_PROFILE_FILTER_H
#define ACCPERF_PROFILE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

#define FILTER_FILE_MOST (16u << 20) /* bytes of a file of names; by hand */

struct filter_list {
	char **at; /* names, or glob patterns */
	size_t count, cap;
};

enum filter_by { FILTER_PID, FILTER_COMM, FILTER_DSO, FILTER_SYMBOL, FILTER_KINDS };

struct filter {
	struct filter_list by[FILTER_KINDS]; /* empty: everything */
};

extern const char *const filter_names[FILTER_KINDS]; /* "pid", "comm"... */

/* Adds names with commas between them; those inside (), <>, [] and {} belong to a name. Blanks end a pid, too.
 * 0, -ENOMEM, or -EINVAL where `text` names nothing, or a pid is no number. */
int filter_add(struct filter *f, enum filter_by by, const char *text);
void filter_release(struct filter *f);
/* One list by itself: the same text, or "@FILE" with a name a line; lines that begin with # are none, and one file may
 * hold functions and variables (filter_line()). 0, or -errno with a sentence about `option`. */
int filter_list_add(struct filter_list *l, const char *option, const char *text, struct err *e);
/* Of a line of such a file, what `option` ("--variable", or another, of functions) takes: after the word "function" or
 * "variable" a line is for lists of these alone. *len becomes 0 where it is for the others. */
const char *filter_line(const char *line, size_t *len, const char *option);
/* An empty list takes everything. */
bool filter_list_takes(const struct filter_list *l, const char *name);
void filter_list_release(struct filter_list *l);
/* NULL asks for nothing, and takes everything. */
bool filter_any(const struct filter *f);
bool filter_asks_process(const struct filter *f);
bool filter_asks_code(const struct filter *f);
/* Its part that asks for processes; borrows the patterns, not to be released. */
struct filter filter_of_processes(const struct filter *f);
bool filter_process(const struct filter *f, uint32_t pid, const char *comm);
bool filter_code(const struct filter *f, const char *name, const char *object);
/* Does one pattern mean this name? */
bool filter_matches(const char *pattern, const char *name);

#endif

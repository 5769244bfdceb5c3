/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One HTML file that shows a profile: what the reading commands print as JSON, and a script that draws it. The file
 * needs nothing else and reaches nothing: its policy allows its own script and style, by digest. Data stands in an
 * element that is never run (pack.h), the script makes elements and sets their text; without a script there are
 * tables and a picture that do (static.c). Computes nothing: figures are those of the commands.
 * Owned by html/parts.c, which runs the commands. Included by this room and tests.
 *
 * To add a part: a row in parts[] of html/parts.c; a module in page/ and a line in page/main.js that shows it.
 */
#ifndef ACCPERF_HTML_PAGE_H
#define ACCPERF_HTML_PAGE_H

#include <stddef.h>

#include "util/buf.h"
#include "util/err.h"

/* A part that the page itself does not hold: laid over "stacks", it becomes "stack_diff" (stack_diff.h). */
#define HTML_BASE_STACKS "base_stacks"

struct html_part {
	const char *name;
	const char *json; /* what the command printed; NULL: nothing */
	size_t len;
	int status;       /* the command's */
	const char *note; /* what it said besides: why there is nothing, or what is amiss; "": nothing */
};

struct json_t; /* jansson.h has names that util/json.h has, too: it is for this room alone */

/* -ENOSYS where the script was not bundled. */
int html_page(const char *file, const struct html_part *parts, size_t count, struct buf *out, struct err *e);

/*
 * What commands print for the page ends after HTML_ROWS_MOST rows of each list or less, the first and largest
 * (json_limit_rows()), so that the page takes memory for no more, whatever the profile holds. Where what is left is
 * yet too much for a page, html_cut_lists() halves the longest list until all of them take `most` bytes. How many rows
 * a part's lists lack stands beside them, as "left_out" of the part: LIST -> rows. -ENOMEM.
 */
#define HTML_ROWS_MOST 10000
#define HTML_LISTS_MOST 3500000
int html_cut_lists(struct json_t *parts, size_t most);

/* Part of html_page(): what stands there without a script. `parts` as in the page: name -> {"note","data"}. */
void html_static(const char *file, const struct json_t *parts, struct buf *out);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `accperf report --html`: runs the reading commands on one profile and puts what they print as JSON into one page.
 * Included by user/cli/report.c, user/cli/open.c. To add a part: a row in parts[] (user/html/page.h tells the rest).
 */
#ifndef ACCPERF_HTML_PARTS_H
#define ACCPERF_HTML_PARTS_H

#include "util/buf.h"
#include "util/err.h"

struct html_files {
	const char *input;
	const char *base; /* what it is compared with; NULL: nothing */
};

/* enum cli_exit; what is amiss has been said. output: "-" is stdout. */
int html_write(const struct html_files *files, const char *output);
/* The page alone: 0 or -errno. *status: EXIT_DEGRADED where the report itself would have warned; that has been said. */
int html_make(const struct html_files *files, struct buf *out, int *status, struct err *e);

#endif

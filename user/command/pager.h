/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a reading command's text goes: how wide the terminal is, whether it takes colours, and the
 * pager. Included by the commands of user/cli (html, top and tests).
 */
#ifndef ACCPERF_COMMAND_PAGER_H
#define ACCPERF_COMMAND_PAGER_H

#include "util/buf.h"
#include "util/err.h"
#include "util/newfile.h"
#include "view/text.h"

/* Terminal: its width, and colours unless NO_COLOR or TERM=dumb. Elsewhere: no limit, no colours. */
struct text_style pager_style(void);
/* Writes text to stdout; on a terminal that is too small for it, through ACCPERF_PAGER, PAGER or
 * less, when `pager`. Returns 0 or -errno with *e filled. The text is released, as it may be as large as
 * all that it tells of. */
int pager_write(struct buf *text, bool pager, struct err *e);
/* The next text that pager_write() is given is kept in *copy instead of being released, and a copy of what pager_save()
 * is given, where it is short enough to be kept at all; NULL: no more. */
struct pager_copy {
	struct buf text;
	char path[4096]; /* the file that it was saved to; empty: printed */
	bool pager;      /* as it was asked for */
	unsigned times;  /* that it was called */
};
void pager_copy_to(struct pager_copy *copy);
/* The same for one value that is a whole file: path NULL or "-" is stdout. As private as a profile: a new
 * file of mode 0600 in the place of an older one; a terminal, /dev/null and /dev/stdout are written to. */
int pager_save(const struct buf *data, const char *path, struct err *e);

/* To that file, or with NULL to stdout as pager_write() does. */
int pager_give(struct buf *text, const char *path, bool pager, struct err *e);

/* The same in parts: after pager_begin() any number of pager_part(), then pager_end(), whatever failed. */
struct pager_file {
	struct newfile file;
	bool to_stdout;
	size_t written;
};
int pager_begin(struct pager_file *f, const char *path, struct err *e);
int pager_part(void *pager_file, const struct buf *data, struct err *e);
/* err: what failed before, so that no file takes its name. */
int pager_end(struct pager_file *f, int err, struct err *e);

#endif

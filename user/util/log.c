// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/clean.h"

static bool progress_shown;
static struct buf *copied;

void log_copy_to(struct buf *copy)
{
	copied = copy;
}

/* One line; names in it are a target's, and what they hold must not act on the terminal. */
static void say(const char *before, const char *fmt, va_list ap, struct buf *copy)
{
	AUTO_BUF(clean);
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	clean_add(&clean, text, CLEAN_TEXT);
	free(text);
	if (buf_failed(&clean))
		return;
	fprintf(stderr, "%s%s", before, clean.len ? clean.data : "");
	if (copy)
		buf_addf(copy, "%s%s\n", before, clean.len ? clean.data : "");
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	static const char *const prefix[] = { "accperf: error: ", "accperf: warning: ", "accperf: " };
	va_list ap;

	log_progress_end();
	va_start(ap, fmt);
	say(prefix[level], fmt, ap, copied);
	va_end(ap);
	fputc('\n', stderr);
}

void log_progress(const char *fmt, ...)
{
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	say("\r\033[K", fmt, ap, NULL);
	va_end(ap);
	fflush(stderr);
	progress_shown = true;
}

void log_progress_end(void)
{
	if (!progress_shown)
		return;
	fputs("\r\033[K", stderr);
	progress_shown = false;
}

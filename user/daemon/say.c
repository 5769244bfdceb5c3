// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/clean.h"

#define LONGEST 2000

void say_line(enum say_level level, const char *event, const char *service, const char *text, struct buf *out)
{
	static const char *const names[] = {
		[SAY_ERROR] = "error", [SAY_WARN] = "warn", [SAY_NOTICE] = "notice", [SAY_INFO] = "info"
	};
	AUTO_BUF(clean);

	clean_add(&clean, text, CLEAN_TEXT);
	buf_addf(out, "level=%s event=%s", names[level], event);
	if (service)
		buf_addf(out, " service=%s", service);
	buf_addstr(out, " msg=\"");
	for (size_t i = 0; i < clean.len && i < LONGEST; i++) {
		if (clean.data[i] == '"' || clean.data[i] == '\\')
			buf_addch(out, '\\');
		buf_addch(out, clean.data[i]);
	}
	buf_addstr(out, "\"\n");
}

void say(enum say_level level, const char *event, const char *service, const char *fmt, ...)
{
	AUTO_BUF(line);
	char text[LONGEST];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!isatty(STDERR_FILENO))
		buf_addf(&line, "<%d>", level);
	say_line(level, event, service, text, &line);
	if (buf_failed(&line) || write(STDERR_FILENO, line.data, line.len) < 0)
		return; /* nobody is there to be told */
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/clean.h"
#include "util/clock.h"
#include "util/json.h"

#define LONGEST 2000 /* bytes of a sentence: journald keeps 48 KB of a line, and nobody reads a tenth of that */

/* The log is the process's, as its stderr is. */
static bool as_json;
static unsigned left_out; /* lines since the last that was taken */

static const char *const names[] = {
	[SAY_ERROR] = "error", [SAY_WARN] = "warn", [SAY_NOTICE] = "notice", [SAY_INFO] = "info"
};

void say_as_json(void)
{
	as_json = true;
}

void say_json(enum say_level level, const char *event, const char *service, const char *text, int64_t time,
	      struct buf *out)
{
	struct json j = { .out = out };
	time_t seconds = (time_t)(time / 1000000000);
	char day[32] = "", when[48];
	struct tm tm;
	AUTO_BUF(clean);

	if (gmtime_r(&seconds, &tm))
		strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(when, sizeof(when), "%s.%03dZ", day, (int)(time / 1000000 % 1000));
	clean_add(&clean, text, CLEAN_TEXT);
	if (clean.len > LONGEST)
		clean.data[LONGEST] = 0;
	json_obj(&j, NULL);
	json_str(&j, "time", when);
	json_str(&j, "level", names[level]);
	json_str(&j, "event", event);
	if (service)
		json_str(&j, "service", service);
	json_str(&j, "msg", clean.data ? clean.data : "");
	json_end(&j);
	buf_addch(out, '\n');
}

void say_line(enum say_level level, const char *event, const char *service, const char *text, struct buf *out)
{
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
	struct pollfd taken = { .fd = STDERR_FILENO, .events = POLLOUT };
	char text[LONGEST];
	size_t len;
	va_list ap;

	/* who reads the log may hang: then it is the log that lacks lines, and not services that lack profiles */
	if (poll(&taken, 1, 0) == 0) {
		left_out++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	len = strlen(text);
	if (left_out)
		snprintf(text + len, sizeof(text) - len,
			 " (%u lines before this one were not taken by who reads the log)", left_out);
	left_out = 0;
	if (!as_json && !isatty(STDERR_FILENO))
		buf_addf(&line, "<%d>", level);
	if (as_json)
		say_json(level, event, service, text, (int64_t)clock_ns(CLOCK_REALTIME), &line);
	else
		say_line(level, event, service, text, &line);
	if (buf_failed(&line) || write(STDERR_FILENO, line.data, line.len) < 0)
		return; /* nobody is there to be told */
}

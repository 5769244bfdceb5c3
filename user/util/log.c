// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/log.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/clean.h"

static bool progress_shown;
static struct buf *copied;

/* A thread that tells how long something has taken; pid 0: none. A child of fork() has none. */
static struct {
	pid_t pid;
	pthread_t thread;
	sem_t ended;
	struct buf what;
	bool shown;
} waiting;

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

/* With write() alone: what other threads do with stderr, and children of theirs, is not waited for. */
static void *tell_seconds(void *unused)
{
	struct timespec until;
	char line[256];
	int n;

	clock_gettime(CLOCK_REALTIME, &until);
	for (unsigned seconds = 1;; seconds++) {
		until.tv_sec++;
		if (!sem_clockwait(&waiting.ended, CLOCK_REALTIME, &until))
			return NULL;
		n = snprintf(line, sizeof(line), "\r\033[Kaccperf: %.200s: %u s", waiting.what.data, seconds);
		waiting.shown = write(STDERR_FILENO, line, (size_t)n) == n || waiting.shown;
	}
}

void log_progress_waiting(const char *what)
{
	log_progress_end();
	if (!isatty(STDERR_FILENO) || sem_init(&waiting.ended, 0, 0))
		return;
	buf_clear(&waiting.what);
	clean_add(&waiting.what, what, CLEAN_TEXT);
	buf_addch(&waiting.what, 0);
	if (!buf_failed(&waiting.what) && !pthread_create(&waiting.thread, NULL, tell_seconds, NULL))
		waiting.pid = getpid();
}

static void waiting_end(void)
{
	if (waiting.pid != getpid())
		return;
	sem_post(&waiting.ended);
	pthread_join(waiting.thread, NULL);
	sem_destroy(&waiting.ended);
	buf_release(&waiting.what);
	progress_shown |= waiting.shown;
	waiting.pid = 0;
	waiting.shown = false;
}

void log_progress_end(void)
{
	waiting_end();
	if (!progress_shown)
		return;
	fputs("\r\033[K", stderr);
	progress_shown = false;
}

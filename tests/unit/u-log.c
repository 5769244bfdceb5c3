// SPDX-License-Identifier: GPL-2.0-or-later
/* What is said while something takes long. */
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unit/unit.h"
#include "util/log.h"

static void wait_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* What stderr got: a terminal's, or a pipe's. */
static const char *said(int terminal, long ms, bool message)
{
	static char text[4096];
	int fd[2], kept = dup(STDERR_FILENO);
	ssize_t n;

	assert_true(terminal ? !openpty(&fd[0], &fd[1], NULL, NULL, NULL) : !pipe(fd));
	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	dup2(fd[1], STDERR_FILENO);
	log_progress_waiting("reading a\033[2Jb");
	wait_ms(ms);
	if (message)
		log_warn("odd");
	log_progress_end();
	fflush(stderr);
	wait_ms(20); /* a terminal's line discipline */
	n = read(fd[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	dup2(kept, STDERR_FILENO);
	close(fd[0]);
	close(fd[1]);
	close(kept);
	return text;
}

TEST(what_is_quick_says_nothing)
{
	assert_string_equal(said(1, 100, false), "");
}

TEST(what_takes_long_says_so_and_clears_its_line)
{
	const char *text = said(1, 1400, false), *line = strstr(text, "accperf: reading a?[2Jb: 1 s");

	assert_non_null(line);
	assert_non_null(strstr(line, "\r\033[K"));
	assert_null(strstr(text, "\033[2J"));
	assert_string_equal(said(0, 1400, false), "");
}

TEST(a_message_ends_it)
{
	const char *text = said(1, 1300, true), *line = strstr(text, ": 1 s\r\033[K");

	assert_non_null(line);
	assert_non_null(strstr(line, "accperf: warning: odd"));
}

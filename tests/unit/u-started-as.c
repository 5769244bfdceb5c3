// SPDX-License-Identifier: GPL-2.0-or-later
/* The name that a program was started by, where that is a link, and what it does with its arguments since. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/started_as.h"
#include "unit/unit.h"

static const char *program; /* this one */

/* As a service that tells what it does in its arguments: one string takes their place. */
static void titled(char **argv, const char *tail)
{
	char text[PATH_MAX];
	size_t room = (size_t)(argv[3] + strlen(argv[3]) - argv[0]);

	snprintf(text, sizeof(text), "%s%s", argv[0], tail);
	memset(argv[0], 0, room);
	memcpy(argv[0], text, strnlen(text, room - 1));
}

/* What is told of the program behind a link of this name, whose title is changed by `how`. */
static void told(const char *name, const char *how, char *out, size_t size)
{
	char dir[] = "/tmp/accperf-u-started.XXXXXX", link[64], one;
	int ready[2];
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	snprintf(link, sizeof(link), "%s/%s", dir, name);
	assert_int_equal(symlink(program, link), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		dup2(ready[1], STDOUT_FILENO);
		execl(link, link, "--title", how, "some words of arguments to write over", NULL);
		_exit(1);
	}
	assert_int_equal(read(ready[0], &one, 1), 1);
	if (!started_as_of_pid(pid, out, size))
		*out = 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	unlink(link);
	rmdir(dir);
}

TEST(by_a_link)
{
	char text[PATH_MAX * 2];

	told("srv", "-", text, sizeof(text));
	assert_string_equal(started_as_name(text, program), "srv");
}

/* redis-server is a link and writes "/usr/bin/redis-server 127.0.0.1:6379": it was told by its file's name. */
TEST(arguments_written_over)
{
	char text[PATH_MAX * 2];

	told("srv", " 127.0.0.1:6379", text, sizeof(text));
	assert_true(*text);
	assert_string_equal(started_as_name(text, program), "srv");
	told("srv", ": worker", text, sizeof(text));
	assert_string_equal(started_as_name(text, program), "srv");
	/* another name is not its own */
	told("srv", "ant of all", text, sizeof(text));
	assert_string_equal(text, "");
}

int main(int argc, char **argv)
{
	static char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (argc > 3 && !strcmp(argv[1], "--title")) {
		char tail[64];

		snprintf(tail, sizeof(tail), "%s", argv[2]);
		if (strcmp(tail, "-"))
			titled(argv, tail);
		if (write(STDOUT_FILENO, "x", 1) == 1)
			pause();
		return 0;
	}
	program = n > 0 ? self : "";
	return RUN_TESTS(NULL, NULL);
}

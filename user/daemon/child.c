// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clean.h"

#define SELF "/proc/self/exe" /* also where it was replaced by a newer one: the two are of one version */

static void become_child(const struct child_opts *o, pid_t parent)
{
	struct rlimit most = { o->memory, o->memory }, size = { o->file_size, o->file_size };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0); /* Ctrl-C is for the daemon */
	prctl(PR_SET_PDEATHSIG, o->end_by);
	if (getppid() != parent || null < 0 || (o->folder && fchdir(o->folder)))
		_exit(127);
	setrlimit(RLIMIT_DATA, &most);
	if (o->file_size)
		setrlimit(RLIMIT_FSIZE, &size);
	if (o->nice)
		setpriority(PRIO_PROCESS, 0, o->nice);
	dup2(null, STDIN_FILENO);
	dup2(o->out >= 0 ? o->out : null, STDOUT_FILENO);
	dup2(o->said >= 0 ? o->said : null, STDERR_FILENO);
	syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
	execv(SELF, (char *const *)(uintptr_t)o->argv);
	_exit(127);
}

pid_t child_start(const struct child_opts *o, struct err *e)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid)
		become_child(o, parent);
	return pid > 0 ? pid : err_set(e, -errno, "no process can be started: %s", strerror(errno));
}

void child_kill(pid_t *pid, bool wait)
{
	int status;

	if (*pid <= 0)
		return;
	kill(-*pid, SIGKILL);
	if (wait)
		waitpid(*pid, &status, 0);
	*pid = 0;
}

void child_last_line(int fd, char *out, size_t size)
{
	static const char *const before[] = { "accperf: ", "error: " };
	char text[4096], *line;
	off_t end = lseek(fd, 0, SEEK_END), from = end > (off_t)sizeof(text) - 1 ? end - ((off_t)sizeof(text) - 1) : 0;
	ssize_t n = end > 0 ? pread(fd, text, sizeof(text) - 1, from) : 0;
	AUTO_BUF(clean);

	n = n > 0 ? n : 0;
	while (n && text[n - 1] == '\n')
		n--;
	text[n] = 0;
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	for (unsigned i = 0; i < 2; i++)
		line += !strncmp(line, before[i], strlen(before[i])) ? strlen(before[i]) : 0;
	clean_add(&clean, line, CLEAN_TEXT);
	snprintf(out, size, "%s", clean.data && *clean.data ? clean.data : "its command ended without a word");
}

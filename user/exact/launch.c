// SPDX-License-Identifier: GPL-2.0-or-later
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exact/classify.h"
#include "exact/launch.h"
#include "util/rights.h"

#define TOOL "accperf-amd64-linux"
#define INSTALL_HINT "install valgrind 3.19 or later (Debian: apt install valgrind)"

static bool have(const char *dir, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) && !access(path, R_OK);
}

int exact_find_tool(char *dir, size_t size, struct err *e)
{
	static const char *const places[] = { "exact", "../exact", "../lib/accperf/exact" };
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *env = rights_getenv("ACCPERF_EXACT_DIR");
	char *slash;

	exe[n > 0 ? n : 0] = 0;
	slash = strrchr(exe, '/');
	if (slash)
		*slash = 0;
	dir[0] = 0;
	if (env) {
		snprintf(dir, size, "%s", env);
	} else {
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(dir, size, "%s/%s", exe, places[i]);
			if (have(dir, TOOL))
				break;
		}
	}
	if (!have(dir, TOOL))
		return err_set(e, -ENOENT,
			       "this accperf was built without the exact engine, because Valgrind's development "
			       "files were missing or older than 3.19: %s, then build accperf again",
			       INSTALL_HINT);
	if (!have(dir, "vgpreload_core-amd64-linux.so") || !have(dir, "default.supp"))
		return err_set(e, -ENOENT,
			       "the exact engine needs files of the valgrind package that are gone or have moved "
			       "(vgpreload_core-amd64-linux.so, default.supp, linked from %s): %s",
			       dir, INSTALL_HINT);
	return 0;
}

static int find_in_path(const char *command, char *path, size_t size)
{
	const char *p = getenv("PATH");

	if (strchr(command, '/')) {
		snprintf(path, size, "%s", command);
		return access(path, F_OK) ? -errno : 0;
	}
	for (p = p ? p : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");
		struct stat st;

		snprintf(path, size, "%.*s/%s", (int)(n ? n : 1), n ? p : ".", command);
		if (!access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
			return 0;
		p += n + (p[n] == ':');
	}
	return -ENOENT;
}

int exact_check_target(const char *command, char *path, size_t size, struct err *e)
{
	unsigned char head[64] = { 0 };
	struct stat st;
	ssize_t n;
	int fd;

	if (find_in_path(command, path, size))
		return err_set(e, -ENOENT, "no such program: %s", command);
	if (stat(path, &st) || S_ISDIR(st.st_mode))
		return err_set(e, -EISDIR, "%s is not a program", path);
	if (access(path, X_OK))
		return err_set(e, -EACCES, "%s may not be executed: check its mode (chmod +x)", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, -errno,
			       "cannot read %s: %s; the exact engine loads programs itself and needs read permission",
			       path, strerror(errno));
	n = read(fd, head, sizeof(head));
	close(fd);
	if (n >= 2 && head[0] == '#' && head[1] == '!')
		return 0;
	if (n < 20 || memcmp(head, ELFMAG, SELFMAG))
		return err_set(e, -ENOEXEC, "%s is neither an ELF program nor a script with a #! line", path);
	if (head[EI_CLASS] != ELFCLASS64)
		return err_set(e, -ENOEXEC, "%s is a 32-bit program; the exact engine runs 64-bit x86 programs only",
			       path);
	if (head[EI_DATA] != ELFDATA2LSB || (head[18] | head[19] << 8) != EM_X86_64)
		return err_set(
			e, -ENOEXEC,
			"%s is built for another machine (ELF machine %d); the exact engine runs x86-64 programs only",
			path, head[18] | head[19] << 8);
	return 0;
}

static void run_valgrind(const char *dir, char **args, pid_t parent)
{
	char tool[PATH_MAX];

	/* who runs it reads what it writes: without him it has no use, and nobody ends it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	/* The same addresses every time: results of two runs must agree to the byte. */
	personality(ADDR_NO_RANDOMIZE);
	setenv("VALGRIND_LIB", dir, 1);
	setenv("VALGRIND_LAUNCHER", "/proc/self/exe", 1);
	snprintf(tool, sizeof(tool), "%s/" TOOL, dir);
	execv(tool, args);
	_exit(127);
}

/* The tool's command line: to be freed, but not what it points to. opts: how it asks us about instructions. */
static char **command_line(const struct exact_launch *l, char *const opts[2])
{
	size_t n_args = 0, n_argv = 0, k = 0;
	char **args;

	while (l->tool_args[n_args])
		n_args++;
	while (l->argv[n_argv])
		n_argv++;
	args = calloc(n_args + n_argv + 9, sizeof(*args));
	if (!args)
		return NULL;
	args[k++] = (char *)TOOL;
	args[k++] = (char *)"--tool=accperf";
	/* neither ~/.valgrindrc, ./.valgrindrc nor $VALGRIND_OPTS: they are meant for other tools */
	args[k++] = (char *)"--command-line-only=yes";
	args[k++] = opts[0];
	args[k++] = opts[1];
	for (size_t i = 0; i < n_args; i++)
		args[k++] = l->tool_args[i];
	for (size_t i = 0; i < n_argv; i++)
		args[k++] = l->argv[i];
	return args;
}

int exact_run(const char *dir, const struct exact_launch *l, int *status, void (*tick)(void *), void *ctx,
	      struct err *e)
{
	pid_t self = getpid();
	int ask[2] = { -1, -1 }, tell[2] = { -1, -1 }, err = 0, pidfd = -1;
	struct sigaction ign = { .sa_handler = SIG_IGN }, old_int, old_quit, old_pipe;
	char opt_w[40], opt_r[40], **args = NULL;
	pid_t pid;

	if (pipe2(ask, O_CLOEXEC) || pipe2(tell, O_CLOEXEC)) {
		err = err_set(e, -errno, "cannot make a pipe: %s", strerror(errno));
		goto out;
	}
	snprintf(opt_w, sizeof(opt_w), "--class-w=%d", ask[1]);
	snprintf(opt_r, sizeof(opt_r), "--class-r=%d", tell[0]);
	args = command_line(l, (char *[]){ opt_w, opt_r });
	if (!args) {
		err = err_set(e, -ENOMEM, "out of memory");
		goto out;
	}
	pid = fork();
	if (pid < 0) {
		err = err_set(e, -errno, "cannot fork: %s", strerror(errno));
		goto out;
	}
	if (pid == 0) {
		fcntl(ask[1], F_SETFD, 0);
		fcntl(tell[0], F_SETFD, 0);
		for (size_t i = 0; l->inherited[i] >= 0; i++)
			fcntl(l->inherited[i], F_SETFD, 0);
		run_valgrind(dir, args, self);
	}
	close(ask[1]);
	close(tell[0]);
	ask[1] = tell[0] = -1;
	/* Ctrl-C is the program's business; what was measured until then is still written. */
	sigaction(SIGINT, &ign, &old_int);
	sigaction(SIGQUIT, &ign, &old_quit);
	sigaction(SIGPIPE, &ign, &old_pipe);
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	for (;;) {
		struct pollfd p[2] = { { .fd = ask[0], .events = POLLIN }, { .fd = pidfd, .events = POLLIN } };
		int r = poll(p, 2, pidfd >= 0 ? 1000 : 100);

		if (r < 0 && errno != EINTR)
			break;
		if (r > 0 && p[0].revents && (!(p[0].revents & POLLIN) || exact_answer(ask[0], tell[1]) <= 0)) {
			close(ask[0]); /* poll() passes over a negative descriptor */
			ask[0] = -1;
		}
		if ((r <= 0 || p[1].revents || ask[0] < 0) && waitpid(pid, status, WNOHANG) == pid)
			break;
		if (tick)
			tick(ctx);
	}
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGQUIT, &old_quit, NULL);
	sigaction(SIGPIPE, &old_pipe, NULL);
out:
	for (int i = 0; i < 2; i++) {
		if (ask[i] >= 0)
			close(ask[i]);
		if (tell[i] >= 0)
			close(tell[i]);
	}
	if (pidfd >= 0)
		close(pidfd);
	free(args);
	return err;
}

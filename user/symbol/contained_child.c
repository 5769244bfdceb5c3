// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/contained_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER 65536

struct contained_out {
	int fd;
	size_t len;
	uint8_t data[BUFFER];
};

static void send_all(struct contained_out *o, const uint8_t *p, size_t size)
{
	while (size) {
		ssize_t n = write(o->fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(3); /* nobody listens any more */
		p += n;
		size -= (size_t)n;
	}
}

static void out_flush(struct contained_out *o)
{
	send_all(o, o->data, o->len);
	o->len = 0;
}

static void out_add(struct contained_out *o, const void *data, size_t size)
{
	if (size > sizeof(o->data) - o->len)
		out_flush(o);
	if (size > sizeof(o->data)) {
		send_all(o, data, size);
		return;
	}
	memcpy(o->data + o->len, data, size);
	o->len += size;
}

void contained_put(struct contained_out *o, const void *record, size_t size)
{
	uint32_t len = (uint32_t)size;

	if (size > APART_MAX)
		return;
	out_add(o, &len, sizeof(len));
	out_add(o, record, size);
}

static void limit(int what, uint64_t value)
{
	struct rlimit rl;

	if (!value || getrlimit(what, &rl))
		return;
	if (rl.rlim_max != RLIM_INFINITY && rl.rlim_max < value)
		value = rl.rlim_max;
	rl.rlim_cur = rl.rlim_max = value;
	setrlimit(what, &rl);
}

static void close_others(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	if (low < 3)
		low = 2;
	if (low > 3)
		close_range(3, (unsigned)low - 1, 0);
	if (high > low + 1)
		close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	close_range((unsigned)(high > 2 ? high : 2) + 1, ~0u, 0);
}

static void child(const struct contained_job *job, int fd, pid_t parent)
{
	struct contained_out *o;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(4);
	signal(SIGINT, SIG_IGN); /* Ctrl-C is for the recording, which wants its names */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
	close_others(fd, job->keep_fd);
	limit(RLIMIT_CPU, job->cpu_seconds);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
#if !defined(__SANITIZE_ADDRESS__)
	limit(RLIMIT_AS, job->memory);
#endif
	o = malloc(sizeof(*o));
	if (!o)
		_exit(5);
	o->fd = fd;
	o->len = 0;
	if (job->produce(job->ctx, o))
		_exit(6);
	out_flush(o);
	_exit(0);
}

/* Exactly size bytes; false at the end of the pipe. */
static bool receive(int fd, uint8_t *p, size_t size)
{
	while (size) {
		ssize_t n = read(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		size -= (size_t)n;
	}
	return true;
}

/* 0: the pipe ended between two records. */
static int collect(const struct contained_job *job, int fd)
{
	uint8_t *record = malloc(APART_MAX);
	uint32_t len;
	int err = 0;

	if (!record)
		return -ENOMEM;
	while (!err && receive(fd, (uint8_t *)&len, sizeof(len))) {
		if (len > APART_MAX || !receive(fd, record, len))
			err = -EIO;
		else
			err = job->consume(job->ctx, record, len);
	}
	free(record);
	return err;
}

/* The profiler's own cost, though another process had it: it belongs into what is reported. */
static uint64_t spent_ns;

uint64_t contained_cpu_ns(void)
{
	return spent_ns;
}

int contained_run(const struct contained_job *job)
{
	struct rusage used = { 0 };
	pid_t pid, parent = getpid();
	int fds[2], status = -1, err;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (!pid)
		child(job, fds[1], parent);
	close(fds[1]);
	err = collect(job, fds[0]);
	close(fds[0]);
	if (err)
		kill(pid, SIGKILL);
	while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
		;
	spent_ns += (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
		    (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
	if (!err && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		err = -EIO;
	return err;
}

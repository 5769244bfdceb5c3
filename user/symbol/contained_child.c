// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/contained_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/confine.h"
#include "util/clock.h"

#define BUFFER 65536     /* bytes that one write() takes: a pipe's own size */
#define LOOK_MS 1000u    /* whether it is past its time */
#define WALL_SECONDS 300 /* where the job names no other; the CPU limits are below half of it */

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

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void close_others(const struct contained_job *job, int pipe_fd)
{
	int keep[CONTAINED_FDS + 1];
	unsigned next = 3;

	memcpy(keep, job->keep_fd, sizeof(job->keep_fd));
	keep[CONTAINED_FDS] = pipe_fd;
	qsort(keep, CONTAINED_FDS + 1, sizeof(keep[0]), by_number);
	for (unsigned i = 0; i <= CONTAINED_FDS; i++) {
		if (keep[i] < (int)next)
			continue;
		if ((unsigned)keep[i] > next)
			close_range(next, (unsigned)keep[i] - 1, 0);
		next = (unsigned)keep[i] + 1;
	}
	close_range(next, ~0u, 0);
}

static bool keeps_fd(const struct contained_job *job, int fd)
{
	for (unsigned i = 0; i < CONTAINED_FDS; i++)
		if (job->keep_fd[i] == fd)
			return true;
	return false;
}

/* Nothing of ours is inherited but the pipe and the files that are read. */
static void no_terminal(const struct contained_job *job, int pipe_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		if (fd != pipe_fd && fd != null && !keeps_fd(job, fd))
			dup2(null, fd);
}

/* Where memory runs out it goes first, not the recorder or its target. */
static void expendable(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1000", 4) != 4)
		errno = 0; /* only an offer */
	if (fd >= 0)
		close(fd);
}

/* What a library's crash ends with: the parent's handlers of these must not go on in the child. */
static const int faults[] = { SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE, SIGTRAP, SIGSYS };

static void run_job(const struct contained_job *job, int fd, pid_t parent)
{
	struct contained_out *o;

	signal(SIGINT, SIG_IGN); /* Ctrl-C is for the recording, which wants its names */
	signal(SIGPIPE, SIG_IGN);
	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		signal(faults[i], SIG_DFL);
	expendable();
#if !defined(CONFINE_SANITIZED)
	no_terminal(job, fd);
#else
	(void)no_terminal;
#endif
	close_others(job, fd);
	limit(RLIMIT_CPU, job->cpu_seconds);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
#if !defined(CONFINE_SANITIZED)
	limit(RLIMIT_AS, job->memory);
#endif
	o = malloc(sizeof(*o));
	if (!o)
		_exit(5);
	o->fd = fd;
	o->len = 0;
	/* another user's process forgets whose end ends it: asked for before the filter, after the change */
	if (confine_rights())
		_exit(7);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(4);
	if (confine_calls())
		_exit(7);
	if (job->produce(job->ctx, o))
		_exit(6);
	out_flush(o);
	_exit(0);
}

/* ---- here ---- */

static struct {
	int fd;
	bool (*asked)(int fd);
	bool stopped;
} stop = { .fd = -1 };

void contained_stop_when(int fd, bool (*asked)(int fd))
{
	stop.fd = fd;
	stop.asked = asked;
	stop.stopped = false;
}

bool contained_stopped(void)
{
	if (!stop.stopped && stop.fd >= 0)
		stop.stopped = stop.asked(stop.fd);
	return stop.stopped;
}

/* What must not stand still while a child works. */
static struct {
	unsigned (*round)(void *ctx);
	void *ctx;
	bool inside; /* a child that it starts itself is waited for as usual */
} meanwhile;

void contained_meanwhile(unsigned (*round)(void *ctx), void *ctx)
{
	meanwhile.round = round;
	meanwhile.ctx = ctx;
}

/* Milliseconds until the next round is due. */
static unsigned go_round(void)
{
	unsigned ms = LOOK_MS;

	if (!meanwhile.round || meanwhile.inside)
		return ms;
	meanwhile.inside = true;
	ms = meanwhile.round(meanwhile.ctx);
	meanwhile.inside = false;
	return ms < LOOK_MS ? ms : LOOK_MS;
}

static uint64_t now_ms(void)
{
	return clock_now() / 1000000;
}

/* Waits until the pipe has something: a child that sleeps in the kernel uses no CPU time of its limit. */
static int wait_for_child(int fd, uint64_t deadline)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = stop.fd, .events = POLLIN } };

	for (;;) {
		unsigned most = go_round();
		uint64_t now = now_ms();
		int n;

		if (now >= deadline)
			return -ETIMEDOUT;
		n = poll(p, 2, deadline - now > most ? (int)most : (int)(deadline - now));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && p[1].revents && contained_stopped())
			return -ECANCELED;
		if (n > 0 && p[0].revents)
			return 0;
	}
}

/* What came of the pipe and is not taken yet: records are short, and there are thousands. */
struct incoming {
	int fd;
	uint64_t deadline; /* ms */
	size_t at, len;
	uint8_t bytes[1 << 14]; /* a quarter of a pipe */
};

/* Exactly size bytes; 1 at the end of the pipe. */
static int receive(struct incoming *in, uint8_t *p, size_t size)
{
	while (size) {
		size_t n = in->len - in->at < size ? in->len - in->at : size;
		ssize_t got;
		int err;

		memcpy(p, in->bytes + in->at, n);
		in->at += n;
		p += n;
		size -= n;
		if (!size)
			break;
		err = wait_for_child(in->fd, in->deadline);
		if (err)
			return err;
		got = read(in->fd, in->bytes, sizeof(in->bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 1;
		in->at = 0;
		in->len = (size_t)got;
	}
	return 0;
}

/* 0: the pipe ended between two records. */
static int collect_records(const struct contained_job *job, int fd)
{
	struct incoming in = { .fd = fd,
			       .deadline =
				       now_ms() + 1000ull * (job->wall_seconds ? job->wall_seconds : WALL_SECONDS) };
	uint8_t *record = malloc(APART_MAX);
	uint32_t len;
	int err = 0;

	if (!record)
		return -ENOMEM;
	while (!err && !(err = receive(&in, (uint8_t *)&len, sizeof(len)))) {
		if (len > APART_MAX)
			err = -EIO;
		else
			err = receive(&in, record, len);
		if (err == 1)
			err = -EIO; /* in the middle of a record */
		else if (!err)
			err = job->consume(job->ctx, record, len);
	}
	free(record);
	return err == 1 ? 0 : err;
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

	if (contained_stopped())
		return -ECANCELED;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (!pid) {
		/* who asked for CPUs before others did so to be in time, which this one need not be */
		if (getpriority(PRIO_PROCESS, 0) < 0)
			setpriority(PRIO_PROCESS, 0, 0);
		run_job(job, fds[1], parent);
	}
	close(fds[1]);
	err = collect_records(job, fds[0]);
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

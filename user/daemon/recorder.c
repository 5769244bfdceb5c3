// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/child.h"
#include "daemon/memory.h"
#include "daemon/say.h"
#include "util/clock.h"

#define RING "4M"
#define MOST_ARGUMENTS (32 + 2 * RECORDER_LABELS) /* what is always said, and two words a label */
#define NAMES_NS 60000000000ull                   /* that the last names may take */
#define HURRY_NS 900000000ull                     /* .9 s: where the daemon ends; then without names */
#define KILL_NS 1500000000ull /* 1.5 s: .3 s before the daemon is gone; what it wrote four times a second is there */
#define KERNEL_FIRST 3u       /* looks at its memory in the kernel: until all maps are there */
#define KERNEL_EVERY 16u      /* and one of so many: it takes 2 ms, and changes little */

static unsigned arguments(const struct recorder_opts *o, const char *output, const char *rotate, const char **argv)
{
	unsigned n = 0;

	argv[n++] = "accperf";
	argv[n++] = "record";
	argv[n++] = "-q";
	argv[n++] = "-p";
	argv[n++] = o->pids;
	argv[n++] = "--effort";
	argv[n++] = o->effort;
	if (strcmp(o->offload,
		   "auto")) { /* which it does unasked, and for less: nothing is loaded before it is needed */
		argv[n++] = "--offload";
		argv[n++] = o->offload;
	}
	argv[n++] = "--ring-size";
	argv[n++] = RING;
	argv[n++] = "--rotate";
	argv[n++] = rotate;
	argv[n++] = "-o";
	argv[n++] = output;
	if (!strcmp(o->what, "time")) {
		argv[n++] = "--no-accesses";
		argv[n++] = "--no-windows";
		argv[n++] = "--no-syscalls";
		argv[n++] = "--no-waits";
		argv[n++] = "--counts";
		argv[n++] = "off";
	}
	for (unsigned i = 0; i < o->label_count; i++) {
		argv[n++] = "--label";
		argv[n++] = o->labels[i];
	}
	argv[n] = NULL;
	return n;
}

int recorder_start(struct recorder *r, const struct recorder_opts *o, struct err *e)
{
	const char *argv[MOST_ARGUMENTS];
	char output[PATH_MAX + NAME_MAX + KEEPER_NAME], rotate[40];
	int fd[2];

	r->said = -1;
	snprintf(output, sizeof(output), "%s/%s/%s", o->folder, r->folder, r->name);
	snprintf(rotate, sizeof(rotate), "%.0fs", o->segment_time);
	arguments(o, output, rotate, argv);
	if (pipe2(fd, O_CLOEXEC))
		return err_set(e, -errno, "no pipe for a recorder: %s", strerror(errno));
	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	r->pid = child_start(&(struct child_opts){ .argv = argv,
						   .out = fd[1],
						   .said = fd[1],
						   .end_by = SIGTERM, /* it ends in order */
						   .memory = o->memory },
			     e);
	close(fd[1]);
	if (r->pid < 0) {
		close(fd[0]);
		return e->code;
	}
	r->said = fd[0];
	r->began = clock_now();
	return 0;
}

void recorder_end(struct recorder *r, enum recorder_end why)
{
	if (r->pid <= 0)
		return;
	if (!r->ending) {
		r->ending = clock_now();
		r->why = why;
	}
	r->asked++;
	kill(r->pid, SIGTERM);
}

void recorder_next(struct recorder *r)
{
	if (r->pid <= 0 || r->ending)
		return;
	r->next = !r->segment; /* before, it may not listen yet, and the signal would end it */
	if (r->segment)
		kill(r->pid, SIGUSR1);
}

void recorder_has_file(struct recorder *r)
{
	if (r->next)
		recorder_next(r);
}

void recorder_press(struct recorder *r, bool hurry)
{
	uint64_t since = r->ending ? clock_now() - r->ending : 0;

	if (r->pid <= 0 || !r->ending)
		return;
	if (since > (hurry ? KILL_NS : 2 * NAMES_NS))
		kill(r->pid, SIGKILL);
	else if (since > (hurry ? HURRY_NS : NAMES_NS) && r->asked < 2)
		recorder_end(r, r->why);
}

/* ---- what it says */

static const char *told(char *line, int *level)
{
	static const struct {
		const char *before;
		int level;
	} kinds[] = { { "accperf: error: ", SAY_ERROR },
		      { "accperf: warning: ", SAY_WARN },
		      { "accperf: ", SAY_INFO } };

	*level = SAY_INFO;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].before);

		if (strncmp(line, kinds[i].before, n))
			continue;
		*level = kinds[i].level;
		return line + n;
	}
	return line;
}

const char *recorder_line(struct recorder *r, int *level)
{
	static char whole[sizeof(r->line) + 1];
	char *end;
	ssize_t n;

	for (;;) {
		end = memchr(r->line, '\n', r->line_len);
		if (end || r->line_len == sizeof(r->line)) {
			size_t len = end ? (size_t)(end - r->line) : r->line_len, all = end ? len + 1 : len;

			memcpy(whole, r->line, len);
			whole[len] = 0;
			memmove(r->line, r->line + all, r->line_len -= all);
			if (len)
				return told(whole, level);
			continue;
		}
		n = r->said >= 0 ? read(r->said, r->line + r->line_len, sizeof(r->line) - r->line_len) : 0;
		if (n <= 0)
			break;
		r->line_len += (size_t)n;
	}
	if (r->said >= 0 && !n) {
		close(r->said);
		r->said = -1;
	}
	return NULL;
}

/* ---- what it takes */

static double cpu_of(pid_t pid)
{
	unsigned long v[4];
	char path[64], text[1024], *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &v[0], &v[1], &v[2],
			   &v[3]) != 4)
		return 0;
	return (double)(v[0] + v[1] + v[2] + v[3]) / (double)sysconf(_SC_CLK_TCK);
}

double recorder_measure(struct recorder *r)
{
	double now = cpu_of(r->pid), before = r->cpu;

	if (r->looks < KERNEL_FIRST || r->looks % KERNEL_EVERY == 0)
		r->kernel = memory_in_kernel(r->pid);
	r->looks++;
	r->memory = memory_of(r->pid) + r->kernel;
	if (!(now > before))
		return 0;
	r->cpu = now;
	return now - before;
}

void recorder_limit(const struct recorder *r, double seconds)
{
	struct rlimit l;

	if (r->pid <= 0 || prlimit(r->pid, RLIMIT_CPU, NULL, &l))
		return;
	l.rlim_cur = (rlim_t)(r->cpu + seconds) + 1;
	prlimit(r->pid, RLIMIT_CPU, &l, NULL);
}

bool recorder_ended(struct recorder *r, int *status, double *cpu)
{
	struct rusage use;
	double now;

	*cpu = 0;
	if (r->pid <= 0 || wait4(r->pid, status, WNOHANG, &use) != r->pid)
		return false;
	r->pid = 0;
	now = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	      (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
	if (now > r->cpu)
		*cpu = now - r->cpu;
	return true;
}

void recorder_release(struct recorder *r)
{
	if (r->said >= 0)
		close(r->said);
	r->said = -1;
}

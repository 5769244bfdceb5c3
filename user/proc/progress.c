// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"

#define TEXT_MOST 65536 /* of /proc/PID/net/dev: some 120 bytes an interface */

static int value_of(const char *text, const char *name, double *v)
{
	const char *at = strstr(text, name);

	if (!at)
		return -ENOENT;
	*v = (double)strtoull(at + strlen(name), NULL, 10);
	return 0;
}

int progress_io(const char *text, double *calls)
{
	double reads, writes;

	if (value_of(text, "syscr:", &reads) || value_of(text, "syscw:", &writes))
		return -ENOENT;
	*calls = reads + writes;
	return 0;
}

/* Two lines of headings, then a line an interface: "name: bytes packets...", received first. */
int progress_net(const char *text, double *bytes)
{
	double sum = 0;
	int interfaces = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		size_t length = strcspn(line, "\n");
		const char *colon = memchr(line, ':', length);
		char *end;
		double v;

		if (!colon)
			continue;
		v = (double)strtoull(colon + 1, &end, 10);
		if (end == colon + 1)
			continue;
		sum += v;
		interfaces++;
	}
	if (!interfaces)
		return -ENOENT;
	*bytes = sum;
	return 0;
}

/* 0 or -errno. */
static int read_proc(int pid, const char *file, char *text, size_t size)
{
	char path[64];
	size_t len = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (len + 1 < size && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = 0;
	close(fd);
	return len ? 0 : -ENOENT;
}

/* What a process is that cannot be read adds nothing: it has ended, and its parent's counters have what it did. */
static void add_known(double *sum, double v)
{
	*sum = isnan(*sum) ? v : *sum + v;
}

void progress_read(const int *pids, size_t count, struct progress *out)
{
	static char text[TEXT_MOST];
	double v;

	*out = (struct progress){ .calls = NAN, .net = NAN, .cpu_s = NAN };
	if (count && !read_proc(pids[0], "net/dev", text, sizeof(text)) && !progress_net(text, &v))
		out->net = v;
	for (size_t i = 0; i < count; i++) {
		clockid_t clock;
		struct timespec ts;

		if (!read_proc(pids[i], "io", text, sizeof(text)) && !progress_io(text, &v))
			add_known(&out->calls, v);
		if (!clock_getcpuclockid(pids[i], &clock) && !clock_gettime(clock, &ts))
			add_known(&out->cpu_s, (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec);
	}
	out->at_ns = clock_now();
}

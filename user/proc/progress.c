// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/progress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/clock.h"
#include "util/process_file.h"

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
	if (count && process_file(pids[0], "net/dev", text, sizeof(text)) > 0 && !progress_net(text, &v))
		out->net = v;
	for (size_t i = 0; i < count; i++) {
		clockid_t clock;
		struct timespec ts;

		if (process_file(pids[i], "io", text, sizeof(text)) > 0 && !progress_io(text, &v))
			add_known(&out->calls, v);
		if (!clock_getcpuclockid(pids[i], &clock) && !clock_gettime(clock, &ts))
			add_known(&out->cpu_s, (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec);
	}
	out->at_ns = clock_now();
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/idle_cpu.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 100  /* of a look: ten of the 10 ms in which idle time is told */
#define MOST_MS 1600  /* four doublings, so that a machine that is full for hours is asked twice in three seconds */
#define STEP_MS 20    /* of its sleep: the end of a recording waits that long; by hand */
#define IDLE_PART 0.5 /* of one CPU, in the time of a look: two at three quarters are the fullest; by hand */
#define LINE 512      /* bytes; the first line of either file has some 100 */

void idle_cpu_init(struct idle_cpu *i)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*i = (struct idle_cpu){ .loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC),
				.stat = open("/proc/stat", O_RDONLY | O_CLOEXEC),
				.cpus = cpus < 1 ? 1 : (unsigned)cpus,
				.wait_ms = FIRST_MS };
}

void idle_cpu_release(struct idle_cpu *i)
{
	if (i->loadavg >= 0)
		close(i->loadavg);
	if (i->stat >= 0)
		close(i->stat);
}

static bool first_line(int fd, char *line)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, line, LINE - 1, 0);

	if (n <= 0)
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* ns of all CPUs since the machine started; waiting for a disk is idle, too */
static bool idle_time(const struct idle_cpu *i, double *ns)
{
	double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
	uint64_t idle, disk;
	char line[LINE];

	if (!first_line(i->stat, line) || sscanf(line, "cpu %*u %*u %*u %" SCNu64 " %" SCNu64, &idle, &disk) != 2)
		return false;
	*ns = (double)(idle + disk) * tick_ns;
	return true;
}

bool idle_cpu_wait(struct idle_cpu *i, const bool *stop)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	double before = 0, after = 0;
	bool known = idle_time(i, &before);

	for (unsigned ms = 0; ms < i->wait_ms && !__atomic_load_n(stop, __ATOMIC_RELAXED); ms += STEP_MS)
		nanosleep(&step, NULL);
	/* a sleep that took longer only asks for less than this part */
	if (known && idle_time(i, &after) && after - before >= IDLE_PART * i->wait_ms * 1e6) {
		i->wait_ms = FIRST_MS;
		return true;
	}
	if (i->wait_ms < MOST_MS)
		i->wait_ms *= 2;
	return false;
}

bool idle_cpu_still(const struct idle_cpu *i)
{
	char line[LINE];
	unsigned runnable;

	return first_line(i->loadavg, line) && sscanf(line, "%*f %*f %*f %u/", &runnable) == 1 && runnable <= i->cpus;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/sideband.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "kmod-free/perfev.h"
#include "kmod-free/ring.h"
#include "kmod-free/sideband_kept.h"
#include "util/grow.h"

#define RING_PAGES 64 /* 256 KiB; by hand */

struct sideband {
	struct perf_event_attr attr;
	struct heard {
		int fd, cpu;
		uint64_t enabled; /* ns, when last looked at */
		struct ring ring;
	} * cpu;
	size_t count, cap;
	uint64_t lost, returned; /* by rings that are closed; CPUs that came on */
	struct kept *kept;       /* NULL: nothing is kept */
};

static int sideband_hear(struct sideband *s, int cpu, struct err *e)
{
	int fd = perfev_open(&s->attr, -1, cpu, -1, 0, "the process-life event", NULL);
	int err;

	if (fd == -EINVAL && s->attr.build_id) {
		/* kernels before 5.12 */
		s->attr.build_id = 0;
		fd = perfev_open(&s->attr, -1, cpu, -1, 0, "the process-life event", NULL);
	}
	if (fd < 0)
		fd = perfev_open(&s->attr, -1, cpu, -1, 0, "the process-life event", e);
	if (fd < 0)
		return fd;
	if (!GROW(s->cpu, s->count, s->cap, 16)) {
		close(fd);
		return err_set(e, -ENOMEM, "out of memory");
	}
	s->cpu[s->count] = (struct heard){ .fd = fd, .cpu = cpu };
	err = ring_open(&s->cpu[s->count].ring, fd, RING_PAGES, &s->attr, e);
	if (err < 0)
		close(fd);
	else
		s->count++;
	return err < 0 ? err : 0;
}

static void hear_no_more(struct sideband *s, size_t i)
{
	struct heard *h = &s->cpu[i];

	s->lost += h->ring.lost + h->ring.malformed;
	ring_close(&h->ring);
	close(h->fd);
	*h = s->cpu[--s->count];
}

static int empty_rings(void *rings, sample_fn fn, void *ctx)
{
	struct sideband *s = rings;

	for (size_t i = 0; i < s->count; i++) {
		int err = ring_read(&s->cpu[i].ring, fn, ctx);

		if (err < 0)
			return err;
	}
	return 0;
}

/* Of all there is, where targets are not processes. */
int sideband_follow(struct sideband *s, const struct targets *t)
{
	int err = 0;

	for (size_t i = 0; i < t->count && !err && s->kept && !t->all && t->cgroup_fd < 0; i++)
		err = kept_follow(s->kept, (uint32_t)t->procs[i].pid);
	return err;
}

struct sideband *sideband_new(const struct targets *t, struct err *e)
{
	int cpus[CPUS_MOST], n = online_cpus(cpus, CPUS_MOST), err = 0;
	struct sideband *s;

	if (n <= 0) {
		err_set(e, -EIO, "cannot tell which CPUs are online");
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	s->attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.build_id = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 32768,
		.exclude_kernel = 1,
	};
	for (int i = 0; i < n && !err; i++)
		err = sideband_hear(s, cpus[i], e);
	/* without a thread what rings do not hold is lost, and told */
	if (!err)
		s->kept = kept_begin(empty_rings, s);
	if (!err && sideband_follow(s, t))
		err = err_set(e, -ENOMEM, "out of memory");
	if (err) {
		sideband_free(s);
		return NULL;
	}
	return s;
}

/* An event does not come back with its CPU, which may be off and on again between two looks: then its time stands
 * still. */
static bool dead(struct heard *h)
{
	uint64_t value[2], last = h->enabled; /* count, time enabled */

	if (read(h->fd, value, sizeof(value)) != sizeof(value))
		return true;
	h->enabled = value[1];
	return last && value[1] == last;
}

void sideband_second(struct sideband *s)
{
	int cpus[CPUS_MOST], n = online_cpus(cpus, CPUS_MOST);

	for (size_t i = 0; i < s->count && n > 0; i++) {
		int k = 0;

		while (k < n && cpus[k] != s->cpu[i].cpu)
			k++;
		if (k < n && !dead(&s->cpu[i]))
			cpus[k] = -1;
		else
			hear_no_more(s, i--);
	}
	for (int k = 0; k < n; k++)
		s->returned += cpus[k] >= 0 && !sideband_hear(s, cpus[k], NULL);
}

uint64_t sideband_returned(const struct sideband *s)
{
	return s->returned;
}

int sideband_read(struct sideband *s, sample_fn fn, void *ctx)
{
	int err = s->kept ? kept_end(s->kept, fn, ctx) : 0;

	s->kept = NULL;
	return err < 0 ? err : empty_rings(s, fn, ctx);
}

void sideband_stop(struct sideband *s)
{
	for (size_t i = 0; s && i < s->count; i++)
		ioctl(s->cpu[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t sideband_lost(const struct sideband *s)
{
	uint64_t lost = s->lost;

	for (size_t i = 0; i < s->count; i++)
		lost += s->cpu[i].ring.lost + s->cpu[i].ring.malformed;
	return lost;
}

void sideband_free(struct sideband *s)
{
	if (!s)
		return;
	if (s->kept)
		kept_end(s->kept, NULL, NULL);
	while (s->count)
		hear_no_more(s, 0);
	free(s->cpu);
	free(s);
}

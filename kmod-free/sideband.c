// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/sideband.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kmod-free/perfev.h"
#include "kmod-free/ring.h"

#define MAX_CPUS 1024
#define RING_PAGES 64

struct sideband {
	int count;
	struct {
		int fd;
		struct ring ring;
	} cpu[];
};

struct sideband *sideband_new(struct err *e)
{
	int cpus[MAX_CPUS], n = online_cpus(cpus, MAX_CPUS);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
		.sample_id_all = 1, .mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1, .task = 1, .build_id = 1,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC, .watermark = 1, .wakeup_watermark = 32768,
		.exclude_kernel = 1,
	};
	struct sideband *s;

	if (n <= 0) {
		err_set(e, -EIO, "cannot tell which CPUs are online");
		return NULL;
	}
	s = calloc(1, sizeof(*s) + (size_t)n * sizeof(s->cpu[0]));
	if (!s) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	for (int i = 0; i < n; i++) {
		int fd = perfev_open(&attr, -1, cpus[i], -1, 0, "the process-life event", NULL);

		if (fd == -EINVAL && attr.build_id) {
			/* kernels before 5.12 */
			attr.build_id = 0;
			fd = perfev_open(&attr, -1, cpus[i], -1, 0, "the process-life event", NULL);
		}
		if (fd < 0)
			fd = perfev_open(&attr, -1, cpus[i], -1, 0, "the process-life event", e);
		if (fd < 0 || ring_open(&s->cpu[i].ring, fd, RING_PAGES, &attr, e) < 0) {
			if (fd >= 0)
				close(fd);
			sideband_free(s);
			return NULL;
		}
		s->cpu[i].fd = fd;
		s->count = i + 1;
	}
	return s;
}

int sideband_read(struct sideband *s, sample_fn fn, void *ctx)
{
	for (int i = 0; i < s->count; i++) {
		int err = ring_read(&s->cpu[i].ring, fn, ctx);

		if (err < 0)
			return err;
	}
	return 0;
}

uint64_t sideband_lost(const struct sideband *s)
{
	uint64_t lost = 0;

	for (int i = 0; i < s->count; i++)
		lost += s->cpu[i].ring.lost + s->cpu[i].ring.malformed;
	return lost;
}

void sideband_free(struct sideband *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->count; i++) {
		ring_close(&s->cpu[i].ring);
		close(s->cpu[i].fd);
	}
	free(s);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ARM SPE: the processor writes records into an AUX buffer of its own. Never run on the hardware; the
 * decoder is tested on buffers made by hand.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kmod-free/hw.h"
#include "source.h"
#include "kmod-free/ring.h"
#include "kmod-free/spe_decode.h"
#include "util/grow.h"

#define RING_PAGES 8           /* 32 KiB: nothing but notes of where the data lie; by hand */
#define AUX_BYTES (256u << 10) /* 256 KiB of records; by hand */

struct traced {
	int fd;
	pid_t tid;
	struct ring ring;
	uint8_t *aux;
};

struct sampling {
	struct pmu_event event[HW_MAX_EVENTS];
	int event_cnt;
	struct source_config cfg;
	struct traced *t;
	unsigned cnt;
	uint8_t *copy; /* of AUX data that wraps */
	struct spe_stats spe;
	struct source_stats stats;
	struct traced *current;
	sample_fn fn;
	void *ctx;
};

static int spe_encode_one(const struct source_config *cfg, struct pmu_event *ev, int max, struct err *e)
{
	struct pmu_opts o = { .period = cfg->period, .ldlat = cfg->ldlat, .kernel = cfg->kernel, .phys = cfg->phys };
	struct pmu_cpu cpu;

	if (pmu_cpu_read(&cpu) || cpu.arch != PMU_ARM64)
		return err_set(e, -ENODEV, "SPE is ARM's; this is another processor");
	return pmu_encode(&cpu, HW_SYSFS, PMU_MEMORY, &o, ev, max, e);
}

static void spe_close(struct sampling *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->cnt; i++) {
		if (s->t[i].aux)
			munmap(s->t[i].aux, AUX_BYTES);
		ring_close(&s->t[i].ring);
		close(s->t[i].fd);
	}
	free(s->t);
	free(s->copy);
	free(s);
}

static int spe_open(struct sampling **out, const struct source_config *cfg, struct err *e)
{
	struct sampling *s = calloc(1, sizeof(*s));
	int n;

	if (!s || !(s->copy = malloc(AUX_BYTES))) {
		free(s);
		return err_set(e, -ENOMEM, "out of memory");
	}
	s->cfg = *cfg;
	s->stats.per_second = NAN;
	s->stats.counted_loads = s->stats.counted_stores = ~0ull;
	n = s->event_cnt = spe_encode_one(cfg, s->event, HW_MAX_EVENTS, e);
	if (n < 0) {
		spe_close(s);
		return n;
	}
	*out = s;
	return 0;
}

/* The thread's event on every SPE unit (big and little cores have their own). */
static int spe_add_task(struct sampling *s, pid_t tid, struct err *e)
{
	for (int i = 0; i < s->event_cnt; i++) {
		struct traced t = { .tid = tid };

		t.fd = (int)syscall(SYS_perf_event_open, &s->event[i].attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (t.fd < 0)
			return errno == ESRCH ? -ESRCH : hw_explain(errno, s->event[i].pmu, e);
		if (ring_open(&t.ring, t.fd, RING_PAGES, &s->event[i].attr, e) < 0) {
			close(t.fd);
			return e ? e->code : -EIO;
		}
		t.ring.page->aux_offset = t.ring.map_bytes;
		t.ring.page->aux_size = AUX_BYTES;
		t.aux = mmap(NULL, AUX_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, t.fd, (off_t)t.ring.map_bytes);
		if (t.aux == MAP_FAILED || !GROW_ONE(s->t, s->cnt)) {
			int err = t.aux == MAP_FAILED ? -errno : -ENOMEM;

			if (t.aux != MAP_FAILED)
				munmap(t.aux, AUX_BYTES);
			ring_close(&t.ring);
			close(t.fd);
			return err_set(e, err, "the SPE buffer cannot be mapped: %s", strerror(-err));
		}
		s->t[s->cnt++] = t;
	}
	return 0;
}

static int spe_start(struct sampling *s, struct err *e)
{
	for (unsigned i = 0; i < s->cnt; i++)
		if (ioctl(s->t[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return err_set(e, -errno, "SPE cannot be enabled: %s", strerror(errno));
	return 0;
}

static int spe_fds(const struct sampling *s, int *fds, int max)
{
	int n = 0;

	for (unsigned i = 0; i < s->cnt && n < max; i++)
		fds[n++] = s->t[i].fd;
	return n;
}

static int on_access(void *ctx, const struct sample *m)
{
	struct sampling *s = ctx;

	if (!s->cfg.kernel && ((m->flags & SF_KERNEL) || m->addr >> 63)) {
		s->stats.filtered++;
		return 0;
	}
	s->stats.samples++;
	return s->fn(s->ctx, m);
}

static int spe_on_record(void *ctx, const struct sample *m)
{
	struct sampling *s = ctx;
	struct traced *t = s->current;
	struct sample base = { .pid = m->pid,
			       .tid = m->tid ? m->tid : (uint32_t)t->tid,
			       .cpu = m->cpu,
			       .period = s->event[0].attr.sample_period,
			       .syscall = -1 };
	uint64_t off, n = m->size, first;
	int64_t used;

	if (m->kind != SAMPLE_AUX)
		return m->kind == SAMPLE_LOST ? s->fn(s->ctx, m) : 0;
	if (m->period & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_COLLISION | PERF_AUX_FLAG_PARTIAL))
		s->stats.lost++; /* at least one: the kernel does not say how many */
	if (n > AUX_BYTES) {
		s->stats.lost++;
		return 0;
	}
	off = m->addr & (AUX_BYTES - 1);
	first = n < AUX_BYTES - off ? n : AUX_BYTES - off;
	memcpy(s->copy, t->aux + off, first);
	memcpy(s->copy + first, t->aux, n - first);
	used = spe_decode(s->copy, n, &base, &s->spe, on_access, s);
	__atomic_store_n(&t->ring.page->aux_tail, m->addr + n, __ATOMIC_RELEASE);
	return used < 0 ? (int)used : 0;
}

static int spe_read(struct sampling *s, sample_fn fn, void *ctx)
{
	uint64_t before = s->stats.samples;

	s->fn = fn;
	s->ctx = ctx;
	for (unsigned i = 0; i < s->cnt; i++) {
		int rc;

		s->current = &s->t[i];
		rc = ring_read(&s->t[i].ring, spe_on_record, s);
		if (rc < 0)
			return rc;
	}
	return (int)(s->stats.samples - before);
}

static void spe_stats(const struct sampling *s, struct source_stats *out)
{
	*out = s->stats;
	out->malformed = s->spe.skipped_bytes;
}

static int spe_set_rate(struct sampling *s, double factor)
{
	return -EOPNOTSUPP; /* the period is fixed when the event is opened */
}

static int spe_probe(char *text, size_t size, struct err *e)
{
	struct source_config cfg = { .period = 4096 };
	struct pmu_event ev[HW_MAX_EVENTS];
	struct sampling *s;
	int n = spe_encode_one(&cfg, ev, HW_MAX_EVENTS, e), err;

	if (n < 0)
		return n;
	err = spe_open(&s, &cfg, e);
	if (err)
		return err;
	err = spe_add_task(s, 0, e);
	spe_close(s);
	if (!err && text)
		pmu_event_text(&ev[0], text, size);
	return err;
}

static const struct source_driver driver = {
	.bias = SOURCE_BY_COUNT,
	.gives = SOURCE_LOADS | SOURCE_STORES | SOURCE_LATENCY,
	.probe = spe_probe,
	.open = spe_open,
	.add_task = spe_add_task,
	.start = spe_start,
	.fds = spe_fds,
	.read = spe_read,
	.set_rate = spe_set_rate,
	.stats = spe_stats,
	.close = spe_close,
};

const struct source source_spe = {
	.name = "spe",
	.summary = "loads and stores with addresses, ARM SPE",
	.needs = "spe",
	.driver = &driver,
};

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kmod-free/hw.h"
#include "kmod-free/ring.h"

#define DEFAULT_PAGES 16
#define TRY_NS 30000000

struct opened {
	int leader, fd; /* leader -1: none */
	unsigned event;
	bool counting;
	struct ring ring;
};

struct source {
	struct pmu_event event[HW_MAX_EVENTS];
	int event_cnt;
	struct hw_filter filter;
	struct source_config cfg;
	struct opened *open;
	unsigned open_cnt, open_cap;
	bool started;
	struct source_stats stats;
	/* of hw_read() */
	sample_fn fn;
	void *ctx;
};

int hw_explain(int error, const char *what, struct err *e)
{
	int paranoid = -1;
	FILE *f;

	switch (error) {
	case ENOENT:
	case ENODEV:
		return err_set(e, -error, "no hardware counters here (a virtual machine without a virtual PMU?)");
	case EOPNOTSUPP:
		return err_set(e, -error, "the processor or the hypervisor does not pass memory sampling (%s)", what);
	case ENODATA:
		return err_set(e, -error, "this CPU needs mem-loads-aux as group leader for %s: please report this", what);
	case EACCES:
	case EPERM:
		f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
		if (f && fscanf(f, "%d", &paranoid) != 1)
			paranoid = -1;
		if (f)
			fclose(f);
		return err_set(e, -error, "may not observe this thread: perf_event_paranoid is %d; run as root or grant "
			       "CAP_PERFMON (above 2: CAP_SYS_ADMIN)", paranoid);
	default:
		return err_set(e, -error, "opening %s failed: %s", what, strerror(error));
	}
}

static bool is_counting(const struct pmu_event *ev)
{
	return ev->what == PMU_COUNT_LOADS || ev->what == PMU_COUNT_STORES;
}

static int open_event(struct perf_event_attr *attr, pid_t tid, int group)
{
	return (int)syscall(SYS_perf_event_open, attr, tid, -1, group, PERF_FLAG_FD_CLOEXEC);
}

/* Precision steps down where the PMU has less. */
static int open_precise(struct perf_event_attr attr, pid_t tid, int group, struct perf_event_attr *used)
{
	for (;;) {
		int fd = open_event(&attr, tid, group);

		*used = attr;
		if (fd >= 0 || (errno != EOPNOTSUPP && errno != EINVAL) || !attr.precise_ip)
			return fd < 0 ? -errno : fd;
		/* without it an address is not the access's own: only computation samples may do without */
		if (attr.sample_type & PERF_SAMPLE_ADDR)
			return -errno;
		attr.precise_ip--;
	}
}

int hw_new(struct source **out, const struct pmu_event *events, int n, const struct hw_filter *f,
	   const struct source_config *cfg, struct err *e)
{
	struct source *s;

	if (n < 1 || n > HW_MAX_EVENTS)
		return err_set(e, -EINVAL, "no event to open");
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	memcpy(s->event, events, (size_t)n * sizeof(*events));
	s->event_cnt = n;
	s->filter = *f;
	s->cfg = *cfg;
	s->stats.per_second = NAN;
	s->stats.counted_loads = s->stats.counted_stores = ~0ull;
	*out = s;
	return 0;
}

static void close_one(struct opened *o)
{
	ring_close(&o->ring);
	if (o->fd >= 0)
		close(o->fd);
	if (o->leader >= 0)
		close(o->leader);
}

static int add_event(struct source *s, unsigned i, pid_t tid, struct err *e)
{
	struct pmu_event *ev = &s->event[i];
	struct opened o = { .leader = -1, .fd = -1, .event = i, .counting = is_counting(ev) };
	struct perf_event_attr used;
	int pages;

	if (s->open_cnt == s->open_cap) {
		unsigned cap = s->open_cap ? 2 * s->open_cap : 16;
		struct opened *p = realloc(s->open, cap * sizeof(*p));

		if (!p)
			return err_set(e, -ENOMEM, "out of memory");
		s->open = p;
		s->open_cap = cap;
	}
	if (ev->has_leader) {
		o.leader = open_event(&ev->leader, tid, -1);
		if (o.leader < 0)
			return errno == ESRCH ? -ESRCH : hw_explain(errno, "mem-loads-aux", e);
	}
	o.fd = open_precise(ev->attr, tid, o.leader, &used);
	if (o.fd < 0) {
		int err = o.fd;

		close_one(&o);
		return err == -ESRCH ? err : hw_explain(-err, ev->pmu, e);
	}
	if (!o.counting) {
		pages = ring_open(&o.ring, o.fd, s->cfg.ring_pages ? s->cfg.ring_pages : DEFAULT_PAGES, &used, e);
		if (pages < 0) {
			close_one(&o);
			return pages;
		}
	}
	s->open[s->open_cnt++] = o;
	if (s->started) {
		ioctl(o.fd, PERF_EVENT_IOC_ENABLE, 0);
		if (o.leader >= 0)
			ioctl(o.leader, PERF_EVENT_IOC_ENABLE, 0);
	}
	return 0;
}

/* A hybrid's thread gets an event of each PMU: it counts while the thread runs on such a core. */
int hw_add_task(struct source *s, pid_t tid, struct err *e)
{
	for (int i = 0; i < s->event_cnt; i++) {
		int err = add_event(s, (unsigned)i, tid, e);

		/* totals are a bonus */
		if (err && is_counting(&s->event[i]))
			continue;
		if (err)
			return err;
	}
	return 0;
}

int hw_start(struct source *s, struct err *e)
{
	s->started = true;
	for (unsigned i = 0; i < s->open_cnt; i++) {
		if (ioctl(s->open[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return err_set(e, -errno, "an event cannot be enabled: %s", strerror(errno));
		if (s->open[i].leader >= 0)
			ioctl(s->open[i].leader, PERF_EVENT_IOC_ENABLE, 0);
	}
	return 0;
}

int hw_fds(const struct source *s, int *fds, int max)
{
	int n = 0;

	for (unsigned i = 0; i < s->open_cnt; i++)
		if (!s->open[i].counting && n < max)
			fds[n++] = s->open[i].fd;
	return n;
}

static bool usable(const struct source *s, const struct sample *m)
{
	if (m->kind == SAMPLE_INSN || m->kind == SAMPLE_TICK)
		return true;
	if (!s->cfg.kernel && ((m->flags & SF_KERNEL) || m->ip >> 63))
		return false;
	if (s->filter.need_mem_op && !(m->flags & (SF_LOAD | SF_STORE)))
		return false;
	if (s->filter.exact_ip && !(m->valid & SV_EXACT_IP))
		return false;
	return (m->valid & SV_ADDR) && m->addr && (s->cfg.kernel || !(m->addr >> 63));
}

static int on_record(void *ctx, const struct sample *in)
{
	struct source *s = ctx;

	if (in->kind == SAMPLE_LOST || in->kind == SAMPLE_THROTTLE)
		return s->fn(s->ctx, in);
	if (!usable(s, in)) {
		s->stats.filtered++;
		return 0;
	}
	s->stats.samples++;
	return s->fn(s->ctx, in);
}

/* Stores are told by the event where the record does not. */
struct with_direction {
	struct source *s;
	uint32_t flags;
};

static int add_direction(void *ctx, const struct sample *in)
{
	struct with_direction *d = ctx;
	struct sample m = *in;

	if (m.kind == SAMPLE_ACCESS && !(m.flags & (SF_LOAD | SF_STORE)))
		m.flags |= d->flags;
	return on_record(d->s, &m);
}

int hw_read(struct source *s, sample_fn fn, void *ctx)
{
	int n = 0;

	s->fn = fn;
	s->ctx = ctx;
	for (unsigned i = 0; i < s->open_cnt; i++) {
		const struct pmu_event *ev = &s->event[s->open[i].event];
		struct with_direction d = { s, ev->what == PMU_LOADS ? SF_LOAD : ev->what == PMU_STORES ? SF_STORE : 0u };
		int rc;

		if (s->open[i].counting)
			continue;
		rc = ring_read(&s->open[i].ring, add_direction, &d);
		if (rc < 0)
			return rc;
		n += rc;
	}
	return n;
}

int hw_set_rate(struct source *s, double per_second)
{
	/* periods stay as they are: a frequency would let the kernel bend them, and weights with it */
	s->stats.per_second = per_second;
	return -EOPNOTSUPP;
}

void hw_stats(const struct source *s, struct source_stats *out)
{
	*out = s->stats;
	for (unsigned i = 0; i < s->open_cnt; i++) {
		const struct opened *o = &s->open[i];
		uint64_t *total = s->event[o->event].what == PMU_COUNT_LOADS ? &out->counted_loads : &out->counted_stores;
		uint64_t v[3]; /* value, enabled, running */

		out->lost += o->ring.lost;
		out->throttled += o->ring.throttled;
		out->malformed += o->ring.malformed;
		if (!o->counting || read(o->fd, v, sizeof(v)) != sizeof(v) || !v[2])
			continue;
		if (*total == ~0ull)
			*total = 0;
		/* multiplexed: scaled to the whole time */
		*total += v[2] < v[1] ? (uint64_t)((double)v[0] * (double)v[1] / (double)v[2]) : v[0];
	}
}

void hw_close(struct source *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->open_cnt; i++)
		ioctl(s->open[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	for (unsigned i = 0; i < s->open_cnt; i++)
		close_one(&s->open[i]);
	free(s->open);
	free(s);
}

static int count_samples(void *ctx, const struct sample *m)
{
	*(unsigned *)ctx += m->kind == SAMPLE_ACCESS || m->kind == SAMPLE_INSN;
	return 0;
}

int hw_try(const struct pmu_event *events, int n, const struct hw_filter *f, struct err *e)
{
	struct source_config cfg = { .ring_pages = 4 };
	static volatile uint64_t memory[4096];
	struct timespec t0, t1;
	struct source *s;
	unsigned seen = 0, x = 1;
	int err = hw_new(&s, events, n, f, &cfg, e);

	if (err)
		return err;
	err = hw_add_task(s, 0, e);
	if (!err)
		err = hw_start(s, e);
	clock_gettime(CLOCK_MONOTONIC, &t0);
	while (!err && !seen) {
		for (int i = 0; i < 20000; i++) {
			x = x * 1664525 + 1013904223;
			memory[x % 4096] += memory[(x >> 12) % 4096];
		}
		hw_read(s, count_samples, &seen);
		clock_gettime(CLOCK_MONOTONIC, &t1);
		if ((t1.tv_sec - t0.tv_sec) * 1000000000 + t1.tv_nsec - t0.tv_nsec > TRY_NS)
			break;
	}
	hw_close(s);
	if (!err && !seen)
		return err_set(e, -EOPNOTSUPP, "the event opens but delivers no samples with addresses; falling back");
	return err;
}

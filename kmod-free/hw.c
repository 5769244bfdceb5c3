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
#include "util/clock.h"
#include "util/grow.h"

#define DEFAULT_PAGES 16 /* 64 KiB; by hand */
#define TRY_NS 30000000  /* of CPU work for a first sample, in probe(); by hand */

struct opened {
	int leader, fd; /* leader -1: none; fd -1: in memory */
	unsigned event;
	pid_t tid;
	bool counting;
	bool kernel_clock;   /* times are not CLOCK_MONOTONIC yet */
	int counter;         /* of random events: index of what counts the same thread's loads on the same PMU; -1 */
	uint64_t counted[3]; /* of counting ones: at the last reading that was used */
	struct ring ring;
};

struct sampling {
	struct pmu_event event[HW_MAX_EVENTS];
	int event_cnt;
	struct hw_filter filter;
	struct source_config cfg;
	struct opened *open;
	unsigned open_cnt, open_cap;
	bool started;
	struct source_stats stats;
	hw_counter_fn counter;
	void *counter_ctx;
	struct sample *held; /* random ones of this round */
	unsigned held_cnt, held_cap;
	bool holding;
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
	case ENODEV: return err_set(e, -error, "no hardware counters here (a virtual machine without a virtual PMU?)");
	case EOPNOTSUPP:
		return err_set(e, -error, "the processor or the hypervisor does not pass memory sampling (%s)", what);
	case ENODATA:
		return err_set(e, -error, "this CPU needs mem-loads-aux as group leader for %s: please report this",
			       what);
	case EACCES:
	case EPERM:
		f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
		if (f && fscanf(f, "%d", &paranoid) != 1)
			paranoid = -1;
		if (f)
			fclose(f);
		return err_set(e, -error,
			       "may not observe this thread: perf_event_paranoid is %d; run as root or grant "
			       "CAP_PERFMON (above 2: CAP_SYS_ADMIN)",
			       paranoid);
	default: return err_set(e, -error, "opening %s failed: %s", what, strerror(error));
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

int hw_new(struct sampling **out, const struct pmu_event *events, int n, const struct hw_filter *f,
	   const struct source_config *cfg, struct err *e)
{
	struct sampling *s;

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

int hw_open(hw_encode_fn encode, const struct hw_filter *f, struct sampling **out, const struct source_config *cfg,
	    struct err *e)
{
	struct pmu_event ev[HW_MAX_EVENTS];
	int n = encode(cfg, ev, HW_MAX_EVENTS, e);

	return n < 0 ? n : hw_new(out, ev, n, f, cfg, e);
}

static void close_one(struct opened *o)
{
	ring_close(&o->ring);
	if (o->fd >= 0)
		close(o->fd);
	if (o->leader >= 0)
		close(o->leader);
}

static bool room(struct sampling *s)
{
	return GROW(s->open, s->open_cnt, s->open_cap, 16);
}

/* Whether the mapped page tells how to turn the kernel's clock into the processor's and back. */
static bool clock_known(const struct ring *r)
{
	return r->page->cap_user_time_zero && r->page->time_mult;
}

static int open_one(struct sampling *s, struct pmu_event *ev, pid_t tid, struct opened *o, struct perf_event_attr *used,
		    struct err *e)
{
	if (ev->has_leader) {
		o->leader = open_event(&ev->leader, tid, -1);
		if (o->leader < 0)
			return errno == ESRCH ? -ESRCH : hw_explain(errno, "mem-loads-aux", e);
	}
	o->fd = open_precise(ev->attr, tid, o->leader, used);
	if (o->fd < 0) {
		int err = o->fd;

		close_one(o);
		return err == -ESRCH ? err : hw_explain(-err, ev->pmu, e);
	}
	return 0;
}

static int hw_add_event(struct sampling *s, unsigned i, pid_t tid, struct err *e)
{
	struct pmu_event *ev = &s->event[i];
	struct opened o = {
		.leader = -1, .fd = -1, .event = i, .tid = tid, .counter = -1, .counting = is_counting(ev)
	};
	struct perf_event_attr used;
	int pages;

	if (!room(s))
		return err_set(e, -ENOMEM, "out of memory");
	pages = open_one(s, ev, tid, &o, &used, e);
	if (pages)
		return pages;
	if (!o.counting) {
		pages = ring_open(&o.ring, o.fd, s->cfg.ring_pages ? s->cfg.ring_pages : DEFAULT_PAGES, &used, e);
		if (pages < 0) {
			close_one(&o);
			return pages;
		}
		o.kernel_clock = !used.use_clockid;
		if (o.kernel_clock && !clock_known(&o.ring)) {
			/* nothing could order such samples among the others: no batches then */
			close_one(&o);
			o.leader = -1;
			ev->attr.use_clockid = 1;
			ev->attr.clockid = CLOCK_MONOTONIC;
			return hw_add_event(s, i, tid, e);
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

/* Finds what counts the loads that a random event of the same thread picks from. */
static void find_counters(struct sampling *s, unsigned from)
{
	for (unsigned i = from; i < s->open_cnt; i++) {
		struct pmu_event *ev = &s->event[s->open[i].event];

		for (unsigned k = from; ev->random && k < s->open_cnt; k++) {
			struct pmu_event *other = &s->event[s->open[k].event];

			if (other->what == PMU_COUNT_LOADS && s->open[k].tid == s->open[i].tid &&
			    !strcmp(other->pmu, ev->pmu))
				s->open[i].counter = (int)k;
		}
	}
}

/* A hybrid's thread gets an event of each PMU: it counts while the thread runs on such a core. */
int hw_add_task(struct sampling *s, pid_t tid, struct err *e)
{
	unsigned from = s->open_cnt;

	for (int i = 0; i < s->event_cnt; i++) {
		int err = hw_add_event(s, (unsigned)i, tid, e);

		/* totals are a bonus */
		if (err && is_counting(&s->event[i]))
			continue;
		if (err)
			return err;
	}
	find_counters(s, from);
	return 0;
}

int hw_add_memory(struct sampling *s, unsigned event, pid_t tid, void *mem, size_t data_bytes)
{
	struct opened o = { .leader = -1,
			    .fd = -1,
			    .event = event,
			    .tid = tid,
			    .counter = -1,
			    .counting = is_counting(&s->event[event]) };
	int err;

	if (!room(s))
		return -ENOMEM;
	err = o.counting ? 0 : ring_from_memory(&o.ring, mem, data_bytes, &s->event[event].attr);
	if (err)
		return err;
	s->open[s->open_cnt++] = o;
	find_counters(s, 0);
	return 0;
}

void hw_set_counter(struct sampling *s, hw_counter_fn fn, void *ctx)
{
	s->counter = fn;
	s->counter_ctx = ctx;
}

static bool read_counter(const struct sampling *s, const struct opened *o, uint64_t v[3])
{
	if (s->counter)
		return s->counter(s->counter_ctx, o->tid, s->event[o->event].what, v);
	return read(o->fd, v, 3 * sizeof(v[0])) == 3 * (ssize_t)sizeof(v[0]);
}

int hw_start(struct sampling *s, struct err *e)
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

int hw_fds(const struct sampling *s, int *fds, int max)
{
	int n = 0;

	for (unsigned i = 0; i < s->open_cnt; i++)
		if (!s->open[i].counting && n < max)
			fds[n++] = s->open[i].fd;
	return n;
}

static bool usable(const struct sampling *s, const struct sample *m)
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

static int hold(struct sampling *s, const struct sample *in)
{
	if (!GROW(s->held, s->held_cnt, s->held_cap, 64))
		return -ENOMEM;
	s->held[s->held_cnt] = *in;
	/* borrowed from the ring, and asked for by no memory event */
	s->held[s->held_cnt].stack = NULL;
	s->held[s->held_cnt].chain = NULL;
	s->held[s->held_cnt].stack_bytes = s->held[s->held_cnt].chain_len = 0;
	s->held_cnt++;
	return 0;
}

/* Loads of the thread since the samples before these: NaN when nothing counts them. What was counted
 * while no sample came goes to the next ones. */
static double loads_since(struct sampling *s, const struct opened *o)
{
	struct opened *c = o->counter >= 0 ? &s->open[o->counter] : NULL;
	double loads, enabled, running;
	uint64_t v[3];

	/* above a latency threshold the samples are of some loads only, and nothing counts those */
	if (!c || s->cfg.ldlat > 3 || !read_counter(s, c, v) || v[2] <= c->counted[2] || v[0] < c->counted[0])
		return NAN;
	loads = (double)(v[0] - c->counted[0]);
	enabled = (double)(v[1] - c->counted[1]);
	running = (double)(v[2] - c->counted[2]);
	memcpy(c->counted, v, sizeof(c->counted));
	return running < enabled ? loads * enabled / running : loads; /* multiplexed */
}

static int deliver_held(struct sampling *s, const struct opened *o)
{
	double loads = s->held_cnt ? loads_since(s, o) : NAN, given = 0;
	unsigned n = s->held_cnt;
	int rc = 0;

	s->held_cnt = 0;
	for (unsigned i = 0; i < n && rc >= 0; i++) {
		/* rounded so that the sum is right */
		double upto = floor(loads * (i + 1) / n + 0.5);

		s->held[i].period = loads > 0 ? (uint64_t)(upto - given) : 0;
		given = upto;
		rc = s->fn(s->ctx, &s->held[i]);
	}
	return rc;
}

static int hw_on_record(void *ctx, const struct sample *in)
{
	struct sampling *s = ctx;

	if (in->kind == SAMPLE_LOST || in->kind == SAMPLE_THROTTLE)
		return s->fn(s->ctx, in);
	if (!usable(s, in)) {
		s->stats.filtered++;
		return 0;
	}
	s->stats.samples++;
	return s->holding ? hold(s, in) : s->fn(s->ctx, in);
}

/* Stores are told by the event where the record does not. */
struct with_direction {
	struct sampling *s;
	uint32_t flags;
	uint64_t clock_offset; /* what CLOCK_MONOTONIC is ahead of the record's clock */
};

/* The kernel's perf clock now, from the processor's time stamp counter as the page describes it. */
static uint64_t kernel_clock(const struct perf_event_mmap_page *p)
{
#if defined(__x86_64__)
	uint32_t seq;
	uint64_t tsc, t;

	do {
		seq = __atomic_load_n(&p->lock, __ATOMIC_ACQUIRE);
		tsc = __builtin_ia32_rdtsc();
		t = p->time_zero + (tsc >> p->time_shift) * p->time_mult +
		    (((tsc & ((1ull << p->time_shift) - 1)) * p->time_mult) >> p->time_shift);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&p->lock, __ATOMIC_RELAXED) != seq || (seq & 1));
	return t;
#else
	return 0;
#endif
}

/* Afresh each time: the two clocks drift. Of some readings the one that was least disturbed. */
static uint64_t clock_offset(const struct ring *r)
{
	uint64_t best = UINT64_MAX, offset = 0;

	for (int i = 0; i < 4; i++) {
		uint64_t before = kernel_clock(r->page), now = clock_now(), after;

		after = kernel_clock(r->page);
		if (after - before < best) {
			best = after - before;
			offset = now - (before + (after - before) / 2);
		}
	}
	return offset;
}

static int add_direction(void *ctx, const struct sample *in)
{
	struct with_direction *d = ctx;
	struct sample m = *in;

	if (m.kind == SAMPLE_ACCESS && !(m.flags & (SF_LOAD | SF_STORE)))
		m.flags |= d->flags;
	m.time += d->clock_offset;
	return hw_on_record(d->s, &m);
}

int hw_read(struct sampling *s, sample_fn fn, void *ctx)
{
	int n = 0;

	s->fn = fn;
	s->ctx = ctx;
	for (unsigned i = 0; i < s->open_cnt; i++) {
		struct opened *o = &s->open[i];
		const struct pmu_event *ev = &s->event[o->event];
		struct with_direction d = { s,
					    ev->what == PMU_LOADS    ? SF_LOAD
					    : ev->what == PMU_STORES ? SF_STORE
								     : 0u,
					    0 };
		int rc;

		if (o->counting)
			continue;
		if (o->kernel_clock)
			d.clock_offset = clock_offset(&o->ring);
		s->holding = ev->random;
		rc = ring_read(&o->ring, add_direction, &d);
		if (s->held_cnt && rc >= 0) {
			int err = deliver_held(s, o);

			rc = err < 0 ? err : rc;
		}
		s->held_cnt = 0;
		if (rc < 0)
			return rc;
		n += rc;
	}
	return n;
}

static bool is_prime(uint64_t n)
{
	if (n % 2 == 0)
		return n == 2;
	for (uint64_t d = 3; d * d <= n; d += 2)
		if (n % d == 0)
			return false;
	return n > 1;
}

/* A period that loops do not fall in step with, and that the PMU takes. */
static uint64_t good_period(const struct pmu_event *ev, double wanted)
{
	uint64_t p = wanted < 1009 ? 1009 : wanted > 1e10 ? 10000000019ull : (uint64_t)wanted;

	if (!strcmp(ev->pmu, "ibs_op")) /* counts in sixteens, and randomises by itself */
		return (p + 15) & ~15ull;
	while (!is_prime(p))
		p++;
	return p;
}

int hw_set_rate(struct sampling *s, double factor)
{
	if (!(factor > 0))
		return -EINVAL;
	for (int i = 0; i < s->event_cnt; i++) {
		struct pmu_event *ev = &s->event[i];
		uint64_t period;

		if (is_counting(ev))
			continue;
		period = good_period(ev, (double)ev->attr.sample_period / factor);
		for (unsigned k = 0; k < s->open_cnt; k++) {
			if (s->open[k].event != (unsigned)i || s->open[k].fd < 0)
				continue;
			if (ioctl(s->open[k].fd, PERF_EVENT_IOC_PERIOD, &period))
				return -errno;
		}
		ev->attr.sample_period = period; /* of threads to come */
	}
	return 0;
}

void hw_stats(const struct sampling *s, struct source_stats *out)
{
	*out = s->stats;
	for (unsigned i = 0; i < s->open_cnt; i++) {
		const struct opened *o = &s->open[i];
		uint64_t *total =
			s->event[o->event].what == PMU_COUNT_LOADS ? &out->counted_loads : &out->counted_stores;
		uint64_t v[3]; /* value, enabled, running */

		out->lost += o->ring.lost;
		out->throttled += o->ring.throttled;
		out->malformed += o->ring.malformed;
		if (!o->counting || !read_counter(s, o, v) || !v[2])
			continue;
		if (*total == ~0ull)
			*total = 0;
		/* multiplexed: scaled to the whole time */
		*total += v[2] < v[1] ? (uint64_t)((double)v[0] * (double)v[1] / (double)v[2]) : v[0];
	}
}

void hw_close(struct sampling *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->open_cnt; i++)
		if (s->open[i].fd >= 0)
			ioctl(s->open[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	for (unsigned i = 0; i < s->open_cnt; i++)
		close_one(&s->open[i]);
	free(s->open);
	free(s->held);
	free(s);
}

static int count_samples(void *ctx, const struct sample *m)
{
	*(unsigned *)ctx += m->kind == SAMPLE_ACCESS || m->kind == SAMPLE_INSN;
	return 0;
}

/* Whether these events can be opened here and deliver samples with addresses: opens them on the
 * calling thread and reads memory for a few milliseconds. */
static int hw_try(const struct pmu_event *events, int n, const struct hw_filter *f, struct err *e)
{
	struct source_config cfg = { .ring_pages = 4 };
	static volatile uint64_t memory[4096];
	uint64_t began;
	struct sampling *s;
	unsigned seen = 0, x = 1;
	int err = hw_new(&s, events, n, f, &cfg, e);

	if (err)
		return err;
	err = hw_add_task(s, 0, e);
	if (!err)
		err = hw_start(s, e);
	began = clock_now();
	while (!err && !seen) {
		for (int i = 0; i < 20000; i++) {
			x = x * 1664525 + 1013904223;
			memory[x % 4096] += memory[(x >> 12) % 4096];
		}
		hw_read(s, count_samples, &seen);
		if (clock_now() - began > TRY_NS)
			break;
	}
	hw_close(s);
	if (!err && !seen)
		return err_set(e, -EOPNOTSUPP, "the event opens but delivers no samples with addresses; falling back");
	return err;
}

int hw_probe(hw_encode_fn encode, uint64_t period, const struct hw_filter *f, char *text, size_t size, struct err *e)
{
	struct source_config cfg = { .period = period };
	struct pmu_event ev[HW_MAX_EVENTS];
	int n = encode(&cfg, ev, HW_MAX_EVENTS, e), err;

	if (n < 0)
		return n;
	err = hw_try(ev, 1, f, e);
	if (!err && text)
		pmu_event_text(&ev[0], text, size);
	return err;
}

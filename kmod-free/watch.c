// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "format.h"
#include "kmod-free/bpf_counters.h"
#include "kmod-free/kernel_btf.h"
#include "kmod-free/refresh_quirk.h"
#include "kmod-free/syscalls.h"
#include "kmod-free/targets.h"
#include "kmod-free/watch.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/random.h"
#include "watch.skel.h"

#define MAX_CPUS 32 /* beyond, windows go by thread: arming asks every CPU; by hand */

struct armed {
	int fd, link;
};

struct slot {
	bool active, write_only;
	uint64_t generation, deadline;
	bool again; /* reading and writing again after a write-only phase; the deadline is the same */
	struct armed *events;
	unsigned event_cnt, event_cap;
	unsigned writes, writes_after_switch;
	uint64_t limit, soft_limit; /* of the current phase; see watch.bpf.c */
	uint64_t phase_hits;
	struct watch_window win;
};

struct watch {
	struct watch_opts o;
	struct watch_bpf *bpf;
	struct ring_buffer *ring;
	int epoll, timer;
	uint64_t timer_at; /* when it expires, or did; 0: not set */
	bool no_kernel;
	bool stops_itself; /* by REFRESH and what the program returns: see watch.bpf.c, refresh_quirk.h */
	uint64_t generation, armed_since, stay_away_until, off_cpus_until;
	unsigned active, cpus;
	watch_decide_fn decide;
	watch_window_fn window;
	void *ctx;
	struct watch_stats stats;
	struct slot slot[WATCH_SLOTS];
};

static void close_event(struct armed *a)
{
	if (a->link >= 0)
		close(a->link);
	if (a->fd >= 0)
		close(a->fd);
}

static void set_slot(struct watch *w, unsigned i, uint64_t generation, const struct slot *s, bool arming)
{
	struct watch_slot v = { .generation = generation,
				.limit = s->limit,
				.soft_limit = s->soft_limit,
				.process = s->win.req.on_cpus ? (__u32)s->win.req.pid : 0,
				.arming = arming };
	__u32 key = i;

	bpf_map_update_elem(bpf_map__fd(w->bpf->maps.slots), &key, &v, BPF_ANY);
}

/* Disabling before closing would interrupt each running thread twice. Instead the slot turns invalid,
 * so that an event that fires until its turn comes stops itself at once. */
static void watch_disarm(struct watch *w, struct slot *s)
{
	if (!s->event_cnt)
		return;
	set_slot(w, (unsigned)(s - w->slot), ++w->generation, s, false);
	for (unsigned i = 0; !w->stops_itself && i < s->event_cnt; i++)
		ioctl(s->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	for (unsigned i = 0; i < s->event_cnt; i++)
		close_event(&s->events[i]);
	s->event_cnt = 0;
}

/* On a thread (cpu -1), or a CPU (tid -1). */
static int arm_thread(struct watch *w, struct slot *s, unsigned index, pid_t tid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		/* enabled from the start: enabling later interrupts a running thread once more. A hit
		 * before the program is attached belongs to no window. */
		.disabled = !w->stops_itself,
		.exclude_hv = 1,
		.exclude_kernel = w->no_kernel || s->win.req.execute,
		.bp_type = s->win.req.execute ? HW_BREAKPOINT_X
			   : s->write_only    ? HW_BREAKPOINT_W
					      : HW_BREAKPOINT_RW,
		.bp_addr = s->win.req.addr,
		.bp_len = s->win.req.execute ? sizeof(long) : s->win.req.len,
	};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = s->generation << 8 | index);
	struct armed a = { .link = -1 };
	uint64_t most;
	int err;

	a.fd = (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (a.fd < 0 && errno == EACCES && !attr.exclude_kernel) {
		w->no_kernel = true;
		attr.exclude_kernel = 1;
		a.fd = (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	if (a.fd < 0)
		return -errno;
	a.link = bpf_link_create(bpf_program__fd(w->bpf->progs.on_hit), a.fd, BPF_PERF_EVENT, &opts);
	if (a.link < 0) {
		err = a.link;
		close_event(&a);
		return err;
	}
	if (!PUSH(s->events, s->event_cnt, s->event_cap, 16, a)) {
		close_event(&a);
		return -ENOMEM;
	}
	/* Our program's own look at the value, up to the soft limit, is an access, too. */
	most = s->limit + (attr.exclude_kernel ? 0 : s->soft_limit) + (cpu < 0 ? 0 : WATCH_OTHERS + 1);
	if (ioctl(a.fd, w->stops_itself ? PERF_EVENT_IOC_REFRESH : PERF_EVENT_IOC_ENABLE,
		  w->stops_itself ? refresh_quirk_refresh(most) : 0))
		return -errno;
	return 0;
}

static bool is_crowded(const struct watch *w, unsigned index)
{
	return __atomic_load_n(&w->bpf->bss->crowded, __ATOMIC_SEQ_CST) >> index & 1;
}

/* Opens the slot's events on these threads, or on all CPUs; on failure none is left. What hits before the last of them
 * is armed does not count: a write by a thread that is armed would pass for the last one before the read of another,
 * though a third, not armed yet, had written between them. */
static int arm_all(struct watch *w, unsigned index, const int *tids, int n)
{
	struct slot *s = &w->slot[index];

	bool on_cpus = s->win.req.on_cpus;

	__atomic_and_fetch(&w->bpf->bss->crowded, ~(1u << index), __ATOMIC_SEQ_CST);
	/* older kernels' events would use up their limits meanwhile */
	set_slot(w, index, s->generation, s, !refresh_quirk_counts_all());
	for (int i = 0; i < (on_cpus ? (int)w->cpus : n); i++) {
		int err = arm_thread(w, s, index, on_cpus ? -1 : tids[i], on_cpus ? i : -1);

		/* a thread that has ended, a CPU that is off */
		if (err == -ESRCH || err == -ENODEV)
			continue;
		if (err) {
			watch_disarm(w, s);
			return err;
		}
	}
	if (!s->event_cnt)
		return -ESRCH;
	set_slot(w, index, s->generation, s, false);
	/* some events have stopped themselves */
	if (is_crowded(w, index)) {
		watch_disarm(w, s);
		return -EBUSY;
	}
	return 0;
}

static void watch_set_timer(struct watch *w, uint64_t now)
{
	struct itimerspec t = { 0 };
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < w->o.slots; i++)
		if (w->slot[i].active && w->slot[i].deadline < next)
			next = w->slot[i].deadline;
	next = next == UINT64_MAX ? 0 : next > now ? next : now + 1;
	/* looked at hundreds of times a second; setting one that has expired makes it unreadable again */
	if (next == w->timer_at && (!next || now < next))
		return;
	w->timer_at = next;
	t.it_value.tv_sec = (time_t)(next / 1000000000u);
	t.it_value.tv_nsec = (long)(next % 1000000000u);
	timerfd_settime(w->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static void watch_finish(struct watch *w, unsigned index, uint32_t reason, uint64_t now)
{
	struct slot *s = &w->slot[index];

	watch_disarm(w, s);
	if (!s->active)
		return;
	s->active = false;
	/* the caller's clock may have been read before this window was armed */
	if (now < s->win.armed)
		now = s->win.armed;
	s->win.ended = now;
	w->stats.slot_ns += now - s->win.armed;
	s->win.end_reason = reason;
	w->stats.windows++;
	if (!--w->active && now > w->armed_since)
		w->stats.armed_ns += now - w->armed_since;
	w->window(w->ctx, &s->win);
}

void watch_end(struct watch *w, int slot, uint32_t reason, uint64_t now)
{
	/* hits that wait belong to the window */
	ring_buffer__consume(w->ring);
	watch_finish(w, (unsigned)slot, reason, now);
	watch_set_timer(w, now);
}

static void give_way(struct watch *w, uint64_t now)
{
	for (unsigned i = 0; i < w->o.slots; i++) {
		if (!w->slot[i].active)
			continue;
		w->stats.stolen++;
		watch_finish(w, i, FMT_W_STOLEN, now);
	}
	w->stay_away_until = now + BACK_OFF_NS;
}

static void kernel_direction(const struct wire_watch *raw, struct watch_hit *h)
{
	const struct sysdir *d = sysdir_find(raw->syscall);

	h->flags |= FMT_A_KERNEL;
	h->syscall = (int32_t)raw->syscall;
	if (!d)
		return;
	if (d->dir == FMT_IO_KERNEL_READS)
		h->flags |= FMT_A_LOAD;
	else if (d->dir == FMT_IO_KERNEL_WRITES)
		h->flags |= FMT_A_STORE;
}

int watch_record(struct watch *w, const void *data, size_t size)
{
	const struct wire_watch *raw = data;
	struct watch_hit h = { .syscall = -1 };
	struct slot *s;

	if (size < sizeof(*raw) || raw->h.kind != WIRE_WATCH || (raw->cookie & 0xff) >= w->o.slots) {
		w->stats.malformed++;
		return 0;
	}
	s = &w->slot[raw->cookie & 0xff];
	if (!s->active || s->generation != raw->cookie >> 8)
		return 0;
	s->phase_hits++;
	/* outside any system call: our own sampler's, page faults */
	if ((raw->h.flags & WIRE_F_KERNEL) && raw->syscall < 0)
		return 0;
	w->stats.hits++;
	if (s->win.count == WATCH_MAX_HITS) {
		s->win.missed++;
		return 0;
	}
	h.time = raw->h.time;
	h.pid = raw->h.pid;
	h.tid = raw->h.tid;
	h.ip = raw->regs[WREG_IP];
	if (raw->h.flags & WIRE_F_KERNEL)
		kernel_direction(raw, &h);
	else if (!s->win.req.execute && w->decide)
		w->decide(w->ctx, raw, &h);
	if (s->write_only && !(h.flags & FMT_A_STORE) && !(h.flags & FMT_A_LOAD))
		h.flags |= FMT_A_STORE; /* the processor reports nothing else in this mode */
	if (h.flags & FMT_A_STORE) {
		s->writes++;
		s->writes_after_switch += s->write_only;
	}
	s->win.hits[s->win.count++] = h;
	return 0;
}

static int watch_on_record(void *ctx, void *data, size_t size)
{
	return watch_record(ctx, data, size);
}

struct watch *watch_without_events(const struct watch_opts *o, watch_decide_fn decide, watch_window_fn window,
				   void *ctx)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->o = *o;
	w->epoll = w->timer = -1;
	w->decide = decide;
	w->window = window;
	w->ctx = ctx;
	w->generation = 1;
	for (unsigned i = 0; i < o->slots; i++)
		w->slot[i] = (struct slot){ .active = true, .generation = 1, .win = { .slot = i } };
	w->active = o->slots;
	return w;
}

struct watch *watch_new(const struct watch_opts *o, watch_decide_fn decide, watch_window_fn window, void *ctx,
			struct err *e)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct watch *w = calloc(1, sizeof(*w));
	struct pid_namespace own = targets_pid_namespace();
	int err;

	if (!w) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	w->o = *o;
	w->epoll = w->timer = -1;
	w->decide = decide;
	w->window = window;
	w->ctx = ctx;
	w->no_kernel = o->no_kernel;
	w->cpus = (unsigned)get_nprocs_conf();
	w->stops_itself = true;
	if (!o->slots || o->slots > WATCH_SLOTS || !o->hit_limit || o->hit_limit > WATCH_MAX_HITS) {
		err_set(e, -EINVAL, "watchpoints: 1 to %d slots, 1 to %d hits", WATCH_SLOTS, WATCH_MAX_HITS);
		goto fail;
	}
	counters_prepare();
	w->bpf = watch_bpf__open_opts(kernel_btf_options());
	if (w->bpf) {
		w->bpf->rodata->pidns_dev = own.dev;
		w->bpf->rodata->pidns_ino = own.ino;
		w->bpf->bss->lent = targets_lent();
	}
	err = w->bpf ? kernel_btf_load(w->bpf->skeleton) : -errno;
	if (err) {
		err_set(e, err,
			"the BPF program for watchpoints cannot be loaded: %s; it needs CAP_BPF and CAP_PERFMON "
			"(Linux 5.15 or newer)",
			strerror(-err));
		goto fail;
	}
	w->ring = ring_buffer__new(bpf_map__fd(w->bpf->maps.ring), watch_on_record, w, NULL);
	w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!w->ring || w->timer < 0 || w->epoll < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->timer, &ev) ||
	    epoll_ctl(w->epoll, EPOLL_CTL_ADD, ring_buffer__epoll_fd(w->ring), &ev)) {
		err_set(e, -errno, "the ring for watchpoint hits cannot be set up: %s", strerror(errno));
		goto fail;
	}
	return w;
fail:
	watch_free(w);
	return NULL;
}

uint64_t watch_deadline(const struct watch *w)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < w->o.slots; i++)
		if (w->slot[i].active && w->slot[i].deadline > last)
			last = w->slot[i].deadline;
	return last;
}

int watch_free_slot(const struct watch *w)
{
	for (unsigned i = 0; i < w->o.slots; i++)
		if (!w->slot[i].active)
			return (int)i;
	return -1;
}

const struct watch_request *watch_slot(const struct watch *w, int slot)
{
	return slot >= 0 && slot < (int)w->o.slots && w->slot[slot].active ? &w->slot[slot].win.req : NULL;
}

int watch_arm(struct watch *w, const struct watch_request *req, const int *tids, int n, uint64_t now, struct err *e)
{
	int index = watch_free_slot(w), err;
	uint64_t began;
	struct slot *s;

	if (index < 0)
		return err_set(e, -EBUSY, "all %u watchpoint slots are taken", w->o.slots);
	if (now < w->stay_away_until) {
		w->stats.declined++;
		return err_set(e, -EAGAIN, "another debugger uses the breakpoints; trying again in a moment");
	}
	s = &w->slot[index];
	s->win = (struct watch_window){ .armed = now, .req = *req, .slot = (uint32_t)index, .write_only_after = ~0u };
	s->write_only = s->again = false;
	s->generation = ++w->generation;
	s->writes = s->writes_after_switch = 0;
	s->phase_hits = 0;
	s->limit = req->execute ? WATCH_MAX_HITS : w->o.hit_limit;
	s->soft_limit = req->execute || w->o.switch_after >= w->o.hit_limit ? 0 : w->o.switch_after;
	began = clock_now();
	err = arm_all(w, (unsigned)index, tids, n);
	s->win.armed = now += clock_now() - began;
	if (err == -ENOSPC && req->on_cpus) {
		/* one breakpoint on any thread of the machine takes one of every CPU's */
		w->off_cpus_until = now + BACK_OFF_NS;
		return err_set(e, err, "the CPUs have no free hardware breakpoint");
	}
	if (err == -ENOSPC) {
		w->stats.declined++;
		give_way(w, now);
		return err_set(e, err, "a thread of process %d has no free hardware breakpoint (a debugger?)",
			       req->pid);
	}
	if (err)
		return err_set(e, err,
			       err == -ESRCH ? "process %d has ended" : "a watchpoint cannot be set in process %d: %s",
			       req->pid, strerror(-err));
	s->active = true;
	s->deadline = now + (req->time_limit_ns ? req->time_limit_ns : w->o.time_limit_ns);
	s->win.threads = s->event_cnt;
	s->win.phases = 1;
	if (!w->active++)
		w->armed_since = now;
	watch_set_timer(w, now);
	return index;
}

void watch_add_task(struct watch *w, pid_t pid, pid_t tid)
{
	for (unsigned i = 0; i < w->o.slots; i++)
		if (w->slot[i].active && w->slot[i].win.req.pid == pid && !w->slot[i].win.req.on_cpus &&
		    !arm_thread(w, &w->slot[i], i, tid, -1))
			w->slot[i].win.threads++;
}

unsigned watch_cpus(const struct watch *w, uint64_t now)
{
	return w->cpus <= MAX_CPUS && now >= w->off_cpus_until && w->stats.crowded < MOST_CROWDED ? w->cpus : 0;
}

int watch_threads(pid_t pid, int *tids, int max)
{
	char path[64];
	struct dirent *d;
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (n < max && (d = readdir(dir)))
		if ((tids[n] = atoi(d->d_name)) > 0)
			n++;
	closedir(dir);
	return n;
}

/* The same threads again: a stopped event cannot be re-armed. */
static int rearm(struct watch *w, unsigned index, uint64_t now)
{
	struct slot *s = &w->slot[index];
	int tids[WATCH_THREADS], n;

	watch_disarm(w, s);
	/* CPUs do not tell that it has ended */
	n = watch_threads(s->win.req.pid, tids, WATCH_THREADS);
	if (n <= 0)
		return -ESRCH;
	s->generation = ++w->generation;
	s->phase_hits = 0;
	s->win.phases++;
	return arm_all(w, index, tids, n);
}

/* The program lowered the limit: nobody had changed the value by then. */
static bool stopped(struct watch *w, unsigned i)
{
	struct watch_slot v;
	__u32 key = i;

	return !bpf_map_lookup_elem(bpf_map__fd(w->bpf->maps.slots), &key, &v) && v.limit == v.soft_limit;
}

static void watch_writes(const struct watch *w, struct slot *s)
{
	s->write_only = true;
	s->again = false;
	s->limit = w->o.read_again ? 1 : w->o.write_limit;
	s->soft_limit = 0;
}

/* From a full phase to the next; the deadline stays. */
static void alternate(const struct watch *w, struct slot *s)
{
	if (!s->write_only) {
		watch_writes(w, s);
		return;
	}
	s->write_only = false;
	s->again = true;
	s->limit = w->o.hit_limit - s->win.count < w->o.read_again ? w->o.hit_limit - s->win.count : w->o.read_again;
}

static void check_slot(struct watch *w, unsigned i, uint64_t now)
{
	struct slot *s = &w->slot[i];
	unsigned seen = s->win.count;
	bool at_soft = s->soft_limit && s->phase_hits == s->soft_limit;
	bool full = s->phase_hits >= s->limit || (at_soft && stopped(w, i)), late = now >= s->deadline;
	bool alternates = w->o.read_again && (s->write_only || s->again) && full && !late && seen < w->o.hit_limit;
	int err;

	if (is_crowded(w, i)) {
		w->stats.crowded++;
		watch_finish(w, i, FMT_W_STOLEN, now);
		return;
	}
	if (!full && !late && !(s->write_only && !w->o.read_again && s->writes_after_switch >= w->o.write_limit))
		return;
	if (!alternates && (s->win.req.execute || s->write_only || s->again || seen >= w->o.hit_limit ||
			    !w->o.switch_after || (s->win.req.write_time_ns == 1 && !s->writes))) {
		watch_finish(w, i, full || s->write_only ? (late && !full ? FMT_W_TIME : FMT_W_HITS) : FMT_W_TIME, now);
		return;
	}
	if (alternates) {
		alternate(w, s);
	} else if (s->writes || !seen) {
		if (!full) {
			watch_finish(w, i, FMT_W_TIME, now);
			return;
		}
		/* reads and writes mix: go on as before until the whole limit */
		s->limit = w->o.hit_limit - seen;
		s->soft_limit = 0;
	} else {
		/* only reads: what matters now is who writes */
		watch_writes(w, s);
		s->win.write_only_after = seen;
		s->deadline = now + (s->win.req.write_time_ns ? s->win.req.write_time_ns : w->o.write_time_ns);
	}
	err = rearm(w, i, now);
	if (err == -ENOSPC && !s->win.req.on_cpus) {
		give_way(w, now);
	} else if (err) {
		watch_finish(w, i, err == -ENOSPC || err == -EBUSY ? FMT_W_STOLEN : FMT_W_EXIT, now);
	}
}

void watch_poll(struct watch *w, uint64_t now)
{
	ring_buffer__consume(w->ring);
	for (unsigned i = 0; i < w->o.slots && w->active; i++)
		if (w->slot[i].active)
			check_slot(w, i, now);
	watch_set_timer(w, now);
}

void watch_wake_each(struct watch *w, bool each)
{
	w->bpf->bss->wake_each = each;
}

int watch_fd(const struct watch *w)
{
	return w->epoll;
}

static uint64_t watch_draw(uint64_t *x)
{
	return random_next(x) >> 16; /* the low bits are the weakest */
}

int watch_victim(const uint64_t *since, unsigned slots, uint64_t *random)
{
	unsigned order[WATCH_SLOTS];

	for (unsigned i = 0; i < slots; i++) {
		unsigned k = (unsigned)(watch_draw(random) % (i + 1));

		order[i] = order[k];
		order[k] = i;
	}
	for (unsigned i = 0; i < slots; i++)
		if (watch_draw(random) % (1 + since[order[i]]) == 0)
			return (int)order[i];
	return -1;
}

void watch_stats(struct watch *w, struct watch_stats *out)
{
	uint64_t now = clock_now();

	*out = w->stats;
	/* windows may follow one another for long without a pause */
	if (w->active && now > w->armed_since)
		out->armed_ns += now - w->armed_since;
	for (unsigned i = 0; i < w->o.slots; i++)
		if (w->slot[i].active && now > w->slot[i].win.armed)
			out->slot_ns += now - w->slot[i].win.armed;
	out->late = counter_read(w->bpf->bss->counters, WC_LATE);
	out->lost = counter_read(w->bpf->bss->counters, WC_LOST);
}

void watch_free(struct watch *w)
{
	uint64_t now;

	if (!w)
		return;
	now = clock_now();
	for (unsigned i = 0; i < WATCH_SLOTS; i++) {
		if (w->slot[i].active) {
			if (w->ring)
				ring_buffer__consume(w->ring);
			watch_finish(w, i, FMT_W_EXIT, now);
		}
		free(w->slot[i].events);
	}
	ring_buffer__free(w->ring);
	watch_bpf__destroy(w->bpf);
	if (w->timer >= 0)
		close(w->timer);
	if (w->epoll >= 0)
		close(w->epoll);
	free(w);
}

static void test_window(void *ctx, const struct watch_window *win)
{
	*(uint32_t *)ctx = win->count;
}

/* Five stores with a limit of three: three hits mean that the kernel both reports and stops. */
int watch_check(struct watch *w, struct err *e)
{
	static const struct watch_opts three = { .slots = 1, .hit_limit = 3, .switch_after = 3, .time_limit_ns = 1 };
	struct watch was = *w;
	volatile uint64_t probe = 0;
	struct watch_request req = { .pid = getpid(), .addr = (uint64_t)(uintptr_t)&probe, .len = 1 };
	int tid = (int)syscall(SYS_gettid), rc;
	uint32_t hits = 0;

	w->o = three;
	w->decide = NULL;
	w->window = test_window;
	w->ctx = &hits;
	rc = watch_arm(w, &req, &tid, 1, 0, e);
	for (int i = 0; i < 5 && rc >= 0; i++)
		probe = probe + 1;
	if (rc >= 0)
		watch_end(w, rc, FMT_W_HITS, 1);
	w->o = was.o;
	w->decide = was.decide;
	w->window = was.window;
	w->ctx = was.ctx;
	w->stats = was.stats;
	w->stay_away_until = 0;
	if (rc < 0)
		return rc;
	if (!hits)
		return err_set(e, -EOPNOTSUPP,
			       "watchpoints can be set but never fire here (seen in some virtual machines); "
			       "continuing without");
	if (hits != 3)
		return err_set(e, -EOPNOTSUPP,
			       "watchpoints do not stop at their limit on this kernel (%u hits of 3); "
			       "continuing without",
			       hits);
	return 0;
}

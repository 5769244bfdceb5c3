// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/execbp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "execbp.skel.h"
#include "kmod-free/kernel_btf.h"
#include "kmod-free/refresh_quirk.h"
#include "kmod-free/targets.h"
#include "util/clock.h"

#define LATE_NS 30000       /* beyond the time in which a first hit has to come: whether it did is looked at then */
#define LEAST_LEFT_NS 50000 /* of CPU time: not worth waiting for */

/* Events of one thread, or of one CPU. */
struct execbp_group {
	int leader; /* counts the thread's CPU time; enabling it arms all */
	int fd[EXECWIN_SLOTS], link[EXECWIN_SLOTS];
	unsigned events;
};

struct execbp {
	struct execbp_bpf *bpf;
	int timer;
	bool open;
	uint64_t generation, armed, deadline, away_until, off_cpus_until;
	struct execbp_group group[EXECBP_CPUS];
	unsigned groups, cpus;
	clockid_t clock; /* of the process, and what it said when all was armed */
	uint64_t clock_armed;
	struct exec_request req;
	struct exec_stats stats;
};

struct execbp *execbp_new(struct err *e)
{
	struct execbp *x = calloc(1, sizeof(*x));
	int err;

	if (!x) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	x->timer = -1;
	x->cpus = (unsigned)get_nprocs_conf();
	x->cpus = x->cpus <= EXECBP_CPUS ? x->cpus : 0;
	x->bpf = execbp_bpf__open_opts(kernel_btf_options());
	if (x->bpf)
		x->bpf->bss->lent = targets_lent();
	err = x->bpf ? kernel_btf_load(x->bpf->skeleton) : -errno;
	if (err) {
		err_set(e, err,
			"the BPF program for execute breakpoints cannot be loaded: %s; it needs CAP_BPF and "
			"CAP_PERFMON (Linux 5.15 or newer)",
			strerror(-err));
		goto fail;
	}
	x->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (x->timer < 0) {
		err_set(e, -errno, "cannot wait for execute breakpoints: %s", strerror(errno));
		goto fail;
	}
	return x;
fail:
	execbp_free(x);
	return NULL;
}

static void switch_groups(const struct execbp *x, unsigned long what)
{
	for (unsigned i = 0; i < x->groups; i++)
		ioctl(x->group[i].leader, what, 0);
}

/* The leader first: with it, all stop at once. */
static void execbp_disarm(struct execbp *x)
{
	switch_groups(x, PERF_EVENT_IOC_DISABLE);
	for (unsigned i = 0; i < x->groups; i++) {
		struct execbp_group *g = &x->group[i];

		for (unsigned k = 0; k < g->events; k++) {
			if (g->link[k] >= 0)
				close(g->link[k]);
			close(g->fd[k]);
		}
		close(g->leader);
	}
	x->groups = 0;
}

static int add_slot(struct execbp *x, struct execbp_group *g, unsigned i, pid_t tid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.exclude_hv = 1,
		.exclude_kernel = 1,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = x->req.slot[i].addr,
		.bp_len = sizeof(long),
	};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = x->generation << 8 | i);
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, cpu, g->leader, PERF_FLAG_FD_CLOEXEC);
	uint32_t most = x->req.slot[i].limit < x->req.hit_limit ? x->req.slot[i].limit : x->req.hit_limit;

	/* older kernels count what other threads hit, too (refresh_quirk.h) */
	if (x->req.on_cpus)
		most = 2 * x->req.hit_limit + EXECWIN_FOREIGN;
	if (fd < 0)
		return -errno;
	g->fd[g->events] = fd;
	g->link[g->events++] = bpf_link_create(bpf_program__fd(x->bpf->progs.on_exec), fd, BPF_PERF_EVENT, &opts);
	if (g->link[i] < 0)
		return g->link[i];
	/* not to start it, which is the leader's: for the right to stop itself */
	return ioctl(fd, PERF_EVENT_IOC_REFRESH, refresh_quirk_refresh(most)) ? -errno : 0;
}

static int open_group(struct execbp *x, pid_t tid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .size = sizeof(attr), .disabled = 1
	};
	struct execbp_group *g = &x->group[x->groups];
	int err = 0;

	*g = (struct execbp_group){ .leader = (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1,
							   PERF_FLAG_FD_CLOEXEC) };
	if (g->leader < 0)
		return -errno;
	x->groups++;
	for (unsigned i = 0; i < x->req.slots && !err; i++)
		err = add_slot(x, g, i, tid, cpu);
	return err;
}

static int open_events(struct execbp *x)
{
	int err = 0;

	if (!x->req.on_cpus)
		return open_group(x, x->req.tid, -1);
	/* a CPU that is off runs nothing */
	for (unsigned cpu = 0; cpu < x->cpus && (!err || err == -ENODEV); cpu++)
		err = open_group(x, -1, (int)cpu);
	return err == -ENODEV && x->groups ? 0 : err;
}

/* Since all was armed. */
static bool cpu_time(const struct execbp *x, uint64_t *ns)
{
	if (!x->req.on_cpus)
		return read(x->group[0].leader, ns, sizeof(*ns)) == sizeof(*ns);
	/* that of a thread of another process nobody can read */
	if (!x->req.process || !clock_read(x->clock, ns))
		return false;
	*ns -= x->clock_armed;
	return true;
}

unsigned execbp_cpus(const struct execbp *x)
{
	return x->stats.crowded < MOST_CROWDED && clock_now() >= x->off_cpus_until ? x->cpus : 0;
}

static void execbp_prepare(struct execbp *x)
{
	struct execwin *w = &x->bpf->bss->win;

	w->generation = ++x->generation;
	w->armed_at = 0;
	w->within_ns = x->req.within_ns;
	w->total_limit = x->req.hit_limit;
	w->logged = w->surplus = w->stopped = w->foreign = 0;
	w->process = x->req.on_cpus ? (uint32_t)x->req.pid : 0;
	w->thread = x->req.process ? 0 : (uint32_t)x->req.tid;
	for (unsigned i = 0; i < EXECWIN_SLOTS; i++) {
		bool used = i < x->req.slots;

		w->limit[i] = used ? x->req.slot[i].limit : 0;
		w->ends[i] = used && x->req.slot[i].ends;
		w->reg[i] = used ? x->req.slot[i].reg : EXECWIN_NO_REG;
		w->hits[i] = 0;
	}
	w->closed = EXECWIN_OPEN;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void execbp_set_timer(struct execbp *x, uint64_t when)
{
	struct itimerspec t = { .it_value = { (time_t)(when / 1000000000u), (long)(when % 1000000000u) } };

	timerfd_settime(x->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static bool valid(const struct execbp *x, const struct exec_request *r)
{
	bool ok = (!r->on_cpus || x->cpus) && (r->on_cpus || !r->process) && r->slots && r->slots <= EXECWIN_SLOTS &&
		  r->hit_limit && r->hit_limit <= EXECWIN_LOG && r->time_limit_ns;

	for (unsigned i = 0; i < r->slots && ok; i++)
		ok = r->slot[i].limit;
	return ok;
}

int execbp_open(struct execbp *x, const struct exec_request *req, uint64_t now, struct err *e)
{
	int err = 0;

	if (x->open)
		return err_set(e, -EBUSY, "a window is open");
	if (now < x->away_until)
		return err_set(e, -EAGAIN, "another debugger uses the breakpoints; trying again in a moment");
	if (!valid(x, req))
		return err_set(e, -EINVAL, "execute breakpoints: 1 to %d slots with limits", EXECWIN_SLOTS);
	x->req = *req;
	execbp_prepare(x);
	if (req->on_cpus)
		err = -clock_getcpuclockid(req->pid, &x->clock);
	err = err ? err : open_events(x);
	if (!err && req->on_cpus && !clock_read(x->clock, &x->clock_armed))
		err = -ESRCH;
	if (!err)
		switch_groups(x, PERF_EVENT_IOC_ENABLE);
	if (err) {
		execbp_disarm(x);
		if (err == -ENOSPC && req->on_cpus) {
			/* one breakpoint on any thread of the machine takes one of every CPU's */
			x->off_cpus_until = now + BACK_OFF_NS;
			return err_set(e, err, "the CPUs have no free hardware breakpoint");
		}
		if (err == -ENOSPC) {
			x->stats.stolen++;
			x->away_until = now + BACK_OFF_NS;
			return err_set(e, err, "thread %d has no free hardware breakpoint (a debugger?)", req->tid);
		}
		x->stats.gone += err == -ESRCH;
		return err_set(e, err,
			       err == -ESRCH ? "thread %d has ended" : "a breakpoint cannot be set in thread %d: %s",
			       req->tid, strerror(-err));
	}
	x->armed = clock_now();
	__atomic_store_n(&x->bpf->bss->win.armed_at, x->armed, __ATOMIC_SEQ_CST);
	x->deadline =
		x->armed + (req->within_ns && req->within_ns + LATE_NS < req->time_limit_ns ? req->within_ns + LATE_NS
											    : req->time_limit_ns);
	x->open = true;
	execbp_set_timer(x, x->deadline);
	return 0;
}

bool execbp_is_open(const struct execbp *x)
{
	return x->open;
}

/* CPUs log beside each other. */
static void sort_hits(struct execwin *w)
{
	uint32_t n = w->logged < EXECWIN_LOG ? w->logged : EXECWIN_LOG;

	for (uint32_t i = 1; i < n; i++) {
		struct execwin_hit h = w->log[i];
		uint32_t k = i;

		for (; k && w->log[k - 1].time > h.time; k--)
			w->log[k] = w->log[k - 1];
		w->log[k] = h;
	}
}

/* A thread's clock began somewhere: the first hit comes while it runs. The kernel books what interrupts and a
 * hypervisor took some time later, so the clock may seem to go back by microseconds: it does not. No clock of a
 * process can be read where it is hit: its CPU time is taken to have run evenly. */
static void set_times(struct execwin *w, const struct exec_window *win)
{
	uint64_t lasted = win->ended - win->armed, began, last = 0;
	double pace = lasted && win->cpu_ns != ~0ull ? (double)win->cpu_ns / (double)lasted : 1;

	sort_hits(w);
	began = w->log[0].cpu_ns - (w->log[0].time > win->armed ? w->log[0].time - win->armed : 0);
	for (uint32_t i = 0; i < w->logged && i < EXECWIN_LOG; i++) {
		struct execwin_hit *h = &w->log[i];

		if (!win->req.process)
			h->cpu_ns = (int64_t)(h->cpu_ns - began) > (int64_t)last ? h->cpu_ns - began : last;
		else
			h->cpu_ns = h->time > win->armed ? (uint64_t)((double)(h->time - win->armed) * pace) : 0;
		last = h->cpu_ns;
	}
}

/* By itself, and then before we looked. */
static void end_earlier(const struct execwin *w, struct exec_window *out)
{
	uint64_t lasted = out->ended - out->armed;

	out->unseen_ns = out->ended - w->closed_at;
	out->ended = w->closed_at;
	if (out->cpu_ns == ~0ull)
		return;
	if (out->req.process)
		out->cpu_ns = (uint64_t)((double)out->cpu_ns * (double)(out->ended - out->armed) / (double)lasted);
	else if (w->closed == EXECWIN_FULL)
		out->cpu_ns = w->log[(w->logged - 1) & (EXECWIN_LOG - 1)].cpu_ns;
	else
		out->cpu_ns = out->cpu_ns > out->unseen_ns ? out->cpu_ns - out->unseen_ns : 0;
}

/* Each hit of a slot, and none later than we looked. */
static bool credible(const struct execwin *w, const struct exec_window *win)
{
	for (uint32_t i = 0; i < w->logged && i < EXECWIN_LOG; i++)
		if (w->log[i].slot >= EXECWIN_SLOTS || w->log[i].time > win->ended)
			return false;
	return true;
}

int execbp_record(struct execwin *w, struct exec_window *out)
{
	int err = credible(w, out) ? 0 : -EBADMSG;

	if (err) {
		w->closed = EXECWIN_CROWDED;
		w->logged = 0;
	}
	if (out->req.on_cpus)
		set_times(w, out);
	if (w->closed && w->closed_at >= out->armed && w->closed_at < out->ended)
		end_earlier(w, out);
	if (w->closed == EXECWIN_FULL)
		out->end = EXEC_HITS;
	else if (w->closed == EXECWIN_CROWDED)
		out->end = EXEC_CUT;
	else if (w->closed == EXECWIN_TOO_LATE || (out->end == EXEC_TIME && !w->logged && out->req.within_ns))
		out->end = EXEC_LATE;
	w->closed = EXECWIN_SHUT;
	out->count = w->logged < EXECWIN_LOG ? w->logged : EXECWIN_LOG;
	out->stopped = w->stopped;
	out->traps = w->logged + w->surplus;
	out->hit = w->log;
	memcpy(out->hits, w->hits, sizeof(out->hits));
	return err;
}

static void execbp_finish(struct execbp *x, enum exec_end end, struct exec_window *out)
{
	struct execwin *w = &x->bpf->bss->win;
	uint64_t cpu;

	switch_groups(x, PERF_EVENT_IOC_DISABLE);
	*out = (struct exec_window){
		.req = x->req, .armed = x->armed, .ended = clock_now(), .cpu_ns = ~0ull, .end = end
	};
	if (cpu_time(x, &cpu))
		out->cpu_ns = cpu;
	execbp_disarm(x);
	x->open = false;
	x->stats.malformed += execbp_record(w, out) != 0;
	x->stats.windows++;
	x->stats.hits += w->logged;
	x->stats.traps += out->traps;
	x->stats.late += out->end == EXEC_LATE;
	x->stats.crowded += w->foreign >= EXECWIN_FOREIGN;
	x->stats.armed_ns += out->ended - out->armed;
	execbp_set_timer(x, 0);
}

bool execbp_end(struct execbp *x, uint64_t now, struct exec_window *out)
{
	if (!x->open)
		return false;
	execbp_finish(x, EXEC_CUT, out);
	return true;
}

/* Its first hit came in time; or the thread waited meanwhile: what is left of its CPU time is still to come. */
static bool prolong(struct execbp *x, uint64_t now)
{
	uint64_t last = x->armed + x->req.longest_ns, cpu, left;

	if (x->deadline < x->armed + x->req.time_limit_ns && now < x->armed + x->req.time_limit_ns &&
	    x->bpf->bss->win.logged) {
		x->deadline = x->armed + x->req.time_limit_ns;
		execbp_set_timer(x, x->deadline);
		return true;
	}
	if (x->req.longest_ns <= x->req.time_limit_ns || now >= last || !cpu_time(x, &cpu) ||
	    cpu + LEAST_LEFT_NS >= x->req.time_limit_ns)
		return false;
	left = x->req.time_limit_ns - cpu;
	x->deadline = left < last - now ? now + left : last;
	execbp_set_timer(x, x->deadline);
	return true;
}

bool execbp_poll(struct execbp *x, uint64_t now, struct exec_window *out)
{
	uint32_t closed = __atomic_load_n(&x->bpf->bss->win.closed, __ATOMIC_SEQ_CST);

	/* the timer is not read, hundreds of times a second: setting it anew, as all ways from here do, clears it */
	if (!x->open || (!closed && (now < x->deadline || prolong(x, now))))
		return false;
	execbp_finish(x, closed ? EXEC_HITS : EXEC_TIME, out);
	return true;
}

int execbp_fd(const struct execbp *x)
{
	return x->timer;
}

/* From one hit of the hottest breakpoint to its last: what a window happened to begin with is no turn, and in short
 * windows it would count for much. */
struct exec_span execbp_turns(const struct exec_window *w)
{
	uint32_t hits[EXECWIN_SLOTS] = { 0 }, first[EXECWIN_SLOTS], last[EXECWIN_SLOTS], hot = 0;

	for (uint32_t k = 0; k < w->count; k++) {
		uint32_t slot = w->hit[k].slot % EXECWIN_SLOTS;

		if (!hits[slot]++)
			first[slot] = k;
		last[slot] = k;
		if (hits[slot] >= hits[hot])
			hot = slot;
	}
	/* ended by time, it began and ended anywhere */
	if (w->end == EXEC_TIME || hits[hot] < 2)
		return (struct exec_span){ 0, w->count };
	return (struct exec_span){ first[hot] + 1, last[hot] + 1 };
}

void execbp_stats(const struct execbp *x, struct exec_stats *out)
{
	*out = x->stats;
}

void execbp_free(struct execbp *x)
{
	if (!x)
		return;
	execbp_disarm(x);
	execbp_bpf__destroy(x->bpf);
	if (x->timer >= 0)
		close(x->timer);
	free(x);
}

void execbp_forget(struct execbp *x)
{
	x->stats = (struct exec_stats){ 0 };
	x->away_until = x->off_cpus_until = 0;
}

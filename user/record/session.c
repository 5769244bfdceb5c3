// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cycle: next_profile.c is the half of the session that ends one profile and begins the next, next_look.c the one that
 * waits; session_counters.c says what it lost and cost; located_code.c looks up what the session knows.
 */
#include "record/session.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "symbol/contained_child.h"
#include "attr/naming.h"
#include "record/breakpoint_gate.h"
#include "record/session_priv.h"
#include "measure/cost.h"
#include "measure/cycle_time.h"
#include "record/effort.h"
#include "kmod-free/kernel_btf.h"
#include "kmod-free/kernel_tick.h"
#include "kmod-free/perfev.h"
#include "kmod-free/queue.h"
#include "kmod-free/sideband.h"
#include "util/clock.h"
#include "util/openfile.h"

/* of what a thread's timer costs at a switch, where contexts can be swapped: a switch to another process */
#define SWAPPED 0.25
#define KERNEL_BEAT (1ull << 32) /* on its numbers of timers: beyond those of CPUs and threads */
#define DEARER 1.2               /* times the planned cost of a tick, from which the rate is set anew; by hand */
#define BEGIN_MS 1500 /* that the servers of a file system may take before samples come, each of them in all */
#define MOMENT_MS 300 /* and while they come */
#define QUIET_NS 30000000000ull /* between two records of the cost while nothing happens: some 100 bytes each */

#define SPILL_NS 250000000ull /* kill -9 loses what was not written out: that much, and what we are late */

/* Bytes. Without this glibc raises it to what was freed last: buffers that grow with a profile then lie among what
 * stays, and between two profiles the heap is 1.5 MB more, and a megabyte up or down; by hand */
#define OF_ITS_OWN (128 << 10)

static void measure_tick_price(struct session *s)
{
	char variant[16];

	/* what a tick does depends on these */
	snprintf(variant, sizeof(variant), "%u-%u", s->o.stack_bytes, (unsigned)s->o.timers);
	s->totals.tick_ns = price_measure(&s->prices, PRICE_TICK, variant, s->sampler);
}

/* Ticks of the kernel's own, a second of a CPU's time; 0: none will come. */
static double kernel_hz(const struct session *s)
{
	return s->targets->cgroup_fd < 0 && sampler_may_tick(s->sampler) ? 1e9 / (double)kernel_tick_ns() : 0;
}

static void choose_period(struct session *s)
{
	double hz;

	if (s->o.period_ns) {
		s->period_ns = s->o.period_ns;
		return;
	}
	hz = s->o.budget * s->o.timer_part * 1e9 / session_tick_ns(s);
	/* what these bring the timer need not */
	if (hz > s->o.max_hz - kernel_hz(s))
		hz = s->o.max_hz - kernel_hz(s);
	if (hz < 19)
		hz = 19;
	s->period_ns = (uint64_t)(1e9 / hz);
}

static int wake_on(struct session *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return fd >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

struct session *session_new(const struct session_opts *o, struct targets *t, struct err *e)
{
	struct session *s = calloc(1, sizeof(*s));
	struct sampler_opts so;

	if (!s) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	s->o = *o;
	mallopt(M_MMAP_THRESHOLD, OF_ITS_OWN);
	openfile_patience(BEGIN_MS, 0);
	ledger_open(&s->ledger, o->budget);
	s->targets = t;
	s->wake_ns = price_assumed(PRICE_WAKE_CPU);
	s->cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->cpu_at_start = own_cpu_ns();
	own_budget_begin(&s->own, o->own, clock_now(), s->cpu_at_start);
	prices_open(&s->prices);
	so = (struct sampler_opts){ .stack_bytes = o->stack_bytes,
				    .ring_bytes = o->ring_bytes,
				    .no_inherit = o->no_inherit,
				    .kernel_tick = !o->period_ns,
				    .timers = o->timers };
	s->sampler = sampler_new(&so, e);
	if (s->sampler) {
		measure_tick_price(s);
		choose_period(s);
		sampler_set_period(s->sampler, s->period_ns);
	}
	if (s->sampler && wake_on(s, sampler_fd(s->sampler)))
		err_set(e, -errno, "cannot wait for samples: %s", strerror(errno));
	else if (s->sampler)
		s->sideband = sideband_new(t, e);
	/* the file comes last: a recording that cannot start leaves an older one alone */
	if (s->sideband)
		s->store = store_create(o->output, o->keep_old ? STORE_KEEP_OLD : 0, e);
	if (s->store)
		s->attr = attr_new(s->store, &(struct attr_options){ .cmdline = o->cmdline }, e);
	if (s->attr && (!(s->code = located_code_new(s)) || !(s->queue = queue_new())))
		err_set(e, -ENOMEM, "out of memory");
	if (!s->queue) {
		session_free(s);
		return NULL;
	}
	return s;
}

int session_add(struct session *s, const struct source *source, void *ctx, struct err *e)
{
	int err;

	if (s->part_count == MAX_PARTS)
		err = err_set(e, -ENOSPC, "no room for more than %d sources in a recording", MAX_PARTS);
	else if (source->fd && (err = wake_on(s, source->fd(ctx))))
		err_set(e, err, "a source cannot be waited for: %s", strerror(-err));
	else {
		s->parts[s->part_count].ops = source;
		s->parts[s->part_count++].ctx = ctx;
		return 0;
	}
	if (source->release)
		source->release(ctx);
	return err;
}

int session_part_gave(struct session *s, unsigned part, int err)
{
	if (err < 0)
		s->failed = s->parts[part].ops->name;
	return err;
}

void session_blame(struct session *s, struct err *e)
{
	if (s->failed)
		err_prefix(e, "%s", s->failed);
	s->failed = NULL;
}

void session_put_rate(struct session *s, const char *source, struct fmt_rate *rate)
{
	unsigned i = 0;

	while (i < RATES && s->rates[i].source[0] && strcmp(s->rates[i].source, source))
		i++;
	rate->source = store_string(s->store, source);
	if (i < RATES) {
		snprintf(s->rates[i].source, sizeof(s->rates[i].source), "%s", source);
		s->rates[i].latest = *rate;
	}
	store_put(s->store, FMT_RATE, rate, sizeof(*rate));
}

/* Of samples, once it is known which ticks bring any. */
static void put_sampling_rate(struct session *s, uint64_t time)
{
	struct fmt_rate rate = { .time = time, .period = session_period(s) };

	rate.per_second = 1e9 / (double)rate.period;
	session_put_rate(s, "soft", &rate);
}

static void write_header(struct session *s)
{
	struct utsname u;

	store_meta(s->store, "engine", "soft");
	store_meta(s->store, "bias", "time");
	store_meta(s->store, "unit", "ns");
	store_meta(s->store, "version", ACCPERF_VERSION);
	store_metaf(s->store, "period_ns", "%llu", (unsigned long long)s->period_ns);
	store_metaf(s->store, "budget", "%g", s->o.budget);
	if (isfinite(s->totals.tick_ns))
		store_metaf(s->store, "tick_ns", "%.0f", s->totals.tick_ns);
	if (!uname(&u)) {
		store_meta(s->store, "host", u.nodename);
		store_meta(s->store, "kernel", u.release);
		store_meta(s->store, "arch", u.machine);
	}
	if (*s->o.labels)
		store_meta(s->store, META_LABELS, s->o.labels);
}

/* What lives in the targets from this one on: their threads' time, and their maps. */
static int know_targets(struct session *s, size_t from, struct err *e)
{
	int err = 0;

	for (size_t i = from; i < s->targets->count && !err; i++) {
		const struct target *t = &s->targets->procs[i];
		struct err gone = { 0 };

		/* single threads are followed without their heirs */
		if (!s->targets->tid_count && unsampled_threads_target(&s->lives, (uint32_t)t->pid))
			return err_set(e, -ENOMEM, "out of memory");
		if (s->targets->child)
			continue;
		err = attr_attach(s->attr, (uint32_t)t->pid, &gone);
		if (err == -ESRCH && t->found)
			err = 0; /* a child that has ended meanwhile */
		else if (err)
			*e = gone;
	}
	return err;
}

/* Windows that were planned for may have turned out to be impossible: the timer has their share, then. */
static void share_of_windows(struct session *s)
{
	const struct ledger *l = &s->ledger;

	if (ledger_used(l, ACCOUNT_WATCH) || ledger_used(l, ACCOUNT_HARDWARE) || s->o.period_ns)
		return;
	s->o.timer_part = fmax(s->o.timer_part, ledger_planned_for_timer(false, ledger_used(l, ACCOUNT_COUNTS)));
	choose_period(s);
	sampler_set_period(s->sampler, s->period_ns);
}

int session_start(struct session *s, struct err *e)
{
	const char *why;
	size_t known;
	int err = 0;

	s->began = s->profile_began = s->running_at = clock_now();
	s->next_second = s->began + 1000000000;
	share_of_windows(s);
	write_header(s);
	s->lives.children = !s->o.no_inherit;
	/* maps first, then timers: what is mapped in between arrives through the side band */
	err = know_targets(s, 0, e);
	known = s->targets->count;
	/* parts begin for a second where CPUs are short, and nobody reads the ring meanwhile */
	sampler_hold(s->sampler, true);
	if (!err)
		err = sampler_attach(s->sampler, s->targets, e);
	/* children that were forked meanwhile: nothing of theirs has been read from the ring yet */
	if (!err)
		err = sideband_follow(s->sideband, s->targets);
	if (!err)
		err = know_targets(s, known, e);
	if (!err)
		store_meta(s->store, "timers", sampler_by_thread(s->sampler, &why) ? "threads" : "cpus");
	s->ticking = !err && sampler_kernel_ticks(s->sampler);
	s->by_clock.kernel_ns = kernel_tick_ns();
	if (!err)
		put_sampling_rate(s, s->began);
	if (!err && sampler_by_thread(s->sampler, &why)) {
		s->timer_switch_ns = session_price(s, PRICE_SWITCH_TIMER);
		s->marked = !s->targets->child;
		s->attached.switch_ns = 0; /* is part of that */
	}
	if (!err && s->attached.users)
		store_metaf(s->store, "attached_switch_ns", "%.0f", s->attached.switch_ns);
	for (unsigned i = 0; i < s->part_count && !err; i++) {
		s->parts[i].started = true;
		if (s->parts[i].ops->start)
			err = session_part_gave(s, i, s->parts[i].ops->start(s->parts[i].ctx, s, e));
	}
	session_blame(s, e);
	store_metaf(s->store, "cycle_ns", "%.5f", cycle_time_ns());
	prices_close(&s->prices);
	if (!err && s->o.breakpoints)
		breakpoint_gate_start(s->o.breakpoints);
	kernel_btf_release();
	on_time_begin(&s->on_time, clock_now());
	/* from now on rings fill meanwhile: they hold a second at least */
	openfile_patience(MOMENT_MS, 0);
	if (!err)
		err = targets_recheck(s->targets, e);
	/* samples are taken from now on: to begin may take a second where CPUs are short */
	s->profile_began = clock_now();
	sampler_hold(s->sampler, false);
	if (!err)
		err = targets_go(s->targets, e);
	s->begun = !err;
	return err;
}

/* Tells the sampler how far this thread's stack reaches, so that it copies no more than that. */
static void learn_stack_end(struct session *s, const struct sample *m)
{
	uint64_t end = attr_stack_end(s->attr), *known = map_get(&s->hinted, m->tid);

	if (end > m->regs[7 /* sp */]) {
		if (known && *known == end)
			return;
		known = map_put(&s->hinted, m->tid, NULL);
		if (!known)
			return;
		*known = end;
		sampler_stack_end(s->sampler, m->tid, end);
	} else if (known) {
		/* another stack, or a deeper one: look afresh */
		map_del(&s->hinted, m->tid);
		sampler_stack_end(s->sampler, m->tid, 0);
	}
}

uint64_t session_stack_end(const struct session *s, uint32_t tid)
{
	const uint64_t *end = map_get(&s->hinted, tid);

	return end ? *end : 0;
}

bool session_waits_for_itself(const struct session *s)
{
	return wakeups_closely(switch_rate_of(&s->switches));
}

double session_coupled(const struct session *s, double ns)
{
	return wakeups_cost(ns, switch_rate_of(&s->switches), s->wake_ns, s->cpus);
}

double session_coupled_switch(const struct session *s, double ns)
{
	return s->cpus > 1 && session_waits_for_itself(s) ? ns * price_assumed(PRICE_COUPLED_SWITCH) : ns;
}

double session_tick_cost(const struct session *s)
{
	return session_coupled(s, session_tick_ns(s));
}

static void count_switches(struct session *s, const struct sample *m)
{
	double rate;

	if ((m->valid & SV_SWITCHES) && switch_rate_tick(&s->switches, m->tid, m->switches, (double)m->period))
		return;
	rate = switch_rate_of(&s->switches);
	/* between threads that hold inherited timers only, the kernel swaps these instead */
	ledger_spend(&s->ledger, ACCOUNT_SWITCHES,
		     (double)m->period * rate * s->timer_switch_ns * (s->marked ? 1 : SWAPPED));
}

void session_write_pace(struct session *s)
{
	double rate = switch_rate_of(&s->switches);

	if (rate >= 0)
		store_metaf(s->store, "switches_per_cpu_ns", "%.3g", rate);
}

/* For all parts. The kernel's ticks are in no code of the target's. */
static void locate_tick(struct session *s, const struct sample *m, uint32_t stack, struct located *at)
{
	if (s->part_count && (m->valid & SV_IP) && !(m->flags & (SF_KERNEL | SF_RETURNS)))
		located_code_of_stack(s->code, stack, at);
	else
		at->stack = stack;
}

/* The kernel's own ticks are the target's time as long as they meet it as the timers' do. */
static void look_at_ticks(struct session *s)
{
	if (!s->ticking || (sampler_kernel_ticks(s->sampler) && tick_agreement_holds(&s->agreement)))
		return;
	session_count(s, COUNTER_TICKS_GIVEN_UP, 1, false);
	sampler_no_kernel_ticks(s->sampler);
	s->ticking = false;
	put_sampling_rate(s, clock_now());
}

/* What a tick stands for, where the kernel's come, too; false: it is no sample. */
static bool weigh(struct session *s, struct sample *m)
{
	bool in_step;

	if (m->kind == SAMPLE_EXIT)
		thread_ticks_exit(&s->by_clock, m->tid);
	if (m->kind != SAMPLE_TICK || !s->ticking)
		return true;
	m->period = thread_ticks_seen(&s->by_clock, m, s->period_ns, &in_step);
	/* a thread that is known to be in step tells nothing of the others */
	if (!in_step)
		tick_agreement_seen(&s->agreement, m, (double)s->period_ns / (double)s->by_clock.kernel_ns);
	return m->period;
}

static int take_queued(void *ctx, const struct sample *queued)
{
	struct session *s = ctx;
	struct sample weighed = *queued;
	const struct sample *m = &weighed;
	struct located at = { 0 };
	int err;

	if (!weigh(s, &weighed))
		return 0;
	err = unsampled_threads_event(&s->lives, m);
	if (err)
		return err;
	switch (m->kind) {
	case SAMPLE_TICK: {
		struct fmt_sample r = { .time = m->time,
					.period = m->period,
					.pid = m->pid,
					.tid = m->tid,
					.cpu = (uint16_t)m->cpu,
					.flags = m->flags & SF_KERNEL ? FMT_S_KERNEL : 0 };

		count_switches(s, m);
		if (m->flags & SF_KERNEL_TICK)
			s->kernel_ticks++;
		else
			ledger_spend(&s->ledger, ACCOUNT_TIMER, session_tick_cost(s));
		ledger_earn(&s->ledger, (double)m->period);
		r.stack = attr_stack(s->attr, m);
		locate_tick(s, m, r.stack, &at);
		learn_stack_end(s, m);
		err = store_put(s->store, FMT_SAMPLE, &r, sizeof(r));
		s->totals.samples++;
		s->totals.target_ns += m->period;
		break;
	}
	case SAMPLE_OFF:
		at.stack = attr_stack(s->attr, m);
		learn_stack_end(s, m);
		break;
	case SAMPLE_EXIT:
		switch_rate_exit(&s->switches, m->tid);
		if (map_del(&s->hinted, m->tid))
			sampler_stack_end(s->sampler, m->tid, 0);
		err = attr_event(s->attr, m);
		break;
	case SAMPLE_MMAP:
	case SAMPLE_COMM:
	case SAMPLE_FORK: err = attr_event(s->attr, m); break;
	default: break;
	}
	for (unsigned i = 0; i < s->part_count && err >= 0; i++)
		if (s->parts[i].ops->sample)
			err = session_part_gave(s, i, s->parts[i].ops->sample(s->parts[i].ctx, s, m, &at));
	return err < 0 ? err : 0;
}

/* Ticks that turn out dearer than they were when the period was chosen come less often. */
static void retime(struct session *s)
{
	double dearer = session_tick_cost(s) / session_tick_ns(s);

	if (s->retimed || s->o.period_ns || dearer < DEARER ||
	    sampler_retime(s->sampler, (uint64_t)((double)s->period_ns * dearer)))
		return;
	s->retimed = true;
	s->period_ns = (uint64_t)((double)s->period_ns * dearer);
	put_sampling_rate(s, clock_now());
}

/* What asks for a CPU as a batch job does waits until the target's thread that runs there does. A policy that
 * was given to us is left alone. */
static void stand_back(struct session *s)
{
	bool closely = session_waits_for_itself(s);
	struct sched_param none = { 0 };

	if (closely != s->stands_back && sched_getscheduler(0) == (closely ? SCHED_OTHER : SCHED_BATCH) &&
	    !sched_setscheduler(0, closely ? SCHED_BATCH : SCHED_OTHER, &none))
		s->stands_back = closely;
}

static void count_running(struct session *s, uint64_t now)
{
	double running;

	if (now <= s->running_at)
		return;
	running = (double)(s->totals.target_ns - s->running_ns) / (double)(now - s->running_at);
	s->running = s->running_known ? 0.5 * s->running + 0.5 * running : running;
	s->running_known = true;
	s->running_at = now;
	s->running_ns = s->totals.target_ns;
}

static void tell_ledger(struct session *s, uint64_t now)
{
	if (s->wall_at)
		ledger_wall(&s->ledger, (double)(now - s->wall_at), (double)(s->totals.target_ns - s->wall_ns));
	s->wall_at = now;
	s->wall_ns = s->totals.target_ns;
}

static void look_at_target(struct session *s, uint64_t now)
{
	if (s->o.breakpoints)
		breakpoint_gate_second(s->o.breakpoints, s->armed);
	s->armed = s->breakpoints;
	count_running(s, now);
	tell_ledger(s, now);
	retime(s);
	stand_back(s);
	look_at_ticks(s);
}

double session_own_share(const struct session *s)
{
	return s->own.share;
}

static void book_own_time(struct session *s, uint64_t now)
{
	own_budget_second(&s->own, now, own_cpu_ns() + contained_cpu_ns());
	if (s->own.cut_seconds)
		session_count(s, "seconds with fewer bursts and segments, as the recorder took too much CPU time",
			      s->own.cut_seconds, false);
}

/* The first second is a large part of a short run. */
static void rate_is_known(struct session *s)
{
	s->rate_known = true;
	s->attached.switch_ns = session_coupled_switch(s, s->attached.switch_ns);
	count_running(s, clock_now());
	retime(s);
	stand_back(s);
}

static int take_fresh(void *ctx, const struct sample *m)
{
	struct session *s = ctx;
	struct located at = { 0 };
	int err = 0;

	if (m->kind == SAMPLE_TICK) {
		if (m->flags & SF_KERNEL_TICK)
			tick_forecast_seen(&s->beats, KERNEL_BEAT + m->cpu, m->time, kernel_tick_ns());
		else
			tick_forecast_seen(&s->beats, s->timer_switch_ns > 0 ? m->tid : m->cpu, m->time, s->period_ns);
		s->newest = m->time > s->newest ? m->time : s->newest;
		s->missed += s->o.breakpoints && !(m->flags & SF_KERNEL) && !breakpoint_gate_open(s->o.breakpoints);
	}
	s->idle_polls = 0;
	for (unsigned i = 0; i < s->part_count && err >= 0; i++)
		if (s->parts[i].started && s->parts[i].ops->fresh)
			err = session_part_gave(s, i, s->parts[i].ops->fresh(s->parts[i].ctx, s, m, &at));
	return err < 0 ? err : queue_push(s->queue, m);
}

int session_drain(struct session *s, uint64_t until)
{
	uint64_t last;
	int err;

	/* samples before side band: what a drained sample needs has then been drained, too */
	err = sampler_read(s->sampler, take_fresh, s);
	if (sampler_behind(s->sampler, &last) && last - SETTLE_NS < until)
		until = last - SETTLE_NS;
	if (err >= 0)
		err = sideband_read(s->sideband, queue_push, s->queue);
	return err < 0 ? err : queue_flush(s->queue, until, take_queued, s);
}

/* A reader that follows the file wants chunks that stay. */
static int write_what_waits(struct session *s, uint64_t now, bool second, struct err *e)
{
	bool along = effort_is_read_along();
	uint64_t waited;
	int err;

	if (!store_waits(s->store))
		s->clean_at = now;
	if (!second && (along || now < s->next_spill))
		return 0;
	s->wrote |= !second && store_waits(s->store);
	s->next_spill = now + SPILL_NS;
	err = along ? store_flush(s->store, e) : store_spill(s->store, e);
	waited = clock_now() - s->clean_at;
	s->waited_ns = s->clean_at && waited > s->waited_ns ? waited : s->waited_ns;
	on_time_waited(&s->on_time, now, s->clean_at ? waited : 0);
	s->clean_at = now;
	return err;
}

int session_poll(struct session *s, struct err *e)
{
	uint64_t now = clock_now();
	bool second = false;
	int err;

	s->soon_ms = 0;
	s->wanted = 0;
	s->idle_polls++;
	session_count_look(s, now);
	err = session_drain(s, now - SETTLE_NS);
	if (!s->rate_known && switch_rate_of(&s->switches) >= 0)
		rate_is_known(s);
	/* before what parts do, which may take long where others want the CPU, too */
	if (err >= 0)
		err = write_what_waits(s, now, false, e);

	for (unsigned i = 0; i < s->part_count && err >= 0; i++)
		if (s->parts[i].ops->poll)
			err = session_part_gave(s, i, s->parts[i].ops->poll(s->parts[i].ctx, s, now));
	if (err >= 0 && now >= s->next_second) {
		s->next_second = now + 1000000000;
		sampler_second(s->sampler);
		sideband_second(s->sideband);
		attr_tick(s->attr, now);
		look_at_target(s, now);
		book_own_time(s, now);
		s->quiet = !s->wrote && !store_waits(s->store) && now - s->cost_at < QUIET_NS;
		session_write_counters(s);
		for (unsigned i = 0; i < s->part_count && err >= 0; i++)
			if (s->parts[i].ops->second)
				err = session_part_gave(s, i, s->parts[i].ops->second(s->parts[i].ctx, s, now));
		if (!s->quiet || store_waits(s->store))
			session_write_cost(s, now);
		s->quiet = s->wrote = false;
		second = true;
	}
	if (err >= 0)
		return second ? write_what_waits(s, now, true, e) : 0;
	if (!store_flush(s->store, e)) {
		err_set(e, err, "the recording cannot go on: %s", strerror(-err));
		session_blame(s, e);
	}
	return err;
}

int session_fd(const struct session *s)
{
	return s->epoll;
}

double session_timer_share(const struct session *s)
{
	return session_tick_ns(s) / (double)s->period_ns;
}

static void stop_parts(struct session *s, bool that_count_all)
{
	for (unsigned i = s->part_count; i-- > 0;)
		if (s->parts[i].started && s->parts[i].ops->stop && s->parts[i].ops->counts_all == that_count_all)
			s->parts[i].ops->stop(s->parts[i].ctx, s);
}

static void stop_all(struct session *s)
{
	if (s->stopped)
		return;
	s->stopped = true;
	stop_parts(s, true);
	sampler_stop(s->sampler);
	/* parts end for a second where CPUs are short, too */
	sideband_stop(s->sideband);
	stop_parts(s, false);
}

int session_finish(struct session *s, enum fmt_end_reason why, struct err *e)
{
	uint64_t now = clock_now(), last;
	struct fmt_end end;
	uint64_t bytes;
	int err, status;

	stop_all(s);
	if (s->o.breakpoints)
		breakpoint_gate_stop(s->o.breakpoints, s->store, s->armed);
	while (session_drain(s, UINT64_MAX) >= 0 && sampler_behind(s->sampler, &last))
		;
	err = attr_finish(s->attr, e);
	session_write_counters(s);
	session_write_unsampled(s);
	session_write_heap(s);
	session_write_pace(s);
	for (unsigned i = 0; i < s->part_count; i++)
		if (s->parts[i].ops->second)
			s->parts[i].ops->second(s->parts[i].ctx, s, now);
	session_write_cost(s, now);
	end = session_end_of(s, now, why);
	status = targets_child_status(s->targets, false);
	if (status >= 0)
		end.exit_status = (uint32_t)status;
	err = session_end_file(s->store, &end, err, e, &bytes);
	s->totals.bytes = s->before.bytes + bytes;
	s->store = NULL;
	return err;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	stop_all(s);
	for (unsigned i = 0; i < s->part_count; i++)
		if (s->parts[i].ops->release)
			s->parts[i].ops->release(s->parts[i].ctx);
	queue_free(s->queue);
	located_code_free(s->code);
	attr_free(s->attr);
	sideband_free(s->sideband);
	sampler_free(s->sampler);
	if (s->begun)
		store_abandon(s->store);
	else
		store_undo(s->store);
	map_release(&s->hinted);
	unsampled_threads_release(&s->lives);
	thread_ticks_release(&s->by_clock);
	switch_rate_release(&s->switches);
	counted_release(&s->counted);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}

void session_unread(struct session *s, uint64_t rewritten, uint64_t unreadable)
{
	s->totals.rewritten = rewritten;
	s->totals.unreadable = unreadable;
}

struct attr *session_attr(struct session *s)
{
	return s->attr;
}

struct prices *session_prices(struct session *s)
{
	return &s->prices;
}

struct located_code *session_code(struct session *s)
{
	return s->code;
}

struct sampler *session_sampler(struct session *s)
{
	return s->sampler;
}

struct store_writer *session_store(struct session *s)
{
	return s->store;
}

void session_rate(struct session *s, const char *source, uint64_t now, double per_second, uint64_t period,
		  double *written)
{
	struct fmt_rate r = { .time = now, .per_second = per_second, .period = period };

	if (fabs(per_second - *written) > 0.2 * *written) {
		*written = per_second;
		session_put_rate(s, source, &r);
	}
}

struct targets *session_targets(struct session *s)
{
	return s->targets;
}

const struct session_opts *session_options(const struct session *s)
{
	return &s->o;
}

uint64_t session_period(const struct session *s)
{
	return sampler_sample_ns(s->sampler);
}

void session_wake_cost(struct session *s, double ns)
{
	if (ns > 0)
		s->wake_ns = ns;
}

double session_switch_rate(const struct session *s)
{
	return switch_rate_of(&s->switches);
}

struct ledger *session_ledger(struct session *s)
{
	return &s->ledger;
}

const struct session_totals *session_totals(struct session *s)
{
	return &s->totals;
}

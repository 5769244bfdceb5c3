// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "abi.h"
#include "kmod-free/followed.h"
#include "kmod-free/kernel_btf.h"
#include "kmod-free/kernel_tick.h"
#include "kmod-free/perfev.h"
#include "kmod-free/sampler_record.h"
#include "kmod-free/wanted_pages.h"
#include "sampler.skel.h"
#include "util/grow.h"
#include "util/rights.h"

/* Of one read: where samples come faster than they are worked off, the rest of the loop needs its turn. */
#define READ_MAX 2048

#define TIMERS_MOST 20000   /* of the kernel a second and CPU, each some 60 ns later for us: .1 % of the CPU */
#define STAGGER_NS 20000000 /* over which the CPUs' timers are started, one after the other: 20 ms at most; by hand */

_Static_assert(SAMPLER_PAGES == WIRE_PAGES && SAMPLER_SLOTS == WIRE_SLOTS, "pages are what the program takes");

struct sampler {
	struct sampler_opts o;
	struct sampler_bpf *bpf;
	struct ring_buffer *ring;
	struct timer {
		int fd, cpu;    /* cpu -1: of a thread */
		uint64_t count; /* when last looked at */
	} * timers;
	size_t count, cap;
	struct bpf_link *links[3]; /* what keeps the set of targets */
	struct bpf_link *waits;    /* NULL: not attached */
	int kernel_tick;           /* -1: not attached */
	bool may_tick;             /* it can be, unless the targets are a control group */
	uint64_t passed;           /* timers of the kernel, when last looked at */
	int cgroup_fd;
	uint64_t cpu_ns;
	struct followed_room room;
	bool by_thread, of_cpus, cpu_ns_known;
	struct sampler_feed feed;
	struct err why; /* by_thread, though it was not asked for */
};

static int explain_load(int code, struct err *e)
{
	/* EACCES is the verifier's, who takes nothing from nobody: not a matter of rights */
	if (code == -EACCES && have_capability(CAP_BPF) && have_capability(CAP_PERFMON))
		return err_set(
			e, code,
			"the BPF sampler cannot be loaded: this kernel's BPF verifier refuses it, which is a fault of "
			"accperf: please report it with the output of `uname -a`; a newer kernel may accept it");
	if (code == -EPERM || code == -EACCES) {
		const char *missing = !have_capability(CAP_BPF) ? "CAP_BPF is missing"
				      : !have_capability(CAP_PERFMON)
					      ? "CAP_PERFMON is missing"
					      : "the kernel (lockdown?) or a container's filter refuses bpf()";

		return err_set(e, code, "the BPF sampler cannot be loaded: %s; " RIGHTS_HOW, missing);
	}
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return err_set(e, code,
			       "the BPF sampler cannot be loaded: this kernel has no BTF (/sys/kernel/btf/vmlinux); "
			       "use a kernel built with CONFIG_DEBUG_INFO_BTF, as Debian's are");
	return err_set(e, code, "the BPF sampler cannot be loaded: %s; `accperf doctor` shows what this kernel has",
		       strerror(-code));
}

static int sampler_on_record(void *ctx, void *data, size_t size)
{
	struct sampler *s = ctx;

	return sampler_record(&s->feed, data, size);
}

/* Without the program that some kernels may refuse; both for what the verifier says of the rest. */
static int sampler_load(struct sampler *s, bool kernel_tick, int cpus, struct err *e)
{
	struct pid_namespace own = targets_pid_namespace();
	int err;

	s->bpf = sampler_bpf__open_opts(kernel_btf_options());
	if (!s->bpf)
		return err_set(e, -errno, "the built-in BPF program cannot be read: %s", strerror(errno));
	bpf_program__set_autoload(s->bpf->progs.on_kernel_tick, kernel_tick);
	s->bpf->rodata->stack_limit = s->o.stack_bytes;
	s->bpf->rodata->pidns_dev = own.dev;
	s->bpf->rodata->pidns_ino = own.ino;
	s->bpf->rodata->wake_bytes = s->o.ring_bytes / 4;
	bpf_map__set_max_entries(s->bpf->maps.ring, s->o.ring_bytes);
	bpf_map__set_max_entries(s->bpf->maps.scratch, (uint32_t)cpus);
	err = kernel_btf_load(s->bpf->skeleton);
	if (!err)
		return 0;
	if (!kernel_tick)
		return explain_load(err, e);
	sampler_bpf__destroy(s->bpf);
	return sampler_load(s, false, cpus, e);
}

struct sampler *sampler_new(const struct sampler_opts *o, struct err *e)
{
	struct sampler *s = calloc(1, sizeof(*s));
	const char *why;
	int cpus;

	if (!s) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	s->o = *o;
	s->cgroup_fd = s->kernel_tick = -1;
	counters_prepare();
	cpus = libbpf_num_possible_cpus();
	if (cpus <= 0) {
		err_set(e, cpus, "cannot tell how many CPUs there may be: %s", strerror(-cpus));
		goto fail;
	}
	if (sampler_load(s, o->kernel_tick, cpus, e))
		goto fail;
	s->may_tick = o->kernel_tick && o->timers != TIMERS_OF_THREADS &&
		      bpf_program__fd(s->bpf->progs.on_kernel_tick) >= 0 &&
		      kernel_tick_find(&s->bpf->bss->tick_code, &why);
	s->ring = ring_buffer__new(bpf_map__fd(s->bpf->maps.ring), sampler_on_record, s, NULL);
	if (!s->ring) {
		err_set(e, -errno, "the sample ring cannot be mapped: %s", strerror(errno));
		goto fail;
	}
	return s;
fail:
	sampler_free(s);
	return NULL;
}

static int sampler_add_event(struct sampler *s, struct perf_event_attr *attr, int pid, int cpu, unsigned long flags,
			     struct err *e)
{
	int fd = perfev_open(attr, pid, cpu, -1, flags, "the cpu-clock timer", e);

	if (fd < 0)
		return fd;
	if (!GROW(s->timers, s->count, s->cap, 64)) {
		close(fd);
		return err_set(e, -ENOMEM, "out of memory");
	}
	s->timers[s->count++] = (struct timer){ fd, cpu, 0 };
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(s->bpf->progs.on_tick)))
		return err_set(e, -errno, "the BPF program cannot be attached to the timer: %s", strerror(errno));
	return 0;
}

static struct perf_event_attr clock_attr(const struct sampler *s)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = s->o.period_ns,
		.disabled = 1,
		.exclude_idle = 1,
	};
}

/* Threads may be born while we open events on their siblings: a thread made by one that already has
 * an inheritable event is covered, one made by another is not, so look again until nothing is new. */
static int attach_process(struct sampler *s, int pid, bool inherit_children, struct err *e)
{
	struct perf_event_attr attr = clock_attr(s);
	int *seen = NULL, seen_count = 0, opened = 0, err = 0;
	unsigned seen_cap = 0;
	bool again = true;

	attr.inherit = 1;
	attr.inherit_thread = !inherit_children;
	while (again && !err) {
		int *tids = NULL, n = targets_threads(pid, &tids);

		again = false;
		if (n < 0) {
			err = opened ? 0 : err_set(e, -ESRCH, "process %d ended before it could be observed", pid);
			break;
		}
		for (int i = 0; i < n && !err; i++) {
			bool known = false;

			for (int j = 0; j < seen_count && !known; j++)
				known = seen[j] == tids[i];
			if (known)
				continue;
			err = sampler_add_event(s, &attr, tids[i], -1, 0, e);
			if (err == -ESRCH) {
				err = 0;
				continue;
			}
			if (!PUSH(seen, seen_count, seen_cap, 64, tids[i])) {
				err = err_set(e, -ENOMEM, "out of memory");
				break;
			}
			opened++;
			again = true;
		}
		free(tids);
	}
	free(seen);
	if (!err && !opened)
		err = err_set(e, -ESRCH, "process %d ended before it could be observed", pid);
	return err;
}

static int add_cpu(struct sampler *s, int cpu, struct err *e)
{
	struct perf_event_attr attr = clock_attr(s);

	return sampler_add_event(s, &attr, s->cgroup_fd, cpu, s->cgroup_fd >= 0 ? PERF_FLAG_PID_CGROUP : 0, e);
}

static int attach_cpus(struct sampler *s, struct err *e)
{
	int cpus[CPUS_MOST], n = online_cpus(cpus, CPUS_MOST), err = 0;

	for (int i = 0; i < n && !err; i++)
		err = add_cpu(s, cpus[i], e);
	return n <= 0 ? err_set(e, -EIO, "cannot tell which CPUs are online") : err;
}

static void close_timers(struct sampler *s)
{
	for (size_t i = 0; i < s->count; i++)
		close(s->timers[i].fd);
	s->count = 0;
}

static int follow(struct sampler *s, int id, uint64_t state, struct err *e)
{
	uint32_t key = (uint32_t)id;

	if (bpf_map_update_elem(bpf_map__fd(s->bpf->maps.targets), &key, &state, BPF_ANY))
		return err_set(e, -errno, "too many targets: %s", strerror(errno));
	return 0;
}

/* The targets first, then what adds their children, then children forked before that was in place, then the timers. */
static int follow_targets(struct sampler *s, struct targets *t, struct err *e)
{
	struct bpf_program *const programs[] = { s->bpf->progs.on_free, s->bpf->progs.on_fork, s->bpf->progs.on_exec };
	int err = 0;

	for (size_t i = 0; i < t->tid_count && !err; i++)
		err = follow(s, t->tids[i], FOLLOW_NOW, e);
	for (size_t i = 0; i < t->count && !err && !t->tid_count; i++)
		err = follow(s, t->procs[i].pid, t->procs[i].pid == t->child ? FOLLOW_NOT_YET : FOLLOW_NOW, e);
	s->bpf->bss->follow_children = !s->o.no_inherit;
	s->bpf->bss->lent = targets_lent();
	s->bpf->bss->follow = t->tid_count ? FOLLOW_THREADS : FOLLOW_PROCESSES;
	for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]) && !err; i++) {
		s->links[i] = bpf_program__attach(programs[i]);
		if (!s->links[i])
			err = err_set(e, -errno, "processes cannot be followed: %s", strerror(errno));
	}
	if (!err && !s->o.no_inherit && !t->child) {
		size_t known = t->count;

		err = targets_add_descendants(t, e);
		for (size_t i = known; i < t->count && !err; i++)
			err = follow(s, t->procs[i].pid, FOLLOW_NOW, e);
	}
	return err;
}

static void unfollow(struct sampler *s)
{
	for (unsigned i = 0; i < sizeof(s->links) / sizeof(s->links[0]); i++) {
		bpf_link__destroy(s->links[i]);
		s->links[i] = NULL;
	}
	if (s->bpf)
		s->bpf->bss->follow = FOLLOW_ALL;
}

static int attach_filtered(struct sampler *s, struct targets *t, struct err *e)
{
	int err;

	if (!targets_first_pid_namespace())
		return err_set(e, -EXDEV, "we run in a pid namespace of our own (a container)");
	err = follow_targets(s, t, e);
	if (!err)
		err = attach_cpus(s, e);
	if (err) {
		close_timers(s);
		unfollow(s);
	}
	return err;
}

static int attach_threads(struct sampler *s, struct targets *t, struct err *e)
{
	int err = 0;

	s->by_thread = true;
	/* these count the CPU time that samples are held against, from now on */
	s->bpf->bss->not_yet = false;
	if (t->tid_count) {
		struct perf_event_attr attr = clock_attr(s);

		for (size_t i = 0; i < t->tid_count && !err; i++)
			err = sampler_add_event(s, &attr, t->tids[i], -1, 0, e);
	} else if (t->child) {
		struct perf_event_attr attr = clock_attr(s);

		attr.inherit = 1;
		attr.inherit_thread = s->o.no_inherit;
		attr.enable_on_exec = 1;
		return sampler_add_event(s, &attr, t->child, -1, 0, e);
	} else {
		for (size_t i = 0; i < t->count && !err; i++) {
			struct err gone = { 0 };

			err = attach_process(s, t->procs[i].pid, !s->o.no_inherit, &gone);
			if (err == -ESRCH && t->procs[i].found)
				err = 0;
			else if (err)
				*e = gone;
		}
	}
	for (size_t i = 0; i < s->count && !err; i++)
		ioctl(s->timers[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	return err;
}

/* Not all at once: ticks of all CPUs at the same moment would always find the same phase of what
 * the target's threads do together. */
static void enable_in_turn(struct sampler *s)
{
	uint64_t within = s->o.period_ns < STAGGER_NS ? s->o.period_ns : STAGGER_NS;

	for (size_t i = 0; i < s->count; i++) {
		ioctl(s->timers[i].fd, PERF_EVENT_IOC_ENABLE, 0);
		if (i + 1 < s->count)
			usleep((useconds_t)(within / s->count / 1000));
	}
}

/* The kernel's tick stands for its own period, a timer's for that; of both together each sample stands for as much. */
static void share_time(struct sampler *s, bool ticks)
{
	double more = ticks ? 1 / (double)kernel_tick_ns() : 0;

	s->bpf->bss->both_period = (uint64_t)(1 / (more + 1 / (double)s->o.period_ns));
}

void sampler_no_kernel_ticks(struct sampler *s)
{
	if (s->kernel_tick >= 0)
		close(s->kernel_tick);
	s->kernel_tick = -1;
	/* one may be under way on another CPU, and say that they come */
	share_time(s, false);
}

bool sampler_may_tick(const struct sampler *s)
{
	return s->may_tick;
}

bool sampler_kernel_ticks(const struct sampler *s)
{
	return s->kernel_tick >= 0;
}

/* Of a control group's processes only its timers know. */
static void attach_kernel_tick(struct sampler *s)
{
	int prog = bpf_program__fd(s->bpf->progs.on_kernel_tick);

	s->bpf->bss->kernel_ticks_come = false;
	if (!s->may_tick || s->cgroup_fd >= 0)
		return;
	share_time(s, true);
	s->kernel_tick = bpf_raw_tracepoint_open("hrtimer_expire_entry", prog);
}

void sampler_hold(struct sampler *s, bool hold)
{
	s->bpf->bss->not_yet = hold;
}

int sampler_attach(struct sampler *s, struct targets *t, struct err *e)
{
	bool whole = t->all || t->cgroup_fd >= 0;
	int err;

	raise_file_limit();
	s->cgroup_fd = t->cgroup_fd;
	s->bpf->bss->self = whole && targets_first_pid_namespace() ? (uint32_t)getpid() : 0;
	if (!whole && s->o.timers == TIMERS_OF_THREADS)
		return attach_threads(s, t, e);
	err = whole ? attach_cpus(s, e) : attach_filtered(s, t, s->o.timers == TIMERS_AUTO ? &s->why : e);
	if (err && !whole && s->o.timers == TIMERS_AUTO)
		return attach_threads(s, t, e);
	s->of_cpus = !err;
	if (!err) {
		attach_kernel_tick(s);
		enable_in_turn(s);
	}
	return err;
}

int sampler_retime(struct sampler *s, uint64_t period_ns)
{
	int err;

	if (!s->of_cpus)
		return -EBUSY;
	s->o.period_ns = period_ns;
	close_timers(s);
	share_time(s, s->kernel_tick >= 0);
	/* what cannot be opened now is tried again each second: sampler_second() */
	err = attach_cpus(s, NULL);
	enable_in_turn(s);
	return s->count ? 0 : err;
}

int sampler_targets_fd(const struct sampler *s)
{
	return bpf_map__fd(s->bpf->maps.targets);
}

bool sampler_by_thread(const struct sampler *s, const char **why)
{
	*why = s->why.text;
	return s->by_thread;
}

/* An event does not come back with its CPU, which may be off and on again between two looks. The clock of a cgroup's
 * stands still while nobody of it runs, and tells nothing. */
static bool died(const struct sampler *s, struct timer *t)
{
	uint64_t count = 0, last = t->count;

	if (read(t->fd, &count, sizeof(count)) != sizeof(count))
		return true;
	t->count = count;
	return s->cgroup_fd < 0 && last && count == last;
}

void sampler_second(struct sampler *s)
{
	int cpus[CPUS_MOST], n;
	uint64_t passed;

	followed_if_short(sampler_targets_fd(s), s->bpf->bss->counters, &s->room);
	passed = sampler_counter(s, CTR_TIMERS_PASSED);
	if (passed - s->passed > TIMERS_MOST * s->count)
		sampler_no_kernel_ticks(s);
	s->passed = passed;
	if (!s->of_cpus)
		return;
	n = online_cpus(cpus, CPUS_MOST);
	for (size_t i = 0; i < s->count && n > 0; i++) {
		int k = 0;

		while (k < n && cpus[k] != s->timers[i].cpu)
			k++;
		if (k < n && !died(s, &s->timers[i])) {
			cpus[k] = -1;
			continue;
		}
		close(s->timers[i].fd);
		s->timers[i--] = s->timers[--s->count];
	}
	for (int k = 0; k < n; k++)
		if (cpus[k] >= 0 && !add_cpu(s, cpus[k], NULL))
			ioctl(s->timers[s->count - 1].fd, PERF_EVENT_IOC_ENABLE, 0);
}

int sampler_attach_self(struct sampler *s, uint64_t period_ns, struct err *e)
{
	struct perf_event_attr attr = clock_attr(s);
	int err;

	attr.sample_period = period_ns;
	err = sampler_add_event(s, &attr, 0, -1, 0, e);
	if (!err)
		ioctl(s->timers[s->count - 1].fd, PERF_EVENT_IOC_ENABLE, 0);
	return err;
}

int sampler_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->ring);
}

int sampler_read(struct sampler *s, sample_fn fn, void *ctx)
{
	int err;

	s->feed.fn = fn;
	s->feed.ctx = ctx;
	s->feed.left = READ_MAX;
	err = ring_buffer__consume(s->ring);
	return err == -EAGAIN && !s->feed.left ? 0 : err;
}

bool sampler_behind(const struct sampler *s, uint64_t *last)
{
	*last = s->feed.last;
	return !s->feed.left;
}

/* The kernel sees to it that timers are a control group's; everybody passes the scheduler. */
static int follow_group(struct sampler *s, struct err *e)
{
	uint32_t zero = 0, fd = (uint32_t)s->cgroup_fd;

	if (s->bpf->bss->follow == FOLLOW_CGROUP)
		return 0;
	if (bpf_map_update_elem(bpf_map__fd(s->bpf->maps.cgroup), &zero, &fd, BPF_ANY))
		return err_set(e, -errno, "the control group's switches cannot be told apart: %s", strerror(errno));
	s->bpf->bss->follow = FOLLOW_CGROUP;
	return 0;
}

int sampler_waits(struct sampler *s, uint32_t one_in, struct err *e)
{
	if (s->cgroup_fd >= 0 && follow_group(s, e))
		return e ? e->code : -EOPNOTSUPP;
	if (s->by_thread)
		return err_set(e, -EOPNOTSUPP,
			       "timers belong to threads here, and others' switches cannot be told apart");
	s->bpf->bss->off_one_in = one_in;
	if (s->waits)
		return 0;
	s->waits = bpf_program__attach(s->bpf->progs.on_switch);
	return s->waits ? 0 : err_set(e, -errno, "the scheduler's switches cannot be observed: %s", strerror(errno));
}

/* What was away is forgotten: it may be back long before the next time. */
void sampler_waits_end(struct sampler *s)
{
	int map = bpf_map__fd(s->bpf->maps.away);
	uint32_t tid;

	if (!s->waits)
		return;
	s->bpf->bss->off_one_in = 0;
	bpf_link__destroy(s->waits);
	s->waits = NULL;
	while (!bpf_map_get_next_key(map, NULL, &tid) && !bpf_map_delete_elem(map, &tid))
		;
	memset(s->bpf->bss->away_rows, 0, sizeof(s->bpf->bss->away_rows));
}

void sampler_stack_end(struct sampler *s, uint32_t tid, uint64_t end)
{
	int map = bpf_map__fd(s->bpf->maps.stack_end);

	if (end)
		bpf_map_update_elem(map, &tid, &end, BPF_ANY);
	else
		bpf_map_delete_elem(map, &tid);
}

int sampler_returns(struct sampler *s, int threads_map_fd)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(bpf_map__fd(s->bpf->maps.returns), &zero, &threads_map_fd, BPF_ANY);
}

void sampler_want_none(struct sampler *s)
{
	__atomic_store_n(&s->bpf->bss->wanted.pid, 0, __ATOMIC_RELEASE);
}

bool sampler_want_pages(struct sampler *s, uint32_t pid, const uint64_t *addr, uint32_t count, const uint64_t *slot,
			uint32_t slots)
{
	if (!s->feed.pages)
		s->feed.pages = calloc(1, sizeof(*s->feed.pages));
	return s->feed.pages && want_pages(&s->bpf->bss->wanted, pid, addr, count, slot, slots);
}

uint64_t sampler_counter(const struct sampler *s, enum bpf_counter which)
{
	return counter_read(s->bpf->bss->counters, which);
}

uint64_t sampler_sample_ns(const struct sampler *s)
{
	return s->kernel_tick >= 0 ? s->bpf->bss->both_period : s->o.period_ns;
}

uint64_t sampler_malformed(const struct sampler *s)
{
	return s->feed.malformed;
}

void sampler_set_period(struct sampler *s, uint64_t period_ns)
{
	s->o.period_ns = period_ns;
}

void sampler_forget(struct sampler *s)
{
	counters_forget(s->bpf->bss->counters);
}

bool sampler_cpu_ns(const struct sampler *s, uint64_t *ns)
{
	*ns = s->cpu_ns;
	return s->cpu_ns_known;
}

void sampler_stop(struct sampler *s)
{
	if (!s)
		return;
	if (!s->count && !s->of_cpus)
		return;
	s->of_cpus = false;
	s->bpf->bss->off_one_in = 0;
	sampler_no_kernel_ticks(s);
	/* stop all first: closing an event takes an RCU grace period, and the rest would go on ticking */
	for (size_t i = 0; i < s->count; i++)
		ioctl(s->timers[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	/* and when all are stopped, reading one with its heirs interrupts nobody */
	s->cpu_ns_known = s->by_thread;
	for (size_t i = 0; i < s->count && s->cpu_ns_known; i++) {
		uint64_t ns = 0;

		s->cpu_ns_known &= read(s->timers[i].fd, &ns, sizeof(ns)) == sizeof(ns);
		s->cpu_ns += ns;
	}
	close_timers(s);
	/* no tick can come any more */
	unfollow(s);
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	sampler_stop(s);
	bpf_link__destroy(s->waits);
	ring_buffer__free(s->ring);
	sampler_bpf__destroy(s->bpf);
	free(s->feed.pages);
	free(s->timers);
	free(s);
}

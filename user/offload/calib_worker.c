// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An accelerator whose true parameters are known: a process on another core that takes work through
 * shared memory, waits as long as it is told to (a fixed delay, so much per byte), and computes a CRC
 * faster than the host does. What fit and intervals are judged by on a machine without a device.
 */
#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "offload/calib.h"
#include "util/clock.h"

static const struct {
	const char *name;
	double delay_ns, ns_per_byte;
	bool futex;
} modes[] = {
	{ "worker/spin", 0, 0, false },
	{ "worker/spin-20us", 20000, 0, false },
	{ "worker/spin-2us-0.3ns", 2000, .3, false },
	{ "worker/futex", 0, 0, true },
};

struct calib_worker_shared {
	uint32_t posted __attribute__((aligned(64)));
	uint32_t done __attribute__((aligned(64)));
	uint64_t offset, bytes;
	uint32_t compute, quit, result;
};

struct worker {
	struct calib_worker_shared *mail;
	pid_t pid;
	cpu_set_t before;
	volatile uint32_t sink;
};

/* Those this process may use: a container or taskset may leave one of many. */
static int processors(void)
{
	cpu_set_t all;

	return sched_getaffinity(0, sizeof(all), &all) ? (int)sysconf(_SC_NPROCESSORS_ONLN) : CPU_COUNT(&all);
}

static int worker_list(struct calib_cases *out, struct err *e)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct calib_case *c = calib_add(out, &calib_worker, modes[i].name);

		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		c->variant = (int)i;
		c->clock = CALIB_ELAPSED;
		c->switches_inside = modes[i].futex;
		c->runs |= 1u << RUN_ZERO | 1u << RUN_SUBMIT;
		c->max = 4u << 20; /* the byte table needs 50 ms for 32 MB: nothing new is learnt there */
		snprintf(c->device, sizeof(c->device), "a process on another core, %s, injected %.0f ns + %.1f ns/B",
			 modes[i].futex ? "futex" : "spinning", modes[i].delay_ns, modes[i].ns_per_byte);
		snprintf(c->baseline, sizeof(c->baseline), "CRC-32 by a byte table (the worker: by eight)");
		if (processors() < 2)
			snprintf(c->missing, sizeof(c->missing),
				 "a single processor: the helper has no core of its own");
	}
	return 0;
}

static void futex_wait(uint32_t *at, uint32_t value)
{
	/* wake up now and then: the other side may have died */
	struct timespec limit = { .tv_sec = 1 };

	syscall(SYS_futex, at, FUTEX_WAIT, value, &limit, NULL, 0);
}

static void futex_wake(uint32_t *at)
{
	syscall(SYS_futex, at, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static inline void relax(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

static uint32_t await_change(uint32_t *at, uint32_t old, bool futex, uint32_t *give_up)
{
	uint32_t now;

	for (unsigned spins = 0; (now = __atomic_load_n(at, __ATOMIC_ACQUIRE)) == old; spins++) {
		if (futex)
			futex_wait(at, old);
		else
			relax();
		if ((spins & 0xffff) == 0xffff && give_up && __atomic_load_n(give_up, __ATOMIC_RELAXED))
			break;
	}
	return now;
}

static void serve(struct calib_worker_shared *m, const uint8_t *pool, double delay_ns, double ns_per_byte, bool futex)
{
	uint32_t seen = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		uint64_t from, wait;

		seen = await_change(&m->posted, seen, futex, NULL);
		if (m->quit)
			_exit(0);
		from = clock_now();
		wait = (uint64_t)(delay_ns + ns_per_byte * (double)m->bytes);
		if (wait)
			while (clock_now() - from < wait)
				relax();
		if (m->compute)
			m->result = calib_host_crc_slices(pool + m->offset, m->bytes);
		__atomic_store_n(&m->done, seen, __ATOMIC_RELEASE);
		if (futex)
			futex_wake(&m->done);
	}
}

/* The two ends stay on two different processors. */
static void pin_end(int which)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && which-- == 0)
			CPU_SET(cpu, &one);
	if (CPU_COUNT(&one))
		sched_setaffinity(0, sizeof(one), &one);
}

static int worker_open(struct calib_session *s, struct err *e)
{
	struct worker *p = calloc(1, sizeof(*p));
	uint8_t one = 0;

	s->priv = p;
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->sink = calib_host_crc_table(&one, 1) ^ calib_host_crc_slices(&one, 1); /* tables are built before the fork */
	p->mail = mmap(NULL, sizeof(*p->mail), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->mail == MAP_FAILED) {
		p->mail = NULL;
		return err_set(e, -ENOMEM, "no shared memory for the helper process");
	}
	sched_getaffinity(0, sizeof(p->before), &p->before);
	p->pid = fork();
	if (p->pid < 0)
		return err_set(e, -errno, "cannot start the helper process: %s", strerror(errno));
	if (p->pid == 0) {
		pin_end(1);
		serve(p->mail, s->pool, modes[s->c->variant].delay_ns, modes[s->c->variant].ns_per_byte,
		      modes[s->c->variant].futex);
	}
	pin_end(0);
	return 0;
}

static int gone(struct worker *p)
{
	int status;

	if (waitpid(p->pid, &status, WNOHANG) != p->pid)
		return 0;
	p->pid = 0;
	return -EPIPE;
}

static void post(struct calib_session *s, const uint8_t *in, size_t g, bool compute)
{
	struct worker *p = s->priv;

	p->mail->offset = (uint64_t)(in - s->pool);
	p->mail->bytes = g;
	p->mail->compute = compute;
	__atomic_store_n(&p->mail->posted, p->mail->posted + 1, __ATOMIC_RELEASE);
	if (modes[s->c->variant].futex)
		futex_wake(&p->mail->posted);
}

static int worker_settle(struct calib_session *s)
{
	struct worker *p = s->priv;
	bool futex = modes[s->c->variant].futex;
	uint32_t want = p->mail->posted;

	for (unsigned spins = 1; __atomic_load_n(&p->mail->done, __ATOMIC_ACQUIRE) != want; spins++) {
		if (futex)
			futex_wait(&p->mail->done, want - 1);
		else
			relax();
		if ((futex || (spins & 0xfffff) == 0) && gone(p))
			return -EPIPE;
	}
	return 0;
}

static int worker_call(struct calib_session *s, enum run_kind k, const uint8_t *in, size_t g)
{
	struct worker *p = s->priv;

	if (k == RUN_HOST) {
		p->sink = calib_host_crc_table(in, g);
		return 0;
	}
	post(s, in, g, k != RUN_ZERO);
	return k == RUN_SUBMIT ? 0 : worker_settle(s);
}

static int worker_check(struct calib_session *s, const uint8_t *in, size_t g, struct err *e)
{
	struct worker *p = s->priv;
	int err = worker_call(s, RUN_ACCEL, in, g);

	if (err || p->mail->result != calib_host_crc_table(in, g))
		return err_set(e, -EIO, "%s: host and worker give different checksums", s->c->name);
	return 0;
}

static void worker_close(struct calib_session *s)
{
	struct worker *p = s->priv;
	int status;

	if (!p)
		return;
	if (p->pid > 0) {
		p->mail->quit = 1;
		__atomic_store_n(&p->mail->posted, p->mail->posted + 1, __ATOMIC_RELEASE);
		futex_wake(&p->mail->posted);
		kill(p->pid, SIGKILL);
		waitpid(p->pid, &status, 0);
		sched_setaffinity(0, sizeof(p->before), &p->before);
	}
	if (p->mail)
		munmap(p->mail, sizeof(*p->mail));
	free(p);
}

const struct calib_family calib_worker = {
	.name = "worker",
	.summary = "a helper process with injected latency: parameters known beforehand",
	.list = worker_list,
	.open = worker_open,
	.call = worker_call,
	.settle = worker_settle,
	.check = worker_check,
	.close = worker_close,
};

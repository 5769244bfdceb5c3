// SPDX-License-Identifier: GPL-2.0-or-later
/* Execute breakpoints armed together: against a child whose counts are known by construction. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "abi.h"
#include "kmod-free/execbp.h"
#include "measure/execbp_cost.h"
#include "measure/price_table.h"
#include "kmod-free/refresh_quirk.h"
#include "util/clock.h"

#define PATIENCE_NS 30000000000ull
#define INNER 3

static __attribute__((noinline)) void inner(uint64_t n)
{
	__asm__ volatile("" ::"D"(n) : "memory");
}

static __attribute__((noinline)) void outer(void)
{
	for (uint64_t i = 0; i < INNER; i++)
		inner(i + 100);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void never(void)
{
	__asm__ volatile("nop" ::: "memory");
}

static pid_t child;

static int start_child(void **state)
{
	child = fork();
	if (!child)
		for (;;)
			outer();
	return child > 0 ? 0 : -1;
}

static int end_child(void **state)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}

static struct exec_slot at(void (*f)(void), uint32_t limit, bool ends)
{
	return (struct exec_slot){ .addr = (uint64_t)(uintptr_t)f, .limit = limit, .ends = ends, .reg = WREG_DI };
}

/* Looks every few ms, as the recorder does. */
static void wait_window(struct execbp *x, struct exec_window *w)
{
	uint64_t give_up = clock_now() + PATIENCE_NS;
	struct pollfd p = { .fd = execbp_fd(x), .events = POLLIN };

	while (!execbp_poll(x, clock_now(), w)) {
		assert_true(clock_now() < give_up);
		poll(&p, 1, 3);
	}
}

static struct exec_request both(void)
{
	return (struct exec_request){ .pid = child,
				      .tid = child,
				      .slots = 2,
				      .hit_limit = EXECWIN_LOG,
				      .time_limit_ns = PATIENCE_NS,
				      .slot = { at(outer, 50, true), at((void (*)(void))inner, 200, true) } };
}

static void test_ratio(void **state)
{
	struct execbp *x = execbp_new(NULL);
	struct exec_request req = both();
	struct exec_stats st;
	struct exec_window w;

	assert_non_null(x);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(execbp_open(x, &req, clock_now(), NULL), 0);
		assert_int_equal(execbp_open(x, &req, clock_now(), NULL), -EBUSY);
		wait_window(x, &w);
		assert_int_equal(w.end, EXEC_HITS);
		assert_int_equal(w.hits[0], 50);
		assert_in_range(w.hits[1], 49 * INNER, 50 * INNER);
		/* over with its last hit, however late we look */
		assert_int_equal(w.cpu_ns, w.hit[w.count - 1].cpu_ns);
		assert_true(w.ended >= w.hit[w.count - 1].time && w.unseen_ns > 0 &&
			    w.ended + w.unseen_ns <= clock_now());
		assert_true(w.stopped & 1);
		assert_int_equal(w.count, w.hits[0] + w.hits[1]);
		assert_in_range(w.traps, w.count, refresh_quirk_counts_all() ? 50 + 200 : w.count + 1);
		assert_true(w.cpu_ns != ~0ull && w.cpu_ns > 0 && w.cpu_ns <= w.ended - w.armed + 1000000);
		for (uint32_t k = 0; k < w.count; k++) {
			assert_true(w.hit[k].time >= (k ? w.hit[k - 1].time : 0));
			/* the thread's own clock: runs with the wall's, or stands still */
			assert_true(w.hit[k].cpu_ns > (k ? w.hit[k - 1].cpu_ns : 0) && w.hit[k].cpu_ns <= w.cpu_ns);
			assert_true(w.hit[k].cpu_ns <= w.hit[k].time - w.armed + 1000000);
			assert_in_range(w.hit[k].on_stack, w.hit[k].slot ? (uintptr_t)outer : (uintptr_t)start_child,
					(w.hit[k].slot ? (uintptr_t)outer : (uintptr_t)start_child) + 300);
			if (w.hit[k].slot)
				assert_in_range(w.hit[k].value, 100, 100 + INNER - 1);
		}
	}
	execbp_stats(x, &st);
	assert_int_equal(st.windows, 5);
	execbp_free(x);
}

/* One slot may end alone; the window goes on. */
static void test_slot_limit(void **state)
{
	struct execbp *x = execbp_new(NULL);
	struct exec_request req = both();
	struct exec_window w;

	assert_non_null(x);
	req.slot[0].ends = false;
	req.slot[0].limit = 4;
	assert_int_equal(execbp_open(x, &req, clock_now(), NULL), 0);
	wait_window(x, &w);
	assert_int_equal(w.hits[0], 4);
	assert_int_equal(w.hits[1], 200);
	execbp_free(x);
}

static void test_ends(void **state)
{
	struct execbp *x = execbp_new(NULL);
	struct exec_request req = both();
	struct exec_window w;

	assert_non_null(x);
	assert_false(execbp_poll(x, clock_now(), &w));
	/* what is never reached ends by time */
	req.slots = 1;
	req.slot[0] = at(never, 5, true);
	req.time_limit_ns = 3000000;
	assert_int_equal(execbp_open(x, &req, clock_now(), NULL), 0);
	wait_window(x, &w);
	assert_int_equal(w.end, EXEC_TIME);
	assert_int_equal(w.count, 0);
	/* and if it had to come soon, it is late */
	req.within_ns = 1000;
	assert_int_equal(execbp_open(x, &req, clock_now(), NULL), 0);
	wait_window(x, &w);
	assert_int_equal(w.end, EXEC_LATE);
	/* which is not waited for */
	req.time_limit_ns = PATIENCE_NS;
	assert_int_equal(execbp_open(x, &req, clock_now(), NULL), 0);
	wait_window(x, &w);
	assert_int_equal(w.end, EXEC_LATE);
	assert_true(w.ended - w.armed < PATIENCE_NS / 2);
	req.slot[0].limit = 0;
	assert_int_equal(execbp_open(x, &req, clock_now(), NULL), -EINVAL);
	/* an address that nothing is mapped at is no error: code may be unmapped meanwhile */
	req = both();
	req.slot[0].addr = 0x10000;
	req.slot[1].addr = 0x7fff00000000;
	req.time_limit_ns = 3000000;
	assert_int_equal(execbp_open(x, &req, clock_now(), NULL), 0);
	wait_window(x, &w);
	assert_int_equal(w.count, 0);
	req = both();
	assert_int_equal(execbp_open(x, &req, clock_now(), NULL), 0);
	assert_true(execbp_end(x, clock_now(), &w));
	assert_false(execbp_end(x, clock_now(), &w));
	execbp_free(x);
}

/* The first hit came in time: then it lasts as long as it was meant to. */
static void test_in_time(void **state)
{
	struct execbp *x = execbp_new(NULL);
	struct exec_request req = both();
	struct exec_window w = { .end = EXEC_LATE };
	uint64_t give_up = clock_now() + PATIENCE_NS;

	assert_non_null(x);
	req.slots = 1;
	req.slot[0] = at(outer, 1, false);
	req.within_ns = 50000000;
	req.time_limit_ns = 200000000;
	/* the child may get no processor for so long */
	while (w.end == EXEC_LATE) {
		assert_true(clock_now() < give_up);
		assert_int_equal(execbp_open(x, &req, clock_now(), NULL), 0);
		wait_window(x, &w);
	}
	assert_int_equal(w.end, EXEC_TIME);
	assert_int_equal(w.hits[0], 1);
	assert_true(w.ended - w.armed >= req.time_limit_ns);
	execbp_free(x);
}

static void *one_outer(void *arg)
{
	outer();
	return arg;
}

/* Threads that live for a moment; the first one has nothing to do with what they run. */
static int start_threads(void **state)
{
	child = fork();
	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!child)
		for (;;) {
			pthread_t t;

			if (!pthread_create(&t, NULL, one_outer, NULL))
				pthread_join(t, NULL);
		}
	return child > 0 ? 0 : -1;
}

/* Breakpoints on any thread of the machine count against those of CPUs: others may have them for a while. */
static void open_on_cpus(struct execbp *x, const struct exec_request *req)
{
	uint64_t give_up = clock_now() + PATIENCE_NS;
	int rc;

	while ((rc = execbp_open(x, req, clock_now(), NULL)) == -ENOSPC) {
		assert_true(clock_now() < give_up);
		poll(NULL, 0, 20);
	}
	assert_int_equal(rc, 0);
}

static void all_in_threads(const struct exec_window *w)
{
	for (uint32_t k = 0; k < w->count; k++) {
		uintptr_t caller = w->hit[k].slot ? (uintptr_t)outer : (uintptr_t)one_outer;

		assert_in_range(w->hit[k].on_stack, caller, caller + 300);
	}
}

/* Of all threads, those that begin meanwhile. */
static void test_process(void **state)
{
	struct execbp *x = execbp_new(NULL);
	struct exec_request req = both();
	struct exec_window w;

	assert_non_null(x);
	if (!execbp_cpus(x)) {
		execbp_free(x);
		skip();
	}
	req.process = true;
	assert_int_equal(execbp_open(x, &req, clock_now(), NULL), -EINVAL);
	req.on_cpus = true;
	for (int i = 0; i < 3; i++) {
		open_on_cpus(x, &req);
		wait_window(x, &w);
		assert_int_equal(w.end, EXEC_HITS);
		assert_int_equal(w.hits[0], 50);
		assert_in_range(w.hits[1], 49 * INNER, 50 * INNER);
		assert_true(w.cpu_ns > 0 && w.cpu_ns != ~0ull);
		all_in_threads(&w);
		for (uint32_t k = 1; k < w.count; k++)
			assert_true(w.hit[k].time >= w.hit[k - 1].time && w.hit[k].cpu_ns >= w.hit[k - 1].cpu_ns);
	}
	/* of the first thread alone: what others hit costs, and does not count */
	req.process = false;
	req.time_limit_ns = 20000000;
	open_on_cpus(x, &req);
	wait_window(x, &w);
	assert_int_equal(w.count, 0);
	execbp_free(x);
}

/* Another process with the same code at the same place: it does not count, and is not slowed for long. */
static void test_siblings(void **state)
{
	struct execbp *x = execbp_new(NULL);
	struct exec_request req = both();
	uint64_t give_up = clock_now() + PATIENCE_NS;
	struct exec_stats st = { 0 };
	struct exec_window w;
	pid_t other = fork();

	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			outer();
	}
	assert_non_null(x);
	req.process = req.on_cpus = true;
	req.time_limit_ns = 500000000;
	for (bool can = execbp_cpus(x); can && st.crowded < 4; execbp_stats(x, &st)) {
		assert_true(clock_now() < give_up);
		open_on_cpus(x, &req);
		wait_window(x, &w);
		all_in_threads(&w);
	}
	assert_int_equal(execbp_cpus(x), 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	execbp_free(x);
}

/* A thread's CPU time on CPUs. */
static void test_on_cpus(void **state)
{
	struct execbp *x = execbp_new(NULL);
	struct exec_request req = both();
	struct exec_window w;

	assert_non_null(x);
	req.on_cpus = true;
	if (execbp_cpus(x)) {
		open_on_cpus(x, &req);
		wait_window(x, &w);
		assert_int_equal(w.hits[0], 50);
		assert_in_range(w.hits[1], 49 * INNER, 50 * INNER);
		for (uint32_t k = 1; k < w.count; k++)
			assert_true(w.hit[k].cpu_ns >= w.hit[k - 1].cpu_ns &&
				    w.hit[k].cpu_ns - w.hit[0].cpu_ns <= w.hit[k].time - w.hit[0].time + 1000000);
	}
	execbp_free(x);
}

/* A thread that changes its CPU each time: the CPUs' clocks differ by what a hypervisor took from each. */
static int start_wanderer(void **state)
{
	child = fork();
	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!child)
		for (unsigned int cpu = 0;; cpu = !cpu) {
			cpu_set_t one;

			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof(one), &one);
			outer();
		}
	return child > 0 ? 0 : -1;
}

static int own_breakpoint(pid_t tid, int i)
{
	struct perf_event_attr a = { .type = PERF_TYPE_BREAKPOINT,
				     .size = sizeof(a),
				     .bp_type = HW_BREAKPOINT_W,
				     .disabled = 1,
				     .bp_addr = 0x10000 + 8 * (uint64_t)i,
				     .bp_len = 1,
				     .exclude_kernel = 1 };

	return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static unsigned free_breakpoints(pid_t tid)
{
	unsigned n = 0;
	int fd[8];

	while (n < 8 && (fd[n] = own_breakpoint(tid, (int)n)) >= 0)
		n++;
	for (unsigned i = 0; i < n; i++)
		close(fd[i]);
	return n;
}

/* None of ours is left. A recording that goes on elsewhere on the machine may have some of the CPUs' for a moment. */
static void all_free(pid_t tid)
{
	uint64_t give_up = clock_now() + PATIENCE_NS;

	while (free_breakpoints(tid) != EXECWIN_SLOTS) {
		assert_true(clock_now() < give_up);
		poll(NULL, 0, 5);
	}
}

/* Another debugger goes first; nothing is held between windows. */
static void test_others(void **state)
{
	struct execbp *x = execbp_new(NULL);
	struct exec_request req = both();
	struct exec_window w;
	uint64_t t = clock_now();
	int fd[3];

	assert_non_null(x);
	all_free(child);
	for (int i = 0; i < 3; i++)
		assert_true((fd[i] = own_breakpoint(child, i)) >= 0);
	assert_int_equal(execbp_open(x, &req, t, NULL), -ENOSPC);
	assert_int_equal(free_breakpoints(child), 1);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	assert_int_equal(execbp_open(x, &req, t + 1, NULL), -EAGAIN);
	assert_int_equal(execbp_open(x, &req, t + 2000000000, NULL), 0);
	wait_window(x, &w);
	assert_int_equal(w.end, EXEC_HITS);
	all_free(child);
	assert_int_equal(execbp_open(x, &req, t + 3000000000, NULL), 0);
	execbp_free(x); /* with a window open */
	all_free(child);
}

static void test_gone(void **state)
{
	struct execbp *x = execbp_new(NULL);
	struct exec_request req = both();
	struct exec_window w;
	pid_t other = fork();

	if (!other)
		for (;;)
			pause();
	assert_non_null(x);
	req.pid = req.tid = other;
	req.time_limit_ns = 3000000;
	assert_int_equal(execbp_open(x, &req, clock_now(), NULL), 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	wait_window(x, &w);
	assert_int_equal(w.count, 0);
	assert_int_equal(execbp_open(x, &req, clock_now(), NULL), -ESRCH);
	execbp_free(x);
}

/* Killed with a window open: what is left behind is nothing. */
static void test_killed(void **state)
{
	uint64_t give_up = clock_now() + PATIENCE_NS;
	pid_t watcher;
	int p[2];
	char c;

	assert_int_equal(pipe(p), 0);
	watcher = fork();
	if (!watcher) {
		struct execbp *x = execbp_new(NULL);
		struct exec_request req = both();

		req.slots = 1;
		req.slot[0] = at(never, 5, true);
		if (!x || execbp_open(x, &req, clock_now(), NULL) || write(p[1], "!", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(p[1]);
	assert_int_equal(read(p[0], &c, 1), 1);
	close(p[0]);
	assert_int_equal(free_breakpoints(child), EXECWIN_SLOTS - 1);
	kill(watcher, SIGKILL);
	waitpid(watcher, NULL, 0);
	while (free_breakpoints(child) < EXECWIN_SLOTS)
		assert_true(clock_now() < give_up);
	assert_int_equal(kill(child, 0), 0);
}

static void test_measure(void **state)
{
	struct execbp *x = execbp_new(NULL);
	double price[2];
	struct err e = { 0 };
	double ns;

	assert_non_null(x);
	/* a factor on time; how large it is, the processor says */
	assert_true(execbp_measure_near(x) >= 1 && execbp_measure_near(x) < 1000);
	ns = execbp_measure(x, &e);
	print_message("a hit costs %.0f ns here %s\n", ns, e.text);
	assert_true(ns > 100); /* a trap, whatever the machine */
	measure_counts(x, price);
	print_message("in a program that works %.0f ns, a window of %d slots %.0f ns\n", price[0], EXECWIN_SLOTS,
		      price[1]);
	/* nor can it where every round is interrupted */
	assert_true(isnan(price[0]) || price[0] > 100);
	/* without a second CPU to itself the other thread cannot be observed */
	assert_true(isnan(price[1]) || price[1] >= 0);
	all_free((pid_t)syscall(SYS_gettid));
	execbp_free(x);
}

static struct err no_hits;

static void no_hit_arrives(void **state)
{
	printf("# %s\n", no_hits.text);
	skip();
}

/* In place of a test, its children and all: skip() in it would leave them, with copies of what was printed. */
static void leave_out(struct CMUnitTest *t)
{
	if (t->test_func == test_ends || t->test_func == test_gone || t->test_func == test_killed)
		return;
	t->test_func = no_hit_arrives;
	t->setup_func = t->teardown_func = NULL;
}

int main(void)
{
	struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ratio, start_child, end_child),
		cmocka_unit_test_setup_teardown(test_slot_limit, start_child, end_child),
		cmocka_unit_test_setup_teardown(test_in_time, start_child, end_child),
		cmocka_unit_test_setup_teardown(test_ends, start_child, end_child),
		cmocka_unit_test_setup_teardown(test_process, start_threads, end_child),
		cmocka_unit_test_setup_teardown(test_siblings, start_threads, end_child),
		cmocka_unit_test_setup_teardown(test_on_cpus, start_child, end_child),
		cmocka_unit_test_setup_teardown(test_on_cpus, start_wanderer, end_child),
		cmocka_unit_test_setup_teardown(test_others, start_child, end_child),
		cmocka_unit_test_setup_teardown(test_gone, start_child, end_child),
		cmocka_unit_test_setup_teardown(test_killed, start_child, end_child),
		cmocka_unit_test(test_measure),
	};
	struct err e = { 0 };
	struct execbp *x = execbp_new(&e);

	if (!x) {
		print_message("skipped: %s\n", e.text);
		return 77;
	}
	/* some virtual machines accept breakpoints and deliver no hit */
	if (isnan(execbp_measure(x, &no_hits)) && strstr(no_hits.text, "(0 hits of"))
		for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
			leave_out(&tests[i]);
	execbp_free(x);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

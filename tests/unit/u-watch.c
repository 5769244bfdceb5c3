// SPDX-License-Identifier: GPL-2.0-or-later
/* Watchpoints against a program that does one known access at a time: every hit is checked by kind,
 * place and order; then threads, hit and time limits, other debuggers, and what is left behind. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/ehframe.h"
#include "code/watch_direction.h"
#include "proc/module.h"
#include "format.h"
#include "kmod-free/watch.h"
#include "measure/price_table.h"

int zero_fd __attribute__((used)), null_fd __attribute__((used)), exe_fd __attribute__((used));
#include "unit/unit.h"
#include "unit/watch_forms.h"
#include "util/clock.h"

#define FORMS (sizeof(forms) / sizeof(forms[0]))

/* A child that does what it is told, one command byte each. */
struct puppet {
	pid_t pid;
	int to, from;
	uint8_t *page; /* shared; the watched byte is page[2048] */
};

static void *spin_thread(void *arg)
{
	volatile uint8_t *page = arg;

	while (!page[0])
		usleep(100);
	page[2048] = 1;
	return NULL;
}

enum {
	CMD_FORM = 0,
	CMD_HOT = 100,
	CMD_THREADS,
	CMD_LATE_THREAD,
	CMD_TAKE_ALL,
	CMD_GIVE_BACK,
	CMD_READ_40,
	CMD_WRITE_1
};

static int own_breakpoint(void *addr)
{
	struct perf_event_attr a = { .type = PERF_TYPE_BREAKPOINT,
				     .size = sizeof(a),
				     .bp_type = HW_BREAKPOINT_W,
				     .bp_addr = (uint64_t)(uintptr_t)addr,
				     .bp_len = 1,
				     .exclude_kernel = 1 };

	return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void puppet_main(int from, int to, uint8_t *page)
{
	int own[4] = { -1, -1, -1, -1 };
	pthread_t t[64];
	uint8_t cmd;

	while (read(from, &cmd, 1) == 1) {
		uint8_t answer = 0;

		if (cmd < FORMS) {
			forms[cmd].run(page + 2048);
		} else if (cmd == CMD_HOT) {
			for (int i = 0; i < 20000; i++)
				*(volatile uint8_t *)(page + 2048) = (uint8_t)i;
		} else if (cmd == CMD_READ_40) {
			for (int i = 0; i < 40; i++)
				(void)*(volatile uint8_t *)(page + 2048);
		} else if (cmd == CMD_WRITE_1) {
			*(volatile uint8_t *)(page + 2048) = 1;
		} else if (cmd == CMD_THREADS) {
			page[0] = 0;
			for (int i = 0; i < 63; i++)
				pthread_create(&t[i], NULL, spin_thread, page);
		} else if (cmd == CMD_LATE_THREAD) {
			page[0] = 0;
			pthread_create(&t[63], NULL, spin_thread, page);
		} else if (cmd == CMD_TAKE_ALL) {
			for (int i = 0; i < 4; i++)
				answer += (own[i] = own_breakpoint(page + 3000 + i)) >= 0;
		} else if (cmd == CMD_GIVE_BACK) {
			for (int i = 0; i < 4; i++)
				close(own[i]);
		}
		if (write(to, &answer, 1) != 1)
			break;
	}
	_exit(0);
}

static void puppet_start(struct puppet *p)
{
	int to[2], from[2];

	assert_int_equal(pipe(to) | pipe(from), 0);
	p->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	p->pid = fork();
	if (!p->pid) {
		close(to[1]);
		close(from[0]);
		puppet_main(to[0], from[1], p->page);
	}
	close(to[0]);
	close(from[1]);
	p->to = to[1];
	p->from = from[0];
}

static void puppet_ask(struct puppet *p, uint8_t cmd)
{
	assert_int_equal(write(p->to, &cmd, 1), 1);
}

static uint8_t puppet_wait(struct puppet *p)
{
	uint8_t answer = 255;

	assert_int_equal(read(p->from, &answer, 1), 1);
	return answer;
}

static void puppet_end(struct puppet *p)
{
	close(p->to);
	close(p->from);
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	munmap(p->page, 4096);
}

/* What the recorder hands in: code of the target, with function bounds from .eh_frame. */
struct judge {
	struct puppet *p;
	struct module *m;
	uint64_t bias;
	struct block_code code;
	struct block_cache *cache;
	struct watch_window last;
	unsigned windows;
};

static size_t read_child(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct judge *j = ctx;
	struct iovec l = { buf, len }, r = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv(j->p->pid, &l, 1, &r, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

static size_t read_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct judge *j = ctx;

	return read_child(j, addr + j->bias, buf, len);
}

static bool bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	struct judge *j = ctx;
	const struct ehframe *f = module_ehframe(j->m);

	return f && ehframe_function(f, addr, start, end);
}

static const struct block_code *code_at(void *ctx, uint64_t ip, uint64_t *code_ip)
{
	struct judge *j = ctx;

	*code_ip = ip - j->bias;
	return &j->code;
}

static void decide(void *ctx, const struct wire_watch *raw, struct watch_hit *hit)
{
	struct judge *j = ctx;
	struct watch_direction_env env = { .code_at = code_at, .memory = read_child, .ctx = j };
	struct hit h = { .addr = raw->addr, .len = 1, .regs = (const uint64_t *)raw->regs, .on_stack = raw->on_stack };

	watch_direction_of(j->cache, &env, &h);
	hit->flags |= h.flags;
	hit->ip = h.ip;
}

static void window(void *ctx, const struct watch_window *w)
{
	struct judge *j = ctx;

	j->last = *w;
	j->windows++;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1;
}

static void judge_start(struct judge *j, struct puppet *p)
{
	memset(j, 0, sizeof(*j));
	j->p = p;
	dl_iterate_phdr(first_object, &j->bias);
	j->m = module_open_path("/proc/self/exe", NULL, 0, NULL);
	assert_non_null(j->m);
	j->code = (struct block_code){ .id = 1, .read = read_code, .bounds = bounds, .ctx = j };
	j->cache = block_cache_new(0);
}

static void judge_end(struct judge *j)
{
	module_close_path(j->m);
	block_cache_free(j->cache);
}

static void need_watchpoints(void)
{
	struct watch_opts o = WATCH_DEFAULTS;
	struct err e = { 0 };
	struct watch *w = watch_new(&o, NULL, NULL, NULL, &e);

	if (!w || watch_check(w, &e)) {
		watch_free(w);
		printf("# %s\n", e.text);
		skip();
	}
	watch_free(w);
}

static int arm_for(struct watch *w, struct puppet *p, uint64_t addr, uint64_t ns)
{
	struct watch_request req = { .pid = p->pid, .addr = addr, .len = 1, .time_limit_ns = ns, .write_time_ns = ns };
	int tids[128], n = watch_threads(p->pid, tids, 128), slot;
	uint64_t give_up = clock_now() + 30000000000ull;

	/* a recording that goes on elsewhere on the machine may have those of the CPUs for a moment */
	while (((slot = watch_arm(w, &req, tids, n, clock_now(), NULL)) == -ENOSPC || slot == -EAGAIN) &&
	       clock_now() < give_up)
		usleep(20000);
	return slot;
}

static int arm(struct watch *w, struct puppet *p, uint64_t addr)
{
	return arm_for(w, p, addr, 0);
}

TEST(every_form)
{
	struct watch_opts o = WATCH_DEFAULTS;
	unsigned wanted = 0, right = 0;
	struct puppet p;
	struct judge j;
	struct watch *w;

	need_watchpoints();
	zero_fd = open("/dev/zero", O_RDONLY);
	null_fd = memfd_create("sink", MFD_CLOEXEC);
	exe_fd = open("/proc/self/exe", O_RDONLY);
	puppet_start(&p);
	judge_start(&j, &p);
	w = watch_new(&o, decide, window, &j, NULL);
	assert_non_null(w);
	for (unsigned i = 0; i < FORMS; i++) {
		uint64_t addr = (uint64_t)(uintptr_t)(p.page + 2048), start = (uint64_t)(uintptr_t)forms[i].run, fs, fe;
		const char *x = forms[i].expect;
		bool ok = true;
		int slot;

		if (forms[i].needs_avx2 && !__builtin_cpu_supports("avx2"))
			continue;
		memset(p.page, 0, 4096);
		slot = arm(w, &p, addr);
		assert_true(slot >= 0);
		puppet_ask(&p, (uint8_t)i);
		puppet_wait(&p);
		watch_end(w, slot, FMT_W_TIME, clock_now());
		assert_true(bounds(&j, start - j.bias, &fs, &fe));
		for (unsigned k = 0; *x || k < j.last.count; k++) {
			uint32_t want = 0, got;
			bool kernel = *x == 'k';

			x += kernel;
			wanted++;
			if (!*x || k >= j.last.count) {
				printf("# %s: %u hits, wanted %s\n", forms[i].name, j.last.count, forms[i].expect);
				ok = false;
				break;
			}
			want = *x == 'R' ? FMT_A_LOAD : *x == 'W' ? FMT_A_STORE : FMT_A_LOAD | FMT_A_STORE;
			got = j.last.hits[k].flags & (FMT_A_LOAD | FMT_A_STORE);
			if (got != want || kernel != !!(j.last.hits[k].flags & FMT_A_KERNEL)) {
				printf("# %s hit %u: flags %x, wanted %c\n", forms[i].name, k, j.last.hits[k].flags,
				       *x);
				ok = false;
			} else if (!kernel && (j.last.hits[k].ip - j.bias < fs || j.last.hits[k].ip - j.bias >= fe)) {
				printf("# %s hit %u: ip %#lx outside the function\n", forms[i].name, k,
				       (unsigned long)j.last.hits[k].ip);
				ok = false;
			} else {
				right++;
			}
			x++;
		}
		(void)ok;
	}
	printf("# %u of %u hits right\n", right, wanted);
	assert_true(wanted > 60);
	assert_true(right * 1000 >= wanted * 995);
	watch_free(w);
	judge_end(&j);
	puppet_end(&p);
}

/* Polls until the window of this slot is over. */
static void wait_window(struct watch *w, struct judge *j, unsigned ms)
{
	for (unsigned i = 0; i < ms && !j->windows; i++) {
		usleep(1000);
		watch_poll(w, clock_now());
	}
}

TEST(limits)
{
	struct watch_opts o = WATCH_DEFAULTS;
	struct watch_stats st;
	struct puppet p;
	struct judge j;
	struct watch *w;

	need_watchpoints();
	puppet_start(&p);
	judge_start(&j, &p);
	o.hit_limit = 64;
	o.time_limit_ns = o.write_time_ns = 60000000000; /* never reached, however busy the machine is */
	w = watch_new(&o, decide, window, &j, NULL);
	assert_true(arm(w, &p, (uint64_t)(uintptr_t)(p.page + 2048)) >= 0);
	puppet_ask(&p, CMD_HOT);
	wait_window(w, &j, 30000);
	puppet_wait(&p);
	assert_int_equal(j.windows, 1);
	assert_int_equal(j.last.end_reason, FMT_W_HITS);
	assert_int_equal(j.last.count, 64);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(j.last.hits[i].flags & (FMT_A_LOAD | FMT_A_STORE), FMT_A_STORE);
	watch_stats(w, &st);
	/* 20,000 stores, and the processor was stopped at each limit */
	assert_true(st.late <= 4);
	watch_free(w);

	/* only reads: after 32 of them only writes are seen, and four of those end it */
	j.windows = 0;
	w = watch_new(&o, decide, window, &j, NULL);
	assert_true(arm(w, &p, (uint64_t)(uintptr_t)(p.page + 2048)) >= 0);
	puppet_ask(&p, CMD_READ_40);
	puppet_wait(&p);
	watch_poll(w, clock_now());
	puppet_ask(&p, CMD_HOT);
	puppet_wait(&p);
	wait_window(w, &j, 30000);
	assert_int_equal(j.windows, 1);
	assert_int_equal(j.last.write_only_after, 32);
	assert_int_equal(j.last.count, 36);
	for (unsigned i = 0; i < 36; i++)
		assert_int_equal(j.last.hits[i].flags & (FMT_A_LOAD | FMT_A_STORE), i < 32 ? FMT_A_LOAD : FMT_A_STORE);
	watch_free(w);

	/* nothing happens: the time limit ends it */
	j.windows = 0;
	o.time_limit_ns = 5000000;
	w = watch_new(&o, decide, window, &j, NULL);
	assert_true(arm(w, &p, (uint64_t)(uintptr_t)(p.page + 2048)) >= 0);
	wait_window(w, &j, 30000);
	assert_int_equal(j.windows, 1);
	assert_int_equal(j.last.end_reason, FMT_W_TIME);
	assert_int_equal(j.last.count, 0);
	watch_free(w);
	judge_end(&j);
	puppet_end(&p);
}

/* Whoever ends a wait for a write: its readers are seen next, then the next writer is waited for. */
TEST(reads_again_after_a_write)
{
	static const uint8_t did[] = { CMD_READ_40, CMD_WRITE_1, CMD_READ_40, CMD_WRITE_1, CMD_READ_40 };
	struct watch_opts o = WATCH_DEFAULTS;
	struct puppet p;
	struct judge j;
	struct watch *w;
	unsigned k = 0;

	need_watchpoints();
	puppet_start(&p);
	judge_start(&j, &p);
	o.hit_limit = 16;
	o.switch_after = 8;
	o.read_again = 3;
	w = watch_new(&o, decide, window, &j, NULL);
	assert_non_null(w);
	/* nobody waits for a clock: the puppet is done before each look at what it did */
	assert_true(arm_for(w, &p, (uint64_t)(uintptr_t)(p.page + 2048), 600000000000ull) >= 0);
	for (unsigned i = 0; i < sizeof(did); i++) {
		puppet_ask(&p, did[i]);
		puppet_wait(&p);
		watch_poll(w, clock_now());
	}
	assert_int_equal(j.windows, 1);
	assert_int_equal(j.last.end_reason, FMT_W_HITS);
	assert_int_equal(j.last.write_only_after, 8);
	assert_int_equal(j.last.phases, 5);
	assert_int_equal(j.last.count, 16);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(j.last.hits[k++].flags & (FMT_A_LOAD | FMT_A_STORE), FMT_A_LOAD);
	for (unsigned turn = 0; turn < 2; turn++) {
		assert_int_equal(j.last.hits[k++].flags & (FMT_A_LOAD | FMT_A_STORE), FMT_A_STORE);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(j.last.hits[k++].flags & (FMT_A_LOAD | FMT_A_STORE), FMT_A_LOAD);
	}
	watch_free(w);
	judge_end(&j);
	puppet_end(&p);
}

TEST(threads)
{
	struct watch_opts o = WATCH_DEFAULTS;
	struct puppet p;
	struct judge j;
	struct watch *w;
	int tids[128], known[128], n, n2, seen = 0;

	need_watchpoints();
	puppet_start(&p);
	judge_start(&j, &p);
	o.hit_limit = o.switch_after = 128;
	o.time_limit_ns = 5000000000;
	puppet_ask(&p, CMD_THREADS);
	puppet_wait(&p);
	w = watch_new(&o, decide, window, &j, NULL);
	assert_int_equal(watch_threads(p.pid, known, 128), 64);
	assert_true(arm(w, &p, (uint64_t)(uintptr_t)(p.page + 2048)) >= 0);
	/* one more, born while the window is open */
	puppet_ask(&p, CMD_LATE_THREAD);
	puppet_wait(&p);
	n2 = watch_threads(p.pid, tids, 128);
	assert_int_equal(n2, 65);
	for (n = 0; n < n2; n++) {
		bool old = false;

		for (int k = 0; k < 64; k++)
			old |= known[k] == tids[n];
		if (!old)
			watch_add_task(w, p.pid, tids[n]);
	}
	p.page[0] = 1;
	for (int i = 0; i < 300 && seen < 64; i++) {
		usleep(10000);
		watch_poll(w, clock_now());
		seen = watch_threads(p.pid, tids, 128) == 1 ? 64 : 0;
	}
	watch_end(w, 0, FMT_W_TIME, clock_now());
	assert_int_equal(j.windows, 1);
	assert_int_equal(j.last.count, 64);
	assert_int_equal(j.last.threads, 65);
	for (unsigned i = 0; i < 64; i++)
		for (unsigned k = 0; k < i; k++)
			assert_int_not_equal(j.last.hits[i].tid, j.last.hits[k].tid);
	watch_free(w);
	judge_end(&j);
	puppet_end(&p);
}

TEST(other_debuggers)
{
	struct watch_opts o = WATCH_DEFAULTS;
	struct watch_stats st;
	struct err e = { 0 };
	struct puppet p;
	struct judge j;
	struct watch *w;
	int tid;
	struct watch_request req = { .len = 1 };

	need_watchpoints();
	puppet_start(&p);
	judge_start(&j, &p);
	w = watch_new(&o, decide, window, &j, NULL);
	req.pid = tid = p.pid;
	req.addr = (uint64_t)(uintptr_t)(p.page + 2048);
	/* it finds all four free though we are about to watch, and then we find none */
	puppet_ask(&p, CMD_TAKE_ALL);
	assert_int_equal(puppet_wait(&p), 4);
	assert_int_equal(watch_arm(w, &req, &tid, 1, clock_now(), &e), -ENOSPC);
	assert_non_null(strstr(e.text, "debugger"));
	assert_int_equal(watch_arm(w, &req, &tid, 1, clock_now(), &e), -EAGAIN);
	puppet_ask(&p, CMD_GIVE_BACK);
	puppet_wait(&p);
	assert_int_equal(watch_arm(w, &req, &tid, 1, clock_now() + 2000000000, &e), 0);
	/* our window holds one: three are left, and a debugger that needs four waits for its end */
	puppet_ask(&p, CMD_TAKE_ALL);
	assert_int_equal(puppet_wait(&p), 3);
	puppet_ask(&p, CMD_GIVE_BACK);
	puppet_wait(&p);
	watch_end(w, 0, FMT_W_TIME, clock_now());
	puppet_ask(&p, CMD_TAKE_ALL);
	assert_int_equal(puppet_wait(&p), 4);
	puppet_ask(&p, CMD_GIVE_BACK);
	puppet_wait(&p);
	watch_stats(w, &st);
	assert_int_equal(st.declined, 2);
	/* detach under load: nothing is left */
	assert_true(watch_arm(w, &req, &tid, 1, clock_now() + 4000000000u, &e) >= 0);
	puppet_ask(&p, CMD_HOT);
	watch_free(w);
	puppet_wait(&p);
	puppet_ask(&p, CMD_TAKE_ALL);
	assert_int_equal(puppet_wait(&p), 4);
	judge_end(&j);
	puppet_end(&p);
}

static volatile uint64_t touched[2];

static void *touch(void *arg)
{
	touched[0]++;
	return arg;
}

static void keep_window(void *ctx, const struct watch_window *w)
{
	*(struct watch_window *)ctx = *w;
}

/* On CPUs: threads that begin while the window is open, each lives for one access. Any breakpoint on a thread of this
 * machine counts against those of CPUs, so others may have them for a while. */
TEST(threads_to_come)
{
	struct watch_opts o = WATCH_DEFAULTS;
	struct watch_request req = { .addr = (uint64_t)(uintptr_t)touched, .len = 1, .on_cpus = true };
	uint64_t give_up = clock_now() + 30000000000ull;
	struct watch_window last = { 0 };
	struct watch *w;
	int slot;

	need_watchpoints();
	w = watch_new(&o, NULL, keep_window, &last, NULL);
	assert_non_null(w);
	if (!watch_cpus(w, clock_now())) {
		watch_free(w);
		skip();
	}
	req.time_limit_ns = 20000000000ull;
	req.pid = fork();
	if (!req.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			pthread_t t;

			if (!pthread_create(&t, NULL, touch, NULL))
				pthread_join(t, NULL);
		}
	}
	while ((slot = watch_arm(w, &req, NULL, 0, clock_now(), NULL)) == -ENOSPC) {
		/* and then not for a second, but on threads */
		assert_int_equal(watch_cpus(w, clock_now()), 0);
		assert_true(clock_now() < give_up);
		usleep(20000);
	}
	assert_true(slot >= 0);
	while (!last.count) {
		assert_true(clock_now() < give_up);
		usleep(1000);
		watch_poll(w, clock_now());
	}
	/* until it is off on all CPUs a few more may come */
	assert_in_range(last.count, 8, 64 + 64);
	for (uint32_t i = 0; i < last.count; i++) {
		assert_int_equal(last.hits[i].pid, req.pid);
		assert_int_not_equal(last.hits[i].tid, req.pid);
	}
	assert_int_not_equal(last.hits[0].tid, last.hits[last.count - 1].tid);
	kill(req.pid, SIGKILL);
	waitpid(req.pid, NULL, 0);
	watch_free(w);
}

TEST(call_rates)
{
	struct watch_opts o = WATCH_DEFAULTS;
	struct watch_request req = { .len = 8, .execute = true };
	struct puppet p;
	struct judge j;
	struct watch *w;
	int tid, slot;

	need_watchpoints();
	puppet_start(&p);
	judge_start(&j, &p);
	o.time_limit_ns = 5000000000;
	w = watch_new(&o, decide, window, &j, NULL);
	req.pid = tid = p.pid;
	req.addr = (uint64_t)(uintptr_t)form_inc;
	slot = watch_arm(w, &req, &tid, 1, clock_now(), NULL);
	assert_true(slot >= 0);
	for (int i = 0; i < 25; i++) {
		puppet_ask(&p, i % 5 ? 4 /* inc */ : 1);
		puppet_wait(&p);
	}
	watch_end(w, slot, FMT_W_TIME, clock_now());
	assert_int_equal(j.last.count, 20);
	assert_int_equal(j.last.hits[3].ip, req.addr);
	watch_free(w);
	judge_end(&j);
	puppet_end(&p);
}

/* A stretch of samples without a free slot: which of them hold the slots in the end. */
TEST(reservoir)
{
	enum { SAMPLES = 40, RUNS = 40000 };
	static unsigned held[SAMPLES];
	uint64_t x = 88172645463325252ull;
	double mean = 4.0 * RUNS / SAMPLES;

	memset(held, 0, sizeof(held));
	for (unsigned run = 0; run < RUNS; run++) {
		uint64_t since[4] = { 0 };
		unsigned holds[4] = { 0, 1, 2, 3 };

		for (unsigned i = 1; i < 4; i++)
			for (unsigned k = 0; k < i; k++)
				since[k]++;
		for (unsigned s = 4; s < SAMPLES; s++) {
			int victim;

			for (unsigned k = 0; k < 4; k++)
				since[k]++;
			victim = watch_victim(since, 4, &x);
			assert_in_range(victim + 1, 0, 4);
			if (victim < 0)
				continue;
			holds[victim] = s;
			since[victim] = 0;
		}
		for (unsigned k = 0; k < 4; k++)
			held[holds[k]]++;
	}
	printf("# kept of 40 samples, first %.2f, middle %.2f, last %.2f of the mean\n", held[0] / mean,
	       held[SAMPLES / 2] / mean, held[SAMPLES - 1] / mean);
	/* not uniform, as a textbook reservoir would be, but nothing is shut out, old or new */
	for (unsigned s = 0; s < SAMPLES; s++)
		assert_true(held[s] > 0.02 * mean && held[s] < 10 * mean);
}

TEST(costs)
{
	double ns[3];
	uint64_t t = clock_now();

	need_watchpoints();
	measure_watch(NULL, ns);
	printf("# a hit %.0f ns, one that wakes %.0f ns more, arming and disarming %.0f ns, found in %.1f ms\n", ns[0],
	       ns[2], ns[1], (double)(clock_now() - t) / 1e6);
	/* a trap is no store; NaN: disturbed all the time, or without a second CPU to itself */
	assert_true(isnan(ns[0]) || ns[0] > 50);
	assert_true(isnan(ns[2]) || fabs(ns[2]) < 1e7);
	assert_true(isnan(ns[1]) || ns[1] >= 0);
}

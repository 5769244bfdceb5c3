// SPDX-License-Identifier: GPL-2.0-or-later
/* Segments of this very process and of its children: which returns are drawn, what is told of their ends, and how many
 * instructions lie in between, which are known here. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "kmod-free/call_segments.h"
#include "record/segment_run.h"
#include "measure/price_table.h"
#include "unit/unit.h"
#include "util/clock.h"

/* From the return of getppid to getpid, with so many turns (rdi) over words (rsi): 4 + 3 * turns instructions. */
__asm__(".text\n"
	"two_calls:	mov $110, %eax\n"
	"	syscall\n"
	"came_back:	mov %rdi, %r9\n"
	"	xor %edx, %edx\n"
	"1:	add (%rsi), %rdx\n"
	"	dec %r9\n"
	"	jnz 1b\n"
	"	mov $39, %eax\n"
	"	syscall\n"
	"entered:	ret\n"
	"calls_end:\n");
long two_calls(long turns, const uint64_t *words);
extern const uint8_t came_back[], entered[], calls_end[];
#define IN_BETWEEN(turns) (4 + 3 * (turns))

struct seen {
	struct segment_run *run;
	unsigned begun, ended, carried, open, unseen;
	struct call_segment_end last;
	uint64_t regs[WREG_MAX], from_ip, pages;
	struct fmt_segment segment;
};

static int on_begin(void *ctx, const struct sample *s)
{
	struct seen *k = ctx;

	assert_true(s->valid & SV_REGS);
	k->begun++;
	k->from_ip = s->ip;
	k->pages = s->pages;
	assert_int_equal(segment_run_begin(k->run, s, NULL, NULL), 0);
	return 0;
}

static int on_end(void *ctx, const struct call_segment_end *e)
{
	struct seen *k = ctx;

	k->ended++;
	k->open += e->open;
	k->unseen += !e->open && e->nr < 0;
	if (!e->carried && k->carried)
		return 0;
	k->last = *e;
	if (e->regs)
		memcpy(k->regs, e->regs, sizeof(k->regs));
	if (!e->carried)
		return 0;
	k->carried++;
	segment_run_end(k->run, e, &k->segment);
	return 0;
}

static size_t code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	return n > 0 ? (size_t)n : 0;
}

static bool page(void *ctx, uint64_t addr, uint8_t *buf)
{
	return code(ctx, addr, buf, EMU_PAGE) == EMU_PAGE;
}

static bool another_process(void *ctx, uint32_t pid)
{
	return false;
}

static bool readable(void *ctx)
{
	return false;
}

static struct call_segments *begin_test(struct seen *k)
{
	const struct segment_env env = { .sees = { .code = code, .page = page },
					 .process = another_process,
					 .denied = readable };
	struct err e = { 0 };
	struct call_segments *s = call_segments_new(0, 0, &e);

	if (!s) {
		printf("# %s\n", e.text);
		skip();
	}
	*k = (struct seen){ .run = segment_run_new(&env) };
	assert_non_null(k->run);
	return s;
}

static void end_test(struct call_segments *s, struct seen *k)
{
	assert_int_equal(call_segments_malformed(s), 0);
	call_segments_free(s);
	segment_run_free(k->run);
}

static int watch_us(struct call_segments *s, double carried, double timed)
{
	const struct call_segments_draw all = { .until = UINT64_MAX, .carried = carried, .timed = timed };

	assert_int_equal(call_segments_add(s, getpid()), 0);
	if (call_segments_attach(s, NULL))
		return -errno;
	call_segments_open(s, &all);
	return 0;
}

static void close_test(struct call_segments *s, struct seen *k)
{
	const struct call_segment_reader to = { .begun = on_begin, .ended = on_end, .ctx = k };

	call_segments_hush(s);
	assert_int_equal(call_segments_close(s, &to), 0);
	assert_int_equal(call_segments_under_way(s), 0);
}

/* Every call is counted and every end told; none once it is over, and none of others. */
TEST(calls_are_counted)
{
	struct seen k;
	struct call_segments *s = begin_test(&k);
	uint64_t returns;

	assert_int_equal(watch_us(s, 0, 1), 0);
	for (int i = 0; i < 500; i++)
		syscall(SYS_getppid);
	call_segments_hush(s);
	returns = call_segments_counter(s, GC_RETURNS);
	for (int i = 0; i < 500; i++)
		syscall(SYS_getppid);
	assert_int_equal(returns, call_segments_counter(s, GC_RETURNS));
	assert_in_range(returns, 500, 502);
	assert_int_equal(call_segments_counter(s, GC_TIMED), returns);
	assert_true(call_segments_counter(s, GC_PASSED) >= 1000);
	close_test(s, &k);
	assert_int_equal(k.ended, returns);
	assert_int_equal(k.begun + k.open + k.unseen + k.carried, 0);
	assert_int_equal(call_segments_counter(s, GC_LOST) + call_segments_counter(s, GC_FULL), 0);
	returns = call_segments_counter(s, GC_PASSED);
	syscall(SYS_getppid); /* detached */
	assert_int_equal(call_segments_counter(s, GC_PASSED), returns);
	end_test(s, &k);
}

#define THREADS 4
#define EACH 300

static void *calls_much(void *arg)
{
	for (int i = 0; i < EACH; i++)
		syscall(SYS_getppid);
	return NULL;
}

static int only_these(void *ctx, const struct call_segment_end *e)
{
	unsigned *n = ctx;

	assert_true(e->open || e->nr >= 0);
	*n += e->from_nr == SYS_getppid && e->nr == SYS_getppid && e->tid != (uint32_t)getpid();
	return 0;
}

static int none_begins(void *ctx, const struct sample *s)
{
	fail();
	return 0;
}

/* Threads have segments of their own, also where they take turns on a CPU. */
TEST(threads_are_kept_apart)
{
	struct seen k;
	struct call_segments *s = begin_test(&k);
	unsigned n = 0;
	const struct call_segment_reader to = { .begun = none_begins, .ended = only_these, .ctx = &n };
	pthread_t thread[THREADS];

	assert_int_equal(watch_us(s, 0, 1), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, calls_much, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	call_segments_hush(s);
	assert_int_equal(call_segments_close(s, &to), 0);
	assert_int_equal(call_segments_counter(s, GC_LOST) + call_segments_counter(s, GC_FULL), 0);
	assert_int_equal(n, THREADS * (EACH - 1));
	end_test(s, &k);
}

/* A tenth of them, drawn by count; after so many returns none. */
TEST(chances_and_limits)
{
	struct call_segments_draw d = { .until = UINT64_MAX, .timed = 0.1 };
	struct seen k;
	struct call_segments *s = begin_test(&k);

	assert_int_equal(watch_us(s, 0, 0.1), 0);
	for (int i = 0; i < 2000; i++)
		syscall(SYS_getppid);
	assert_in_range(call_segments_counter(s, GC_TIMED), 130, 280);
	assert_int_equal(call_segments_over(s), 0);
	d.most = 100;
	call_segments_open(s, &d);
	for (int i = 0; i < 2000; i++)
		syscall(SYS_getppid);
	assert_true(call_segments_over(s) > 0);
	assert_in_range(call_segments_counter(s, GC_RETURNS), 2000 + 90,
			2000 + 100 * sysconf(_SC_NPROCESSORS_ONLN) + 9);
	call_segments_remove(s, getpid());
	call_segments_open(s, &(struct call_segments_draw){ .until = UINT64_MAX, .timed = 1 });
	close_test(s, &k);
	assert_true(call_segments_counter(s, GC_OTHERS) > 0);
	end_test(s, &k);
}

/* Of those to be carried on a part is, by call; that nobody is ready for them counts each. */
TEST(some_calls_are_kept_rarely)
{
	double kept[WIRE_CALLS];
	struct seen k;
	struct call_segments *s = begin_test(&k);
	const struct call_segments_draw d = { .until = UINT64_MAX, .carried = 1, .kept = kept };
	uint64_t before;

	for (unsigned i = 0; i < WIRE_CALLS; i++)
		kept[i] = i == SYS_getppid ? 0.1 : 1;
	assert_int_equal(watch_us(s, 0, 1), 0);
	call_segments_open(s, &d);
	before = call_segments_counter(s, GC_NOT_READY);
	for (int i = 0; i < 2000; i++)
		syscall(SYS_getppid);
	assert_in_range(call_segments_counter(s, GC_NOT_READY) - before, 130, 280);
	before = call_segments_counter(s, GC_NOT_READY);
	for (int i = 0; i < 200; i++)
		syscall(SYS_getuid);
	assert_true(call_segments_counter(s, GC_NOT_READY) - before >= 200);
	close_test(s, &k);
	end_test(s, &k);
}

static uint64_t words[512];

static void carry(struct call_segments *s, struct seen *k, long turns)
{
	assert_true(segment_run_ask(k->run, s, (uint32_t)getpid()));
	assert_false(segment_run_ask(k->run, s, (uint32_t)getpid()));
	assert_int_equal(watch_us(s, 1, 0), 0);
	two_calls(turns, words);
	close_test(s, k);
	assert_int_equal(call_segments_counter(s, GC_CARRIED), 1);
	assert_int_equal(k->begun, 1);
	assert_int_equal(k->carried, 1);
}

/* A segment whose time is known: on a busy machine somebody may come in between, and another one is drawn. */
static struct call_segments *carry_timed(struct seen *k, long turns)
{
	struct call_segments *s;

	for (unsigned tries = 1;; tries++) {
		s = begin_test(k);
		carry(s, k, turns);
		if (k->last.timed || tries == 20)
			return s;
		end_test(s, k);
	}
}

TEST(instructions_in_between)
{
	static const long turns[] = { 1, 1000, 60000 };

	words[0] = 3;
	for (unsigned i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		struct seen k;
		struct call_segments *s = carry_timed(&k, turns[i]);

		assert_int_equal(k.from_ip, (uintptr_t)came_back);
		assert_true(k.pages > 0);
		assert_int_equal(k.last.from_nr, SYS_getppid);
		assert_int_equal(k.last.nr, SYS_getpid);
		assert_int_equal(k.last.pid, getpid());
		assert_int_equal(k.regs[WREG_IP], (uintptr_t)entered);
		assert_int_equal(k.regs[WREG_DX], 3 * turns[i]);
		assert_true(k.last.timed && k.last.ran_ns > 0);
		assert_int_equal(k.segment.state, FMT_SEG_VERIFIED);
		assert_int_equal(k.segment.cause, FMT_SEGC_NONE);
		assert_int_equal(k.segment.instructions, IN_BETWEEN(turns[i]));
		assert_true(k.segment.taken_ns > 0);
		end_test(s, &k);
	}
}

/* Too many turns are censored; memory that is another one when it is read leads elsewhere, which is noticed. */
TEST(what_is_not_verified)
{
	struct seen k;
	struct call_segments *s = begin_test(&k);
	struct call_segment_end wrong = { .timed = true };

	carry(s, &k, SEGMENT_HORIZON);
	assert_int_equal(k.segment.state, FMT_SEG_CENSORED);
	assert_int_equal(k.segment.cause, FMT_SEGC_HORIZON);
	assert_int_equal(k.segment.instructions, SEGMENT_HORIZON);
	/* an end without a beginning */
	segment_run_end(k.run, &wrong, &k.segment);
	assert_int_equal(k.segment.state, FMT_SEG_LOST);
	assert_int_equal(k.segment.cause, FMT_SEGC_PAGES);
	end_test(s, &k);
}

static struct call_segment_end changed_end(const struct seen *k, uint64_t *regs)
{
	struct call_segment_end e = k->last;

	memcpy(regs, k->regs, sizeof(k->regs));
	e.regs = regs;
	return e;
}

static struct fmt_segment judged(struct seen *k, const struct sample *m, const struct call_segment_end *e)
{
	struct fmt_segment out = { 0 };

	assert_int_equal(segment_run_begin(k->run, m, NULL, NULL), 0);
	segment_run_end(k->run, e, &out);
	return out;
}

/* Each register of the entry is looked at. */
TEST(entries_are_compared)
{
	struct seen k;
	struct call_segments *s = carry_timed(&k, 5);
	struct sample m = { .kind = SAMPLE_TICK, .valid = SV_REGS, .pid = (uint32_t)getpid() };
	uint64_t regs[WREG_MAX];
	struct call_segment_end e;

	e = changed_end(&k, regs);
	memcpy(m.regs, regs, sizeof(regs));
	m.regs[WREG_IP] = (uintptr_t)came_back;
	m.time = e.begun;
	m.tid = e.tid;
	assert_int_equal(judged(&k, &m, &e).state, FMT_SEG_VERIFIED);
	for (unsigned i = 0; i < WREG_IP + 1; i++) {
		struct fmt_segment out;

		regs[i] ^= 64;
		out = judged(&k, &m, &e);
		regs[i] ^= 64;
		if (i == WREG_CX || i == WREG_R11) { /* the processor's own */
			assert_int_equal(out.state, FMT_SEG_VERIFIED);
			continue;
		}
		assert_int_equal(out.state, FMT_SEG_DIVERGED);
		assert_int_equal(out.cause,
				 i == WREG_AX || i == WREG_IP || i == WREG_SP ? FMT_SEGC_ENTRY : FMT_SEGC_REGISTERS);
	}
	regs[WREG_AX] = SYS_rt_sigreturn;
	e.nr = SYS_rt_sigreturn;
	assert_int_equal(judged(&k, &m, &e).cause, FMT_SEGC_SIGNAL);
	e.nr = -1;
	assert_int_equal(judged(&k, &m, &e).cause, FMT_SEGC_UNSEEN);
	regs[WREG_AX] = SYS_getpid;
	e.nr = SYS_getpid;
	e.timed = false;
	assert_int_equal(judged(&k, &m, &e).state, FMT_SEG_LOST);
	/* what it ran is known without its time */
	regs[WREG_AX] = k.regs[WREG_AX];
	assert_int_equal(segment_run_begin(k.run, &m, NULL, NULL), 0);
	assert_true(segment_run_end(k.run, &e, &k.segment));
	assert_int_equal(k.segment.cause, FMT_SEGC_TIME);
	end_test(s, &k);
}

/* It cannot have gone round so often in the time that it took: it waited for something that changed. */
TEST(what_is_too_fast_is_not_verified)
{
	struct seen k;
	struct call_segments *s = begin_test(&k);
	struct sample m = { .kind = SAMPLE_TICK, .valid = SV_REGS, .pid = (uint32_t)getpid() };
	uint64_t regs[WREG_MAX];
	struct call_segment_end e;
	struct fmt_segment out;

	carry(s, &k, 50000);
	e = changed_end(&k, regs);
	memcpy(m.regs, regs, sizeof(regs));
	m.regs[WREG_IP] = (uintptr_t)came_back;
	m.regs[WREG_CX] = 50000;
	m.time = e.begun;
	m.tid = e.tid;
	out = judged(&k, &m, &e);
	if (out.instructions < 100000)
		fail_msg("only %lu instructions", (unsigned long)out.instructions);
	e.timed = true; /* on a busy machine somebody came in between */
	e.ran_ns = 1000;
	out = judged(&k, &m, &e);
	assert_int_equal(out.state, FMT_SEG_DIVERGED);
	assert_int_equal(out.cause, FMT_SEGC_STUCK);
	end_test(s, &k);
}

/* ---- children ---- */

static void refuse(int nr)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		_exit(2);
}

static void nothing(int sig)
{
}

static void filtered_child(void)
{
	refuse(SYS_getuid);
	for (int i = 0; i < 300; i++)
		syscall(SYS_getuid);
}

/* A read that a signal interrupts is entered again. */
static void interrupted_child(void)
{
	struct sigaction act = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	struct timespec wait = { .tv_nsec = 20000000 };
	pid_t main_pid = getpid();
	int fd[2];
	char c;

	sigaction(SIGUSR1, &act, NULL);
	if (pipe(fd))
		_exit(2);
	if (!fork()) {
		nanosleep(&wait, NULL);
		kill(main_pid, SIGUSR1);
		nanosleep(&wait, NULL);
		_exit(write(fd[1], "x", 1) != 1);
	}
	if (read(fd[0], &c, 1) != 1)
		_exit(3);
}

/* Until it is killed, or nobody is there any more to kill it. */
static void child_that_only_runs(void)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += 60;
	syscall(SYS_getppid);
	do
		clock_gettime(CLOCK_MONOTONIC, &now); /* in the vDSO: no system call */
	while (now.tv_sec < end.tv_sec);
}

static uint64_t cpu_of(pid_t pid)
{
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	return clock_ns(clock);
}

/* By its own clock: how long that takes is the machine's business. */
static void let_it_run(pid_t pid, uint64_t ns)
{
	const struct timespec some = { .tv_nsec = 5000000 };

	for (unsigned i = 0; i < 6000 && cpu_of(pid) < ns; i++)
		nanosleep(&some, NULL);
	assert_true(cpu_of(pid) >= ns);
}

static void kill_child(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* Until it ends; cpu_ns: until it has run for so long. */
static void observe_child(struct call_segments *s, struct seen *k, void (*child)(void), uint64_t cpu_ns)
{
	int go[2], status;
	pid_t pid;
	char c;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		if (read(go[0], &c, 1) == 1)
			child();
		_exit(0);
	}
	assert_int_equal(call_segments_add(s, pid), 0);
	assert_int_equal(call_segments_attach(s, NULL), 0);
	call_segments_open(s, &(struct call_segments_draw){ .until = UINT64_MAX, .timed = 1 });
	assert_int_equal(write(go[1], "x", 1), 1);
	if (cpu_ns) {
		let_it_run(pid, cpu_ns);
	} else {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	close_test(s, k);
	if (cpu_ns)
		kill_child(pid);
	close(go[0]);
	close(go[1]);
}

TEST(refused_entries_are_not_seen)
{
	struct seen k;
	struct call_segments *s = begin_test(&k);

	observe_child(s, &k, filtered_child, 0);
	/* the filter comes before the tracepoint of entries: returns alone are seen */
	assert_in_range(k.unseen, 299, 301);
	assert_true(call_segments_counter(s, GC_RETURNS) >= 300);
	end_test(s, &k);
}

TEST(restarted_calls_are_none)
{
	struct seen k;
	struct call_segments *s = begin_test(&k);

	observe_child(s, &k, interrupted_child, 0);
	assert_int_equal(call_segments_counter(s, GC_RESTARTED), 1);
	end_test(s, &k);
}

TEST(what_does_not_end_is_told)
{
	struct seen k;
	struct call_segments *s = begin_test(&k);

	observe_child(s, &k, child_that_only_runs, 150000000); /* its beginning, up to 25 ms, is not in it */
	assert_int_equal(k.open, 1);
	assert_true(k.last.open && k.last.nr == -1 && k.last.from_nr == SYS_getppid);
	assert_true(k.last.ran_ns > 100000000);
	end_test(s, &k);
}

/* A thread that does not get a CPU is in no long segment. */
TEST(what_waits_for_a_cpu_has_not_run)
{
	const struct timespec more = { .tv_nsec = 400000000 };
	struct seen k;
	struct call_segments *s = begin_test(&k);
	int go[2], status;
	uint64_t ran;
	pid_t pid;
	char c;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		if (read(go[0], &c, 1) == 1)
			child_that_only_runs();
		_exit(0);
	}
	assert_int_equal(call_segments_add(s, pid), 0);
	assert_int_equal(call_segments_attach(s, NULL), 0);
	call_segments_open(s, &(struct call_segments_draw){ .until = UINT64_MAX, .timed = 1 });
	assert_int_equal(write(go[1], "x", 1), 1);
	let_it_run(pid, 20000000);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	ran = cpu_of(pid);
	nanosleep(&more, NULL);
	close_test(s, &k);
	kill_child(pid);
	close(go[0]);
	close(go[1]);
	assert_int_equal(k.open, 1);
	assert_true(k.last.ended - k.last.begun > 400000000);
	assert_true(k.last.ran_ns <= ran);
	end_test(s, &k);
}

TEST(prices_are_measured)
{
	struct seen k;
	struct call_segments *s = begin_test(&k);
	double ns[3];

	measure_segments(s, ns);
	for (int i = 0; i < 3; i++)
		assert_true(isnan(ns[i]) || (ns[i] > 0 && ns[i] < 20000));
	assert_false(isnan(ns[2]));
	end_test(s, &k);
}

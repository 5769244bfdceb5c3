// SPDX-License-Identifier: GPL-2.0-or-later
/* Unwinding this very process: a timer captures registers and stack, as the recorder would. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <zlib.h>

#include "proc/ehframe.h"
#include "proc/unwind.h"
#include "unit/unit.h"

#define SNAPSHOT 65536
#define MAX_TAKEN 400

struct taken {
	uint32_t absent;
	uint64_t array, back;
	uint64_t regs[SAMPLE_REGS];
	size_t bytes;
	uint8_t *stack;
};

static struct taken taken[MAX_TAKEN];
static volatile sig_atomic_t taken_count;
static uint64_t stack_top; /* of this thread */
static size_t snapshot = SNAPSHOT;
static volatile uint8_t *array; /* of hollow(), while it runs */
static uint64_t back;           /* where the address lies that hollow() returns to */

/* Where the kernel keeps them, in DWARF order. */
static const int slots[17] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
			       REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

__attribute__((no_sanitize("address", "undefined"))) static void take(void *context)
{
	const ucontext_t *uc = context;
	struct taken *t;

	if (taken_count == MAX_TAKEN)
		return;
	t = &taken[taken_count++];
	for (int i = 0; i < 17; i++)
		t->regs[i] = (uint64_t)uc->uc_mcontext.gregs[slots[i]];
	t->bytes = 0;
	t->absent = 0;
	t->array = (uint64_t)(uintptr_t)array;
	t->back = back;
	if (t->regs[7] < stack_top) {
		t->bytes = stack_top - t->regs[7] < snapshot ? stack_top - t->regs[7] : snapshot;
		/* not memcpy: the sanitizers watch that, and stack redzones are what is copied here */
		for (size_t i = 0; i < t->bytes; i++)
			((volatile uint8_t *)t->stack)[i] = ((const volatile uint8_t *)t->regs[7])[i];
	}
}

static void on_tick(int sig, siginfo_t *info, void *context)
{
	take(context);
}

static struct modules *ms;
static struct procmaps *maps;
static struct unwinder *unwinder;

static int setup(void **state)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned long lo, hi;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "[stack]") && sscanf(line, "%lx-%lx", &lo, &hi) == 2)
			stack_top = hi;
	if (f)
		fclose(f);
	for (int i = 0; i < MAX_TAKEN; i++)
		taken[i].stack = malloc(SNAPSHOT);
	return stack_top ? 0 : -1;
}

static void fresh(void)
{
	unwinder_free(unwinder);
	procmaps_free(maps);
	modules_free(ms);
	ms = modules_new();
	maps = procmaps_new(ms);
	unwinder = unwinder_new(maps);
	assert_int_equal(procmap_load(maps, (uint32_t)getpid(), NULL), 0);
	taken_count = 0;
	snapshot = SNAPSHOT;
}

static int teardown(void **state)
{
	unwinder_free(unwinder);
	procmaps_free(maps);
	modules_free(ms);
	for (int i = 0; i < MAX_TAKEN; i++)
		free(taken[i].stack);
	return 0;
}

static void timer(int on, int flags)
{
	struct sigaction sa = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART | flags };
	struct itimerval iv = { { 0, on ? 2000 : 0 }, { 0, on ? 2000 : 0 } };

	sigaction(SIGPROF, &sa, NULL);
	setitimer(ITIMER_PROF, &iv, NULL);
}

/* Does frame i lie in this function? Bounds come from .eh_frame, as for a stripped file. */
static bool in_function(const struct fmt_frame *f, const void *fn)
{
	struct place p;
	uint64_t s, e;

	if (!procmap_lookup(maps, (uint32_t)getpid(), (uint64_t)(uintptr_t)fn, &p) || !p.module ||
	    p.module->id != f->module || !ehframe_function(module_ehframe(p.module), p.vaddr, &s, &e))
		return false;
	return f->addr >= s && f->addr < e;
}

static int find(const struct fmt_frame *f, int n, int from, const void *fn)
{
	for (int i = from; i < n; i++)
		if (in_function(&f[i], fn))
			return i;
	return -1;
}

static int unwind_taken(int i, struct fmt_frame *frames, uint32_t *flags)
{
	return unwind(unwinder, (uint32_t)getpid(), taken[i].regs,
		      (struct stack_copy){ taken[i].stack, taken[i].bytes, taken[i].absent }, frames, 256, flags);
}

static void dump(const struct fmt_frame *f, int n)
{
	for (int i = 0; i < n; i++) {
		struct module *m = modules_get(ms, f[i].module);

		printf("#   %2d %s+0x%llx flags %u\n", i, m ? m->object : "?", (unsigned long long)f[i].addr,
		       f[i].flags);
	}
}

/* ---- three functions into stripped zlib ---- */

static uint8_t input[1 << 18], output[1 << 19];
static volatile int stop_after;

__attribute__((noinline)) static int pack_three(void)
{
	uLongf n = sizeof(output);
	int r = compress2(output, &n, input, sizeof(input), 6);

	__asm__ volatile("");
	return r;
}

__attribute__((noinline)) static int pack_two(void)
{
	int r = pack_three();

	__asm__ volatile("");
	return r + 1;
}

__attribute__((noinline)) static int pack_one(void)
{
	int r = pack_two();

	__asm__ volatile("");
	return r + 1;
}

/* For whoever asks what unwinding costs; no test looks at it. */
static void say_cost(void)
{
	struct fmt_frame frames[256];
	struct timespec from, to;
	uint64_t all = 0;
	uint32_t flags;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (int round = 0; round < 20; round++)
		for (int i = 0; i < taken_count; i++)
			all += (uint64_t)unwind_taken(i, frames, &flags);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	printf("# %.1f frames and %.0f ns of CPU time a stack\n", (double)all / (20.0 * taken_count),
	       ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / (20.0 * taken_count));
}

TEST(test_zlib)
{
	struct fmt_frame frames[256];
	struct place libz;
	int in_zlib = 0, whole = 0, complete = 0;

	fresh();
	for (size_t i = 0; i < sizeof(input); i++)
		input[i] = (uint8_t)(i * i >> 7 ^ i);
	timer(1, 0);
	while (taken_count < 300)
		pack_one();
	timer(0, 0);
	assert_true(procmap_lookup(maps, (uint32_t)getpid(), (uint64_t)(uintptr_t)compress2, &libz));
	for (int i = 0; i < taken_count; i++) {
		uint32_t flags;
		int n = unwind_taken(i, frames, &flags), at;

		if (frames[0].module != libz.module->id)
			continue;
		in_zlib++;
		complete += flags == FMT_STACK_COMPLETE;
		at = find(frames, n, 0, (void *)pack_three);
		at = at < 0 ? at : find(frames, n, at, (void *)pack_two);
		at = at < 0 ? at : find(frames, n, at, (void *)pack_one);
		at = at < 0 ? at : find(frames, n, at, (void *)test_zlib);
		if (at >= 0)
			whole++;
		else
			dump(frames, n);
	}
	printf("# zlib: %d samples, %d complete, %d with all callers\n", in_zlib, complete, whole);
	say_cost();
	assert_true(in_zlib > 100);
	assert_true(whole * 100 >= in_zlib * 95);
	assert_true(complete * 100 >= in_zlib * 95);
}

/* ---- a snapshot that is too small is said to be so ---- */

TEST(test_cut)
{
	struct fmt_frame frames[256];
	uint32_t flags;
	int cut = 0;

	fresh();
	snapshot = 64;
	timer(1, 0);
	while (taken_count < 50)
		pack_one();
	timer(0, 0);
	for (int i = 0; i < taken_count; i++) {
		int n = unwind_taken(i, frames, &flags);

		assert_true(n >= 1);
		assert_int_not_equal(flags, FMT_STACK_COMPLETE);
		cut += flags == FMT_STACK_CUT;
	}
	assert_true(cut * 100 >= taken_count * 95);
	assert_true(unwind_counters(unwinder, UNWIND_OF_SAMPLES)->cause[UNWIND_CUT_SNAPSHOT] > 0);
}

/* ---- pages that are not present ---- */

#define HOLLOW (5 * SAMPLE_PAGE)

/* A large array of which little is used: most of its pages may never have been touched. */
__attribute__((noinline)) static int hollow(void)
{
	volatile uint8_t a[HOLLOW];
	int r;

	array = a;
	back = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 8;
	a[0] = a[HOLLOW - 1] = 1;
	r = pack_two() + a[HOLLOW - 1];
	array = NULL;
	return r;
}

/* From `from` to before `to`: as if these pages had not been there. */
static void lose(struct taken *t, uint64_t from, uint64_t to)
{
	uint64_t sp = t->regs[7];

	for (uint64_t page = from / SAMPLE_PAGE; page * SAMPLE_PAGE < to; page++) {
		t->absent |= 1u << (page - sp / SAMPLE_PAGE);
		memset(t->stack + (page * SAMPLE_PAGE - sp), 0, SAMPLE_PAGE);
	}
}

TEST(test_absent)
{
	struct fmt_frame frames[256];
	uint64_t before;
	uint32_t flags;
	int whole = 0, cut = 0;

	fresh();
	timer(1, 0);
	while (taken_count < 50)
		hollow();
	timer(0, 0);
	for (int i = 0; i < taken_count; i++) {
		struct taken *t = &taken[i];
		uint64_t sp = t->regs[7], from, to;
		int n = unwind_taken(i, frames, &flags);

		if (!t->array || flags != FMT_STACK_COMPLETE || t->array < sp)
			continue;
		assert_true(find(frames, n, 0, (void *)hollow) > 0);
		from = (t->array + 2 * SAMPLE_PAGE - 1) & ~(uint64_t)(SAMPLE_PAGE - 1);
		to = (t->array + HOLLOW) & ~(uint64_t)(SAMPLE_PAGE - 1);
		lose(t, from, to);
		assert_int_equal(unwind_taken(i, frames, &flags), n);
		assert_int_equal(flags, FMT_STACK_COMPLETE);
		whole++;
		if (t->back + 8 > sp + t->bytes)
			continue;
		before = unwind_counters(unwinder, UNWIND_OF_SAMPLES)->cause[UNWIND_ABSENT];
		lose(t, t->back, t->back + 8);
		unwind_taken(i, frames, &flags);
		assert_int_equal(flags, FMT_STACK_CUT);
		assert_true(unwind_counters(unwinder, UNWIND_OF_SAMPLES)->cause[UNWIND_ABSENT] > before);
		cut++;
	}
	printf("# %d of %d stacks whole without the array's pages, %d cut without its caller's\n", whole, taken_count,
	       cut);
	assert_true(whole > 25 && cut > 25);
}

/* ---- deep recursion ---- */

__attribute__((noinline)) static uint64_t dive(unsigned depth, uint64_t x)
{
	if (!depth) {
		for (unsigned i = 0; i < 2000000 && taken_count < 100; i++)
			x = x * 6364136223846793005ull + i;
		return x;
	}
	x = dive(depth - 1, x + depth);
	__asm__ volatile("");
	return x ^ depth;
}

TEST(test_recursion)
{
	struct fmt_frame frames[256];
	volatile uint64_t sink = 0;
	int checked = 0;

	fresh();
	timer(1, 0);
	while (taken_count < 100)
		sink += dive(100, 1);
	timer(0, 0);
	for (int i = 0; i < taken_count; i++) {
		uint32_t flags;
		int n = unwind_taken(i, frames, &flags), levels = 0;

		for (int k = 0; k < n; k++)
			levels += in_function(&frames[k], (void *)dive);
		if (levels != 101)
			continue; /* on its way down or up */
		checked++;
		assert_int_equal(flags, FMT_STACK_COMPLETE);
		assert_true(find(frames, n, 0, (void *)test_recursion) > 0);
	}
	assert_true(checked > 80);
}

/* ---- registers popped again, which call frame information does not say ---- */

void popped_loop(void);
__asm__(".text\n.type popped_loop, @function\npopped_loop:\n.cfi_startproc\n"
	"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\nmov $0x1234, %ebp\n"
	"pop %rbp\n.cfi_def_cfa_offset 8\n"
	"mov $4000000, %eax\n1: dec %eax\njnz 1b\nret\n.cfi_endproc\n.size popped_loop, . - popped_loop\n"
	/* no rules at all, as _init has none, and a frame pointer that leads nowhere */
	".type bare_loop, @function\nbare_loop:\n"
	"mov $4000000, %eax\n1: dec %eax\njnz 1b\nret\n.size bare_loop, . - bare_loop\n");
void bare_loop(void);

/* Found by %rbp, which must have survived the step out of popped_loop. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void by_frame(unsigned n)
{
	char room[n];

	__asm__ volatile("" ::"r"(room) : "memory");
	popped_loop();
	__asm__ volatile("" ::"r"(room) : "memory");
}

__attribute__((noinline, optimize("omit-frame-pointer"))) static void call_bare(void)
{
	__asm__ volatile("mov $0x1235, %%ebp\n\tcall bare_loop" ::: "rax", "rbp", "memory", "cc");
}

static int taken_within(const void *from, const void *to, size_t more)
{
	int n = 0;

	for (int i = 0; i < taken_count; i++) {
		const char *leaf = (const char *)(uintptr_t)taken[i].regs[16];

		n += leaf >= (const char *)from && leaf < (const char *)to + more;
	}
	return n;
}

TEST(test_leaf)
{
	struct fmt_frame frames[256];
	int popped = 0, bare = 0;

	fresh();
	timer(1, 0);
	/* which of the two a sample meets is chance, and a slow machine's is unfair */
	while (taken_count < 80 || (taken_count < MAX_TAKEN && (taken_within(popped_loop, bare_loop, 0) < 25 ||
								taken_within(bare_loop, bare_loop, 12) < 25))) {
		by_frame(100);
		call_bare();
	}
	timer(0, 0);
	for (int i = 0; i < taken_count; i++) {
		uint32_t flags;
		int n = unwind_taken(i, frames, &flags);
		const void *leaf = (void *)(uintptr_t)taken[i].regs[16];

		if (leaf >= (void *)popped_loop && leaf < (void *)bare_loop) {
			popped++;
			assert_true(n > 3 && in_function(&frames[1], (void *)by_frame) &&
				    in_function(&frames[2], (void *)test_leaf));
			assert_int_equal(flags, FMT_STACK_COMPLETE);
		} else if (leaf >= (void *)bare_loop && leaf < (void *)((char *)bare_loop + 12)) {
			bare++;
			assert_true(n > 3 && in_function(&frames[1], (void *)call_bare) &&
				    in_function(&frames[2], (void *)test_leaf));
			assert_int_equal(flags, FMT_STACK_COMPLETE);
		}
	}
	assert_true(popped > 20 && bare > 20);
}

/* ---- hand-written code: no rules, a frame of its own, and the frame pointer used for something else ---- */

void bare_deep(void);
void bare_outer(void);
__asm__(".text\n.type bare_deep, @function\nbare_deep:\n"
	"push %rbx\npush %rbp\nsub $200, %rsp\n"
	/* a return address of somebody's earlier call lies there still */
	"lea left_behind(%rip), %rbx\nmov %rbx, 40(%rsp)\n"
	"mov $0x1237, %ebp\nmov $4000000, %eax\n1: dec %eax\njnz 1b\n"
	"add $200, %rsp\npop %rbp\npop %rbx\nret\n.size bare_deep, . - bare_deep\n"
	".type bare_outer, @function\nbare_outer:\n"
	"push %r12\nsub $64, %rsp\nmov $0x1238, %r12d\ncall bare_deep\nadd $64, %rsp\npop %r12\nret\n"
	".size bare_outer, . - bare_outer\n"
	".cfi_startproc\ncall *%rax\nleft_behind: ret\n.cfi_endproc\n");

__attribute__((noinline, optimize("omit-frame-pointer"))) static void call_deep(void)
{
	bare_outer();
	__asm__ volatile("");
}

/* By a pointer, as vector code mostly is, from a function that needs its frame pointer. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void call_deep_by(void (*fn)(void), unsigned n)
{
	char room[n];

	__asm__ volatile("" ::"r"(room) : "memory");
	fn();
	__asm__ volatile("" ::"r"(room) : "memory");
}

TEST(test_bare)
{
	void (*volatile fn)(void) = bare_deep;
	struct fmt_frame frames[256];
	int nested = 0, by_pointer = 0;
	uint64_t found;

	fresh();
	timer(1, 0);
	while (taken_count < 100) {
		call_deep();
		call_deep_by(fn, 300);
	}
	timer(0, 0);
	for (int i = 0; i < taken_count; i++) {
		uint64_t leaf = taken[i].regs[16];
		uint32_t flags;
		int n = unwind_taken(i, frames, &flags);

		if (leaf < (uint64_t)(uintptr_t)bare_deep || leaf >= (uint64_t)(uintptr_t)bare_outer ||
		    taken[i].regs[6] != 0x1237)
			continue; /* not in its loop */
		assert_int_equal(flags, FMT_STACK_COMPLETE);
		if (in_function(&frames[1], (void *)call_deep_by)) {
			by_pointer++;
			assert_true(n > 3 && in_function(&frames[2], (void *)test_bare));
		} else {
			nested++;
			assert_true(n > 4 && frames[1].addr + leaf - frames[0].addr > (uint64_t)(uintptr_t)bare_outer);
			assert_true(in_function(&frames[2], (void *)call_deep) &&
				    in_function(&frames[3], (void *)test_bare));
		}
	}
	assert_true(nested > 20 && by_pointer > 20);
	found = unwind_counters(unwinder, UNWIND_OF_SAMPLES)->found;
	assert_int_equal(found, 2 * nested + by_pointer);
}

/* ---- a call that never returns: its return address is the next function's ---- */

static jmp_buf out;

__attribute__((noinline, noreturn)) static void leave(void)
{
	int first = taken_count;

	for (volatile uint64_t x = 1; taken_count < first + 5;)
		x = x * 3 + 1;
	longjmp(out, 1);
}

__attribute__((noinline, noreturn)) static void last_call(void)
{
	__asm__ volatile("");
	leave();
}

__attribute__((noinline)) static void never_returned_from(void)
{
	if (!setjmp(out))
		last_call();
}

TEST(test_noreturn)
{
	struct fmt_frame frames[256];
	int seen = 0;

	fresh();
	timer(1, 0);
	while (taken_count < 40)
		never_returned_from();
	timer(0, 0);
	for (int i = 0; i < taken_count; i++) {
		uint32_t flags;
		int n = unwind_taken(i, frames, &flags);

		if (n < 3 || !in_function(&frames[0], (void *)leave))
			continue;
		seen++;
		assert_true(in_function(&frames[1], (void *)last_call));
		assert_int_equal(frames[1].flags, FMT_FRAME_RETURN);
		assert_int_equal(flags, FMT_STACK_COMPLETE);
	}
	assert_true(seen > 20);
}

/* ---- through a signal handler, on the same and on an alternate stack ---- */

__attribute__((noinline)) static void handler_work(void)
{
	volatile uint64_t x = 1;
	int first = taken_count;

	for (unsigned i = 0; i < 4000000000u && taken_count < first + 20; i++)
		x = x * 3 + i;
}

static void on_usr1(int sig)
{
	handler_work();
	__asm__ volatile("");
}

__attribute__((noinline)) static void interrupted(void)
{
	raise(SIGUSR1);
	__asm__ volatile("");
}

static void signal_test(int flags, int *through, int *other, int *signal_frames)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = flags };
	struct fmt_frame frames[256];

	sigaction(SIGUSR1, &sa, NULL);
	timer(1, 0);
	interrupted();
	timer(0, 0);
	for (int i = 0; i < taken_count; i++) {
		uint32_t f;
		int n = unwind_taken(i, frames, &f);

		if (find(frames, n, 0, (void *)handler_work) < 0)
			continue;
		for (int k = 0; k < n; k++) {
			uint8_t code[9];

			if (!(frames[k].flags & FMT_FRAME_SIGNAL))
				continue;
			(*signal_frames)++;
			/* its address is the trampoline's first instruction: mov $15,%rax */
			assert_int_equal(module_read(modules_get(ms, frames[k].module), frames[k].addr, code, 9), 9);
			assert_memory_equal(code, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
			/* and what it interrupted was not calling */
			if (k + 1 < n)
				assert_int_equal(frames[k + 1].flags, 0);
		}
		if (f == FMT_STACK_COMPLETE && find(frames, n, 0, (void *)interrupted) > 0)
			(*through)++;
		else if (f == FMT_STACK_CUT)
			(*other)++;
		else
			dump(frames, n);
	}
}

TEST(test_signal)
{
	int through = 0, other = 0, signals = 0;

	fresh();
	signal_test(0, &through, &other, &signals);
	assert_true(through >= 15);
	assert_int_equal(other, 0);
	assert_int_equal(signals, through);
}

TEST(test_altstack)
{
	uint64_t top = stack_top;
	stack_t ss = { .ss_size = 1 << 16 }, off = { .ss_flags = SS_DISABLE };
	int through = 0, other = 0, signals = 0;

	fresh();
	ss.ss_sp = mmap(NULL, ss.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&ss, NULL);
	stack_top = (uint64_t)(uintptr_t)ss.ss_sp + ss.ss_size; /* the snapshot ends with its stack */
	signal_test(SA_ONSTACK, &through, &other, &signals);
	stack_top = top;
	sigaltstack(&off, NULL);
	munmap(ss.ss_sp, ss.ss_size);
	/* the handler and the trampoline are there; what was interrupted is on the other stack */
	assert_int_equal(through, 0);
	assert_true(other >= 15);
	assert_int_equal(signals, other);
	assert_true(unwind_counters(unwinder, UNWIND_OF_SAMPLES)->cause[UNWIND_OTHER_STACK] >= 15);
}

/* ---- code without rules: frame pointers ---- */

__attribute__((noinline)) static uint64_t callback(uint64_t n)
{
	volatile uint64_t x = n;

	for (unsigned i = 0; i < 3000000; i++)
		x = x * 3 + i;
	return x;
}

/* Found again by its stack pointer alone, so that one must be right after the frame pointer's step. */
__attribute__((noinline, optimize("omit-frame-pointer"))) static void jit_caller(uint64_t (*fn)(void *))
{
	fn((void *)callback);
	__asm__ volatile("");
}

TEST(test_jit)
{
	/* push %rbp; mov %rsp,%rbp; call *%rdi's argument; pop %rbp; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0xbf,
					0x07, 0,    0,    0,    0xff, 0xd0, 0x5d, 0xc3 };
	struct fmt_frame frames[256];
	uint64_t (*fn)(void *);
	int seen = 0;
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, code, sizeof(code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	memcpy(&fn, &page, sizeof(fn));
	fresh();
	timer(1, 0);
	while (taken_count < 60)
		jit_caller(fn);
	timer(0, 0);
	for (int i = 0; i < taken_count; i++) {
		uint32_t flags;
		int n = unwind_taken(i, frames, &flags);

		if (n < 4 || !in_function(&frames[0], (void *)callback))
			continue;
		seen++;
		assert_int_equal(modules_get(ms, frames[1].module)->kind, FMT_MOD_ANON);
		assert_int_equal(frames[1].addr, (uint64_t)(uintptr_t)page + 13);
		assert_true(in_function(&frames[2], (void *)jit_caller));
		assert_true(in_function(&frames[3], (void *)test_jit));
		assert_int_equal(flags, FMT_STACK_COMPLETE);
	}
	munmap(page, 4096);
	assert_true(seen > 40);
}

TEST(test_vdso)
{
	struct fmt_frame frames[256];
	struct timespec ts;
	int in_vdso = 0, whole = 0;

	fresh();
	timer(1, 0);
	while (taken_count < 200)
		for (int i = 0; i < 1000; i++)
			clock_gettime(CLOCK_MONOTONIC, &ts);
	timer(0, 0);
	for (int i = 0; i < taken_count; i++) {
		uint32_t flags;
		int n = unwind_taken(i, frames, &flags);
		const struct module *m = modules_get(ms, frames[0].module);

		if (!m || m->kind != FMT_MOD_VDSO)
			continue;
		in_vdso++;
		whole += flags == FMT_STACK_COMPLETE && find(frames, n, 0, (void *)test_vdso) > 0;
	}
	printf("# vdso: %d samples, %d whole\n", in_vdso, whole);
	if (!in_vdso)
		skip(); /* the clock source may not be readable from user space */
	assert_true(whole * 100 >= in_vdso * 95);
}

/* ---- hostile stacks and registers end, and say so ---- */

TEST(test_garbage)
{
	struct fmt_frame frames[256];
	uint8_t junk[4096];
	uint64_t regs[SAMPLE_REGS];
	uint32_t flags, seed = 7;

	fresh();
	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < sizeof(junk); i++)
			junk[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
		/* some words that look like code and stack */
		for (size_t i = 0; i + 8 <= sizeof(junk); i += 24) {
			uint64_t v = (uint64_t)(uintptr_t)test_garbage + (seed = seed * 1103515245 + 12345) % 4096;

			memcpy(junk + i, &v, 8);
		}
		for (int i = 0; i < 17; i++)
			regs[i] = (uint64_t)(uintptr_t)junk + (seed = seed * 1103515245 + 12345) % 8192;
		regs[16] = (uint64_t)(uintptr_t)test_garbage + seed % 65536;
		if (round % 7 == 0)
			regs[7] = ~0ull - seed % 64;
		assert_true(unwind(unwinder, (uint32_t)getpid(), regs, (struct stack_copy){ junk, sizeof(junk), 0 },
				   frames, 256, &flags) >= 1);
		assert_true(flags == FMT_STACK_COMPLETE || flags == FMT_STACK_CUT || flags == FMT_STACK_BROKEN);
	}
}

int main(void)
{
	return RUN_TESTS(setup, teardown);
}

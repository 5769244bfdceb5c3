// SPDX-License-Identifier: GPL-2.0-or-later
/* What execution counts are measured by, and what the planner makes of windows. The code is this program's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "record/counts_plan.h"
#include "record/counts_plan_priv.h"
#include "record/counts_plan_priv.h"
#include "counts/counts_repeats.h"
#include "counts/counts_windows.h"
#include "store/write.h"

#define HIT_NS 12000.0
#define SEED 7
#define TRIPS 100
#define TRIES 4000
#define LIST 0x10000
#define ELEMENT 32

/* A list of unknown length with something that is done for some of its members; a loop that counts. */
__asm__(".text\n"
	".type walk, @function\n"
	"walk: .cfi_startproc\n"
	"	test %rdi, %rdi\n"
	"	je 3f\n"
	"walk_loop:\n"
	"	mov (%rdi), %rdi\n"
	"	test $1, %sil\n"
	"	je 2f\n"
	"walk_rare:\n"
	"	add $1, %rax\n"
	"2:	test %rdi, %rdi\n"
	"	jne walk_loop\n"
	"3:	ret\n"
	"	.cfi_endproc\n"
	"walk_end: .size walk, . - walk\n"
	".type count, @function\n"
	"count: .cfi_startproc\n"
	"	xor %eax, %eax\n"
	"count_loop:\n"
	"	add $1, %eax\n"
	"	imul %ecx, %edx\n"
	"	cmp %edi, %eax\n"
	"	jne count_loop\n"
	"	mov %edx, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"count_end: .size count, . - count\n"
	/* round and round, but no loop: two ways lead in, one of which is never taken */
	".type knot, @function\n"
	"knot: .cfi_startproc\n"
	"	test %edi, %edi\n"
	"	je knot_busy\n"
	"knot_first:\n"
	"	add $1, %rax\n"
	"knot_busy:\n"
	"	sub $1, %esi\n"
	"	je knot_out\n"
	"knot_on:\n"
	"	test %edx, %edx\n"
	"	je knot_busy\n"
	"knot_back:\n"
	"	test %ecx, %ecx\n"
	"	jne knot_first\n"
	"knot_out: ret\n"
	"	.cfi_endproc\n"
	".size knot, . - knot\n"
	".type caller, @function\n"
	"caller: .cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call *%rax\n"
	"caller_site:\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size caller, . - caller\n"
	".type again, @function\n"
	"again: .cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	sub $1, %edi\n"
	"	je 1f\n"
	"	call again\n"
	"again_site:\n"
	"1:	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size again, . - again\n"
	/* as linkers lay them out: a table with its header, one without */
	"lazy_stubs: .cfi_startproc\n"
	"	push slots+8(%rip)\n"
	"	jmp *slots+16(%rip)\n"
	"	nopl 0(%rax)\n"
	"lazy_stub: jmp *slots+24(%rip)\n"
	"	push $0\n"
	"	jmp lazy_stubs\n"
	"	.cfi_endproc\n"
	"bound_stubs: .cfi_startproc\n"
	"	endbr64\n"
	"	bnd jmp *slots+24(%rip)\n"
	"	nopl 0(%rax,%rax,1)\n"
	"bound_stub: endbr64\n"
	"	bnd jmp *slots+32(%rip)\n"
	"	nopl 0(%rax,%rax,1)\n"
	"	.cfi_endproc\n"
	".data\n"
	"slots: .zero 40\n"
	".text\n");
extern char lazy_stub[], bound_stub[], again[], again_site[], walk[], walk_loop[], walk_rare[], walk_end[], count[],
	count_loop[], count_end[], knot[], knot_first[], knot_busy[], knot_on[], caller[], caller_site[],
	__executable_start[];

struct world {
	struct modules *modules;
	struct module *self;
	struct store_writer *store;
	struct plan *plan;
	uint64_t elements; /* of a list that begins at LIST */
	char path[32];
};

static uint64_t clock_ns = 1000000000;

static uint64_t fake_clock(void)
{
	return clock_ns;
}

static uint64_t vaddr(const struct world *w, const char *code)
{
	return (uint64_t)(code - __executable_start) + w->self->segments[0].vaddr;
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	char exe[PATH_MAX];
	struct module_ident id = { .pid = (uint32_t)getpid(), .path = exe };
	struct stat st;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int fd;

	if (!w || n <= 0 || stat("/proc/self/exe", &st))
		return -1;
	exe[n] = 0;
	id.dev_major = major(st.st_dev);
	id.dev_minor = minor(st.st_dev);
	id.ino = st.st_ino;
	strcpy(w->path, "/tmp/u-counts-plan.XXXXXX");
	fd = mkstemp(w->path);
	close(fd);
	w->modules = modules_new();
	w->self = modules_file(w->modules, &id);
	w->store = store_create(w->path, 0, NULL);
	w->plan = plan_new(w->store, HIT_NS, 1, SEED);
	*state = w;
	return w->self->state == MODULE_OPEN && w->store && w->plan ? 0 : -1;
}

static int end(void **state)
{
	struct world *w = *state;

	plan_free(w->plan);
	if (w->store)
		store_abandon(w->store);
	modules_free(w->modules);
	unlink(w->path);
	free(w);
	return 0;
}

static void spend_time(const struct world *w, const char *code, unsigned samples)
{
	for (unsigned i = 0; i < samples; i++)
		plan_sample(w->plan, w->self, vaddr(w, code), 1e6);
}

static void second(const struct world *w)
{
	clock_ns += 1000000000;
	plan_second(w->plan, 1000000000, fake_clock);
}

static bool is_mapped(void *ctx, const struct module *m)
{
	return *(bool *)ctx;
}

static bool choose(const struct world *w, const char *code, unsigned slots, bool mapped, struct plan_job *job)
{
	return plan_choose(w->plan, w->self, vaddr(w, code), slots, is_mapped, &mapped, job);
}

static bool nowhere(void *ctx, uint64_t runtime, struct module **m, uint64_t *at)
{
	return false;
}

/* Elements lie one behind another, the last leads nowhere. */
static bool look(void *ctx, uint64_t addr, uint64_t *value)
{
	const struct world *w = ctx;

	if (addr < LIST || addr >= LIST + w->elements * ELEMENT || addr % ELEMENT)
		return false;
	*value = addr + ELEMENT < LIST + w->elements * ELEMENT ? addr + ELEMENT : 0;
	return true;
}

/* What a window saw: slots as letters, all values and stacks alike. */
static void saw(const struct world *w, const struct plan_job *job, enum exec_end ended, const char *slots,
		uint64_t value)
{
	struct execwin_hit hit[EXECWIN_LOG] = { 0 };
	struct exec_window win = { .req = { .pid = 1, .tid = 1, .slots = job->slots, .within_ns = job->within_ns },
				   .armed = 1000,
				   .ended = 1000000,
				   .cpu_ns = 999000,
				   .end = ended,
				   .hit = hit,
				   .count = (uint32_t)strlen(slots) };

	for (uint32_t i = 0; i < win.count; i++) {
		hit[i] = (struct execwin_hit){ .time = 1000 + 20000 * i,
					       .cpu_ns = 20000 * i,
					       .slot = (uint32_t)(slots[i] - 'a'),
					       .value = slots[i] != 'a' ? value
							: w->elements   ? LIST
									: 0 };
		win.hits[hit[i].slot]++;
	}
	win.traps = win.count;
	assert_int_equal(plan_result(w->plan, job, &win, nowhere, w->elements ? look : NULL, (void *)w), 0);
}

/* One of this kind, of this link unless it is 0; false: none in so many tries. */
static bool next_of(const struct world *w, const char *code, uint32_t how, const uint32_t *link, struct plan_job *job)
{
	for (int i = 0; i < TRIES; i++) {
		plan_plenty(w->plan, true);
		if (choose(w, code, 4, true, job) && job->how == how && (!link || job->link[0] == *link))
			return true;
	}
	return false;
}

static void jobs_keep_to_the_code(void **state)
{
	const struct world *w = *state;
	unsigned ratios = 0, rates = 0;
	struct plan_job job;

	/* nothing is known of the time yet, and no graph built */
	assert_false(choose(w, walk_loop, 4, true, &job));
	spend_time(w, walk_loop, 100);
	second(w);
	assert_false(choose(w, walk_loop, 0, true, &job));
	for (unsigned slots = 1; slots <= 4; slots++) {
		for (int i = 0; i < 300; i++) {
			if (!choose(w, walk_loop, slots, true, &job))
				continue;
			assert_in_range(job.slots, 1, slots);
			assert_in_range(job.links, 1, job.slots);
			assert_in_range(job.hit_limit, 1, EXECWIN_LOG);
			assert_true(job.time_ns > 0);
			for (unsigned k = 0; k < job.slots; k++) {
				assert_ptr_equal(job.slot[k].module, w->self);
				assert_in_range(job.slot[k].vaddr, vaddr(w, walk), vaddr(w, walk_end) - 1);
				assert_in_range(job.slot[k].limit, 1, EXECWIN_LOG);
			}
			assert_int_not_equal(job.how, FMT_CL_TRIPS);
			ratios += job.how == FMT_CL_RATIO;
			rates += job.how == FMT_CL_RATE;
			/* hits of one for hits of another, and soon */
			if (job.how == FMT_CL_RATIO)
				assert_true(job.slots > 1 && job.within_ns > 0 && job.within_ns < job.time_ns);
		}
	}
	assert_true(ratios > 100 && rates > 10);
	/* what is not there in this process is not timed */
	for (int i = 0; i < 300; i++)
		assert_true(!choose(w, walk_loop, 4, false, &job) || job.how == FMT_CL_RATIO);
}

/* No hit in time: next time it is waited for longer, and in the end however long; and less so where hits come. */
static void late_windows_wait_longer(void **state)
{
	const struct world *w = *state;
	struct plan_job job;
	uint64_t within, empty = plan_stats(w->plan)->empty;
	uint32_t link;

	spend_time(w, walk_loop, 100);
	second(w);
	assert_true(next_of(w, walk_loop, FMT_CL_RATIO, NULL, &job));
	link = job.link[0];
	within = job.within_ns;
	saw(w, &job, EXEC_LATE, "", 0);
	assert_int_equal(plan_stats(w->plan)->empty, empty + 1);
	assert_true(next_of(w, walk_loop, FMT_CL_RATIO, &link, &job));
	assert_int_equal(job.within_ns, 2 * within);
	saw(w, &job, EXEC_HITS, "abababab", 0);
	assert_true(next_of(w, walk_loop, FMT_CL_RATIO, &link, &job));
	assert_in_range(job.within_ns, within, 2 * within - 1);
	for (int i = 0; i < 20 && job.within_ns; i++) {
		saw(w, &job, EXEC_LATE, "", 0);
		assert_true(next_of(w, walk_loop, FMT_CL_RATIO, &link, &job));
	}
	assert_int_equal(job.within_ns, 0);
}

static unsigned accepted(const struct world *w, const char *code)
{
	struct plan_job job;
	unsigned n = 0;

	plan_plenty(w->plan, false);
	for (int i = 0; i < 500; i++)
		n += choose(w, code, 4, false, &job);
	return n;
}

/* Hits are scarce: they go to the code of which less is known. */
static void what_is_known_gives_way(void **state)
{
	const struct world *w = *state;
	struct plan_job job;
	unsigned known, unknown;

	spend_time(w, walk_loop, 100);
	spend_time(w, count_loop, 100);
	second(w);
	for (int i = 0; i < 300; i++) {
		if (!choose(w, walk_loop, 4, false, &job))
			continue;
		saw(w, &job, EXEC_HITS,
		    job.slots > 3   ? "abcdabcdabcdabcdabcdabcdabcdabcd"
		    : job.slots > 2 ? "abcabcabcabcabcabcabcabcabc"
				    : "abababababababababababababababab",
		    0);
	}
	unknown = accepted(w, count_loop);
	known = accepted(w, walk_loop);
	assert_true(unknown > 0);
	assert_true(known < unknown / 2);
}

/* What all that runs depends on changes no function's share, however little is known of it. */
static void parts_come_before_the_whole(void **state)
{
	const struct world *w = *state;
	unsigned whole = 0, part = 0;
	struct plan_job job;

	spend_time(w, walk_loop, 10);
	second(w);
	spend_time(w, walk_loop, 600);
	spend_time(w, walk_rare, 400);
	second(w);
	plan_plenty(w->plan, true);
	for (int i = 0; i < 400; i++) {
		if (!choose(w, walk_loop, 2, false, &job) || job.how != FMT_CL_RATIO)
			continue;
		whole += job.slot[1].vaddr == vaddr(w, walk_loop);
		part += job.slot[1].vaddr == vaddr(w, walk_rare);
	}
	assert_true(part > 50);
	assert_true(whole < part / 4);
}

/* Two hits tell how often such a loop turns; that it always turns as often is soon known. */
static void trip_counts(void **state)
{
	const struct world *w = *state;
	unsigned before = 0, after = 0;
	struct plan_job job, other;

	spend_time(w, count_loop, 100);
	second(w);
	assert_true(next_of(w, count_loop, FMT_CL_TRIPS, NULL, &job));
	assert_int_equal(job.slots, 2);
	assert_in_range(job.slot[0].vaddr, vaddr(w, count), vaddr(w, count_loop) - 1);
	assert_in_range(job.slot[1].vaddr, vaddr(w, count_loop) + 1, vaddr(w, count_end) - 1);
	assert_int_not_equal(job.slot[1].reg, EXECWIN_NO_REG);
	for (int i = 0; i < 300; i++)
		before += choose(w, count_loop, 4, false, &other) && other.how == FMT_CL_TRIPS;
	for (int i = 0; i < 6; i++)
		saw(w, &job, EXEC_HITS, "ababab", TRIPS);
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_TRIPS], 6);
	assert_int_equal(plan_stats(w->plan)->odd, 0);
	spend_time(w, walk_loop, 100);
	second(w);
	for (int i = 0; i < 300; i++)
		choose(w, walk_loop, 4, false, &other);
	for (int i = 0; i < 300; i++)
		after += choose(w, count_loop, 4, false, &other) && other.how == FMT_CL_TRIPS;
	assert_true(before > 10 && after < before / 2);
}

static bool times_loop(const struct world *w)
{
	struct plan_job job;
	bool found = false;

	spend_time(w, count_loop, 100);
	second(w);
	for (int i = 0; i < 20 && !found && next_of(w, count_loop, FMT_CL_RATE, NULL, &job); i++)
		for (unsigned k = 0; k < job.slots; k++)
			found |= job.slot[k].vaddr == vaddr(w, count_loop);
	return found;
}

/* The same when its function was looked at four times, and these hits were all that came. */
static bool times_loop_after(const struct world *w, const char *hits)
{
	struct plan_job job;

	assert_false(times_loop(w));
	for (int i = 0; i < 4; i++) {
		assert_true(next_of(w, count_loop, FMT_CL_RATE, NULL, &job));
		saw(w, &job, EXEC_TIME, hits, 0);
	}
	return times_loop(w);
}

/* Five hits in a window of 999 us of a thread: what they take is no time of the code, nor is what arming takes. */
static double timed_rate(const struct world *w, const struct plan_job *job)
{
	const struct plan_link *l = &w->plan->link[job->link[0]];
	double x = l->x, y = l->y;

	saw(w, job, EXEC_TIME, "aaaaa", 0);
	return (l->y - y) / (l->x - x);
}

static void what_windows_take_is_no_time(void **state)
{
	struct world *w = *state;
	double bare, all;
	struct plan_job job;

	spend_time(w, walk_loop, 100);
	second(w);
	assert_true(next_of(w, walk_loop, FMT_CL_RATE, NULL, &job));
	plan_prices(w->plan, 1000, 1, 1000, 0);
	bare = timed_rate(w, &job);
	assert_true(bare > 0);
	plan_prices(w->plan, 1000, 1, 2000, 70e3);
	all = timed_rate(w, &job);
	/* two of seven interruptions, and a microsecond more for each hit */
	assert_true(fabs(all / bare - 994 / (994. - 5 - 20)) < 1e-3);
}

/* A loop whose turns could be counted needs no clock, but where nobody ever comes in. */
static void loops_of_what_is_never_entered(void **state)
{
	assert_true(times_loop_after(*state, ""));
}

static void loops_of_what_is_entered(void **state)
{
	assert_false(times_loop_after(*state, "aaa"));
}

/* Of hundreds of jobs that time something, the part that begins with this place, in per cent. */
static unsigned timed_there(const struct world *w, uint64_t place)
{
	unsigned rates = 0, there = 0;
	struct plan_job job;

	while (rates < 200) {
		assert_true(next_of(w, walk_loop, FMT_CL_RATE, NULL, &job));
		rates++;
		there += job.slot[0].vaddr == place;
	}
	return there * 100 / rates;
}

/* How fast the code runs is not known before one rate is: a place that was met comes before others, until then. */
static void a_rate_begun_is_measured_first(void **state)
{
	const struct world *w = *state;
	struct plan_job job, other;
	unsigned begun, measured;

	spend_time(w, walk_loop, 100);
	spend_time(w, count_loop, 100);
	second(w);
	assert_true(next_of(w, walk_loop, FMT_CL_RATE, NULL, &job));
	other = job;
	saw(w, &job, EXEC_TIME, "aa", 0);
	begun = timed_there(w, job.slot[0].vaddr);
	for (int i = 0; i < 2; i++) {
		other = job;
		saw(w, &other, EXEC_TIME, "aaaaaaaa", 0);
	}
	measured = timed_there(w, job.slot[0].vaddr);
	printf("# begun: %u %% of the jobs that time are its; measured: %u %%\n", begun, measured);
	assert_true(begun > 80 && measured < begun);
}

/* What a single sample met may be code that waits, or calls, or what all bursts pass: its graph tells. */
static void one_sample_makes_a_graph(void **state)
{
	const struct world *w = *state;

	spend_time(w, count_loop, 999);
	second(w);
	assert_int_equal(plan_stats(w->plan)->graphs, 1);
	spend_time(w, walk_loop, 1);
	second(w);
	assert_int_equal(plan_stats(w->plan)->graphs, 2);
}

/* Threads beside each other: of the whole process, whatever begins meanwhile. */
static void windows_of_processes(void **state)
{
	const struct world *w = *state;
	struct execwin_hit hit[] = {
		{ .time = 2000, .slot = 0, .sp = 1 },
		{ .time = 3000, .slot = 0, .sp = 2 },
		{ .time = 4000, .slot = 1, .sp = 2, .value = TRIPS },
		{ .time = 5000, .slot = 1, .sp = 1, .value = TRIPS },
		{ .time = 6000, .slot = 1, .sp = 3, .value = TRIPS },
	};
	struct exec_window win = { .req = { .pid = 1, .tid = 1, .slots = 2 },
				   .armed = 1000,
				   .ended = 1000000,
				   .cpu_ns = ~0ull,
				   .end = EXEC_TIME,
				   .hit = hit,
				   .count = 5,
				   .traps = 5,
				   .hits = { 2, 3 } };
	uint64_t short_ns, trips, odd;
	struct plan_job job;

	spend_time(w, count_loop, 100);
	spend_time(w, walk_loop, 100);
	second(w);
	plan_whole_process(w->plan, true);
	assert_true(next_of(w, walk_loop, FMT_CL_RATE, NULL, &job));
	assert_true(job.process);
	/* not shorter than it is worth interrupting all CPUs for */
	short_ns = job.time_ns;
	plan_whole_process(w->plan, false);
	assert_true(next_of(w, walk_loop, FMT_CL_RATE, NULL, &job));
	assert_false(job.process);
	assert_true(job.time_ns < short_ns);
	plan_whole_process(w->plan, true);
	/* trips are looked for where the sample was, and when that failed in all threads */
	assert_true(next_of(w, count_loop, FMT_CL_TRIPS, NULL, &job));
	assert_false(job.process);
	saw(w, &job, EXEC_TIME, "", 0);
	assert_true(next_of(w, count_loop, FMT_CL_TRIPS, NULL, &job));
	assert_true(job.process);
	/* two activations at the same time, each with its own stack; of the third its beginning is not known */
	trips = plan_stats(w->plan)->windows[FMT_CL_TRIPS];
	odd = plan_stats(w->plan)->odd;
	assert_int_equal(plan_result(w->plan, &job, &win, nowhere, NULL, NULL), 0);
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_TRIPS], trips + 1);
	assert_int_equal(plan_stats(w->plan)->odd, odd);
}

/* Hits of a list's loop and never one of what leads to it: its elements are counted in memory instead. What lies
 * there is believed only if it ends as the loop did. */
static void lists(void **state)
{
	struct world *w = *state;
	struct plan_job job;

	spend_time(w, walk_loop, 100);
	second(w);
	assert_true(next_of(w, walk_loop, FMT_CL_RATIO, NULL, &job));
	while (job.slots > 2 || job.slot[1].vaddr != vaddr(w, walk_loop))
		assert_true(choose(w, walk_loop, 2, true, &job));
	for (int i = 0; i < 8; i++)
		saw(w, &job, EXEC_HITS, "bbbbbbbbbbbbbbbb", 0);
	assert_true(next_of(w, walk_loop, FMT_CL_TRIPS, NULL, &job));
	assert_true(job.list);
	assert_in_range(job.slot[0].vaddr, vaddr(w, walk), vaddr(w, walk_loop) - 1);
	w->elements = 3000;
	saw(w, &job, EXEC_HITS, "bab", 0);
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_TRIPS], 1);
	assert_int_equal(plan_stats(w->plan)->odd, 0);
	/* only the last: what came before may lie elsewhere by now */
	saw(w, &job, EXEC_HITS, "abab", 0);
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_TRIPS], 2);
	/* the loop ended with something that is not in the list */
	saw(w, &job, EXEC_HITS, "abab", LIST + 8);
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_TRIPS], 2);
	assert_int_equal(plan_stats(w->plan)->odd, 1);
	/* it came too late: nobody looks */
	w->elements = 0;
	saw(w, &job, EXEC_HITS, "bab", 0);
	assert_int_equal(plan_stats(w->plan)->stale, 1);
	assert_int_equal(plan_stats(w->plan)->odd, 1);
	/* a circle */
	w->elements = 1000000;
	saw(w, &job, EXEC_HITS, "bab", 0);
	assert_int_equal(plan_stats(w->plan)->odd, 2);
}

static bool runtime_place(void *ctx, uint64_t runtime, struct module **m, uint64_t *at)
{
	const struct world *w = ctx;

	*m = w->self;
	*at = vaddr(w, (const char *)(uintptr_t)runtime);
	return runtime >= (uintptr_t)walk && runtime < (uintptr_t)again_site + 16;
}

static struct emu_count met(uint64_t ip, uint64_t runs)
{
	return (struct emu_count){ .ip = ip, .runs = runs };
}

/* `calls` of walk, each going round `turns` times, one in four of these is a rare one; and half as many of something
 * else. */
static void burst(const struct world *w, uint64_t time, uint64_t calls, uint64_t turns, bool cut)
{
	const struct emu_cut where = { .ip = (uintptr_t)walk_rare, .times = 1 };
	const struct emu_count ran[] = {
		met((uintptr_t)caller, 2 * calls),
		met((uintptr_t)walk, calls),
		met((uintptr_t)walk_loop, calls * turns),
		met((uintptr_t)walk_loop + 3, calls * turns),
		met((uintptr_t)walk_rare, calls * turns / 4),
		met(16, 1000),
	};
	const struct emu_call call[] = { { (uintptr_t)caller_site, (uintptr_t)walk, calls },
					 { 99, (uintptr_t)walk, 1 },
					 { 5, 16, 3 } };
	struct plan_burst b = { .time = time,
				.ended = time + 1,
				.ip = (uintptr_t)walk_loop,
				.pid = 1,
				.tid = 1,
				.count = ran,
				.counts = 6,
				.call = call,
				.calls = 3,
				.cut = &where,
				.cuts = cut,
				.result = { .insns = 20000, .end_ip = (uintptr_t)walk_rare } };

	assert_int_equal(plan_replayed(w->plan, &b, runtime_place, (void *)w), 0);
}

/* The part of the caller in such a burst: 2 of its own, and what burst() lists. */
static double part_of_caller(double calls, double turns)
{
	return 2 * calls / (2 * calls + calls + 2.25 * calls * turns + 1000);
}

/* Two stretches: sums of what functions ran in each, weighted, and of their products. */
static void segments_add_up(void **state)
{
	struct world *w = *state;
	const struct emu_count once[] = { met((uintptr_t)caller, 2), met((uintptr_t)walk, 3), met(16, 5) };
	struct counts_record r;
	double all = 0, square = 0;
	struct err e;

	plan_segment(w->plan, 1, once, 3, runtime_place, w);
	plan_segment(w->plan, 1, once, 2, runtime_place, w);
	plan_stretch(w->plan, 10);
	plan_segment(w->plan, 2, once, 1, runtime_place, w);
	plan_stretch(w->plan, 50);
	plan_stretch(w->plan, 7);
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(r.dropped, 0);
	assert_int_equal(r.drawns, 3);
	for (size_t i = 0; i < r.drawns; i++) {
		const struct fmt_counts_drawn *d = &r.drawn[i];
		bool of_caller = d->function != UINT32_MAX && r.func[d->function].start == vaddr(w, caller);

		all += d->instructions;
		square += d->with_all;
		/* 150 in the first, of which 40 in caller; 200 in the second, all of them */
		assert_true(d->function != UINT32_MAX || (d->instructions == 50 && d->square == 2500));
		assert_true(!of_caller || (d->instructions == 240 && d->square == 41600 && d->with_all == 46000));
		assert_int_equal(d->stretches, of_caller ? 2 : 1);
	}
	assert_true(all == 350 && square == 150.0 * 150 + 200.0 * 200);
	counts_record_release(&r);
}

/* Bursts and stretches of segments are pieces alike; who repeated nothing has no record. */
static void repeats_add_up(void **state)
{
	struct world *w = *state;
	struct emu_count in_burst[] = { met((uintptr_t)caller, 2), met((uintptr_t)walk, 30) };
	struct emu_count in_segment[] = { met((uintptr_t)walk, 5), met((uintptr_t)walk, 5) };
	struct plan_burst b = { .time = 2, .ip = (uintptr_t)walk, .count = in_burst, .counts = 2 };
	struct counts_record r;
	struct counts_repeats of;
	struct err e;

	in_burst[1].repeats = 90;
	in_segment[0].repeats = 20;
	in_burst[1].took = 36 * EMU_CYCLE, in_segment[0].took = 4 * EMU_CYCLE;
	in_burst[1].loads = in_burst[1].stores = in_segment[0].loads = in_segment[0].stores = 1;
	in_burst[1].bytes = in_segment[0].bytes = 8;
	assert_int_equal(plan_replayed(w->plan, &b, runtime_place, w), 0);
	plan_segment(w->plan, 1000, in_segment, 2, runtime_place, w);
	plan_segment(w->plan, 1000, in_segment + 1, 1, runtime_place, w);
	plan_stretch(w->plan, 10);
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(r.dropped, 0);
	assert_int_equal(r.repeated, 1);
	assert_int_equal(r.func[r.repeats[0].function].start, vaddr(w, walk));
	assert_int_equal(r.repeats[0].seen, 2);
	assert_true(r.func[r.repeats[0].function].timed == 45 && r.func[r.repeats[0].function].cycles == 40);
	assert_true(r.repeats[0].instructions2 == 30 * 30 + 15 * 15 && r.repeats[0].both == 30 * 90 + 15 * 20 &&
		    r.repeats[0].repeats2 == 90 * 90 + 20 * 20);
	of = counts_repeats_of(&r.repeats[0]);
	assert_true(fabs(of.times - (1 + 110.0 / 45)) < 1e-9);
	assert_true(fabs(of.loads - 110.0 / 45) < 1e-9 && fabs(of.store_bytes - 880.0 / 45) < 1e-9);
	/* pieces of 30 and 15 that are off by 16.7 either way, twice as there are but two, over 45 and what it is */
	assert_true(fabs(of.log_var - 4 * (50.0 / 3) * (50.0 / 3) / 45 / 45 / of.times / of.times) < 1e-9);
	counts_record_release(&r);
}

static struct counts_ratio said(const struct world *w, const struct counts_record *r, const struct counts_built *b,
				const char *from, const char *to, uint32_t kind)
{
	for (size_t i = 0; i < b->tree.links; i++)
		if (r->node[b->tree.link[i].parent].addr == vaddr(w, from) &&
		    r->node[b->tree.link[i].child].addr == vaddr(w, to) && r->node[b->tree.link[i].child].kind == kind)
			return b->tree.link[i].ratio;
	return counts_ratio_unknown();
}

/* Carried out by the recorder itself: ratios of all that it passed, without one breakpoint, and a small file. */
static void bursts_tell_ratios(void **state)
{
	struct world *w = *state;
	struct counts_ratio ratio;
	struct counts_record r;
	struct counts_built b;
	struct err e;
	unsigned known = 0, unknown = 0, seen = 0;
	double parts = 0;
	struct plan_job job;

	burst(w, 1, 5, 40, false); /* nothing is known of the code yet */
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_REPLAY], 0);
	spend_time(w, walk_loop, 100);
	spend_time(w, count_loop, 100);
	second(w);
	for (uint64_t i = 0; i < 3000; i++)
		burst(w, 2 + i, i % 3 ? 4 : 7, i % 3 ? 40 : 60, false);
	/* hits are for what bursts do not tell */
	plan_plenty(w->plan, false);
	for (int i = 0; i < 500; i++) {
		unknown += choose(w, count_loop, 4, false, &job);
		known += choose(w, walk_loop, 4, false, &job);
	}
	print_message("windows where bursts told all %u, where they did not come by %u\n", known, unknown);
	assert_true(unknown > 0 && known < unknown / 4);
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(r.dropped, 0);
	assert_int_equal(r.bursts, 3001);
	/* all began in the one and had a part of the other; each is parted whole */
	for (size_t i = 0; i < r.wents; i++) {
		assert_true(r.func[r.went[i].from].start == vaddr(w, walk));
		parts += r.went[i].part;
		if (r.went[i].function == UINT32_MAX)
			continue;
		seen |= r.func[r.went[i].function].start == vaddr(w, walk) ? 1 : 2;
		if (r.func[r.went[i].function].start == vaddr(w, caller))
			assert_true(fabs(r.went[i].part - part_of_caller(5, 40) - 2000 * part_of_caller(4, 40) -
					 1000 * part_of_caller(7, 60)) < 0.01);
	}
	assert_int_equal(seen, 3);
	assert_true(fabs(parts - 3001) < 0.01);
	/* of many bursts of one link several are one window */
	assert_in_range(r.windows, 3 * 40, 3 * 150);
	assert_int_equal(counts_record_tree(&r, &b, &e), 0);
	ratio = said(w, &r, &b, walk, walk_loop, FMT_CN_LOOP);
	assert_int_equal(ratio.how, COUNTS_REPLAY);
	/* all turns of all calls, never a mean of means: (2 * 160 + 420) / 15 */
	assert_true(fabs(ratio.ratio - 740.0 / 15) < 0.01 && ratio.low > 30 && ratio.high < 80);
	ratio = said(w, &r, &b, walk_loop, walk_rare, FMT_CN_BLOCK);
	assert_int_equal(ratio.how, COUNTS_REPLAY);
	assert_true(fabs(ratio.ratio - 0.25) < 0.001);
	/* each second call through the pointer enters it */
	ratio = said(w, &r, &b, caller, walk, FMT_CN_ENTRY);
	assert_int_equal(ratio.how, COUNTS_REPLAY);
	assert_true(fabs(ratio.ratio - 0.5) < 0.001);
	counts_built_release(&b);
	counts_record_release(&r);
}

/* What hangs on a place that never runs is measured by one that does. */
static void knots_hang_on_what_runs(void **state)
{
	struct world *w = *state;
	const struct emu_count ran[] = { met((uintptr_t)knot, 10), met((uintptr_t)knot_busy, 400),
					 met((uintptr_t)knot_on, 390) };
	struct plan_burst b = { .ended = 1,
				.ip = (uintptr_t)knot_busy,
				.pid = 1,
				.tid = 1,
				.count = ran,
				.counts = 3,
				.result = { .insns = 20000, .end_ip = (uintptr_t)knot_on } };
	struct counts_ratio ratio;
	struct counts_record r;
	struct counts_built built;
	struct err e;

	spend_time(w, knot_busy, 100);
	second(w);
	for (b.time = 1; b.time < 100; b.time++)
		assert_int_equal(plan_replayed(w->plan, &b, runtime_place, w), 0);
	assert_int_equal(plan_stats(w->plan)->hung_anew, 1);
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(r.dropped, 0);
	assert_int_equal(counts_record_tree(&r, &built, &e), 0);
	ratio = said(w, &r, &built, knot, knot_busy, FMT_CN_LOOP);
	assert_int_equal(ratio.how, COUNTS_REPLAY);
	assert_true(fabs(ratio.ratio - 40) < 0.01);
	/* and what hung on it hangs on it still: no link of before is left */
	ratio = said(w, &r, &built, knot_first, knot_busy, FMT_CN_LOOP);
	assert_int_equal(ratio.how, COUNTS_UNKNOWN);
	ratio = said(w, &r, &built, knot_busy, knot_first, FMT_CN_BLOCK);
	assert_int_equal(ratio.how, COUNTS_REPLAY);
	assert_true(ratio.ratio < 0.01);
	counts_built_release(&built);
	counts_record_release(&r);
}

/* One in five calls was seen to begin, and not how it went on. */
static void what_was_cut_is_doubted(void **state)
{
	struct world *w = *state;
	struct counts_ratio entered, turned;
	struct counts_record r;
	struct counts_built b;
	struct err e;

	spend_time(w, walk_loop, 100);
	second(w);
	for (uint64_t i = 0; i < 300; i++)
		burst(w, 1 + i, 5, 40, true);
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(counts_record_tree(&r, &b, &e), 0);
	entered = said(w, &r, &b, walk, walk_loop, FMT_CN_LOOP);
	turned = said(w, &r, &b, walk_loop, walk_rare, FMT_CN_BLOCK);
	assert_true(entered.how == COUNTS_REPLAY && turned.how == COUNTS_REPLAY);
	/* what is lost of one call is one turn of a loop that turns 40 times */
	assert_true(entered.high / entered.ratio > 1.4 && turned.high / turned.ratio < 1.1);
	counts_built_release(&b);
	counts_record_release(&r);
}

/* Entries by bursts are fractions where there are many; a window whose hits all come from the function itself has
 * none from outside, exactly. */
static void what_calls_itself(void **state)
{
	struct world *w = *state;
	const struct emu_call call[] = { { (uintptr_t)caller_site, (uintptr_t)again, 7 },
					 { (uintptr_t)again_site, (uintptr_t)again, 300 } };
	const struct emu_count ran[] = { met((uintptr_t)again, 307), met((uintptr_t)caller, 7) };
	struct plan_burst b = { .ended = 1,
				.ip = (uintptr_t)again,
				.pid = 1,
				.tid = 1,
				.count = ran,
				.counts = 2,
				.call = call,
				.calls = 2,
				.result = { .insns = 3000, .end_ip = (uintptr_t)again } };
	struct execwin_hit hit[16];
	struct exec_window win = { .req = { .pid = 1, .tid = 1 },
				   .armed = 1000,
				   .ended = 1000000,
				   .cpu_ns = 999000,
				   .end = EXEC_HITS,
				   .hit = hit,
				   .count = 16 };
	struct counts_record r;
	struct plan_job job;
	uint32_t k = 4;
	struct err e;

	spend_time(w, again, 50);
	spend_time(w, caller_site, 50);
	second(w);
	/* however many a burst sees, they are from one place and count as eight, of all its calls together */
	for (unsigned i = 1; i < 4; i++) {
		assert_int_equal(plan_replayed(w->plan, &b, runtime_place, w), 0);
		assert_float_equal(w->plan->func[plan_func_at(w->plan, w->self, vaddr(w, again))].entries, 8 * i, 1e-9);
	}
	for (unsigned i = 0; i < TRIES && k == 4; i++) {
		plan_plenty(w->plan, true);
		if (!choose(w, again, 4, true, &job) || job.how == FMT_CL_TRIPS)
			continue;
		for (k = 0;
		     k < job.slots && (job.slot[k].entry_of == PLAN_NONE || job.slot[k].vaddr != vaddr(w, again));)
			k++;
		k = k < job.slots ? k : 4;
	}
	assert_true(k < 4);
	win.req.slots = job.slots;
	for (uint32_t n = 0; n < win.count; n++)
		hit[n] = (struct execwin_hit){
			.time = 1000 + 20000 * n, .cpu_ns = 20000 * n, .slot = k, .on_stack = (uintptr_t)again_site
		};
	win.hits[k] = win.traps = win.count;
	for (b.time = 2; b.time < 30; b.time++) {
		assert_int_equal(plan_replayed(w->plan, &b, runtime_place, w), 0);
		assert_int_equal(plan_result(w->plan, &job, &win, runtime_place, NULL, w), 0);
	}
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(r.dropped, 0);
	counts_record_release(&r);
}

/* A linkage table is no function: neither time nor bursts make it one. */
static void stubs_are_no_functions(void **state)
{
	struct world *w = *state;
	struct emu_count ran[] = { met((uintptr_t)walk, 1), met((uintptr_t)lazy_stub, 1),
				   met((uintptr_t)bound_stub, 1) };
	struct plan_burst b = { .time = 2, .ip = (uintptr_t)walk, .count = ran, .counts = 3 };

	assert_false(plan_sample(w->plan, w->self, vaddr(w, lazy_stub), 1e6));
	assert_false(plan_sample(w->plan, w->self, vaddr(w, bound_stub), 1e6));
	assert_int_equal(plan_stats(w->plan)->functions, 0);
	assert_int_equal(plan_replayed(w->plan, &b, runtime_place, w), 0);
	assert_int_equal(plan_stats(w->plan)->functions, 1);
	assert_true(plan_sample(w->plan, w->self, vaddr(w, walk), 1e6));
	assert_true(plan_sample(w->plan, w->self, vaddr(w, caller), 1e6));
	assert_int_equal(plan_stats(w->plan)->functions, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stubs_are_no_functions, begin, end),
		cmocka_unit_test_setup_teardown(jobs_keep_to_the_code, begin, end),
		cmocka_unit_test_setup_teardown(late_windows_wait_longer, begin, end),
		cmocka_unit_test_setup_teardown(what_is_known_gives_way, begin, end),
		cmocka_unit_test_setup_teardown(parts_come_before_the_whole, begin, end),
		cmocka_unit_test_setup_teardown(trip_counts, begin, end),
		cmocka_unit_test_setup_teardown(loops_of_what_is_never_entered, begin, end),
		cmocka_unit_test_setup_teardown(loops_of_what_is_entered, begin, end),
		cmocka_unit_test_setup_teardown(a_rate_begun_is_measured_first, begin, end),
		cmocka_unit_test_setup_teardown(what_windows_take_is_no_time, begin, end),
		cmocka_unit_test_setup_teardown(one_sample_makes_a_graph, begin, end),
		cmocka_unit_test_setup_teardown(windows_of_processes, begin, end),
		cmocka_unit_test_setup_teardown(lists, begin, end),
		cmocka_unit_test_setup_teardown(bursts_tell_ratios, begin, end),
		cmocka_unit_test_setup_teardown(segments_add_up, begin, end),
		cmocka_unit_test_setup_teardown(repeats_add_up, begin, end),
		cmocka_unit_test_setup_teardown(knots_hang_on_what_runs, begin, end),
		cmocka_unit_test_setup_teardown(what_was_cut_is_doubted, begin, end),
		cmocka_unit_test_setup_teardown(what_calls_itself, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

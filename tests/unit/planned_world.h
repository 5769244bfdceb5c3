/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A planner of counts whose target is this program: code with known loops and calls, samples that met it, windows that
 * saw it. begin() and end() are a test's setup and teardown. Included by the tests of the planner.
 */
#ifndef TESTS_PLANNED_WORLD_H
#define TESTS_PLANNED_WORLD_H

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
#include "counts/counts_repeats.h"
#include "counts/counts_windows.h"
#include "store/write.h"
#include "unit/unit.h"

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

static inline uint64_t fake_clock(void)
{
	return clock_ns;
}

static inline uint64_t vaddr(const struct world *w, const char *code)
{
	return (uint64_t)(code - __executable_start) + w->self->segments[0].vaddr;
}

static inline int begin(void **state)
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

static inline int end(void **state)
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

static inline void spend_time(const struct world *w, const char *code, unsigned samples)
{
	for (unsigned i = 0; i < samples; i++)
		plan_sample(w->plan, w->self, vaddr(w, code), 1e6);
}

static inline void second(const struct world *w)
{
	clock_ns += 1000000000;
	plan_second(w->plan, 1000000000, fake_clock);
}

static inline bool is_mapped(void *ctx, const struct module *m)
{
	return *(bool *)ctx;
}

static inline bool choose(const struct world *w, const char *code, unsigned slots, bool mapped, struct plan_job *job)
{
	return plan_choose(w->plan, w->self, vaddr(w, code), slots, is_mapped, &mapped, job);
}

static inline bool nowhere(void *ctx, uint64_t runtime, struct module **m, uint64_t *at)
{
	return false;
}

/* Elements lie one behind another, the last leads nowhere. */
static inline bool look(void *ctx, uint64_t addr, uint64_t *value)
{
	const struct world *w = ctx;

	if (addr < LIST || addr >= LIST + w->elements * ELEMENT || addr % ELEMENT)
		return false;
	*value = addr + ELEMENT < LIST + w->elements * ELEMENT ? addr + ELEMENT : 0;
	return true;
}

/* What a window saw: slots as letters, all values and stacks alike. */
static inline void saw(const struct world *w, const struct plan_job *job, enum exec_end ended, const char *slots,
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
static inline bool next_of(const struct world *w, const char *code, uint32_t how, const uint32_t *link,
			   struct plan_job *job)
{
	for (int i = 0; i < TRIES; i++) {
		plan_plenty(w->plan, true);
		if (choose(w, code, 4, true, job) && job->how == how && (!link || job->link[0] == *link))
			return true;
	}
	return false;
}

#endif

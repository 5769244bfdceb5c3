// SPDX-License-Identifier: GPL-2.0-or-later
/* What execute breakpoints cost on this machine, measured on ourselves. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure/execbp_cost.h"
#include "measure/price.h"
#include "measure/price_table.h"
#include "util/clock.h"

#define ROUNDS 15       /* odd, for a median */
#define ROUND_HITS 40   /* a round; by hand */
#define NEAR_TURNS 2000 /* of a loop beside the address; by hand */
#define WORK_HITS 16    /* of a round with work between the hits */
#define WORK_TURNS 4    /* of work between two hits; by hand */

static __attribute__((noinline)) void target_of_measure(void)
{
	__asm__ volatile("" ::: "memory");
}

static double hits_round_ns(void)
{
	uint64_t t = clock_cpu();

	for (int i = 0; i < ROUND_HITS; i++)
		target_of_measure();
	return (double)(clock_cpu() - t) / ROUND_HITS;
}

double execbp_measure(struct execbp *x, struct err *e)
{
	struct exec_request req = {
		.pid = getpid(),
		.tid = (pid_t)syscall(SYS_gettid),
		.slots = 1,
		.hit_limit = ROUND_HITS + 8,
		.time_limit_ns = 1000000000,
		.slot = { { .addr = (uint64_t)(uintptr_t)target_of_measure,
			    .limit = ROUND_HITS + 8,
			    .reg = EXECWIN_NO_REG } },
	};
	struct exec_window w;
	double took[ROUNDS];
	int n = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double bare = hits_round_ns(), with;

		if (execbp_open(x, &req, clock_now(), e))
			break;
		with = hits_round_ns();
		execbp_end(x, clock_now(), &w);
		if (w.count != ROUND_HITS) {
			err_set(e, -EOPNOTSUPP,
				"execute breakpoints can be set but do not fire as they should here (%u hits of %d); "
				"continuing without such windows",
				w.count, ROUND_HITS);
			n = 0;
			break;
		}
		took[n++] = with - bare;
	}
	execbp_forget(x);
	if (!n)
		return NAN;
	/* a machine under load only ever adds */
	qsort(took, (size_t)n, sizeof(took[0]), by_double);
	if (!(took[n / 8] > 0))
		err_set(e, -EAGAIN,
			"what an execute breakpoint costs cannot be told here (the machine is too busy, or emulated); "
			"continuing without such windows");
	return took[n / 8];
}

/* A loop, and an instruction behind it in the same line that is never reached. */
uint64_t execbp_near_loop(uint64_t turns) __attribute__((visibility("hidden")));
__asm__(".text\n\t.balign 64\n\t.type execbp_near_loop, @function\nexecbp_near_loop:\n\txor %eax, %eax\n1:\tadd %rdi, %rax\n\t"
	"sub $1, %rdi\n\tjnz 1b\n\tret\n\t.balign 32\n\tnop\n\tret\n\t.balign 64\n\t.size execbp_near_loop, . - execbp_near_loop");

static double near_ns(void)
{
	uint64_t t = clock_cpu();

	execbp_near_loop(NEAR_TURNS);
	return (double)(clock_cpu() - t);
}

double execbp_measure_near(struct execbp *x)
{
	struct exec_request req = {
		.pid = getpid(),
		.tid = (pid_t)syscall(SYS_gettid),
		.slots = 1,
		.hit_limit = 8,
		.time_limit_ns = 1000000000,
		.slot = { { .addr = (uint64_t)(uintptr_t)execbp_near_loop + EXECBP_NEAR / 2,
			    .limit = 8,
			    .reg = EXECWIN_NO_REG } },
	};
	struct exec_window w;
	double bare[ROUNDS], with[ROUNDS];
	int n = 0;

	for (int i = 0; i < ROUNDS; i++) {
		bare[n] = near_ns();
		if (execbp_open(x, &req, clock_now(), NULL))
			break;
		with[n++] = near_ns();
		execbp_end(x, clock_now(), &w);
	}
	execbp_forget(x);
	if (!n)
		return 1;
	qsort(bare, (size_t)n, sizeof(bare[0]), by_double);
	qsort(with, (size_t)n, sizeof(with[0]), by_double);
	return bare[n / 4] > 0 ? fmax(1, with[n / 4] / bare[n / 4]) : 1;
}

/* Windows on a thread, of this request. */
struct execbp_cost_tried {
	struct execbp *x;
	struct exec_request req;
};

static bool open_execution_window(void *ctx, int tid)
{
	struct execbp_cost_tried *t = ctx;

	t->req.tid = tid;
	return !execbp_open(t->x, &t->req, clock_now(), NULL);
}

static void hit_breakpoint(void *ctx)
{
	target_of_measure();
}

static double end_execution_window(void *ctx, uint64_t *at, unsigned max)
{
	struct execbp_cost_tried *t = ctx;
	struct exec_window w;

	return execbp_end(t->x, clock_now(), &w) ? (double)w.count : -1;
}

void measure_counts(void *execbp, double *ns)
{
	static uint64_t never_run[EXECWIN_SLOTS][8];
	static const struct trial window = { .begin = open_execution_window,
					     .event = hit_breakpoint,
					     .end = end_execution_window,
					     .pieces = WORK_HITS,
					     .turns = WORK_TURNS };
	struct execbp_cost_tried t = { .x = execbp,
				       .req = {
					       .pid = getpid(),
					       .slots = 1,
					       .hit_limit = WORK_HITS + 8,
					       .time_limit_ns = 1000000000,
					       .slot = { { .addr = (uint64_t)(uintptr_t)target_of_measure,
							   .limit = WORK_HITS + 8,
							   .reg = EXECWIN_NO_REG } },
				       } };

	ns[0] = price_own(&window, &t);
	t.req.slots = EXECWIN_SLOTS;
	for (unsigned i = 0; i < EXECWIN_SLOTS; i++)
		t.req.slot[i] = (struct exec_slot){ .addr = (uint64_t)(uintptr_t)never_run[i],
						    .limit = 1,
						    .reg = EXECWIN_NO_REG };
	ns[1] = price_other(&window, &t);
	execbp_forget(execbp);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loops of code that runs, as the recorder sees them, and a judge of what it would claim of each
 * activation: the same graph, breakpoints, registers and pairing (code/equal_runs.h, code/trip_pairs.h) are given
 * what one thread executed, instruction by instruction; how often each header ran is counted beside that,
 * call by call. Included by tests only.
 *
 *     loops_code(&l, pid)	at the start of each stretch: what is mapped where
 *     loops_begin(&l)		a stretch begins: nothing is under way
 *     loops_at(&l, regs)	each instruction, before it is executed
 *
 * or, for what takes too long for that, of one loop alone where its breakpoints are hit: loops_watch(), loops_met().
 */
#ifndef ACCPERF_TESTS_COUNTS_LOOPS_H
#define ACCPERF_TESTS_COUNTS_LOOPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/user.h>

#include "proc/module.h"
#include "code/trip_pairs.h"
#include "util/map.h"

#define LOOPS_SHOWN 3 /* wrong claims of one loop */

struct loops_wrong {
	uint64_t claimed, is, value_in, value_out;
	unsigned slot;
};

/* How often the header ran since the way in, in one call of the function. */
struct loops_frame {
	uint64_t call, runs, value_in;
	bool begun; /* the way in was seen */
};

struct loops_one {
	struct runs *runs;
	const struct runs_trips *how;
	uint32_t loop;
	uint64_t bias; /* runtime address less the module's */
	const char *object;
	bool alone;
	/* now */
	struct trip_pairs pairs;
	unsigned hits[RUNS_EXITS + 1], all;
	struct loops_frame *frame; /* deepest last */
	uint32_t frames, frame_cap;
	uint64_t header_sp, last, last_header; /* when a slot was hit, and when the header ran */
	/* verdicts */
	/* activations; most: turns of one that was claimed */
	uint64_t entered, claimed, right, exact, odd, header, most;
	uint64_t within, within_right; /* instructions at which a window would begin, and claim something */
	struct loops_wrong wrong[LOOPS_SHOWN];
	unsigned wrongs;
};

struct loops_image {
	uint64_t start, end, bias;
	struct module *module;
};

struct loops {
	int pid;
	struct loops_image *image;
	uint32_t images, image_cap;
	struct loops_one *one;
	uint32_t count, cap;
	struct loops_spot *spot;
	uint32_t spots, spot_cap;
	struct loops_role *role;
	uint32_t roles, role_cap;
	struct map spot_at, function_at;
	struct runs **function;
	uint32_t functions, function_cap;
	/* the thread */
	uint64_t *sp; /* at the first instruction of each call under way */
	uint64_t *call;
	uint32_t depth, depth_cap;
	uint64_t calls, base, now;
	bool stepping; /* else a stack pointer tells calls apart */
	uint64_t before_ip;
	uint32_t before;
	induction_peek_fn peek;
	void *ctx;
};

void loops_code(struct loops *l, int pid);
void loops_begin(struct loops *l);
void loops_at(struct loops *l, const struct user_regs_struct *regs);
/* The function that runs there is one whose loops are judged. */
void loops_see(struct loops *l, uint64_t ip);
/* Where to break for loop `one` alone: its way in, its header, its ways out. How many; 0: the processor has too few. */
unsigned loops_watch(struct loops *l, uint32_t one, uint64_t *addr);
/* The thread is at one of these. */
void loops_met(struct loops *l, uint32_t one, const struct user_regs_struct *regs);
void loops_print(const struct loops *l, FILE *out);
void loops_release(struct loops *l);

#endif

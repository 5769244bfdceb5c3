/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers and a piece of the stack -> call stack. Call frame information first, frame pointers
 * where no rule covers the address (JIT and hand-written code), signal frames through their CFI or,
 * where a trampoline has none, through the kernel's sigcontext. Never reads the live target's
 * memory: what the snapshot does not hold is CUT, said so and counted.
 *
 * x86-64 is tested. The registers' numbering comes from one table (arch_x86_64 in unwind.c); arm64
 * needs its own row there and a larger SAMPLE_REGS, and has not been tried.
 *
 * Included by attr and tests. To add an architecture: a row in unwind.c, a test.
 */
#ifndef ACCPERF_PROC_UNWIND_H
#define ACCPERF_PROC_UNWIND_H

#include <stdint.h>

#include "proc/procmap.h"
#include "format.h"

struct unwinder;

/* A piece of the stack, from regs[SP] upwards. */
struct stack_copy {
	const uint8_t *bytes;
	size_t len;
	uint32_t absent; /* as sample.stack_absent */
};

/* Why a stack is not complete; see unwind_cause_str(). */
enum unwind_cause {
	UNWIND_CUT_SNAPSHOT = 0, /* the next frame lies beyond the snapshot */
	UNWIND_CUT_DEPTH,        /* more than `max` frames */
	UNWIND_OTHER_STACK,      /* the caller's frame is on another stack (sigaltstack) */
	UNWIND_UNMAPPED,         /* a return address that no mapping covers */
	UNWIND_NO_RULE,          /* neither CFI nor a frame pointer that makes sense */
	UNWIND_BAD_RULE,         /* CFI that is damaged or leads nowhere */
	UNWIND_ABSENT,           /* what is needed lies in a page that was not present */
	UNWIND_CAUSES,
};

struct unwind_counters {
	uint64_t stacks, complete, cut, broken, frames, by_frame_pointer;
	uint64_t found; /* callers of code without rules, by a return address that lies above the stack pointer */
	uint64_t cause[UNWIND_CAUSES];
};

/* Of what the stacks are that are counted together. */
enum unwind_of { UNWIND_OF_SAMPLES, UNWIND_OF_WAITS, UNWIND_OF };

struct unwinder *unwinder_new(struct procmaps *maps);
void unwinder_free(struct unwinder *u);
/* Rules are kept by module id, and those come back (modules_drop_retired()). */
void unwind_forget(struct unwinder *u);
/*
 * regs as in abi.h (DWARF order, WREG_IP included).
 * Fills frames leaf first and returns how many (at least 1 when max > 0); *flags gets one of
 * FMT_STACK_COMPLETE, _CUT, _BROKEN. Frames of callers have FMT_FRAME_RETURN set and their addr is
 * already the return address less one.
 */
int unwind(struct unwinder *u, uint32_t pid, const uint64_t regs[SAMPLE_REGS], struct stack_copy stack,
	   struct fmt_frame *frames, unsigned max, uint32_t *flags);
/* Stack pointer of the outermost frame of the last walk if that was complete, else 0. */
uint64_t unwind_stack_end(const struct unwinder *u);
/* Of the last walk: in which of its frames this stack address lies, and how far from that frame's canonical
 * frame address; -1 unknown. */
int unwind_frame_of(const struct unwinder *u, uint64_t addr, int64_t *offset);
/* Where the last walk began; a module of NULL: nowhere that is known. */
const struct place *unwind_leaf(const struct unwinder *u);
/* As what the next walks are counted (samples). */
void unwind_count_as(struct unwinder *u, enum unwind_of of);
const struct unwind_counters *unwind_counters(const struct unwinder *u, enum unwind_of of);
const char *unwind_cause_str(enum unwind_cause c);

#endif

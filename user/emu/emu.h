/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread was about to do: from a sample (registers, a piece of stack) its code is carried out here, on a
 * private copy of the memory that it touches. The thread itself is not disturbed: no trap, no stop. Counts how often
 * each instruction ran, and which function called which.
 *
 * What cannot be known is known to be unknown: vector registers (not sampled; but see emu_before.c), what
 * instructions without a rule of their own write, results of both. A branch that depends on such a value is not
 * guessed: the call that led there is left at once with unknown results, or the run ends. Pages that came with the
 * sample are as they were then; all others are read when they are first touched, some time later: right for what is
 * not written meanwhile, otherwise younger than the registers, and whatever compares the two goes wrong. So from a
 * sample that comes late they are not read at all (`aged`).
 *
 * Code, registers and memory are untrusted: every address is looked up, work and memory are bounded.
 * Included by record, counts and tests. To teach it an instruction: see emu_priv.h.
 */
#ifndef ACCPERF_EMU_EMU_H
#define ACCPERF_EMU_EMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample.h"

#define EMU_PAGE SAMPLE_PAGE
#define EMU_GRANULE 4 /* bytes whose last writer is kept together */

/* Stored in profiles (fmt_counts_burst.end): numbers stay, new ones follow. */
enum emu_end {
	EMU_DONE = 0,    /* as many instructions as were asked for */
	EMU_BRANCH = 1,  /* which way is unknown */
	EMU_TARGET = 2,  /* an indirect jump, call or return to an unknown place */
	EMU_FAULT = 3,   /* memory that is not mapped, or too much of it */
	EMU_CODE = 4,    /* no code there, or none that may be followed */
	EMU_SYSCALL = 5, /* one that does not come back, or whose effect is too large */
	EMU_STUCK = 6,   /* the same instruction for ever; a trap */
	/* it would crash or give up, which the thread did not: memory was younger than registers. What ran since the
	 * first page that was is taken back */
	EMU_ASTRAY = 7,
	EMU_WAITS = 8, /* until another thread has written something: this copy of memory is this thread's alone */
	EMU_ENTRY = 9, /* it enters the kernel, up to where it was wanted */
	EMU_ENDS = 10
};
const char *emu_end_str(enum emu_end end);

struct emu_env {
	/* Up to len bytes of code at a runtime address; 0: none, or code that is written while it runs. */
	size_t (*code)(void *ctx, uint64_t addr, void *buf, size_t len);
	/* One page of the target's memory; false: not mapped. */
	bool (*page)(void *ctx, uint64_t addr, uint8_t *buf);
	/* Bounds of the function around addr. False, NULL: unknown; then vector registers are unknown when a run
	 * begins. */
	bool (*function)(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end);
	/* Nobody can write to any of these bytes. NULL: to all. */
	bool (*fixed)(void *ctx, uint64_t addr, size_t len);
	/* This code reads the clock, which is another one by now: a segment leaves it early, as if it had returned
	 * something unknown. NULL: none does. */
	bool (*clock)(void *ctx, uint64_t addr);
	void *ctx;
};

/* Data that an instruction read or wrote, a piece of which one writer is the last. */
struct emu_access {
	uint64_t ip, addr;
	uint64_t sp; /* the stack pointer then; 0: unknown */
	uint32_t size;
	uint32_t at; /* instructions carried out before it */
	bool store;
	uint64_t writer; /* loads: the instruction of this run that wrote there last; 0: none has */
	uint32_t age;    /* so many instructions ago; 0 with a writer: a repeated one reads what it wrote itself */
	uint8_t valued; /* loads, and emu_written(): so many bytes of `value` are known: 0, EMU_GRANULE or twice that */
	uint64_t value; /* which the memory held from the granule of addr on */
};
typedef void emu_access_fn(void *ctx, const struct emu_access *a);

struct emu_start {
	const uint64_t *regs; /* WREG_MAX */
	const uint8_t *stack; /* from regs[WREG_SP] upwards, as it was at the sample; may be NULL */
	uint32_t stack_bytes;
	const struct sample_page *page; /* others, as they were at the sample */
	uint32_t pages;
	/* The sample is so old that what is read now tells nothing: what neither came with it nor lies where nobody can
	 * write is unknown. */
	bool aged;
	uint64_t insns; /* at most so many */
	/* So many unknown branches may go the way that this branch commonly went where it was known, by chance; 0:
	 * none. */
	uint32_t guesses;
	/* Up to the next system call, all of it or nothing: what is not known ends the run. No call is left early but
	 * one that reads the clock, which is then short of some instructions. The one that enters the kernel is the
	 * last one counted. */
	bool to_entry;
	/* Told of each access whose address is known; NULL: nobody, and no writers are kept. Those of instructions
	 * without a rule, and of unknown places, go untold. */
	emu_access_fn *access;
	void *access_ctx;
	bool branches; /* are kept: emu_branches() */
};

struct emu_result {
	enum emu_end end;
	uint64_t end_ip;
	uint64_t insns;   /* carried out */
	uint32_t skipped; /* calls left early with unknown results */
	uint32_t guessed; /* branches */
	uint32_t syscalls, pages;
	uint32_t unknown;  /* instructions without a rule */
	uint32_t unlisted; /* words of memory that was read late, too many to be looked at again */
	/* it ends where it first read late memory that changed before the run was over; EMU_ENTRY: some did, and the
	 * caller has another proof */
	bool changed;
};

#define EMU_CYCLE 4         /* as many instructions it begins in a cycle */
#define EMU_REPEAT_BYTES 16 /* that a repeated string instruction moves in a cycle of the model, once it has begun */
struct emu_count {
	uint64_t ip;
	uint64_t runs;
	uint64_t repeats;             /* of a repeated string instruction: beyond the first of each run */
	uint64_t took;                /* all runs together, by a model of a processor: EMU_CYCLE is a cycle */
	uint8_t loads, stores, bytes; /* of one repetition; of each of these */
	bool moves;                   /* it names memory that it touches, or is a branch */
};

/* A function was entered, by a call or by a jump at its caller's end: where it returns to. */
struct emu_call {
	uint64_t site; /* the return address */
	uint64_t target;
	uint64_t runs;
};

/* Pages that a run touched, and where their bytes came from. */
struct emu_touched {
	uint64_t addr;
	bool given;  /* with the sample: as old as the registers */
	bool spared; /* need not be: nobody can write there, or the piece of stack covers it */
};

/* Where the run did not go on as the thread would: at an unknown branch and the like. All that was under way there (the
 * function itself, and those that called it within the run) was seen to begin, but not how it went on. */
struct emu_cut {
	uint64_t ip; /* 0: the return address of such a caller is in `site` */
	uint64_t site;
	uint64_t times;
};

/* The run left `from` for `to`: a jump, call or return, or a conditional jump that was taken. From one to the next it
 * went straight on. */
struct emu_branch {
	uint64_t from; /* 0: how it got to `to` is not known (a guess, a call left early) */
	uint64_t to;
	uint64_t at; /* instructions carried out before it */
};

struct emu;

struct emu *emu_new(const struct emu_env *env);
void emu_free(struct emu *e);
/* Code may have changed, or another process is meant: decoded instructions are dropped. */
void emu_forget(struct emu *e);
/* 0; -ENOMEM. */
int emu_run(struct emu *e, const struct emu_start *start, struct emu_result *out);
/* Of the last run: instructions that ran, in the order in which they were first met. */
size_t emu_counts(const struct emu *e, struct emu_count *buf, size_t max);
uint64_t emu_runs_of(const struct emu *e, uint64_t ip); /* for tests */
/* A general register when the last run ended, by its number (abi.h); false: unknown. WREG_IP: of what is next. */
bool emu_register(const struct emu *e, unsigned reg, uint64_t *value);
const struct emu_call *emu_calls(const struct emu *e, size_t *count);
/* With an `end` other than EMU_DONE all that was on the thread's stack before the run is cut, too; the sample's stack
 * tells what that is, from frame `returned` on (as many returns left the frame of the sample and its callers). */
const struct emu_cut *emu_cuts(const struct emu *e, size_t *count);
/* In their order. A run of more than EMU_BRANCHES tells the first ones only. */
#define EMU_BRANCHES 65536
const struct emu_branch *emu_branches(const struct emu *e, size_t *count);
bool emu_touched(const struct emu *e, uint32_t i, struct emu_touched *out);
/* What the last run, if it told of accesses, wrote and left: pieces of words of EMU_GRANULE bytes with one writer. */
void emu_written(const struct emu *e, emu_access_fn *tell, void *ctx);

#endif

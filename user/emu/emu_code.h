/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoded instructions of one process, by address. What a step of most instructions needs is together in two lines of
 * the cache, in the order in which code was first met: a burst begins with cold caches, as the program ran since the
 * last one. The rest lies apart. Included by emu.c and emu_code.c only.
 */
#ifndef ACCPERF_EMU_EMU_CODE_H
#define ACCPERF_EMU_EMU_CODE_H

#include "emu/emu_pipeline.h"
#include "emu/emu_quick.h"

struct code_rest {
	struct emu_insn i;
	struct emu_needs needs;
	uint64_t repeats, had; /* had: runs before some were taken back */
};

struct code {
	struct emu_quick quick;
	uint64_t ip;
	struct code *next, *taken; /* where it led last: no look-up */
	struct code *ahead; /* what ran some instructions later, last time: fetched now, as it is likely to again */
	uint64_t runs, took;
	uint32_t went[2]; /* JCC: on, and to its target, where that was known; of all runs */
	uint32_t place;   /* in `met` of emu.c */
	bool met;         /* in this run */
	bool leaves;      /* even to what lies behind it: `call` of the next instruction finds out where code lies */
	struct emu_listed listed;
	bool moves, repeated; /* as emu_insn has them */
	struct code_rest *rest;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct code) == 128, "two lines");

struct emu_codes;

struct emu_codes *emu_codes_new(const struct emu_env *env);
void emu_codes_free(struct emu_codes *k);
/* Every one of them is gone. */
void emu_codes_forget(struct emu_codes *k);
/* Instructions decoded from now on are carried out by their rules alone. For tests. */
void emu_codes_by_rules(struct emu_codes *k);
uint32_t emu_codes_count(const struct emu_codes *k);
/* NULL: no code there, or no memory. */
struct code *emu_codes_at(struct emu_codes *k, uint64_t ip);
/* One that was decoded; NULL: none was. */
struct code *emu_codes_known(const struct emu_codes *k, uint64_t ip);

#endif

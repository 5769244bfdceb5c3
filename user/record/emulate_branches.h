/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which way bursts went (FMT_BURST_BRANCH): how often each branch was taken, and each straight run between two of them.
 * Adds up over bursts, writes what came since it was written last. Included by emulate.c and tests.
 *
 * To tell another kind of way: a value of enum fmt_branch_kind, and its call of add_way().
 */
#ifndef ACCPERF_RECORD_EMULATE_BRANCHES_H
#define ACCPERF_RECORD_EMULATE_BRANCHES_H

#include "emu/emu.h"
#include "store/write.h"

#define EMULATE_BRANCHES 65536 /* kinds of ways that are told apart: some 5 MB */

struct emulate_branches_env {
	/* Which module an instruction lies in, and where; false: unknown. */
	bool (*place)(void *ctx, uint32_t pid, uint64_t ip, uint32_t *module, uint64_t *addr);
	void *ctx;
};

struct emulate_branches;

struct emulate_branches *emulate_branches_new(struct store_writer *w, const struct emulate_branches_env *env);
void emulate_branches_free(struct emulate_branches *b);
/* Addresses may mean other code from now on. */
void emulate_branches_forget(struct emulate_branches *b);
/* The burst that `e` has run. 0; -ENOMEM. */
int emulate_branches_add(struct emulate_branches *b, const struct emu *e, uint32_t pid);
int emulate_branches_write(struct emulate_branches *b);
/* Ways that were not counted, as there was no room for another. */
uint64_t emulate_branches_lost(const struct emulate_branches *b);

#endif

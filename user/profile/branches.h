/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which way the bursts of a profile went (FMT_BURST_BRANCH): taken branches and straight runs between them, summed.
 * Included by counts, flow, view and tests.
 *
 * To show another kind of way: its value of enum fmt_branch_kind comes along; the views choose by `kind`.
 */
#ifndef ACCPERF_PROFILE_BRANCHES_H
#define ACCPERF_PROFILE_BRANCHES_H

#include "profile/profile.h"
#include "profile/walk.h"

struct branch {
	uint32_t kind;     /* enum fmt_branch_kind */
	uint32_t from, to; /* modules, as the file has them; after branches_sum() of profile.modules */
	uint64_t from_addr, to_addr;
	uint64_t times;
};

struct branches {
	struct branch *at; /* by kind, module, address, once summed */
	size_t count;
	uint32_t cap;
};

struct section_reader branches_reader(struct branches *b);
/* One record of such a walk, for whoever reads others beside it; ctx: struct branches. 0, -ENOMEM, -E2BIG: damage. */
int branches_take(void *ctx, const void *rec, size_t size);
/* After the walk: each way once, modules by their index in p; those of unknown modules are dropped. */
void branches_sum(struct branches *b, const struct profile *p);
/* Taken branches that begin in a module. */
uint64_t branches_taken(const struct branches *b, uint32_t module);
void branches_release(struct branches *b);

#endif

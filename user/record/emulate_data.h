/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bursts tell of data (FMT_BURST_*): how often each instruction that touches memory ran, how far back in the burst its
 * bytes were written and by whom, and some addresses. Adds up over bursts, writes. Included by part_replay.c and tests.
 *
 * To keep another figure of an instruction: a field of struct fmt_burst_site, its sum in burst_flow_end().
 */
#ifndef ACCPERF_CLI_BURST_FLOW_H
#define ACCPERF_CLI_BURST_FLOW_H

#include "emu/emu.h"
#include "store/write.h"

struct burst_flow_env {
	/* Which module an instruction lies in, and where; false: unknown. wanted: how often it ran is, too. */
	bool (*place)(void *ctx, uint32_t pid, uint64_t ip, uint32_t *module, uint64_t *addr, bool *wanted);
	void *ctx;
};

struct burst_flow;

struct burst_flow *burst_flow_new(struct store_writer *w, const struct burst_flow_env *env, uint64_t seed);
void burst_flow_free(struct burst_flow *f);
/* Addresses may mean other code from now on. */
void burst_flow_forget(struct burst_flow *f);
/* stack_end: of the thread's stack; 0 unknown. */
void burst_flow_begin(struct burst_flow *f, uint64_t time, uint32_t pid, uint32_t tid, uint64_t stack_end);
/* emu_access_fn; ctx: the struct burst_flow. */
void burst_flow_access(void *ctx, const struct emu_access *a);
/* The run is over. Writes what is of it alone. */
int burst_flow_end(struct burst_flow *f, const struct emu *e, const struct emu_count *count, size_t counts, uint64_t insns);
/* All sums. */
int burst_flow_write(struct burst_flow *f);

#endif

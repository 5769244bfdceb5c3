/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bursts tell of data (FMT_BURST_*): how often each instruction that touches memory ran, how far back in the
 * burst its bytes were written and by what, and some addresses. Adds up over bursts, writes. Included by emulate.c
 * and tests.
 *
 * To keep another figure of an instruction: a field of struct fmt_burst_site, its sum in emulate_data_end().
 */
#ifndef ACCPERF_RECORD_EMULATE_DATA_H
#define ACCPERF_RECORD_EMULATE_DATA_H

#include "emu/emu.h"
#include "format.h"
#include "store/write.h"

struct emulate_data_env {
	/* Which module an instruction lies in, and where; false: unknown. */
	bool (*place)(void *ctx, uint32_t pid, uint64_t ip, uint32_t *module, uint64_t *addr);
	/* fmt_burst_site.field of it; NULL: none is known. */
	int32_t (*field)(void *ctx, uint64_t ip);
	/* fmt_burst_item.mark of what an access moved; NULL: none is known. */
	uint16_t (*mark)(void *ctx, const struct emu_access *a);
	void *ctx;
};

struct emulate_data;

struct emulate_data *emulate_data_new(struct store_writer *w, const struct emulate_data_env *env, uint64_t seed);
void emulate_data_free(struct emulate_data *f);
/* Addresses may mean other code from now on. */
void emulate_data_forget(struct emulate_data *f);
/* stack_end: of the thread's stack; 0 unknown. segment: what runs begins where a system call returned, so how often it
 * runs and how much it moves is of no account; who wrote what it reads is, as of a burst. */
void emulate_data_begin(struct emulate_data *f, const struct fmt_burst_data *of, uint64_t stack_end, bool segment);
/* emu_access_fn; ctx: the struct emulate_data. */
void emulate_data_access(void *ctx, const struct emu_access *a);
/* The run is over. Writes what is of it alone. */
int emulate_data_end(struct emulate_data *f, const struct emu *e, const struct emu_count *count, size_t counts,
		     uint64_t insns);
/* Reads that the last burst's record has: of what it had not written. */
const struct fmt_burst_item *emulate_data_reads(const struct emulate_data *f, uint32_t *count);
/* All sums. */
int emulate_data_write(struct emulate_data *f);

#endif

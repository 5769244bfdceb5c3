/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One segment carried on: from the registers and pages that were taken at the return of a system call to the next
 * entry, which is then held against the one that was observed. Included by part_segments.c and tests.
 */
#ifndef ACCPERF_RECORD_SEGMENT_RUN_H
#define ACCPERF_RECORD_SEGMENT_RUN_H

#include "emu/emu.h"
#include "emu/emu_pages.h"
#include "format.h"
#include "kmod-free/call_segments.h"

/* Instructions: some 20 ms of ours. Programs that read line by line do some hundred thousand for a buffer of 4 or
 * 8 KiB; what is longer is censored. */
#define SEGMENT_HORIZON 1000000

/* What the caller knows of the target, besides what the emulator sees. */
struct segment_env {
	struct emu_env sees;
	/* This process is meant from now on. False: another one, or its code may have changed. */
	bool (*process)(void *ctx, uint32_t pid);
	bool (*denied)(void *ctx); /* its memory may not be read */
	void *ctx;
};

struct segment_run;

/* NULL: no memory. */
struct segment_run *segment_run_new(const struct segment_env *env);
void segment_run_free(struct segment_run *r);
/* What the next one is likely to touch, of this process; returns what call_segments_want() does. */
bool segment_run_ask(struct segment_run *r, struct call_segments *of, uint32_t pid);
/* It was drawn: carries it on. 0, -ENOMEM. */
int segment_run_begin(struct segment_run *r, const struct sample *m, emu_access_fn *access, void *access_ctx);
/* What carried it on, for what it wrote; after how many instructions it ended. */
const struct emu *segment_run_emu(const struct segment_run *r, uint64_t *insns);
/* It ended so, or nobody knows: fills in state, cause and instructions, and what its pages took. True: it came to the
 * entry that was observed, and what ran is what the thread ran, even where its time is unknown. */
bool segment_run_end(struct segment_run *r, const struct call_segment_end *end, struct fmt_segment *out);
/* What the last one ran: emu_counts(). */
size_t segment_run_counts(const struct segment_run *r, struct emu_count *buf, size_t max);
/* One was begun whose end has not come. */
bool segment_run_waits(const struct segment_run *r);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf records -> struct sample: the parser for one record (also used for perf.data files) and the
 * reader of a mapped perf ring. Owns the layout knowledge of PERF_RECORD_*. Included by kmod-free,
 * kmod-free, store and tests. Records are untrusted: everything is bounds-checked.
 *
 * To add a record type: a case in ring_parse_record() and a test in tests/unit/u-ring.c.
 */
#ifndef ACCPERF_KMOD_FREE_RING_H
#define ACCPERF_KMOD_FREE_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "sample.h"
#include "util/err.h"

/*
 * 1: *out is filled. 0: a record that carries nothing for a sample (out->kind is 0). -EBADMSG:
 * malformed; *out is then zero. out->text, out->stack and out->chain point into rec.
 *
 * The kind of a PERF_RECORD_SAMPLE follows from attr: breakpoints WATCH or EXEC_BP, clocks TICK,
 * anything with ADDR and DATA_SRC ACCESS, the rest INSN. Time is CLOCK_MONOTONIC only if attr asks for
 * it (use_clockid).
 */
int ring_parse_record(const struct perf_event_attr *attr, const void *rec, size_t len, struct sample *out);

/* The id of a record (PERF_SAMPLE_IDENTIFIER or ID) without parsing the rest, so that the right attr
 * can be found; 0 when it carries none. sample_id_all tells whether other records have a trailer. */
uint64_t ring_record_id(uint64_t sample_type, int sample_id_all, const void *rec, size_t len);

/* perf's numbering of x86 registers (asm/perf_regs.h), as a mask for attr.sample_regs_user. */
#define RING_REGS_X86_64 0xff03ffull

struct ring {
	int fd; /* not owned */
	struct perf_event_attr attr;
	struct perf_event_mmap_page *page; /* NULL: closed */
	uint8_t *data;
	size_t map_bytes, data_bytes;
	uint8_t *bounce; /* for records that wrap */
	uint64_t records, lost, throttled, malformed;
};

/* Maps `pages` (power of two) data pages; on EPERM (memory-lock limit) tries half as many, down to
 * one. Returns the number of pages or -errno. */
int ring_open(struct ring *r, int fd, unsigned pages, const struct perf_event_attr *attr, struct err *e);
/* Delivers what has arrived. Returns the number of samples delivered, or the callback's negative
 * result, in which case that record counts as consumed. LOST records are delivered and counted. */
int ring_read(struct ring *r, sample_fn fn, void *ctx);
void ring_close(struct ring *r); /* also fine on a zeroed struct */

/* For tests: a ring over memory laid out as the kernel does: control page, then data_bytes. */
int ring_from_memory(struct ring *r, void *mem, size_t data_bytes, const struct perf_event_attr *attr);

#endif

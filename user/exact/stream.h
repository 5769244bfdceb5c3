/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What passes between the tool inside Valgrind and its driver: a file of raw records, and a pipe on
 * which the tool asks what kind of instruction it sees. Freestanding. Included by user/exact only.
 *
 * The file = blocks of struct xs_block + bytes. Records are those of include/format.h with the
 * tool's own string ids (FMT_STRING comes before its first use). Records between XS_SNAP_BEGIN and
 * XS_SNAP_END are totals so far: the last complete snapshot counts, all others are dropped.
 */
#ifndef ACCPERF_EXACT_STREAM_H
#define ACCPERF_EXACT_STREAM_H

#include <stdint.h>

#define XS_MAGIC 0x53584341u  /* "ACXS" */
#define XS_SNAP_BEGIN 0xfff0u /* above all sections of format.h */
#define XS_SNAP_END 0xfff1u   /* tail: reason it is incomplete, empty when the program ended */

struct xs_block {
	uint32_t magic;
	uint32_t section;
	uint32_t rec_size; /* 0: each record has its length before it */
	uint32_t count;
	uint32_t bytes;
};

/* Lists of functions, from the driver to the tool: a letter, a blank, a name or pattern, a line each. */
#define XS_LIST_FUNCTIONS 'f'
#define XS_LIST_CANDIDATES 'c'
#define XS_LIST_START 's'
#define XS_LIST_STOP 't'
#define XS_LIST_WRITERS 'w'

#define XS_FN_PLACE 0xfff2u /* struct xs_place: where a function begins, for naming it */

struct xs_place {
	uint32_t function, module;
	uint64_t vaddr; /* in its file */
};

/* Question: u32 count, then for each instruction a length byte and 15 code bytes.
 * Answer: count times struct xs_class. */
#define XS_ASK_LOCALS 0xffffffffu /* instead of a count: struct xs_locals_ask, then the path */
struct xs_locals_ask {
	uint64_t vaddr;
	uint32_t path_len, pad;
};
/* Answer: u32 count, then that many. */
struct xs_local {
	int64_t offset; /* from the stack pointer before the call */
	uint64_t size;
	char name[48];
};
#define XS_MAX_LOCALS 256 /* of one function's frame; others have no name; by hand */

enum xs_class_kind { XS_OTHER = 0, XS_COMPUTE = 1, XS_TRANSFER = 2, XS_CONTROL = 3 };
#define XS_CODE_BYTES 16 /* of an instruction: its length, then up to 15 */
#define XS_MAX_INSNS 512 /* asked about at once: those of a block, which valgrind ends after 60; by hand */

struct xs_class {
	uint8_t kind;
	uint8_t lanes_int, lanes_fp;
	uint8_t cost; /* quarter cycles, throughput-bound, cache hits */
};

#endif

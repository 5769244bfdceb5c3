/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a function of a file ends: every `ret` and every jump that leaves it, from its control-flow graph. Probes on
 * these see a call end without a trampoline in the place of its return address, past which no exception could unwind.
 * Included by record and tests. No I/O but reads of the file, whose bytes are untrusted; work is bounded.
 *
 * A jump to another function of the file (a tail call) is followed: the call ends where that function does. So exits
 * may belong to functions that are called by others, too; what ends there is told by the stack pointer, not by the
 * probe.
 */
#ifndef ACCPERF_OFFLOAD_EXITS_H
#define ACCPERF_OFFLOAD_EXITS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

#define EXITS_MAX 48 /* of one function: each is a probe to plant and remove */

#define EXITS_HANDED_MAX 4 /* functions that one jumps on to; by hand */

struct exits_file;

struct exits {
	uint64_t at[EXITS_MAX]; /* file offsets */
	unsigned cnt;           /* 0: not all are known */
	const char *why_not;    /* a sentence's end: "an indirect jump may leave it" */
	/* exits_find_handed(): jumps by which it hands its call on to a function of another file */
	uint64_t handed[EXITS_HANDED_MAX];
	unsigned handed_cnt;
};

/* NULL: not an ELF file, or no memory. fd is borrowed for the call only. */
struct exits_file *exits_open(int fd, struct err *e);
void exits_close(struct exits_file *f);
/* Code in the file may catch exceptions, or walk stacks in a way of its own (Go): no return address may be replaced. */
bool exits_file_catches(int fd);
/* Whether a function begins at this file offset, by its symbol or its unwind entry: elsewhere a probe would be planted
 * within an instruction. */
bool exits_begins(struct exits_file *f, uint64_t offset);
/* Of the function that begins at this file offset. */
void exits_find(struct exits_file *f, uint64_t offset, struct exits *out);
/* The same of one that may hand its call on to another file: there its end is not seen, but the jump is. */
void exits_find_handed(struct exits_file *f, uint64_t offset, struct exits *out);

#endif

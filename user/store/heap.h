/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocations that a recording saw in turns: FMT_HEAP_* of include/format.h. Included by flow and record. */
#ifndef ACCPERF_STORE_HEAP_H
#define ACCPERF_STORE_HEAP_H

#include <stdint.h>

enum fmt_heap_turn_flags { FMT_HEAP_OVER = 1 /* it ended for the number of its hits, not for its time */ };

/* The allocators of one process were probed from `begin` to `end`, and all their calls counted. */
struct fmt_heap_turn {
	uint64_t begin, end; /* ns */
	uint64_t allocs, bytes, frees;
	uint64_t told, hits;
	double period; /* mean distance in bytes between the blocks that were told */
	uint32_t turn; /* from 1 */
	uint32_t pid, flags, pad;
};
_Static_assert(sizeof(struct fmt_heap_turn) == 80, "fmt_heap_turn");

/* An allocation of `bytes` was told with a chance of 1 - exp(-bytes / period). */
struct fmt_heap_block {
	uint64_t born; /* ns */
	uint64_t addr, bytes;
	double period;
	uint32_t turn;
	uint32_t pid, tid, stack; /* stack: of the call of the allocator, leaf in it */
	uint32_t role;            /* enum heap_role of control.h: by what kind of function */
	uint32_t pad;
};
_Static_assert(sizeof(struct fmt_heap_block) == 56, "fmt_heap_block");

enum fmt_heap_freed_flags { FMT_HEAP_AGAIN = 1 /* not seen: its address was given out again at `time` */ };

struct fmt_heap_freed {
	uint64_t time, addr, born; /* the latter two as its FMT_HEAP_BLOCK has them */
	uint32_t pid, flags;
};
_Static_assert(sizeof(struct fmt_heap_freed) == 32, "fmt_heap_freed");

#endif

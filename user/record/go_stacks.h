/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goroutines' stacks. They lie beside each other, and beside the heap, in mappings of many megabytes, and move as they
 * grow, so no mapping tells where one ends. Go's runtime keeps the bounds of the running one in the first two words of
 * what R14 points to, wherever Go's own code runs. Included by record/located_code.c and tests.
 */
#ifndef ACCPERF_RECORD_GO_STACKS_H
#define ACCPERF_RECORD_GO_STACKS_H

#include <stddef.h>
#include <stdint.h>

#define GO_STACKS 64 /* bounds that are remembered: as many goroutines take most of the time of nearly all programs */

struct go_stacks {
	struct {
		uint32_t pid;
		uint64_t g, lo, hi;
	} of[GO_STACKS];
};

/* Of a process's memory: how much could be read. */
typedef size_t (*go_stacks_read_fn)(uint32_t pid, uint64_t addr, void *buf, size_t len);

/* The end of the stack that the pointer is on, if R14 points to its bounds; else 0. */
uint64_t go_stacks_end(struct go_stacks *s, uint32_t pid, uint64_t r14, uint64_t sp, go_stacks_read_fn read);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function's variables that live in its stack frame, by their place relative to the canonical
 * frame address (the stack pointer before the call). From DWARF; the file is untrusted. Included by
 * flow, exact and tests.
 *
 * Variables in registers have no place and are not listed; one with several places is listed with each.
 */
#ifndef ACCPERF_SYMBOL_LOCALS_H
#define ACCPERF_SYMBOL_LOCALS_H

#include <stddef.h>
#include <stdint.h>

struct frame_local {
	int64_t offset; /* from the frame address: negative for the function's own variables */
	uint64_t size;
	char name[48];
};

struct locals;                                /* one file, kept open between calls */
struct locals *locals_open(const char *path); /* NULL: no such file, or no DWARF */
/* The descriptors are borrowed; alt: of the common file that it refers to (dwz), or -1. */
struct locals *locals_open_fd(int fd, int alt);
void locals_close(struct locals *l);
/* Variables of the function around this ELF address; at most `max`. How many; 0 unknown. */
size_t locals_of(struct locals *l, uint64_t vaddr, struct frame_local *out, size_t max);
/* The same, but only in the places where they are while execution stands at this very address. */
size_t locals_at(struct locals *l, uint64_t vaddr, struct frame_local *out, size_t max);

#endif

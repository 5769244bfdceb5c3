/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Function names from ELF symbol tables (.symtab, .dynsym) and PLT slots, sorted by address.
 * Included by this room and tests. Owns copies of the names; the descriptor is borrowed. The file is untrusted: sizes
 * and string offsets are checked.
 */
#ifndef ACCPERF_SYMBOL_SYMTAB_H
#define ACCPERF_SYMBOL_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/map.h"

struct symtab_entry {
	uint64_t start, end; /* end is the next symbol's start or the section's end when size is 0 */
	uint32_t name;       /* in names */
	uint8_t rank;        /* among names of one address: lower is better */
	bool sized;
};

struct symtab {
	struct symtab_entry *entries;
	size_t count, cap;
	struct intern names;
};

/* Adds the functions of one file (bias is added to its addresses); call symtab_sort() at the end. */
int symtab_add_file(struct symtab *t, int fd, int64_t bias);
void symtab_sort(struct symtab *t);
/* The function that holds addr, NULL if none. */
const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t addr);
const char *symtab_name(const struct symtab *t, const struct symtab_entry *e);
void symtab_release(struct symtab *t);

#endif

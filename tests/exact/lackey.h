/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the two halves of the second opinion: lackey.c reads the trace and keeps the shadow
 * memory, symbols.c names addresses, decodes instructions and keeps tables. Included by these two.
 */
#ifndef LACKEY_H
#define LACKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counts {
	uint64_t instructions, loads, stores, load_bytes, store_bytes;
};

struct function {
	char *name, *object;
	bool selected;
	struct counts self;
	uint64_t in, in_unique, out_unique, calls; /* out_unique: written, then read by anyone */
};
extern struct function *functions; /* [0] is (outside) */

enum insn_kind { INSN_OTHER, INSN_CALL, INSN_RET };

struct insn {
	uint64_t addr;
	uint32_t function;
	enum insn_kind kind;
	bool entry; /* of its function */
	bool stub;  /* a linkage stub: part of whoever calls through it */
	/* while a return executes: who returns */
	uint32_t ret_owner;
	uint64_t ret_invocation;
};

enum { LEN_RESULT = -1, LEN_ARG = 1 << 20 };

/* u64 -> u64, keys from 1 */
struct table {
	uint64_t *key, *value;
	size_t cap, used;
};
uint64_t *table_at(struct table *t, uint64_t key, bool make);

struct edges {
	struct table count, unique, index; /* by producer << 32 | consumer, plus 1 */
	struct table seen;                 /* by (index of the edge, byte) */
};
extern struct edges quad, ke;
void edge_add(struct edges *e, uint32_t producer, uint32_t consumer, uint64_t n, uint64_t byte);

extern struct table read_set, out_set;
/* Counts the bytes of [addr, addr + size) that `function` has not touched before. */
void unique_add(struct table *set, uint32_t function, uint64_t addr, unsigned int size, uint64_t *count);

/* Selected: those named, or all of the main image. */
void functions_init(const char *select, bool main_image, bool fold);
uint32_t function_id(const char *name, const char *object);
/* Mappings: from a file with the text of /proc/PID/maps, or from the tracer while it runs. */
void objects_from(const char *maps_file, long pid, const char *main_path);
struct insn *insn_at(uint64_t addr);
/* The main thread's stack, from the first address that was ever pushed to. */
void find_stack(uint64_t addr, uint64_t *low, uint64_t *high);
/* All counts, sets and edges back to nothing. */
void forget_counts(void);
void print_all(const struct counts *total, unsigned int chunk);

void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);

#endif

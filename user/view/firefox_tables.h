/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables that the Firefox Profiler's format shares between threads: strings, libraries, functions,
 * frames and the tree of stacks, made of what samples refer to. Included by user/view/firefox*.c only.
 */
#ifndef ACCPERF_VIEW_FIREFOX_TABLES_H
#define ACCPERF_VIEW_FIREFOX_TABLES_H

#include "profile/in_order.h"
#include "profile/profile.h"
#include "util/index.h"
#include "util/map.h"

#define FIREFOX_NONE UINT32_MAX

/* In the order in which meta.categories lists them. */
enum firefox_category {
	FIREFOX_OTHER, /* the default: the address lies in nothing known */
	FIREFOX_USER,
	FIREFOX_KERNEL,
	FIREFOX_JIT,
	FIREFOX_IDLE,
	FIREFOX_OFFLOAD,
	FIREFOX_CATEGORIES
};

struct firefox_func {
	uint32_t function; /* index into profile.functions; FIREFOX_NONE: of the frame below */
	uint32_t lib;      /* FIREFOX_NONE: none */
};

struct firefox_frame {
	uint32_t frame; /* index into profile.frames; 0: none */
	uint32_t line;  /* index into profile.lines; FIREFOX_NONE: none */
	uint32_t depth; /* of inlining: 0 is the function that has the code */
	uint32_t func;
};

struct firefox_node {
	uint32_t prefix; /* FIREFOX_NONE: a root */
	uint32_t frame;
};

struct firefox_tables {
	const struct profile *p;
	bool inlined;
	struct intern strings;  /* index is id - 1 */
	struct map string_of;   /* address of a text that lasts -> id: each is hashed once */
	struct map func_at;     /* function << 32 | lib + 1 -> index */
	struct intern lib_keys; /* index is id - 1 */
	struct map source_at;   /* string -> index */
	struct index node_at;   /* numbers are index + 1 */
	uint32_t *libs;         /* of each the first module; as many as lib_keys */
	uint32_t *lib_of;       /* by module */
	uint32_t *frame_of;     /* by line */
	uint32_t *node_of;      /* by stack */
	uint32_t *sources;      /* string of each */
	struct firefox_func *funcs;
	struct firefox_frame *frames;
	struct firefox_node *nodes;
	size_t lib_count, lib_cap, func_count, func_cap, frame_count, frame_cap, node_count, node_cap;
	size_t source_count, source_cap;
	uint32_t unknown_node, idle_node; /* a sample without a stack; a stretch without samples */
};

/* Of all stacks that samples of the profile's unit have; 0 or -ENOMEM. */
int firefox_tables_build(struct firefox_tables *t, const struct profile *p, bool inlined);
void firefox_tables_release(struct firefox_tables *t);
/* Index of a text that outlives the tables; below 0: out of memory. */
int64_t firefox_string(struct firefox_tables *t, const char *text);
enum firefox_category firefox_category_of(const struct firefox_tables *t, const struct firefox_frame *f);
const char *firefox_func_name(const struct firefox_tables *t, const struct firefox_func *f);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of struct profile share: the raw ids of the file. Included by user/profile/profile*.c only and tests.
 */
#ifndef ACCPERF_PROFILE_PROFILE_PRIV_H
#define ACCPERF_PROFILE_PROFILE_PRIV_H

#include <errno.h>
#include <string.h>

#include "profile/profile.h"
#include "profile/walk.h"
#include "store/read.h"
#include "util/index.h"
#include "util/map.h"

/* Ids as the file has them; they become indexes in finish(). */
struct profile_private {
	struct store_reader *reader;
	unsigned groups; /* enum profile_group */
	bool read;       /* profile_read() has walked the file for the profile itself */
	uint32_t *function_of_raw;
	struct fmt_function *raw_functions;
	struct fmt_module *raw_modules;
	struct raw_line {
		uint32_t function, file, line;
	} * raw_lines;
	struct fmt_counter *raw_counters;
	size_t raw_function_count, raw_module_count, raw_line_count, raw_counter_count, raw_exact_count;
	/* of 32 bits: indexes are */
	uint32_t raw_function_cap, raw_module_cap, raw_line_cap, raw_counter_cap, raw_exact_cap;
	uint32_t frame_cap, stack_cap, thread_cap, cell_cap, function_cap, line_cap, stack_dense_cap;
	size_t stack_frame_cap;
	struct map counts_at, function_at, module_at, counter_at, comm_at, place_at, merged;
	struct index frame_at;  /* (module, addr) -> frame */
	struct index thread_at; /* (pid, tid) -> thread, from 1 */
	uint32_t *first_cell;   /* stack id -> the cell that had it first, from 1; 0: none yet */
	uint32_t first_cell_cap;
	struct index cell_at; /* (thread, stack) -> any other cell, from 1 */
	struct index wait_at; /* (stack, pid) -> wait, from 1 */
	uint32_t wait_cap;
	/* stack id -> stack: ids come nearly in order, so most lie in the array */
	uint32_t *stack_dense;
	struct map stack_sparse;
	uint32_t last_thread;
	struct intern texts;  /* names made up here */
	struct intern places; /* three strings each, from 1 */
	struct fmt_x_func *raw_exact;
	uint32_t rate_source; /* string: of the first FMT_RATE */
	/* Of a profile that is read on (follow.h): what finishing changes, as it was read. */
	struct {
		struct profile_frame *frames;
		struct profile_cell *cells;
		struct profile_wait *waits;
	} as_read;
	int failed;
};

static inline uint32_t profile_index(const struct map *m, uint64_t key)
{
	const uint64_t *v = map_get(m, key);

	return v ? (uint32_t)*v : 0;
}

static inline uint32_t profile_stack_at(const struct profile_private *k, uint32_t id)
{
	if (id < k->stack_dense_cap && k->stack_dense[id])
		return k->stack_dense[id];
	return profile_index(&k->stack_sparse, id);
}

static inline const char *profile_text(const struct profile *p, uint32_t id, const char *otherwise)
{
	const char *s = store_str(p->priv->reader, id);

	return s && *s ? s : otherwise;
}

/* A lasting copy of a text. */
const char *profile_keep(struct profile *p, const char *text);
/* The one function with this name, object and file; negative when out of memory. */
int64_t profile_function_of(struct profile *p, const char *name, const char *object, const char *file, uint32_t line,
			    bool named);
/* The file's sections for the profile itself and for others; what its ids stand for stays known. */
int profile_walk(struct profile *p, unsigned groups, const struct section_reader *others, size_t count, struct err *e);
/* The walk alone, from where the reader stands; then what was read becomes a profile. */
int profile_take_all(struct profile *p, unsigned groups, const struct section_reader *others, size_t count,
		     struct err *e);
int profile_finish(struct profile *p);
void profile_drop_as_read(struct profile_private *k);
/* The shared profile of that file (shared.h), now the caller's; NULL: there is none. */
struct profile *profile_take_shared(const char *path);
/* Names frames that the file has no symbol for, from the files they lie in. */
int profile_name_missing(struct profile *p);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of struct profile share: the raw ids of the file and growing arrays. Included by
 * user/attr/profile*.c only.
 */
#ifndef ACCPERF_PROFILE_PROFILE_PRIV_H
#define ACCPERF_PROFILE_PROFILE_PRIV_H

#include <errno.h>
#include <string.h>

#include "profile/profile.h"
#include "store/read.h"
#include "util/index.h"
#include "util/map.h"

/* Ids as the file has them; they become indexes in finish(). */
struct profile_private {
	struct store_reader *reader;
	unsigned groups; /* enum profile_group */
	uint32_t *function_of_raw;
	struct fmt_function *raw_functions;
	struct fmt_module *raw_modules;
	struct raw_line {
		uint32_t function, file, line;
	} * raw_lines;
	struct fmt_counter *raw_counters;
	size_t raw_function_count, raw_function_cap, raw_module_count, raw_module_cap;
	size_t raw_line_count, raw_line_cap, raw_counter_count, raw_counter_cap;
	size_t frame_cap, stack_cap, stack_frame_cap, stack_flag_cap, thread_cap, cell_cap, function_cap, line_cap;
	struct map counts_at, function_at, module_at, thread_at, counter_at, comm_at, merged;
	struct index frame_at; /* (module, addr) -> frame */
	struct index cell_at;  /* (thread, stack) -> cell, from 1 */
	/* stack id -> stack: ids come nearly in order, so most lie in the array */
	uint32_t *stack_dense;
	size_t stack_dense_cap;
	struct map stack_sparse;
	uint64_t last_thread_key;
	uint32_t last_thread;
	struct intern texts; /* names made up here */
	struct fmt_x_func *raw_exact;
	size_t raw_exact_count, raw_exact_cap;
	uint32_t rate_source; /* string: of the first FMT_RATE */
	int failed;
};

void *profile_grown(void *array, size_t *cap, size_t count, size_t size);

/* Makes room for one more item and leaves a pointer to it, or returns -ENOMEM from the caller. */
#define PUSH(array, count, cap)                                                                                        \
	({                                                                                                             \
		__typeof__(array) grown_to = profile_grown(array, &(cap), count, sizeof(*(array)));                    \
		if (!grown_to)                                                                                         \
			return -ENOMEM;                                                                                \
		(array) = grown_to;                                                                                    \
		memset(&(array)[count], 0, sizeof(*(array)));                                                          \
		&(array)[(count)++];                                                                                   \
	})

/* A lasting copy of a text. */
const char *profile_keep(struct profile *p, const char *text);
/* The one function with this name, object and file; negative when out of memory. */
int64_t profile_function_of(struct profile *p, const char *name, const char *object, const char *file, uint32_t line,
			    bool named);
/* Names frames that the file has no symbol for, from the files they lie in. */
int profile_name_missing(struct profile *p);

#endif

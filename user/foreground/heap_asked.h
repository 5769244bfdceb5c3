/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --heap of `accperf record`: its options, and what is said of it. Included by this room alone. */
#ifndef ACCPERF_FOREGROUND_HEAP_ASKED_H
#define ACCPERF_FOREGROUND_HEAP_ASKED_H

#include "command/command.h"
#include "record/part_heap.h"

struct record_heap {
	bool wanted, bytes_set;
	uint64_t bytes;
	struct opt_list probes;
	struct heap_part *part; /* NULL: none */
};

#define RECORD_HEAP_OPTS(type, field)                                                                                        \
	{ OPT_GROUP, 0, NULL, 0, NULL, "Allocations", 0 },                                                                   \
		{ OPT_BOOL, 0,                                                                                               \
		  "heap",   offsetof(type, field.wanted),                                                                    \
		  NULL,     "where memory is allocated, for `accperf objects`: probes on malloc and the like, in turns",     \
		  0 },                                                                                                       \
		{ OPT_SIZE,                                                                                                  \
		  0,                                                                                                         \
		  "heap-bytes",                                                                                              \
		  offsetof(type, field.bytes),                                                                               \
		  "BYTES",                                                                                                   \
		  "of what is allocated in a turn, tell one block in so many bytes (chosen: about three blocks of four)",    \
		  offsetof(type, field.bytes_set) },                                                                         \
	{                                                                                                                    \
		OPT_LIST, 0, "heap-probe", offsetof(type, field.probes), "FUNCTION",                                         \
			"allocator of your own, which returns the block: pool_get, or 'pool_get(arg1)' where its bytes are " \
			"not the first argument; may be repeated",                                                           \
			0                                                                                                    \
	}

int record_heap_check(const struct record_heap *h, struct heap_opts *out, struct err *e);
/* Joins it to the session, if it is wanted. 0 or -ENOMEM; *status: degraded where it cannot be had. */
int record_heap_add(struct record_heap *h, struct session *s, int *status);
/* Before session_free(): what could not be seen. */
void record_heap_tell(const struct record_heap *h, int *status);

#endif

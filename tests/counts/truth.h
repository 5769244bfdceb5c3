/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What callgrind counted, by instruction: the truth that counts are judged by. Reads files made with
 * --dump-instr=yes --dump-line=no --compress-strings=no --compress-pos=no. Included by tests only.
 */
#ifndef ACCPERF_TESTS_COUNTS_TRUTH_H
#define ACCPERF_TESTS_COUNTS_TRUTH_H

#include <stdint.h>

#include "util/map.h"

#define TRUTH_OBJECTS 256

struct truth_call {
	uint32_t from_object, to_object;
	uint64_t from, to; /* the call instruction; the callee's first */
	uint64_t count;
};

struct truth {
	struct intern objects;          /* paths, ids from 1 */
	struct intern names;            /* "object\x01function" */
	struct map runs[TRUTH_OBJECTS]; /* by object id: address -> executions */
	struct map by_name;             /* id in names -> instructions, self */
	struct truth_call *call;
	uint32_t calls, cap;
	uint64_t total;
};

/* 0 or -errno. "FILE,LESS": without what another, shorter run of the program did, which leaves the
 * steady state that an endless run is in. */
int truth_read(struct truth *t, const char *path);
void truth_release(struct truth *t);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tool's stream -> profile: string ids renumbered, modules given their build-ids, the last
 * complete snapshot chosen. The stream is untrusted (the target could have scribbled on it).
 * Included by this room and tests.
 */
#ifndef ACCPERF_EXACT_CONVERT_H
#define ACCPERF_EXACT_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/write.h"
#include "util/err.h"

struct exact_result {
	struct fmt_x_run run;
	bool has_run;  /* a complete snapshot was found */
	bool torn;     /* the stream ends inside a block */
	char why[200]; /* why it is incomplete; "" complete */
	uint64_t functions, edges, samples;
	struct exact_subtree {
		struct fmt_x_subtree rec;
		char name[200];
	} * subtrees;
	size_t subtree_count;
};

void exact_result_release(struct exact_result *res);

struct exact_select;
/* Writes all that the stream holds (a descriptor, read from its beginning); an incomplete run is no error: see res.
 * select is told of each function; NULL: nobody is. */
int exact_convert(int stream, struct store_writer *w, struct exact_select *select, struct exact_result *res,
		  struct err *e);

#endif

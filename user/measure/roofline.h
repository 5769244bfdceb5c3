/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one core of this machine can do at most: arithmetic and logical instructions a second, and bytes a second read
 * by plain loads from as much memory as fits each level of caches. The roof that `accperf advise --roofline` holds
 * functions against. Each is the fastest of some passes; "usual" is the middle one: what other programs, or changes of
 * the machine's speed, leave of it lies between the two. Included by offload and advise. Owns nothing.
 */
#ifndef ACCPERF_MEASURE_ROOFLINE_H
#define ACCPERF_MEASURE_ROOFLINE_H

#include <stdbool.h>

#include "util/buf.h"

#define ROOFLINE_LEVELS 4 /* from the nearest cache to memory */

struct roofline {
	char machine[256]; /* that it was measured on; "": nothing is known */
	double ops_per_s, usual_ops;
	struct roofline_level {
		double bytes; /* of the memory that was read */
		double bytes_per_s, usual_bytes;
	} level[ROOFLINE_LEVELS];
};

/* Takes half a second of one core. False: no memory. */
bool roofline_measure(const char *machine, struct roofline *out);
/* As text, and back; false: it is not such a text. */
void roofline_write(const struct roofline *r, struct buf *out);
bool roofline_read(const char *text, struct roofline *out);

#endif

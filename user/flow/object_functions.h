/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of objects.h: what they use of each region, their rank for hardware. Pure. Included by objects.c. */
#ifndef ACCPERF_FLOW_OBJECT_FUNCTIONS_H
#define ACCPERF_FLOW_OBJECT_FUNCTIONS_H

#include "flow/objects.h"

struct object_use { /* object x function */
	uint64_t row;
	uint32_t func;
	double reads, writes, read_bytes, write_bytes, samples;
};

/* use: of o->rows as they stand. 0 or -ENOMEM. */
int object_functions_build(const struct flow_input *in, const struct object_use *use, size_t count, struct objects *o);
/* Where samples come by time and no speed was measured, ratios alone are known. */
void object_functions_forget_amounts(struct objects *o);

#endif

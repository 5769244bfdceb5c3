/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Named counters count from the beginning of a recording, those of a profile from the profile's: what they had come to
 * when it began is taken off. Included by session.c alone. Owns names and numbers.
 */
#ifndef ACCPERF_RECORD_COUNTED_H
#define ACCPERF_RECORD_COUNTED_H

#include <stdint.h>

#include "util/map.h"

struct counted {
	struct intern names;
	struct counted_value {
		uint64_t before, latest;
	} * value; /* by id */
	uint32_t cap;
};

/* Of this counter, which has come to `value`, what the present profile has. */
uint64_t counted_since(struct counted *c, const char *name, uint64_t value);
/* The next profile begins. */
void counted_next(struct counted *c);
void counted_release(struct counted *c);

#endif

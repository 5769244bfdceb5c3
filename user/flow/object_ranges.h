/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses to memory that has no name here: ranges without a wide gap, then those ranges that a person would
 * call one object taken together. Pure. Included by this room alone.
 *
 * One mapping of one process: neighbours with the same main users are one; a range with too few samples to show
 * its users belongs to the nearest one whose users include them (there, or at the same address in another
 * process); what has next to none and is left is one "rest". Then the same of several processes of one program,
 * where both lie in a mapping of one name or at the same addresses.
 */
#ifndef ACCPERF_FLOW_OBJECT_RANGES_H
#define ACCPERF_FLOW_OBJECT_RANGES_H

#include "flow/input.h"

struct object_range {
	size_t first, end;   /* into the order */
	uint64_t addr, stop; /* what its accesses touch */
	uint32_t pid, group; /* group: index of the range that stands for its object */
	uint32_t user_count;
	uint32_t *users;                /* function << 1 | writes: those with more than a trace of its bytes; sorted */
	const struct in_region *region; /* NULL: no mapping is known */
	/* of the range that stands for an object */
	uint64_t low, high; /* from its first place to the end of its last, in this process */
	uint64_t extent;    /* the most that it is in one process */
	uint32_t next_like; /* the next of another process that may be the same; 0: none */
	bool placed;        /* its group is known by its users */
	bool rest;          /* its places have nothing in common but the mapping */
};

struct object_ranges {
	uint32_t *order; /* of in->access: by process, then address; the caller's */
	size_t order_count;
	struct object_range *range; /* by process, then address */
	size_t count, cap;
};

/* 0 or -ENOMEM; object_ranges_release() in any case. */
int object_ranges_build(const struct flow_input *in, struct object_ranges *r);
void object_ranges_release(struct object_ranges *r);

#endif

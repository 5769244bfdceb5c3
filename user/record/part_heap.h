/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recording's part for allocations: in turns, short where many are made, the allocators of one process are probed,
 * all their calls are counted, and blocks drawn by their bytes are written with stacks (FMT_HEAP_*). In between no
 * probe is planted. A turn has as many hits as the ledger's account pays for; where few allocations are made one turn
 * follows the other. Which process is next, its samples tell. Included by foreground.
 */
#ifndef ACCPERF_RECORD_PART_HEAP_H
#define ACCPERF_RECORD_PART_HEAP_H

#include "record/allocators.h"
#include "record/session.h"

#define HEAP_PERIOD_MOST (512u << 10) /* bytes between blocks that are told, where not asked otherwise */

struct heap_opts {
	uint64_t period; /* bytes; 0: chosen so that about three allocations of four are told */
	struct allocator_own own[ALLOCATOR_OWN_MOST];
	unsigned own_cnt;
};

struct heap_part;

/* -errno: *e says why allocations cannot be seen. */
int heap_part_add(struct session *s, const struct heap_opts *o, struct heap_part **out, struct err *e);
/* After the recording, before session_free(): whether there was a turn, and if not, why; functions named by the user
 * that were not met. A sentence, "" if there is nothing to say. */
bool heap_part_tell(const struct heap_part *p, char *why, size_t size);

#endif

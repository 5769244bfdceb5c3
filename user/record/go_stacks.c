// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/go_stacks.h"

#include <stdbool.h>

#define STACK_MOST (1ull << 30) /* bytes: the runtime ends a program with a larger one */
#define G_APART 32              /* bytes between two such records, at least */
#define USER_END (1ull << 47)   /* addresses of programs are below */

static bool is_within(uint64_t sp, uint64_t lo, uint64_t hi)
{
	return lo < sp && sp <= hi && hi - lo <= STACK_MOST;
}

uint64_t go_stacks_end(struct go_stacks *s, uint32_t pid, uint64_t r14, uint64_t sp, go_stacks_read_fn read)
{
	uint64_t bounds[2];
	unsigned at = (unsigned)((r14 / G_APART ^ pid) % GO_STACKS);

	if (!r14 || r14 % sizeof(r14) || r14 >= USER_END)
		return 0;
	/* a stack that has moved leaves no pointer to where it was */
	if (s->of[at].g == r14 && s->of[at].pid == pid && is_within(sp, s->of[at].lo, s->of[at].hi))
		return s->of[at].hi;
	if (read(pid, r14, bounds, sizeof(bounds)) != sizeof(bounds) || !is_within(sp, bounds[0], bounds[1]))
		return 0;
	s->of[at].pid = pid;
	s->of[at].g = r14;
	s->of[at].lo = bounds[0];
	s->of[at].hi = bounds[1];
	return bounds[1];
}

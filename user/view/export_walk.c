// SPDX-License-Identifier: GPL-2.0-or-later
/* A stack as steps, inlined ones among them, which all formats of export go along. */
#include <errno.h>

#include "util/grow.h"
#include "view/export.h"

int export_walk(const struct profile *p, uint32_t stack, bool inlined, struct export_steps *steps)
{
	const struct profile_stack *s = &p->stacks[stack];

	steps->count = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct profile_frame *f = &p->frames[p->stack_frames[s->first + i]];

		for (uint32_t l = inlined ? 0 : f->count - 1; l < f->count; l++) {
			if (!GROW(steps->at, steps->count, steps->cap, 64))
				return -ENOMEM;
			steps->at[steps->count++] = (struct export_step){ .frame = f,
									  .line = &p->lines[f->first + l],
									  .inlined = l + 1 < f->count };
		}
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/counted.h"

#include <stdlib.h>

#include "util/grow.h"

#define FIRST_ROOM 256u /* a recording has some 150 names */

uint64_t counted_since(struct counted *c, const char *name, uint64_t value)
{
	uint32_t id = intern_str(&c->names, name, NULL);
	struct counted_value *v;

	if (!id || !GROW_ZEROED(c->value, (size_t)id + 1, c->cap, FIRST_ROOM))
		return value;
	v = &c->value[id];
	v->latest = value;
	return value > v->before ? value - v->before : 0;
}

void counted_next(struct counted *c)
{
	for (uint32_t id = 0; id < c->cap; id++)
		c->value[id].before = c->value[id].latest;
}

void counted_release(struct counted *c)
{
	intern_release(&c->names);
	free(c->value);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/counted.h"

#include <stdlib.h>
#include <string.h>

#define AT_A_TIME 64u /* a recording has some 150 names */

static int make_room(struct counted *c, uint32_t id)
{
	uint32_t cap = (id + AT_A_TIME) / AT_A_TIME * AT_A_TIME;
	uint64_t *before, *latest;

	if (id < c->cap)
		return 0;
	before = realloc(c->before, cap * sizeof(*before));
	if (before)
		c->before = before;
	latest = before ? realloc(c->latest, cap * sizeof(*latest)) : NULL;
	if (!latest)
		return -1;
	c->latest = latest;
	memset(c->before + c->cap, 0, (cap - c->cap) * sizeof(*before));
	memset(c->latest + c->cap, 0, (cap - c->cap) * sizeof(*latest));
	c->cap = cap;
	return 0;
}

uint64_t counted_since(struct counted *c, const char *name, uint64_t value)
{
	uint32_t id = intern_str(&c->names, name, NULL);

	if (!id || make_room(c, id))
		return value;
	c->latest[id] = value;
	return value > c->before[id] ? value - c->before[id] : 0;
}

void counted_next(struct counted *c)
{
	if (c->cap)
		memcpy(c->before, c->latest, c->cap * sizeof(*c->before));
}

void counted_release(struct counted *c)
{
	intern_release(&c->names);
	free(c->before);
	free(c->latest);
}

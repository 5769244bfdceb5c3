// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/follow.h"

#include <stdlib.h>
#include <string.h>

#include "profile/profile_priv.h"

static void *kept_copy(const void *from, size_t count, size_t size)
{
	void *to = malloc(count * size + 1);

	if (to && count)
		memcpy(to, from, count * size);
	return to;
}

static int keep_as_read(struct profile *p)
{
	struct profile_private *k = p->priv;

	k->as_read.frames = kept_copy(p->frames, p->frame_count, sizeof(*p->frames));
	k->as_read.cells = kept_copy(p->cells, p->cell_count, sizeof(*p->cells));
	k->as_read.waits = kept_copy(p->waits, p->wait_count, sizeof(*p->waits));
	return k->as_read.frames && k->as_read.cells && k->as_read.waits ? 0 : -ENOMEM;
}

static void put_back(void *to, const void *from, size_t count, size_t size)
{
	if (count)
		memcpy(to, from, count * size);
}

/* As before profile_finish(), which then adds nothing twice. */
static void unfinish(struct profile *p)
{
	struct profile_private *k = p->priv;

	put_back(p->frames, k->as_read.frames, p->frame_count, sizeof(*p->frames));
	put_back(p->cells, k->as_read.cells, p->cell_count, sizeof(*p->cells));
	put_back(p->waits, k->as_read.waits, p->wait_count, sizeof(*p->waits));
	profile_drop_as_read(k);
	for (size_t i = 0; i < p->thread_count; i++)
		p->threads[i].first_cell = p->threads[i].cell_count = 0;
	free(p->modules);
	free(p->counters);
	free(p->exact);
	free(p->stack_seen);
	free(k->function_of_raw);
	p->modules = NULL;
	p->counters = NULL;
	p->exact = NULL;
	p->stack_seen = NULL;
	k->function_of_raw = NULL;
	map_release(&k->merged);
	p->function_count = p->line_count = p->module_count = p->counter_count = 0;
	p->exact_total = 0;
	p->lost = 0;
	p->lost_known = false;
	*p->recovery = 0;
}

int profile_read_on(struct profile *p, unsigned groups, struct err *e)
{
	struct profile_private *k = p->priv;
	int err;

	if (k->read) {
		if (!store_more(k->reader))
			return 0;
		unfinish(p);
	}
	err = profile_take_all(p, groups, NULL, 0, e);
	if (!err)
		err = keep_as_read(p);
	if (!err)
		err = profile_finish(p);
	k->read = !err;
	return err;
}

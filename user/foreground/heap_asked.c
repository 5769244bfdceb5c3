// SPDX-License-Identifier: GPL-2.0-or-later
#include "foreground/heap_asked.h"

#include <errno.h>

#define WHY_MOST 1024 /* bytes of a sentence with a path in it; by hand */

int record_heap_check(const struct record_heap *h, struct heap_opts *out, struct err *e)
{
	*out = (struct heap_opts){ .period = h->bytes };
	if ((h->bytes_set || h->probes.count) && !h->wanted)
		return err_set(e, -EINVAL, "--heap-bytes and --heap-probe want --heap");
	if (h->bytes_set && (h->bytes < 1 || h->bytes > 1ull << 32))
		return err_set(e, -EINVAL, "--heap-bytes must be between 1 and 4G");
	if (h->probes.count > ALLOCATOR_OWN_MOST)
		return err_set(e, -EINVAL, "no more than %d --heap-probe", ALLOCATOR_OWN_MOST);
	for (unsigned i = 0; i < h->probes.count; i++)
		if (allocator_own_parse(h->probes.items[i], &out->own[out->own_cnt++], e))
			return e->code;
	return 0;
}

int record_heap_add(struct record_heap *h, struct session *s, int *status)
{
	struct heap_opts o;
	struct err e = { 0 };
	int err;

	if (!h->wanted)
		return 0;
	err = record_heap_check(h, &o, &e);
	err = err ? err : heap_part_add(s, &o, &h->part, &e);
	if (!err || err == -ENOMEM)
		return err;
	log_warn("no allocations: %s", e.text);
	*status = EXIT_DEGRADED;
	return 0;
}

void record_heap_tell(const struct record_heap *h, int *status)
{
	char why[WHY_MOST];

	if (!h->part || heap_part_tell(h->part, why, sizeof(why)))
		return;
	log_warn("heap: %s", why);
	if (*status == EXIT_DONE)
		*status = EXIT_DEGRADED;
}

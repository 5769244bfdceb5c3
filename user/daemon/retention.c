// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/retention.h"

#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
	const struct kept_file *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

struct retained retention_choose(const struct retention *r, struct kept_file *files, size_t count)
{
	struct retained d = { 0 };

	if (count)
		qsort(files, count, sizeof(*files), by_time);
	for (size_t i = 0; i < count; i++)
		d.bytes += files[i].bytes;
	d.count = count;
	for (size_t i = 0; i < count; i++) {
		bool old = r->ages && (double)(r->now - files[i].time) > r->age * 1e9;

		files[i].goes = !files[i].open && (old || d.bytes > r->total || r->free + d.gone_bytes < r->reserve);
		if (!files[i].goes)
			continue;
		d.bytes -= files[i].bytes;
		d.gone_bytes += files[i].bytes;
		d.gone++;
		d.count--;
	}
	d.full = r->free + d.gone_bytes < r->reserve;
	return d;
}

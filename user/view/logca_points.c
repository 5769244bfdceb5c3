// SPDX-License-Identifier: GPL-2.0-or-later
/* The offload calls of a profile as the points of a fit. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "view/logca_source.h"
#include "offload/summary.h"

static int run_kind_of(const struct offload_item *it, const struct logca_request *r)
{
	if (r->host && !strcmp(it->name, r->host))
		return RUN_HOST;
	if (r->accelerated && !strcmp(it->name, r->accelerated))
		return RUN_ACCEL;
	if (!r->host && it->variant == FMT_OV_HOST)
		return RUN_HOST;
	if (!r->accelerated && it->variant == FMT_OV_ACCELERATED)
		return RUN_ACCEL;
	return -1;
}

static void names_of_items(const struct offload_summary *sum, char *text, size_t size)
{
	size_t used = 0;

	*text = 0;
	for (size_t i = 0; i < sum->items_cnt && used < size; i++) {
		const struct offload_item *it = &sum->items[i];
		int n = snprintf(text + used, size - used, "%s%s", i ? ", " : "", it->name);

		used += n > 0 ? (size_t)n : 0;
	}
}

int logca_profile_points(const char *path, const struct logca_request *r, struct points *pts, struct err *e)
{
	struct offload_summary *sum = offload_summary_load(path, e);
	size_t found[2] = { 0, 0 };
	char names[300];
	int err = 0;

	if (!sum)
		return e->code ? e->code : -EINVAL;
	strcpy(pts->unit, "ns");
	names_of_items(sum, names, sizeof(names));
	for (size_t i = 0; i < sum->items_cnt && !err; i++) {
		const struct offload_item *it = &sum->items[i];
		int k = run_kind_of(it, r);

		if (k < 0)
			continue;
		err = offload_points(it, (unsigned)k, pts, e);
		found[k] += it->samples_cnt;
	}
	if (!err && !sum->items_cnt)
		err = err_set(e, -EINVAL, "%s holds no offload calls; record them with `accperf record --offload auto`",
			      path);
	else if (!err && (!found[RUN_HOST] || !found[RUN_ACCEL]))
		err = err_set(
			e, -EINVAL,
			"%s has no timed calls of the %s variant; say which are which with --host NAME and --accelerated NAME (it has: %s), or mark them when recording: --offload-probe 'lib.so:f(bytes=arg2,host)'",
			path,
			found[RUN_HOST]    ? "accelerated"
			: found[RUN_ACCEL] ? "host"
					   : "host and accelerated",
			names);
	offload_summary_free(sum);
	return err;
}

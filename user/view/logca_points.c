// SPDX-License-Identifier: GPL-2.0-or-later
/* The offload calls of a profile as the points of a fit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/logca_source.h"
#include "advise/offload_pays.h"
#include "offload/summary.h"
#include "profile/profile.h"
#include "profile/walk.h"

static int run_kind_of(const struct offload_item *it, const struct logca_request *r)
{
	if (!offload_passes(r->filter, it))
		return -1;
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
		bool named = false;
		int n;

		for (size_t k = 0; k < i && !named; k++)
			named = !strcmp(sum->items[k].name, it->name);
		n = named ? 0 : snprintf(text + used, size - used, "%s%s", i ? ", " : "", it->name);
		used += n > 0 ? (size_t)n : 0;
	}
}

/* Of one variant's calls: those that are at a level, by their number; which that is decided. */
struct at_level {
	bool known; /* that of most calls, of those that have any */
	int level;
	double calls, all;
};

static struct at_level level_of_most(const struct offload_summary *sum, const struct logca_request *r, int kind)
{
	struct at_level best = { 0 };

	for (size_t i = 0; i < sum->items_cnt; i++) {
		const struct offload_item *it = &sum->items[i];
		double calls = 0;

		if (run_kind_of(it, r) != kind)
			continue;
		best.all += (double)it->calls;
		for (size_t k = 0; k < sum->items_cnt && it->levelled; k++)
			if (run_kind_of(&sum->items[k], r) == kind && offload_same_level(&sum->items[k], it))
				calls += (double)sum->items[k].calls;
		if (calls > best.calls) {
			best.known = true;
			best.calls = calls;
			best.level = it->level;
		}
	}
	return best;
}

/* The level that is asked for, or that of the accelerated calls, or that of most of the host's; false: none. */
static bool chosen_level(const struct offload_summary *sum, const struct logca_request *r, int *level)
{
	struct at_level accelerated = level_of_most(sum, r, RUN_ACCEL), host = level_of_most(sum, r, RUN_HOST);

	*level = r->level ? atoi(r->level) : accelerated.known ? accelerated.level : host.level;
	return r->level || accelerated.known || host.known;
}

/* Calls of which no level was ever seen are not known to be at another. */
static bool takes_part(const struct offload_summary *sum, const struct logca_request *r, const struct offload_item *it,
		       int kind, int level)
{
	return it->levelled ? it->level == level : !level_of_most(sum, r, kind).known;
}

static void say_level(const struct offload_summary *sum, const struct logca_request *r, int level, char text[300])
{
	static const char *const variant[] = { [RUN_HOST] = "host", [RUN_ACCEL] = "accelerated" };
	size_t used = (size_t)snprintf(text, 300, "calls at level %d alone, which --level chooses", level);

	for (int kind = 0; kind < 2; kind++) {
		double in = 0, all = level_of_most(sum, r, kind).all;

		for (size_t i = 0; i < sum->items_cnt; i++)
			if (run_kind_of(&sum->items[i], r) == kind && sum->items[i].levelled &&
			    sum->items[i].level == level)
				in += (double)sum->items[i].calls;
		if (!level_of_most(sum, r, kind).known)
			used += (size_t)snprintf(text + used, 300 - used, "%s of the %s variant's none was seen",
						 kind ? "," : ":", variant[kind]);
		else
			used += (size_t)snprintf(text + used, 300 - used, "%s %.1f %% of the %s variant's",
						 kind ? "," : ":", all > 0 ? 100 * in / all : 0, variant[kind]);
	}
}

static int points_missing(const char *path, const struct logca_request *r, const size_t found[2], const char *names,
			  const char *level, struct err *e)
{
	const char *which = found[RUN_HOST] ? "accelerated" : found[RUN_ACCEL] ? "host" : "host and accelerated";

	if (filter_asks_code(r->filter))
		return err_set(e, -EINVAL,
			       "%s has no timed calls of the %s variant that --dso and --symbol take (it has: %s)",
			       path, which, names);
	if (*level)
		return err_set(e, -EINVAL, "%s has no timed calls of the %s variant at that level (%s)", path, which,
			       level);
	return err_set(
		e, -EINVAL,
		"%s has no timed calls of the %s variant; say which are which with --host NAME and --accelerated NAME (it has: %s), or mark them when recording: --offload-probe 'lib.so:f(bytes=arg2,host)'",
		path, which, names);
}

/* Of the processes that are asked for: a walk more, once the first has named them. NULL: e says why. */
static struct offload_summary *calls_asked_for(const char *path, const struct logca_request *r, struct err *e)
{
	struct offload_summary *all, *part = NULL;
	struct section_reader reader;
	struct profile *p;

	if (!filter_asks_process(r->filter))
		return offload_summary_load(path, e);
	p = profile_open(path, e);
	all = p ? offload_summary_begin(profile_reader(p), &reader, e) : NULL;
	if (all && !profile_read(p, PROFILE_SAMPLES, &reader, 1, e))
		part = offload_summary_load_part(path, r->filter, p, e);
	offload_summary_free(all);
	profile_free(p);
	return part;
}

int logca_profile_points(const char *path, const struct logca_request *r, struct points *pts, char level[300],
			 struct err *e)
{
	struct offload_summary *sum = calls_asked_for(path, r, e);
	size_t found[2] = { 0, 0 };
	char names[300];
	int err = 0, at = 0;

	*level = 0;
	if (!sum)
		return e->code ? e->code : -EINVAL;
	strcpy(pts->unit, "ns");
	names_of_items(sum, names, sizeof(names));
	if (chosen_level(sum, r, &at))
		say_level(sum, r, at, level);
	for (size_t i = 0; i < sum->items_cnt && !err; i++) {
		const struct offload_item *it = &sum->items[i];
		int k = run_kind_of(it, r);

		if (k < 0 || !takes_part(sum, r, it, k, at))
			continue;
		err = offload_points(it, (unsigned)k, pts, e);
		found[k] += it->samples_cnt;
	}
	if (!err && !sum->items_cnt && filter_asks_process(r->filter))
		err = err_set(e, -ENOENT, "%s holds no offload calls of such processes; `accperf offload` lists calls",
			      path);
	else if (!err && !sum->items_cnt)
		err = err_set(e, -EINVAL, "%s holds no offload calls; record them with `accperf record --offload auto`",
			      path);
	else if (!err && (!found[RUN_HOST] || !found[RUN_ACCEL]))
		err = points_missing(path, r, found, names, level, e);
	offload_summary_free(sum);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The calls of a file on a walk of their own: of all processes, or of those that a filter takes. */
#include "offload/summary.h"

#include <errno.h>
#include <stddef.h>

#include "profile/filter.h"
#include "profile/profile.h"
#include "profile/walk.h"

#define ROWS 16 /* sections that a summary reads, and room for more */

/* Calls and their counts are told by process; all other sections are for all of them. */
struct of_processes {
	const struct filter *filter;
	const struct profile *p;
	struct section_reader all; /* the summary's own reader */
	struct section_row row[ROWS];
};

static int pass_of_process(const struct of_processes *o, uint16_t section, uint32_t pid, const void *rec, size_t size)
{
	if (!filter_process(o->filter, pid, profile_comm(o->p, pid)))
		return 0;
	for (size_t i = 0; i < o->all.count; i++)
		if (o->all.rows[i].section == section)
			return o->all.rows[i].take(o->all.ctx, rec, size);
	return 0;
}

static int call_of_process(void *ctx, const void *rec, size_t size)
{
	return pass_of_process(ctx, FMT_CALL, ((const struct fmt_call *)rec)->pid, rec, size);
}

static int total_of_process(void *ctx, const void *rec, size_t size)
{
	return pass_of_process(ctx, FMT_OFFLOAD_TOTAL, ((const struct fmt_offload_total *)rec)->pid, rec, size);
}

static int hist_of_process(void *ctx, const void *rec, size_t size)
{
	return pass_of_process(ctx, FMT_OFFLOAD_HIST, ((const struct fmt_offload_hist *)rec)->pid, rec, size);
}

static const struct section_row by_process[] = {
	{ FMT_CALL, sizeof(struct fmt_call), call_of_process, NULL },
	{ FMT_OFFLOAD_TOTAL, sizeof(struct fmt_offload_total), total_of_process, NULL },
	{ FMT_OFFLOAD_HIST, sizeof(struct fmt_offload_hist), hist_of_process, NULL },
};

static bool is_by_process(uint16_t section)
{
	for (size_t i = 0; i < sizeof(by_process) / sizeof(*by_process); i++)
		if (by_process[i].section == section)
			return true;
	return false;
}

/* Two readers in place of o->all: what is not by process, and what is. */
static int split_reader(struct of_processes *o, struct section_reader out[2])
{
	size_t n = 0;

	for (size_t i = 0; i < o->all.count; i++) {
		if (is_by_process(o->all.rows[i].section))
			continue;
		if (n == ROWS)
			return -E2BIG;
		o->row[n++] = o->all.rows[i];
	}
	out[0] = (struct section_reader){ .rows = o->row, .count = n, .ctx = o->all.ctx };
	out[1] = SECTION_READER(by_process, o);
	return 0;
}

static int walk_calls(struct store_reader *r, struct of_processes *o, struct err *e)
{
	struct section_reader readers[2];

	if (!filter_asks_process(o->filter))
		return sections_walk(r, &o->all, 1, e);
	if (split_reader(o, readers))
		return err_set(e, -E2BIG, "more than %d kinds of records of calls", ROWS);
	return sections_walk(r, readers, 2, e);
}

struct offload_summary *offload_summary_load_part(const char *path, const struct filter *f, const struct profile *p,
						  struct err *e)
{
	struct of_processes o = { .filter = f, .p = p };
	struct store_reader *r = store_open(path, e);
	struct offload_summary *s = r ? offload_summary_begin(r, &o.all, e) : NULL;

	if (!s) {
		store_reader_free(r);
		return NULL;
	}
	s->owned = r;
	if (walk_calls(r, &o, e) || offload_summary_end(s, e)) {
		err_prefix(e, "%s", path);
		offload_summary_free(s);
		return NULL;
	}
	return s;
}

struct offload_summary *offload_summary_load(const char *path, struct err *e)
{
	return offload_summary_load_part(path, NULL, NULL, e);
}

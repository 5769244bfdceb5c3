// SPDX-License-Identifier: GPL-2.0-or-later
/* report --by: the same table with a row for each object, process, unit, container or pod. */
#include <math.h>

#include "view/report.h"

static const char *title_of(enum rollup_by by)
{
	static const char *const titles[ROLLUPS] = { "object", "process", "pid  process", "unit", "container", "pod" };

	return titles[by];
}

static void group_row(const struct report *r, const struct rollup_row *g, struct buf *out)
{
	AUTO_BUF(count);

	buf_addf(out, "%7.2f%%", 100 * g->self);
	if (r->groups.exact)
		buf_addstr(out, "   exact");
	else
		buf_addf(out, " +-%5.2f", 100 * fmax(g->high - g->self, g->self - g->low));
	if (r->opts.by == ROLLUP_DSO && isnan(g->inclusive))
		buf_addstr(out, "         -");
	else if (r->opts.by == ROLLUP_DSO)
		buf_addf(out, "  %7.2f%%", 100 * g->inclusive);
	if (r->groups.exact)
		buf_addch(&count, '-');
	else
		text_count(&count, g->samples);
	buf_addch(out, ' ');
	text_pad_left(out, buf_failed(&count) ? "?" : count.data, 9);
	buf_addstr(out, "  ");
	if (r->opts.by == ROLLUP_PID)
		buf_addf(out, "%u  ", g->pid);
	text_name(out, g->name ? g->name : r->opts.by < ROLLUP_UNIT ? "(unknown)" : "(none)", 0, 0);
	buf_addch(out, '\n');
}

static bool shows(const struct report *r, const struct rollup_row *g)
{
	double most = r->opts.sort == REPORT_SELF || isnan(g->inclusive) ? g->self : fmax(g->self, g->inclusive);

	return most >= r->opts.limit;
}

void report_groups_text(const struct report *r, const struct text_style *style, struct buf *out)
{
	unsigned hidden = 0;

	text_hue_on(out, style, TEXT_BOLD);
	buf_addf(out, "%8s %7s%s %9s  %s", "self", "95%", r->opts.by == ROLLUP_DSO ? "     incl." : "", "samples",
		 title_of(r->opts.by));
	text_hue_off(out, style, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < r->groups.count; i++) {
		if (shows(r, &r->groups.rows[i]))
			group_row(r, &r->groups.rows[i], out);
		else
			hidden++;
	}
	if (hidden)
		buf_addf(out, "# %u row%s under %g%% not shown; --percent-limit 0 shows all\n", hidden,
			 hidden == 1 ? "" : "s", 100 * r->opts.limit);
}

void report_groups_json(const struct report *r, struct json *j)
{
	json_str(j, "by", rollup_names[r->opts.by]);
	json_arr(j, "groups");
	for (size_t i = 0; i < r->groups.count; i++) {
		const struct rollup_row *g = &r->groups.rows[i];

		if (!shows(r, g))
			continue;
		json_obj(j, NULL);
		json_str(j, "name", g->name);
		if (r->opts.by == ROLLUP_PID)
			json_u64(j, "pid", g->pid);
		else
			json_null(j, "pid");
		json_f64(j, "self", g->self);
		json_f64(j, "inclusive", g->inclusive);
		if (r->groups.exact)
			json_null(j, "samples");
		else
			json_u64(j, "samples", g->samples);
		json_f64(j, "low", g->low);
		json_f64(j, "high", g->high);
		json_end(j);
	}
	json_end(j);
}

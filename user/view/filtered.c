// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/filtered.h"

#include <math.h>

void filtered_phrase(const struct filtered *f, struct buf *out)
{
	const char *between = " (";

	if (isnan(f->shown))
		buf_addstr(out, "an unknown part");
	else
		buf_addf(out, "%.1f%%", 100 * fmin(1, f->shown));
	buf_addf(out, " of the %s shown", f->of);
	for (unsigned k = 0; k < FILTER_KINDS; k++) {
		const struct filter_list *l = &f->by->by[k];

		for (size_t i = 0; i < l->count; i++) {
			if (i)
				buf_addstr(out, ", ");
			else
				buf_addf(out, "%s%s ", between, filter_names[k]);
			text_name(out, l->at[i], 0, 0);
			between = "; ";
		}
	}
	buf_addch(out, ')');
}

void filtered_text(const struct filtered *f, const char *prefix, const struct text_style *s, struct buf *out)
{
	if (!filter_any(f->by))
		return;
	text_hue_on(out, s, TEXT_BOLD);
	buf_addf(out, "%sfiltered: ", prefix);
	filtered_phrase(f, out);
	buf_addf(out, "; shares are of %s", f->alone ? "these processes alone" : "the whole recording");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
}

void filtered_json(const struct filtered *f, struct json *j)
{
	if (!filter_any(f->by))
		return;
	json_obj(j, "filter");
	json_str(j, "of", f->of);
	json_f64(j, "shown", f->shown);
	for (unsigned k = 0; k < FILTER_KINDS; k++) {
		json_arr(j, filter_names[k]);
		for (size_t i = 0; i < f->by->by[k].count; i++)
			json_str(j, NULL, f->by->by[k].at[i]);
		json_end(j);
	}
	json_end(j);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/logca_segments.h"

static struct logca_view segment_view(const struct logca_view *all, const struct fit_segment *seg)
{
	struct logca_view v = *all;

	v.seg = NULL;
	v.fit = &seg->fit;
	v.p = seg->fit.p;
	v.lo = seg->first;
	v.hi = seg->last;
	return v;
}

void logca_segments_json(struct buf *out, const struct logca_view *all, const struct fit_segment *seg, int n)
{
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.logca-segments/1");
	json_arr(&j, "segments");
	for (int i = 0; i < n; i++) {
		struct logca_view v = segment_view(all, &seg[i]);

		json_obj(&j, NULL);
		logca_json(&j, &v);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

void logca_segments_text(struct buf *out, const struct logca_view *all, const struct fit_segment *seg, int n,
			 const struct text_style *style)
{
	buf_addf(out, "%d segment%s\n\n", n, n == 1 ? "" : "s");
	if (n > 1) {
		logca_plot(out, all, style);
		buf_addch(out, '\n');
	}
	for (int i = 0; i < n; i++) {
		struct logca_view v = segment_view(all, &seg[i]);

		logca_text(out, &v, style);
		buf_addch(out, '\n');
	}
}

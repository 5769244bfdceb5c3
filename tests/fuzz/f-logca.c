// SPDX-License-Identifier: GPL-2.0-or-later
/* What people hand to `accperf logca`: CSV and catalogues, then the fit and every rendering of it. */
#include <stdlib.h>
#include <string.h>

#include "model/catalogue.h"
#include "model/fit.h"
#include "view/logca.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void render(const struct logca_view *v)
{
	struct text_style style = { .width = 80 };
	AUTO_BUF(out);
	struct json j = { .out = &out };

	logca_text(&out, v, &style);
	logca_svg(&out, v);
	json_obj(&j, NULL);
	logca_json(&j, v);
	json_end(&j);
}

static void fit_and_render(const struct points *pts)
{
	struct fit_opts opts = { .resamples = 20, .seed = 1 };
	struct fit_segment seg[3];
	struct fit f;
	struct err e;

	if (pts->run[RUN_HOST].count + pts->run[RUN_ACCEL].count > 60)
		return; /* time, not memory: long inputs say nothing new */
	if (!fit_logca(pts, &opts, &f, &e)) {
		struct logca_view v = { .name = "<fuzz>",
					.unit = "ns",
					.p = f.p,
					.fit = &f,
					.pts = pts,
					.lo = f.gmin,
					.hi = f.gmax,
					.newton = true };

		render(&v);
	}
	opts.resamples = 0;
	fit_segments(pts, &opts, seg, 2, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct points pts = { .unit = "" };
	struct catalogue c;
	struct err e;
	char *text;

	if (size > 4096)
		return 0;
	text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = 0;
	if (!points_parse_csv(&pts, text, size, &e))
		fit_and_render(&pts);
	points_release(&pts);
	if (!catalogue_parse(&c, text, size, &e)) {
		AUTO_BUF(out);

		for (size_t i = 0; i < c.count; i++) {
			struct logca_view v = {
				.name = c.entries[i].name, .unit = "ns", .p = c.entries[i].p, .lo = 16, .hi = 33554432
			};

			if (c.entries[i].has_params)
				render(&v);
			else
				fit_and_render(&c.entries[i].pts);
		}
		catalogue_write(&c, &out, &e);
	}
	catalogue_release(&c);
	if (!logca_parse(text, &(struct logca){ 0 }, &e)) {
		struct logca_view v = { .unit = "ns", .lo = 16, .hi = 33554432 };

		logca_parse(text, &v.p, &e);
		render(&v);
	}
	free(text);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Advice (advise.h) as a picture: candidates against devices, coloured by verdict. */
#include <math.h>
#include <stdlib.h>

#include "view/advise.h"
#include "view/svg_bars.h"

#define BARS_MOST 24 /* of one picture; --all: every option */

/* Gains, what does not pay, what cannot be told: hues of svg_colour(). */
static unsigned verdict_hue(enum advise_verdict v)
{
	return v == VERDICT_OFFLOAD || v == VERDICT_BATCH ? 2 : v == VERDICT_UNKNOWN ? 7 : 1;
}

/* Devices for which there are figures come before those that cannot be judged. */
void advise_svg(const struct advise_view *v, struct buf *out)
{
	const struct advice *a = v->advice;
	size_t most = 0;
	struct svg_bars bars = { .title = "What a device would make of the whole process",
				 .axis = "the process would be so many times as fast; 1x: as now",
				 .times = true,
				 .none = "no function of this profile can be judged: `accperf advise` says why" };
	struct svg_bar *bar;

	for (size_t i = 0; i < a->count; i++)
		most += a->at[i].options;
	bar = calloc(most + 1, sizeof(*bar));
	out->failed |= !bar;
	for (int known = 1; known >= 0 && bar; known--)
		for (size_t i = 0; i < a->count; i++)
			for (size_t k = 0; k < a->at[i].options; k++) {
				const struct advise_option *o = &a->at[i].option[k];
				const struct figure *f = &o->p.process_speedup;
				bool told = o->predicted && figure_known(f);

				if (told != known || (!v->all && bars.count >= BARS_MOST))
					continue;
				bar[bars.count++] = (struct svg_bar){ .name = a->at[i].candidate->name,
								      .under = o->accelerator,
								      .says = o->text,
								      .value = told ? f->value : NAN,
								      .low = told ? f->low : NAN,
								      .high = told ? f->high : NAN,
								      .hue = verdict_hue(o->verdict) };
			}
	bars.bar = bar;
	if (bar)
		svg_bars(&bars, out);
	free(bar);
}

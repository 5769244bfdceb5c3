// SPDX-License-Identifier: GPL-2.0-or-later
/* Apart from the reader because jansson and util/json.h share names. */
#include "model/catalogue.h"

#include <errno.h>

#include "util/json.h"

static void write_points(struct json *j, const struct points *pts)
{
	json_obj(j, "points");
	for (int k = 0; k < RUN_KINDS; k++) {
		if (!pts->run[k].count)
			continue;
		json_arr(j, run_kind_str((enum run_kind)k));
		for (size_t i = 0; i < pts->run[k].count; i++) {
			json_arr(j, NULL);
			json_f64(j, NULL, pts->run[k].at[i].g);
			json_f64(j, NULL, pts->run[k].at[i].t);
			if (pts->run[k].at[i].switched)
				json_bool(j, NULL, true);
			json_end(j);
		}
		json_end(j);
	}
	json_end(j);
}

int catalogue_write(const struct catalogue *c, struct buf *out, struct err *e)
{
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", CATALOGUE_SCHEMA);
	json_arr(&j, "accelerators");
	for (size_t i = 0; i < c->count; i++) {
		const struct catalogue_entry *a = &c->entries[i];

		buf_addch(out, '\n'); /* an entry a line: diffs and greps stay readable */
		json_obj(&j, NULL);
		json_str(&j, "name", a->name);
		json_str(&j, "family", a->family);
		json_str(&j, "device", a->device);
		json_str(&j, "baseline", a->baseline);
		json_str(&j, "host", a->host);
		json_str(&j, "driver", a->driver);
		json_str(&j, "date", a->date);
		json_str(&j, "unit", a->unit);
		json_bool(&j, "preset", a->preset);
		if (a->has_params) {
			json_obj(&j, "params");
			json_f64(&j, "L", a->p.L);
			json_f64(&j, "o", a->p.o);
			json_f64(&j, "C", a->p.C);
			json_f64(&j, "A", a->p.A);
			json_f64(&j, "beta", a->p.beta);
			json_f64(&j, "t0", a->p.t0);
			json_str(&j, "latency", logca_latency_str(a->p.kind));
			json_end(&j);
		} else {
			json_null(&j, "params");
		}
		json_arr(&j, "notes");
		for (unsigned k = 0; k < a->notes; k++)
			json_str(&j, NULL, a->note[k]);
		json_end(&j);
		write_points(&j, &a->pts);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
	return buf_failed(out) ? err_set(e, -ENOMEM, "not enough memory to write the catalogue") : 0;
}

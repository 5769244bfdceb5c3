// SPDX-License-Identifier: GPL-2.0-or-later
/* Apart from the reader because jansson and util/json.h share names. */
#include "model/catalogue.h"

#include <errno.h>
#include <math.h>

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

static void write_value(struct json *j, const char *key, const struct catalogue_value *v)
{
	if (v->low == v->v && v->high == v->v) {
		json_f64(j, key, v->v);
		return;
	}
	if (isnan(v->v) && isnan(v->low) && isnan(v->high)) {
		json_null(j, key);
		return;
	}
	json_arr(j, key);
	json_f64(j, NULL, v->v);
	json_f64(j, NULL, v->low);
	json_f64(j, NULL, v->high);
	json_end(j);
}

static void write_terms(struct json *j, const struct catalogue_terms *t)
{
	json_obj(j, "offload");
	write_value(j, "o", &t->o);
	write_value(j, "L", &t->L);
	json_str(j, "latency", logca_latency_str(t->kind));
	write_value(j, "B", &t->B);
	write_value(j, "A", &t->A);
	json_f64(j, "beta", t->beta);
	json_end(j);
}

/* What is not known of an entry is left out: most have none of it. */
static void write_beside(struct json *j, const struct catalogue_entry *a)
{
	if (a->source)
		json_str(j, "source", a->source);
	if (a->kinds) {
		json_arr(j, "kinds");
		for (int k = 0; k < CATALOGUE_KINDS; k++)
			if (a->kinds & 1u << k)
				json_str(j, NULL, catalogue_kind_str((enum catalogue_kind)k));
		json_end(j);
	}
	if (a->designs) {
		json_arr(j, "designs");
		for (int d = 0; d < CATALOGUE_DESIGNS; d++)
			if (a->designs & 1u << d)
				json_str(j, NULL, catalogue_design_str((enum catalogue_design)d));
		json_end(j);
	}
	if (a->engines >= 1)
		json_f64(j, "engines", a->engines);
	if (a->uncertain > 0)
		json_f64(j, "uncertain", a->uncertain);
	if (a->no_streams)
		json_bool(j, "no_streams", true);
	if (a->has_terms)
		write_terms(j, &a->terms);
	if (!a->thresholds)
		return;
	json_arr(j, "thresholds");
	for (unsigned i = 0; i < a->thresholds; i++) {
		json_obj(j, NULL);
		json_f64(j, "from", a->threshold[i].from);
		json_f64(j, "to", a->threshold[i].to);
		json_str(j, "call", a->threshold[i].call);
		json_str(j, "source", a->threshold[i].source);
		json_end(j);
	}
	json_end(j);
}

int catalogue_write(const struct catalogue *c, struct buf *out, struct err *e)
{
	return catalogue_write_marked(c, NULL, out, e);
}

int catalogue_write_marked(const struct catalogue *c, const char *host, struct buf *out, struct err *e)
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
		if (host)
			json_bool(&j, "elsewhere", catalogue_elsewhere(a, host));
		write_beside(&j, a);
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

// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/fleet_view.h"

#include <math.h>
#include <stdio.h>

#include "util/clean.h"
#include "util/json.h"
#include "util/normal.h"
#include "view/schema.h"

static const char *const verdicts[] = { [FLEET_NOISE] = "noise", [FLEET_REAL] = "real", [FLEET_MOVED] = "moved" };

static bool is_shown(const struct fleet_view *v, const struct fleet_function *o)
{
	return !v->diff || v->all || o->verdict != FLEET_NOISE;
}

static void percent_column(double share, int width, int digits, bool sign, struct buf *out)
{
	char text[40];

	if (isfinite(share))
		snprintf(text, sizeof(text), sign ? "%+.*f" : "%.*f", digits, share * 100);
	else
		snprintf(text, sizeof(text), "-");
	buf_addf(out, "%*s", width, text);
}

static void add_names(const struct fleet_function *o, struct buf *out)
{
	buf_addstr(out, "  ");
	clean_add(out, o->function, CLEAN_TEXT);
	buf_addstr(out, "  ");
	clean_add(out, *o->object ? o->object : "-", CLEAN_TEXT);
	buf_addch(out, '\n');
}

void fleet_text(const struct fleet_view *v, const struct fleet_functions *f, struct buf *out)
{
	size_t shown = 0, noise = 0;

	buf_addf(out, "service %s, %u host%s\n\n%s\n", v->asked.service, f->hosts, f->hosts == 1 ? "" : "s",
		 v->differ   ? "share %  median  host  function  object"
		 : v->advise ? "saved %   low  high  offload %  hosts  function  accelerator"
		 : v->diff   ? " before %  after %  change  +-      q  verdict  function  object"
			     : "share %   low  high  hosts  function  object");
	for (size_t i = 0; i < f->count; i++) {
		const struct fleet_function *o = &f->at[i];

		noise += v->diff && o->verdict == FLEET_NOISE;
		if (!is_shown(v, o) || shown == v->rows)
			continue;
		shown++;
		if (v->diff) {
			percent_column(o->before, 9, 2, false, out);
			percent_column(o->after, 9, 2, false, out);
			percent_column(o->change, 8, 3, true, out);
			percent_column(Z95 * o->error, 7, 3, false, out);
			buf_addf(out, "  %.3f  %-7s", o->q, verdicts[o->verdict]);
		} else if (v->differ) {
			percent_column(o->share, 7, 2, false, out);
			percent_column(o->before, 8, 2, false, out);
			buf_addstr(out, "  ");
			clean_add(out, o->host, CLEAN_TEXT);
		} else if (v->advise) {
			percent_column(o->share, 7, 2, false, out);
			percent_column(o->low, 6, 2, false, out);
			percent_column(o->high, 6, 2, false, out);
			percent_column(o->offload, 11, 1, false, out);
			buf_addf(out, "%7u", o->hosts);
		} else {
			percent_column(o->share, 7, 2, false, out);
			percent_column(o->low, 6, 2, false, out);
			percent_column(o->high, 6, 2, false, out);
			buf_addf(out, "%7u", o->hosts);
		}
		add_names(o, out);
	}
	if (noise && !v->all)
		buf_addf(out, "%zu changes may be noise (--all)\n", noise);
}

void fleet_json(const struct fleet_view *v, const struct fleet_functions *f, struct buf *out)
{
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.fleet/1");
	json_str(&j, "service", v->asked.service);
	json_u64(&j, "since", (uint64_t)v->asked.of.from);
	json_u64(&j, "until", (uint64_t)v->asked.of.to);
	json_f64(&j, "against", v->diff ? (double)v->asked.before.from : NAN);
	json_u64(&j, "hosts", f->hosts);
	json_arr(&j, "functions");
	for (size_t i = 0; i < f->count; i++) {
		const struct fleet_function *o = &f->at[i];

		json_obj(&j, NULL);
		json_str(&j, "name", o->function);
		if (!v->advise)
			json_str(&j, "object", o->object);
		json_u64(&j, "hosts", o->hosts);
		if (v->diff) {
			json_f64(&j, "before", o->before);
			json_f64(&j, "after", o->after);
			json_f64(&j, "change", o->change);
			json_f64(&j, "error", o->error);
			json_f64(&j, "q", o->q);
			json_str(&j, "verdict", verdicts[o->verdict]);
		} else {
			if (v->advise) {
				json_str(&j, "accelerator", o->object);
				json_f64(&j, "offload", o->offload);
			}
			if (v->differ) {
				json_str(&j, "host", o->host);
				json_f64(&j, "median", o->before);
			}
			json_f64(&j, v->advise ? "saved" : "share", o->share);
			json_f64(&j, "low", o->low);
			json_f64(&j, "high", o->high);
		}
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

const char fleet_view_schema[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"accperf.fleet/1\",\"type\":\"object\","
	"\"description\":\"functions of a service over all hosts\",\"additionalProperties\":false,"
	"\"required\":[\"schema\",\"service\",\"since\",\"until\",\"against\",\"hosts\",\"functions\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.fleet/1\"},\"service\":{\"type\":\"string\"},"
	"\"since\":{\"type\":\"integer\",\"description\":\"seconds of the time of day\"},\"until\":{\"type\":\"integer\"},"
	"\"against\":{\"type\":[\"integer\",\"null\"],\"description\":\"of diff: when what it is compared with begins\"},"
	"\"hosts\":" UINT ",\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"additionalProperties\":false,\"required\":[\"name\",\"hosts\"],\"properties\":{"
	"\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},\"hosts\":" UINT ",\"share\":" NUM
	",\"saved\":" NUM ",\"offload\":" NUM
	",\"accelerator\":{\"type\":\"string\"},\"host\":{\"type\":\"string\"},\"median\":" NUM ",\"low\":" NUM
	",\"high\":" NUM ",\"before\":" NUM ",\"after\":" NUM ",\"change\":" NUM ",\"error\":" NUM ",\"q\":" NUM
	",\"verdict\":{\"enum\":[\"noise\",\"real\",\"moved\"]}}}}}}";

// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/doctor.h"

#include <unistd.h>

#include "record/sources.h"
#include "util/json.h"

/* What a recording is made of: whether it can be had, and what it costs the target. */
static void show_sources(const struct features *f, const struct text_style *style, unsigned width, struct buf *out)
{
	const struct source_row *row;
	char why[320];

	buf_addch(out, '\n');
	text_hue_on(out, style, TEXT_BOLD);
	buf_addstr(out, "sources of a recording\n");
	text_hue_off(out, style, TEXT_BOLD);
	for (unsigned i = 0; (row = sources_row(i)); i++) {
		bool works = source_works(row->source, f, why, sizeof(why));

		buf_addf(out, "  %-7s%-10s ", works ? "yes" : "no", row->source->name);
		text_wrap(out, row->source->summary, 20, 20, width);
		if (works)
			buf_addf(out, "%20scost: %g %s, where it is not measured; account `%s`\n", "",
				 price_assumed(row->price), price_row(row->price)->unit, ledger_name(row->account));
		if (works)
			continue;
		buf_addf(out, "%20s", "");
		text_wrap(out, why, 20, 20, width);
	}
}

static void json_sources(struct json *j, const struct features *f)
{
	const struct source_row *row;
	char why[320];

	json_arr(j, "sources");
	for (unsigned i = 0; (row = sources_row(i)); i++) {
		bool works = source_works(row->source, f, why, sizeof(why));

		json_obj(j, NULL);
		json_str(j, "name", row->source->name);
		json_str(j, "summary", row->source->summary);
		json_bool(j, "works", works);
		json_str(j, "detail", *why ? why : NULL);
		json_str(j, "account", ledger_name(row->account));
		json_f64(j, "price", price_assumed(row->price));
		json_str(j, "unit", price_row(row->price)->unit);
		json_end(j);
	}
	json_end(j);
}

void doctor_text(const struct doctor_view *v, const struct text_style *style, struct buf *out)
{
	const struct features *f = v->features;
	const struct engine *engines = v->engines;
	static const char *const marks[] = {
		[FEATURE_UNKNOWN] = "?", [FEATURE_NO] = "no", [FEATURE_PARTLY] = "partly", [FEATURE_YES] = "yes"
	};
	static const enum text_hue hues[] = { [FEATURE_UNKNOWN] = TEXT_PLAIN,
					      [FEATURE_NO] = TEXT_HOT,
					      [FEATURE_PARTLY] = TEXT_BOLD,
					      [FEATURE_YES] = TEXT_WARM };
	static const char *const heads[] = {
		[FEATURE_RIGHTS] = "rights and limits",
		[FEATURE_SOURCE] = "what can be measured with",
		[FEATURE_VIEW] = "what can be shown",
	};

	unsigned width = style->width ? style->width : 100;

	buf_addf(out, "accperf %s on Linux %s %s, %ld CPU%s, ", ACCPERF_VERSION, f->release, f->machine, f->cpus,
		 f->cpus == 1 ? "" : "s");
	text_name(out, f->cpu, 0, 0);
	buf_addf(out, ", uid %u\n", geteuid());
	for (int group = FEATURE_RIGHTS; group <= FEATURE_VIEW; group++) {
		buf_addch(out, '\n');
		text_hue_on(out, style, TEXT_BOLD);
		buf_addstr(out, heads[group]);
		text_hue_off(out, style, TEXT_BOLD);
		buf_addch(out, '\n');
		for (size_t i = 0; i < f->count; i++) {
			const struct feature *x = &f->f[i];

			if ((int)x->group != group)
				continue;
			buf_addstr(out, "  ");
			text_hue_on(out, style, hues[x->state]);
			buf_addf(out, "%-7s", marks[x->state]);
			text_hue_off(out, style, hues[x->state]);
			buf_addf(out, "%-24s ", x->title);
			text_wrap(out, x->detail, 34, 34, width);
			if (x->command && !v->has_command(x->command))
				buf_addf(out, "%11sso:        not built in: this accperf has no command `%s`\n", "",
					 x->command);
			if (*x->means) {
				buf_addf(out, "%11sso:        ", "");
				text_wrap(out, x->means, 22, 22, width);
			}
			if (*x->enable) {
				buf_addf(out, "%11sto enable: ", "");
				text_wrap(out, x->enable, 22, 22, 0);
			}
		}
	}
	show_sources(f, style, width, out);
	buf_addch(out, '\n');
	text_hue_on(out, style, TEXT_BOLD);
	buf_addstr(out, "engines\n");
	text_hue_off(out, style, TEXT_BOLD);
	for (int i = 0; i < ENGINES; i++) {
		buf_addf(out, "  %-7s", engines[i].name);
		text_wrap(out, engines[i].usable ? engines[i].accuracy : "not usable here; see above", 9, 9, width);
		if (engines[i].usable) {
			buf_addstr(out, "         cost: ");
			text_wrap(out, engines[i].cost, 15, 15, width);
		}
	}
}

void doctor_json(const struct doctor_view *v, struct buf *out)
{
	const struct features *f = v->features;
	const struct engine *engines = v->engines;
	static const char *const groups[] = {
		[FEATURE_RIGHTS] = "rights", [FEATURE_SOURCE] = "source", [FEATURE_VIEW] = "view"
	};
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.doctor/1");
	json_str(&j, "version", ACCPERF_VERSION);
	json_str(&j, "kernel", f->release);
	json_str(&j, "machine", f->machine);
	json_str(&j, "cpu", f->cpu);
	json_i64(&j, "cpus", f->cpus);
	json_u64(&j, "uid", geteuid());
	json_arr(&j, "engines");
	for (int i = 0; i < ENGINES; i++) {
		json_obj(&j, NULL);
		json_str(&j, "name", engines[i].name);
		json_bool(&j, "usable", engines[i].usable);
		json_str(&j, "accuracy", engines[i].usable ? engines[i].accuracy : NULL);
		json_str(&j, "cost", engines[i].usable ? engines[i].cost : NULL);
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "features");
	for (size_t i = 0; i < f->count; i++) {
		const struct feature *x = &f->f[i];

		json_obj(&j, NULL);
		json_str(&j, "name", x->name);
		json_str(&j, "title", x->title);
		json_str(&j, "group", groups[x->group]);
		json_bool(&j, "built", v->built(x));
		json_str(&j, "state", feature_state_str(x->state));
		json_str(&j, "detail", x->detail);
		json_str(&j, "means", *x->means ? x->means : NULL);
		json_str(&j, "enable", *x->enable ? x->enable : NULL);
		json_end(&j);
	}
	json_end(&j);
	json_sources(&j, f);
	json_end(&j);
	buf_addch(out, '\n');
}

const char doctor_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.doctor/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"version\",\"kernel\",\"machine\",\"uid\",\"engines\",\"features\",\"sources\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.doctor/1\"},\"version\":{\"type\":\"string\"},\"kernel\":{\"type\":\"string\"},"
	"\"machine\":{\"type\":\"string\"},\"cpu\":{\"type\":\"string\"},\"cpus\":{\"type\":\"integer\"},\"uid\":{\"type\":\"integer\"},"
	"\"engines\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"usable\"],\"properties\":{"
	"\"name\":{\"enum\":[\"pmu\",\"soft\",\"exact\"]},\"usable\":{\"type\":\"boolean\"},"
	"\"accuracy\":{\"type\":[\"string\",\"null\"]},\"cost\":{\"type\":[\"string\",\"null\"]}}}},"
	"\"features\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"name\",\"title\",\"group\",\"built\",\"state\",\"detail\",\"means\",\"enable\"],\"properties\":{"
	"\"name\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"group\":{\"enum\":[\"rights\",\"source\",\"view\"]},"
	"\"built\":{\"type\":\"boolean\"},\"state\":{\"enum\":[\"yes\",\"partly\",\"no\",\"unknown\"]},\"detail\":{\"type\":\"string\"},"
	"\"means\":{\"type\":[\"string\",\"null\"]},\"enable\":{\"type\":[\"string\",\"null\"]}}}},"
	"\"sources\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"name\",\"summary\",\"works\",\"detail\",\"account\",\"price\",\"unit\"],\"properties\":{"
	"\"name\":{\"type\":\"string\"},\"summary\":{\"type\":\"string\"},\"works\":{\"type\":\"boolean\"},"
	"\"detail\":{\"type\":[\"string\",\"null\"]},\"account\":{\"type\":\"string\"},"
	"\"price\":{\"type\":\"number\"},\"unit\":{\"type\":\"string\"}}}}}}";

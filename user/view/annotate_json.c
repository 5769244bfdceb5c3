// SPDX-License-Identifier: GPL-2.0-or-later
/* Source and instructions with their figures (annotate.h) as JSON. */
#include <math.h>
#include <string.h>

#include "util/json.h"
#include "view/annotate.h"
#include "view/schema.h"

static void address_json(struct json *j, const char *key, uint64_t addr)
{
	AUTO_BUF(b);

	buf_addf(&b, "0x%llx", (unsigned long long)addr);
	json_str(j, key, b.data);
}

static void figure_json(struct json *j, const char *key, double value, double low, double high)
{
	json_obj(j, key);
	json_f64(j, "value", value);
	json_f64(j, "low", low);
	json_f64(j, "high", high);
	json_end(j);
}

static void bytes_json(struct json *j, const char *key, const struct annotate_bytes *b, bool known)
{
	if (!known || isnan(b->share)) {
		json_null(j, key);
		return;
	}
	json_obj(j, key);
	json_f64(j, "share", b->share);
	json_f64(j, "low", b->low);
	json_f64(j, "high", b->high);
	text_json_whole(j, "bytes", b->bytes);
	json_u64(j, "samples", b->samples);
	json_end(j);
}

static void line_number(struct json *j, uint32_t line)
{
	if (line)
		json_u64(j, "line", line);
	else
		json_null(j, "line");
}

static void function(const struct annotation *a, struct json *j)
{
	json_obj(j, "function");
	json_str(j, "name", a->name);
	json_str(j, "object", a->object);
	json_str(j, "path", a->path);
	json_str(j, "file", a->file);
	line_number(j, a->line);
	json_u64(j, "samples", a->samples);
	figure_json(j, "share", a->time, a->low, a->high);
	figure_json(j, "entries_per_second", a->entries.value, a->entries.low, a->entries.high);
	bytes_json(j, "read", &a->read, a->accesses);
	bytes_json(j, "written", &a->written, a->accesses);
	json_end(j);
}

static void loops(const struct annotation *a, struct json *j)
{
	json_arr(j, "loops");
	for (size_t i = 0; i < a->loops; i++) {
		const struct annotate_loop *l = &a->loop[i];

		json_obj(j, NULL);
		address_json(j, "address", l->addr);
		json_u64(j, "depth", l->depth);
		json_u64(j, "instructions", l->insns);
		json_u64(j, "samples", l->samples);
		json_f64(j, "share", l->time);
		json_bool(j, "hot", l->hot);
		json_end(j);
	}
	json_end(j);
}

static void instruction_json(const struct annotation *a, const struct annotate_insn *i, struct json *j)
{
	json_obj(j, NULL);
	address_json(j, "address", i->addr);
	address_json(j, "offset", i->addr - a->part[i->part].start);
	json_str(j, "text", i->len ? annotation_text(a, i) : NULL);
	json_str(j, "callee", i->callee);
	json_str(j, "file", i->file);
	line_number(j, i->line);
	json_str(j, "inlined", i->inlined);
	if (i->loop == ANNOTATE_NONE)
		json_null(j, "loop");
	else
		address_json(j, "loop", a->loop[i->loop].addr);
	json_bool(j, "hot", i->hot);
	json_u64(j, "samples", i->samples);
	figure_json(j, "share", i->time, i->low, i->high);
	figure_json(j, "runs_per_entry", i->per_entry.value, i->per_entry.low, i->per_entry.high);
	figure_json(j, "runs_per_second", i->runs.value, i->runs.low, i->runs.high);
	bytes_json(j, "read", &i->read, a->accesses);
	bytes_json(j, "written", &i->written, a->accesses);
	json_end(j);
}

/* Every file once, with the lines that have instructions shown. */
static void source(const struct annotate_view *v, struct json *j)
{
	const struct annotation *a = v->a;
	char line[400];

	for (size_t i = 0; i < a->insns; i++)
		if (a->insn[i].file)
			source_of(v->sources, a->insn[i].file);
	json_arr(j, "source");
	for (size_t k = 0; k < v->sources->count; k++) {
		const struct source_file *f = &v->sources->file[k];

		json_obj(j, NULL);
		json_str(j, "file", f->path);
		json_str(j, "not_shown", *f->why ? f->why : NULL);
		json_bool(j, "younger", f->younger);
		json_arr(j, "lines");
		for (uint32_t n = 1; n <= f->lines; n++) {
			double share = 0;
			uint64_t samples = 0;
			bool any = false;

			for (size_t i = 0; i < a->insns; i++) {
				if (a->insn[i].line != n || !a->insn[i].file || strcmp(a->insn[i].file, f->path))
					continue;
				any = true;
				share += a->insn[i].time;
				samples += a->insn[i].samples;
			}
			if (!any)
				continue;
			json_obj(j, NULL);
			json_u64(j, "line", n);
			json_str(j, "text", source_line(f, n, line, sizeof(line)));
			json_f64(j, "share", share);
			json_u64(j, "samples", samples);
			json_end(j);
		}
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

void annotate_json(const struct annotate_view *v, struct buf *out)
{
	const struct annotation *a = v->a;
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.annotate/1");
	trust_json(v->trust, &j);
	filtered_json(&v->filtered, &j);
	json_str(&j, "unit", annotate_unit(a));
	json_bool(&j, "precise", a->precise);
	json_str(&j, "no_code", *a->no_code ? a->no_code : NULL);
	json_str(&j, "no_executions", *a->no_counts ? a->no_counts : NULL);
	function(a, &j);
	loops(a, &j);
	json_arr(&j, "instructions");
	for (size_t i = 0; i < a->insns; i++)
		instruction_json(a, &a->insn[i], &j);
	json_end(&j);
	source(v, &j);
	json_end(&j);
	buf_addch(out, '\n');
}

#define LINE "{\"type\":[\"integer\",\"null\"],\"minimum\":1}"
#define FIGURE                                                                                                         \
	"{\"type\":\"object\",\"required\":[\"value\",\"low\",\"high\"],\"properties\":{\"value\":" NUM                \
	",\"low\":" NUM ",\"high\":" NUM "}}"
#define BYTES                                                                                                              \
	"{\"type\":[\"object\",\"null\"],\"required\":[\"share\",\"low\",\"high\",\"bytes\",\"samples\"],\"properties\":{" \
	"\"share\":" NUM ",\"low\":" NUM ",\"high\":" NUM                                                                  \
	",\"bytes\":{\"type\":[\"integer\",\"null\"]},\"samples\":" UINT "}}"
const char annotate_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.annotate/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"trust\",\"unit\",\"precise\",\"no_code\",\"no_executions\",\"function\",\"loops\",\"instructions\",\"source\"],"
	"\"properties\":{" TRUST_SCHEMA "," FILTERED_SCHEMA ",\"schema\":{\"const\":\"accperf.annotate/1\"},"
	"\"unit\":{\"enum\":[\"time\",\"instructions\",\"accesses\"]},\"precise\":" BOOL ",\"no_code\":" STR
	",\"no_executions\":" STR ",\"function\":{\"type\":\"object\","
	"\"required\":[\"name\",\"object\",\"path\",\"file\",\"line\",\"samples\",\"share\",\"entries_per_second\",\"read\",\"written\"],"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},\"path\":" STR ",\"file\":" STR
	",\"line\":" LINE ",\"samples\":" UINT ",\"share\":" FIGURE ",\"entries_per_second\":" FIGURE ",\"read\":" BYTES
	",\"written\":" BYTES "}},"
	"\"loops\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"address\",\"depth\",\"instructions\",\"samples\",\"share\",\"hot\"],\"properties\":{"
	"\"address\":{\"type\":\"string\"},\"depth\":" UINT ",\"instructions\":" UINT ",\"samples\":" UINT
	",\"share\":" NUM ",\"hot\":" BOOL "}}},"
	"\"instructions\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"address\",\"offset\",\"text\",\"callee\",\"file\",\"line\",\"inlined\",\"loop\",\"hot\",\"samples\",\"share\",\"runs_per_entry\",\"runs_per_second\",\"read\",\"written\"],"
	"\"properties\":{\"address\":{\"type\":\"string\"},\"offset\":{\"type\":\"string\"},\"text\":" STR
	",\"callee\":" STR ",\"file\":" STR ",\"line\":" LINE ",\"inlined\":" STR ",\"loop\":" STR ",\"hot\":" BOOL
	",\"samples\":" UINT ",\"share\":" FIGURE ",\"runs_per_entry\":" FIGURE ",\"runs_per_second\":" FIGURE
	",\"read\":" BYTES ",\"written\":" BYTES "}}},"
	"\"source\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"file\",\"not_shown\",\"younger\",\"lines\"],\"properties\":{\"file\":{\"type\":\"string\"},"
	"\"not_shown\":" STR ",\"younger\":" BOOL ",\"lines\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"line\",\"text\",\"share\",\"samples\"],\"properties\":{\"line\":" UINT ",\"text\":" STR
	",\"share\":" NUM ",\"samples\":" UINT "}}}}}}}}";

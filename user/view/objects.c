// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts/counts_speed.h"
#include "profile/time_shares.h"
#include "util/clean.h"
#include "util/json.h"
#include "view/objects.h"
#include "view/schema.h"
#include "view/svg_bars.h"

static void add_ratio(struct buf *out, double v, const char *format)
{
	AUTO_BUF(b);

	if (isnan(v))
		buf_addstr(&b, "unknown");
	else if (*format == 'p')
		buf_addf(&b, "%.1f%%", v * 100);
	else
		buf_addf(&b, "%.2f", v);
	text_pad_left(out, b.data ? b.data : "", 9);
}

static void users(struct buf *out, const char *what, const struct object_user *u, unsigned count)
{
	if (!count)
		return;
	buf_addf(out, "      %s", what);
	for (unsigned i = 0; i < OBJECT_USERS && u[i].name; i++) {
		buf_addstr(out, i ? ", " : " ");
		text_name(out, u[i].name, 32, 0);
		buf_addstr(out, isnan(u[i].bytes) ? "" : " ");
		if (!isnan(u[i].bytes))
			text_bytes(out, whole_number(u[i].bytes));
	}
	if (count > OBJECT_USERS)
		buf_addf(out, " and %u more", count - OBJECT_USERS);
	buf_addch(out, '\n');
}

static void function_costs(const struct objects *o, struct buf *out)
{
	buf_addstr(out, "cost of an access in average instructions:");
	for (int k = 0; k < OBJECT_REGIONS; k++)
		buf_addf(out, "%s %s %.3g", k ? "," : "", object_region_names[k], o->costs.factor[k]);
	buf_addf(out, "%s\n", o->costs.measured ? ", measured here" : "; --cost gives others");
	if (!o->time_unit)
		buf_addstr(out, "no MAI without times: `accperf exact --objects --cycles`, or a recording\n");
}

static void functions_by_rank(const struct objects_view *v, const struct text_style *s, struct buf *out)
{
	const struct objects *o = v->o;
	char unit[32];

	snprintf(unit, sizeof(unit), "MAI%s%s", o->time_unit ? " " : "", o->time_unit ? o->time_unit : "");
	text_hue_on(out, s, TEXT_BOLD);
	buf_addf(out, "%-28s%9s%9s%9s%9s%12s", "function", "MAR", "no stack", "stack", "relative", unit);
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < o->function_count && i < v->rows; i++) {
		const struct object_function *f = &o->functions[i];

		if (!filter_code(v->filtered.by, f->name, f->object))
			continue;
		text_name(out, f->name, 27, 28);
		add_ratio(out, f->mar, "");
		add_ratio(out, f->nonlocal_mar, "");
		add_ratio(out, f->stack_ratio, "p");
		add_ratio(out, f->relative_mar, "");
		if (isnan(f->mai))
			buf_addf(out, "%12s", "unknown");
		else
			buf_addf(out, "%12.3g", f->mai);
		buf_addch(out, '\n');
	}
	buf_addstr(out, "\nMAR: memory accesses per instruction; no stack: without those of the stack;\n"
			"stack: their part of all; relative: MAR without the stack over the program's;\n"
			"MAI, by which functions rank for hardware, the lowest first: time for an access,\n"
			"of those that cost anything\n");
	function_costs(o, out);
}

static void whole(struct buf *out, double value, unsigned columns)
{
	AUTO_BUF(n);

	if (isnan(value))
		buf_addstr(&n, "unknown");
	else
		text_count(&n, whole_number(value));
	text_pad_left(out, n.data ? n.data : "", columns);
}

static void region_line(struct buf *out, const char *region, const struct object_reach *r)
{
	buf_addf(out, "  %-7s", region);
	whole(out, r->objects, 9);
	if (isnan(r->addresses)) {
		buf_addf(out, "%10s%10s", "unknown", "unknown");
	} else {
		whole(out, r->addresses, 10);
		text_amount(out, r->bytes, 10);
	}
	whole(out, r->reads, 13);
	whole(out, r->writes, 13);
	if (!isnan(r->low))
		buf_addf(out, "  %#llx..%#llx", (unsigned long long)whole_number(r->low),
			 (unsigned long long)whole_number(r->high));
	buf_addch(out, '\n');
}

/* The first table of the xQUAD paper, and where the addresses lie. */
static void functions_by_region(const struct objects_view *v, const struct text_style *s, struct buf *out)
{
	const struct objects *o = v->o;

	text_hue_on(out, s, TEXT_BOLD);
	buf_addf(out, "%-9s%9s%10s%10s%13s%13s%s", "function", "objects", "addresses", "bytes", "reads", "writes",
		 o->reaches ? "  from..to" : "");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < o->function_count && i < v->rows; i++) {
		const struct object_function *f = &o->functions[i];

		if (!filter_code(v->filtered.by, f->name, f->object))
			continue;
		text_name(out, f->name, 70, 0);
		buf_addch(out, '\n');
		for (int k = 0; k < OBJECT_REGIONS; k++)
			if (f->reach[k].reads + f->reach[k].writes != 0)
				region_line(out, object_region_names[k], &f->reach[k]);
	}
	buf_addstr(out, "\nobjects: variables and allocation sites used, of the stack variables alone;\n"
			"addresses: distinct ones that accesses began at; bytes: distinct\n");
	if (!o->reaches)
		buf_addstr(out, "addresses are told by `accperf exact --objects` alone\n");
}

void objects_text(const struct objects_view *v, const struct text_style *s, struct buf *out)
{
	const struct objects *o = v->o;

	trust_text(v->trust, "", s, out);
	filtered_text(&v->filtered, "", s, out);
	text_hue_on(out, s, TEXT_BOLD);
	buf_addf(out, "%6s  %-9s %-32s%10s%10s%10s", "share", "kind", "object", "size", "read", "written");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < o->row_count && i < v->rows; i++) {
		const struct object_row *r = &o->rows[i];

		buf_addf(out, "%5.1f%%  %-9s ", 100 * r->share, r->kind);
		text_name(out, r->name, 31, 32);
		text_amount(out, r->size, 10);
		text_amount(out, r->read_bytes, 10);
		text_amount(out, r->write_bytes, 10);
		buf_addch(out, '\n');
		if (r->processes == 1 && o->processes > 1) {
			buf_addf(out, "      of process %u: ", r->pid);
			clean_add(out, r->comm ? r->comm : "(unknown)", CLEAN_TEXT);
			buf_addch(out, '\n');
		}
		if (r->places == 1 && r->processes > 1)
			buf_addf(out, "      in %u processes\n", r->processes);
		if (r->places > 1)
			buf_addf(out, "      %u ranges%s taken together\n", r->places,
				 r->processes > 1 ? " of several processes" : "");
		if (!isnan(r->share_error))
			buf_addf(out, "      share +-%.1f%%; %.0f%% of it inferred\n", 100 * r->share_error,
				 r->samples > 0 ? 100 * r->inferred / r->samples : 0);
		users(out, "read by", r->readers, r->reader_count);
		users(out, "written by", r->writers, r->writer_count);
	}
	if (o->row_count > v->rows)
		buf_addf(out, "%zu more objects; --rows N lists more\n", o->row_count - v->rows);
	buf_addch(out, '\n');
	if (v->regions)
		functions_by_region(v, s, out);
	else
		functions_by_rank(v, s, out);
	if (o->inferred)
		buf_addf(
			out,
			"%zu objects are ranges inferred from the addresses: blocks close together, and those of the same users, are one\n",
			o->inferred);
	if (!isnan(o->heap.known))
		buf_addf(
			out,
			"heap: %.1f%% of the accesses are to blocks that were told, %.1f%% to memory that such blocks had or lie beside\n"
			"(their sites are inferred), %.1f%% to blocks of sites that were not seen\n",
			100 * o->heap.known, 100 * o->heap.inferred, 100 * o->heap.unknown);
	if (o->exact) {
		buf_addstr(out, "counted by the exact engine; ");
	} else {
		text_count(out, whole_number(o->samples));
		buf_addf(out, " sampled accesses%s; ", o->time_bias ? ", weighted by time" : "");
	}
	text_name(out, v->source, 0, 0);
	buf_addch(out, '\n');
	if (!o->amounts)
		text_no_amounts(out, o->speed_seconds, s->width);
	text_amounts_spread(out, o->speed_low, o->speed_high, s->width);
}

static void json_users(struct json *j, const char *key, const struct object_user *u)
{
	json_arr(j, key);
	for (unsigned i = 0; i < OBJECT_USERS && u[i].name; i++) {
		json_obj(j, NULL);
		json_str(j, "function", u[i].name);
		json_f64(j, "bytes", u[i].bytes);
		json_end(j);
	}
	json_end(j);
}

static void json_regions(struct json *j, const struct object_reach *r)
{
	json_obj(j, "regions");
	for (int k = 0; k < OBJECT_REGIONS; k++, r++) {
		json_obj(j, object_region_names[k]);
		json_f64(j, "objects", r->objects);
		json_f64(j, "addresses", r->addresses);
		json_f64(j, "bytes", r->bytes);
		json_f64(j, "reads", r->reads);
		json_f64(j, "writes", r->writes);
		json_f64(j, "low", r->low);
		json_f64(j, "high", r->high);
		json_end(j);
	}
	json_end(j);
}

static void json_costs(struct json *j, const struct object_costs *c)
{
	json_obj(j, "costs");
	for (int k = 0; k < OBJECT_REGIONS; k++)
		json_f64(j, object_region_names[k], c->factor[k]);
	json_bool(j, "measured", c->measured);
	json_end(j);
}

void objects_svg(const struct objects_view *v, struct buf *out)
{
	const struct objects *o = v->o;
	size_t n = o->row_count < v->rows ? o->row_count : v->rows;
	struct svg_bar *bar = calloc(n + 1, sizeof(*bar));
	struct svg_bars bars = { .title = "Which objects the accesses are to",
				 .axis = "share of all accesses",
				 .bar = bar,
				 .count = (unsigned)n,
				 .none = "no object was seen" };
	AUTO_BUF(users);

	for (size_t i = 0; i < n && bar; i++) {
		const struct object_row *r = &o->rows[i];

		bar[i] = (struct svg_bar){ r->name, r->kind, NULL, r->share, r->share, r->share, 0 };
		if (!o->exact)
			wilson_interval(r->share, o->samples, &bar[i].low, &bar[i].high);
	}
	/* texts end to end, as a buffer moves while it grows */
	for (size_t i = 0; i < n && bar; i++) {
		const struct object_row *r = &o->rows[i];

		buf_addf(&users, "%s%s%s%s", r->reader_count ? "read by " : "",
			 r->reader_count ? r->readers[0].name : "",
			 r->writer_count ? (r->reader_count ? ", written by " : "written by ") : "",
			 r->writer_count ? r->writers[0].name : "");
		buf_addch(&users, 0);
	}
	out->failed |= !bar || buf_failed(&users);
	if (!out->failed) {
		const char *text = users.data;

		for (size_t i = 0; i < n; i++, text += strlen(text) + 1)
			bar[i].says = text;
		svg_bars(&bars, out);
	}
	free(bar);
}

static void json_object_slices(struct json *j, const struct objects *o)
{
	if (!o->slices)
		return;
	json_obj(j, "slices");
	json_u64(j, "count", o->slices);
	json_f64(j, "from", o->slice_start);
	json_f64(j, "width", o->slice_width);
	json_end(j);
}

/* Slices without a sample of it are left out. */
static void json_object_over_time(struct json *j, const struct objects *o, const struct object_row *r)
{
	static const char *const keys[] = { "slice", "share", "samples" };

	if (!r->over_time)
		return;
	json_obj(j, "over_time");
	for (unsigned k = 0; k < 3; k++) {
		json_arr(j, keys[k]);
		for (uint32_t s = 0; s < o->slices; s++)
			if (r->over_time[o->slices + s] > 0)
				json_f64(j, NULL, k ? r->over_time[(k - 1) * o->slices + s] : s);
		json_end(j);
	}
	json_end(j);
}

static void json_heap(struct json *j, const struct object_heap *h)
{
	json_obj(j, "heap");
	json_f64(j, "known", h->known);
	json_f64(j, "inferred", h->inferred);
	json_f64(j, "unknown", h->unknown);
	json_end(j);
}

/* Of allocation sites the error is known; else of so many samples. */
static void share_json(struct json *j, const struct objects *o, const struct object_row *r)
{
	double low = r->share, high = r->share;

	if (!o->exact && !isnan(r->share_error)) {
		low = fmax(0, r->share - r->share_error);
		high = fmin(1, r->share + r->share_error);
	} else if (!o->exact) {
		wilson_interval(r->share, o->samples, &low, &high);
	}
	json_f64(j, "share", r->share);
	json_f64(j, "share_low", low);
	json_f64(j, "share_high", high);
}

void objects_json(const struct objects_view *v, struct buf *out)
{
	const struct objects *o = v->o;
	struct counts_speed_note note;
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.objects/1");
	json_bool(&j, "exact", o->exact);
	json_str(&j, "bias", o->time_bias ? "time" : NULL);
	json_f64(&j, "samples", o->exact ? NAN : o->samples);
	json_bool(&j, "amounts_known", o->amounts);
	json_str(&j, "amounts_note", o->amounts ? NULL : counts_speed_note(&note, o->speed_seconds));
	json_f64(&j, "amounts_low", o->speed_low);
	json_f64(&j, "amounts_high", o->speed_high);
	json_str(&j, "time_unit", o->time_unit);
	json_object_slices(&j, o);
	json_heap(&j, &o->heap);
	json_costs(&j, &o->costs);
	trust_json(v->trust, &j);
	filtered_json(&v->filtered, &j);
	json_arr(&j, "objects");
	for (size_t i = 0; i < o->row_count; i++) {
		const struct object_row *r = &o->rows[i];

		json_obj(&j, NULL);
		json_str(&j, "name", r->name);
		json_str(&j, "kind", r->kind);
		json_str(&j, "function", *r->function ? r->function : NULL);
		json_f64(&j, "size", r->size);
		json_f64(&j, "blocks", r->blocks);
		json_u64(&j, "places", r->places);
		json_f64(&j, "processes", r->processes ? r->processes : NAN);
		json_f64(&j, "pid", r->processes == 1 ? r->pid : NAN);
		share_json(&j, o, r);
		json_f64(&j, "reads", r->reads);
		json_f64(&j, "writes", r->writes);
		json_f64(&j, "read_bytes", r->read_bytes);
		json_f64(&j, "written_bytes", r->write_bytes);
		json_f64(&j, "samples", r->samples);
		json_f64(&j, "samples_inferred", isnan(o->heap.known) ? NAN : r->inferred);
		json_f64(&j, "share_error", r->share_error);
		json_f64(&j, "distinct_written", r->written);
		json_f64(&j, "distinct_read", r->read);
		json_f64(&j, "never_read", r->unread);
		json_u64(&j, "reader_count", r->reader_count);
		json_u64(&j, "writer_count", r->writer_count);
		json_users(&j, "readers", r->readers);
		json_users(&j, "writers", r->writers);
		json_object_over_time(&j, o, r);
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "functions");
	for (size_t i = 0; i < o->function_count; i++) {
		const struct object_function *f = &o->functions[i];

		if (!filter_code(v->filtered.by, f->name, f->object))
			continue;
		json_obj(&j, NULL);
		json_str(&j, "name", f->name);
		json_str(&j, "object", f->object);
		json_f64(&j, "accesses", f->accesses);
		json_f64(&j, "instructions", f->instructions);
		json_f64(&j, "mar", f->mar);
		json_f64(&j, "nonlocal_mar", f->nonlocal_mar);
		json_f64(&j, "stack_ratio", f->stack_ratio);
		json_f64(&j, "relative_mar", f->relative_mar);
		json_f64(&j, "time", f->time);
		json_f64(&j, "communication", f->communication);
		json_f64(&j, "weighed_accesses", f->weighed);
		json_f64(&j, "mai", f->mai);
		json_f64(&j, "rank", f->rank ? f->rank : NAN);
		json_regions(&j, f->reach);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

#define USERS                                                                                                                  \
	"{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"function\":{\"type\":\"string\"},\"bytes\":" NUM \
	"}}}"
#define REACH                                                                                                          \
	"{\"type\":\"object\",\"properties\":{\"objects\":" NUM ",\"addresses\":" NUM ",\"bytes\":" NUM                \
	",\"reads\":" NUM ",\"writes\":" NUM ",\"low\":" NUM ",\"high\":" NUM "}}"
#define OVER_TIME                                                                                                      \
	"{\"type\":\"object\",\"description\":\"with --slices: those with samples of it\",\"properties\":{\"slice\":{\"type\":\"array\"},\"share\":{\"type\":\"array\"},\"samples\":{\"type\":\"array\"}}}"
const char objects_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.objects/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"exact\",\"objects\",\"functions\"],\"properties\":{\"schema\":{\"const\":\"accperf.objects/1\"},"
	"\"amounts_low\":{\"type\":[\"number\",\"null\"]},\"amounts_high\":{\"type\":[\"number\",\"null\"]},"
	"\"exact\":{\"type\":\"boolean\"},\"amounts_known\":{\"type\":\"boolean\"},\"amounts_note\":{\"type\":[\"string\",\"null\"]},\"bias\":{\"enum\":[\"time\",null]},\"samples\":" NUM
	",\"slices\":{\"type\":\"object\",\"properties\":{\"count\":{\"type\":\"integer\"},\"from\":" NUM
	",\"width\":" NUM

	"}},"
	"\"heap\":{\"type\":\"object\",\"description\":\"accesses of the heap, as parts of all: of sites that are known, inferred or unknown\",\"properties\":{\"known\":" NUM
	",\"inferred\":" NUM ",\"unknown\":" NUM
	"}},\"time_unit\":{\"enum\":[\"ns\",\"cycles\",null]},\"costs\":{\"type\":\"object\",\"description\":\"of an access, in the time of an average instruction\",\"numbers\":[\"stack\",\"heap\",\"data\",\"other\"],\"flags\":[\"measured\"]}," TRUST_SCHEMA
	"," FILTERED_SCHEMA ","
	"\"objects\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"kind\",\"share\",\"reads\",\"writes\"],"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"kind\":{\"type\":\"string\"},\"function\":{\"type\":[\"string\",\"null\"]},"
	"\"size\":" NUM ",\"blocks\":" NUM ",\"places\":{\"type\":\"integer\"},\"processes\":" NUM ",\"pid\":" NUM
	",\"share\":" NUM ",\"reads\":" NUM ",\"writes\":" NUM ",\"read_bytes\":" NUM ",\"written_bytes\":" NUM
	",\"samples\":" NUM ",\"samples_inferred\":" NUM ",\"share_low\":" NUM ",\"share_high\":" NUM
	",\"share_error\":{\"type\":[\"number\",\"null\"],\"description\":\"half of a 95 % interval, of allocation sites\"}"
	",\"distinct_written\":" NUM ",\"distinct_read\":" NUM ",\"never_read\":" NUM
	",\"reader_count\":{\"type\":\"integer\"},\"writer_count\":{\"type\":\"integer\"},"
	"\"readers\":" USERS ",\"writers\":" USERS ",\"over_time\":" OVER_TIME "}}},"
	"\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"mar\",\"nonlocal_mar\",\"stack_ratio\",\"mai\"],"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},\"accesses\":" NUM
	",\"instructions\":" NUM ",\"mar\":" NUM ",\"nonlocal_mar\":" NUM ",\"stack_ratio\":" NUM
	",\"relative_mar\":" NUM ",\"time\":" NUM ",\"communication\":" NUM ",\"weighed_accesses\":" NUM ",\"mai\":" NUM
	",\"rank\":" NUM
	",\"regions\":{\"type\":\"object\",\"required\":[\"stack\",\"heap\",\"data\",\"other\"],\"propertyNames\":{\"enum\":[\"stack\",\"heap\",\"data\",\"other\"]},\"additionalProperties\":" REACH
	"}}}}}}";

// SPDX-License-Identifier: GPL-2.0-or-later
/* What the page shows where no script runs: tables, and a flame graph that stands still. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html/page.h"
#include "util/clean.h"

#define ROWS_MOST 100 /* of a table that nobody can sort or search; by hand */
#define NAME_MOST 160 /* bytes; longer ones are cut; by hand */
#define WIDTH 1160.0  /* of the flame graph, in units of its viewBox; by hand */
#define ROW_HEIGHT 18 /* such units: a line of its text */
#define DEEPEST 48    /* rows of bars: more are higher than two screens; by hand */
#define HUES 8        /* page.css has hue0 to hue7 */

enum table_form { TEXT, SHARE, NUMBER, BYTES, TIME };

struct table_column {
	const char *key, *title;
	enum table_form form;
	const char *low, *high; /* keys of the interval; NULL: none */
};

static const json_t *data_of(const json_t *parts, const char *name)
{
	const json_t *d = json_object_get(json_object_get(parts, name), "data");

	return json_is_object(d) ? d : NULL;
}

static void html_add_name(const char *s, struct buf *out)
{
	char cut[NAME_MOST + 8];

	if (strlen(s) > NAME_MOST) {
		size_t n = NAME_MOST;

		while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
			n--;
		memcpy(cut, s, n);
		strcpy(cut + n, "...");
		s = cut;
	}
	clean_add(out, s, CLEAN_XML);
}

static void add_scaled(double v, const char *const units[], unsigned count, double step, struct buf *out)
{
	unsigned u = 0;

	for (; u + 1 < count && fabs(v) >= step; u++)
		v /= step;
	buf_addf(out, v >= 100 || v == floor(v) ? "%.0f %s" : "%.3g %s", v, units[u]);
}

static void html_add_figure(double v, enum table_form form, struct buf *out)
{
	static const char *const bytes[] = { "B", "kB", "MB", "GB", "TB" }, *const times[] = { "ns", "us", "ms", "s" };

	switch (form) {
	case SHARE: buf_addf(out, "%.2f %%", 100 * v); break;
	case BYTES: add_scaled(v, bytes, 5, 1000, out); break;
	case TIME: add_scaled(v, times, 4, 1000, out); break;
	default: buf_addf(out, v == floor(v) ? "%.0f" : "%.3g", v); break;
	}
}

static void add_value(const json_t *v, enum table_form form, struct buf *out)
{
	if (json_is_string(v))
		html_add_name(json_string_value(v), out);
	else if (json_is_number(v))
		html_add_figure(json_number_value(v), form, out);
	else if (json_is_boolean(v))
		buf_addstr(out, json_is_true(v) ? "yes" : "no");
	else
		buf_addstr(out, "<span class=\"unknown\">unknown</span>");
}

static void cell(const json_t *row, const struct table_column *c, struct buf *out)
{
	const json_t *low = c->low ? json_object_get(row, c->low) : NULL;
	const json_t *high = c->high ? json_object_get(row, c->high) : NULL;

	buf_addstr(out, c->form == TEXT ? "<td class=\"name\"><bdi>" : "<td>");
	add_value(json_object_get(row, c->key), c->form, out);
	if (c->form == TEXT)
		buf_addstr(out, "</bdi>");
	if (json_is_number(low) && json_is_number(high)) {
		buf_addstr(out, " <span class=\"range\">");
		html_add_figure(json_number_value(low), c->form, out);
		buf_addstr(out, " to ");
		html_add_figure(json_number_value(high), c->form, out);
		buf_addstr(out, "</span>");
	}
	buf_addstr(out, "</td>");
}

static void table(const json_t *parts, const char *part, const char *list, const char *title,
		  const struct table_column *columns, struct buf *out)
{
	const json_t *rows = json_object_get(data_of(parts, part), list);
	const char *note = json_string_value(json_object_get(json_object_get(parts, part), "note"));
	size_t n = json_array_size(rows);
	size_t more = (size_t)json_integer_value(
		json_object_get(json_object_get(json_object_get(parts, part), "left_out"), list));

	buf_addf(out, "<section><h2>%s</h2>\n", title);
	if (note) {
		buf_addstr(out, "<p class=\"unknown\">");
		clean_add(out, note, CLEAN_XML);
		buf_addstr(out, "</p>\n");
	}
	if (!n) {
		buf_addstr(out, note ? "</section>\n" : "<p class=\"unknown\">None in this profile.</p></section>\n");
		return;
	}
	buf_addstr(out, "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
	for (const struct table_column *c = columns; c->key; c++)
		buf_addf(out, "<th scope=\"col\"%s>%s</th>", c->form == TEXT ? " class=\"name\"" : "", c->title);
	buf_addstr(out, "</tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < n && i < ROWS_MOST; i++) {
		buf_addstr(out, "<tr>");
		for (const struct table_column *c = columns; c->key; c++)
			cell(json_array_get(rows, i), c, out);
		buf_addstr(out, "</tr>\n");
	}
	buf_addstr(out, "</tbody></table></div>\n");
	more += n > ROWS_MOST ? n - ROWS_MOST : 0;
	if (more)
		buf_addf(out, "<p class=\"unknown\">%zu more rows are in <code>accperf %s --json</code>.</p>\n", more,
			 part);
	buf_addstr(out, "</section>\n");
}

/* ---- the flame graph */

struct bar {
	double x, width, used; /* used: by its children so far */
	long parent;
	unsigned depth;
};

static double number_at(const json_t *nodes, const char *key, size_t i)
{
	return json_number_value(json_array_get(json_object_get(nodes, key), i));
}

static void bar_svg(const struct bar *b, double share, const char *name, const char *object, unsigned height,
		    struct buf *out)
{
	unsigned hue = 0;
	double y = height - (b->depth + 1.0) * ROW_HEIGHT;

	for (const char *c = object; *c; c++)
		hue = hue * 31 + (unsigned char)*c;
	buf_addf(out, "<g><rect class=\"hue%u\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\"/><title>",
		 hue % HUES, b->x, y, fmax(b->width - 0.5, 0.5), ROW_HEIGHT - 1);
	html_add_name(name, out);
	buf_addstr(out, *object == '[' ? " " : " ["); /* the kernel's has brackets */
	html_add_name(object, out);
	buf_addf(out, "%s %.2f %%</title>", *object == '[' ? "" : "]", 100 * share);
	if (b->width >= 40) {
		char cut[NAME_MOST + 1];
		size_t most = (size_t)(b->width / 7.2);

		snprintf(cut, sizeof(cut), "%.*s", (int)(most < NAME_MOST ? most : NAME_MOST), name);
		buf_addf(out, "<text x=\"%.1f\" y=\"%.0f\">", b->x + 4, y + 13);
		clean_add(out, cut, CLEAN_XML);
		buf_addstr(out, "</text>");
	}
	buf_addstr(out, "</g>\n");
}

/* Parents come before their children. Bars end up with their place; returns the number of rows. */
static unsigned lay_out(const json_t *nodes, size_t n, double whole, struct bar *bars)
{
	double left = 0;
	unsigned rows = 0;

	for (size_t i = 0; i < n; i++) {
		long parent = (long)number_at(nodes, "parent", i);

		bars[i] = (struct bar){ .width = number_at(nodes, "weight", i) * WIDTH / whole,
					.parent = parent < (long)i ? parent : -1 };
	}
	for (size_t i = n; i-- > 0;)
		if (bars[i].parent >= 0)
			bars[bars[i].parent].width += bars[i].width;
	for (size_t i = 0; i < n; i++) {
		struct bar *up = bars[i].parent >= 0 ? &bars[bars[i].parent] : NULL;
		double *used = up ? &up->used : &left;

		bars[i].x = (up ? up->x : 0) + *used;
		bars[i].depth = up ? up->depth + 1 : 0;
		*used += bars[i].width;
		if (bars[i].width >= 1 && bars[i].depth < DEEPEST && bars[i].depth >= rows)
			rows = bars[i].depth + 1;
	}
	return rows;
}

static void flame(const json_t *parts, struct buf *out)
{
	const json_t *stacks = data_of(parts, "stacks"), *nodes = json_object_get(stacks, "nodes");
	const json_t *functions = json_object_get(stacks, "functions");
	size_t n = json_array_size(json_object_get(nodes, "parent"));
	double whole = json_number_value(json_object_get(stacks, "weight"));
	struct bar *bars = n && whole > 0 ? calloc(n, sizeof(*bars)) : NULL;
	unsigned height;

	if (!bars)
		return;
	height = lay_out(nodes, n, whole, bars) * ROW_HEIGHT;
	buf_addf(
		out,
		"<section><h2>Flame graph</h2>\n<svg class=\"flame\" role=\"img\" aria-label=\"Flame graph: callers below, "
		"what they call above, width by time\" viewBox=\"0 0 %.0f %u\" width=\"100%%\">\n",
		WIDTH, height);
	for (size_t i = 0; i < n; i++) {
		size_t f = (size_t)number_at(nodes, "function", i);
		const char *name = json_string_value(json_array_get(json_object_get(functions, "name"), f));
		const char *object = json_string_value(json_array_get(json_object_get(functions, "object"), f));

		if (bars[i].width >= 1 && bars[i].depth < DEEPEST && name && object)
			bar_svg(&bars[i], bars[i].width / WIDTH, name, object, height, out);
	}
	buf_addstr(out, "</svg></section>\n");
	free(bars);
}

/* ---- all of it */

static void fact(const char *title, const json_t *v, enum table_form form, struct buf *out)
{
	buf_addf(out, "<div><dt>%s</dt><dd><bdi>", title);
	add_value(v, form, out);
	buf_addstr(out, "</bdi></dd></div>\n");
}

static void summary(const char *file, const json_t *parts, struct buf *out)
{
	const json_t *r = data_of(parts, "report"), *cost = json_object_get(r, "cost");
	const json_t *recorded = json_object_get(data_of(parts, "stacks"), "recorded"),
		     *trust = json_object_get(r, "trust");

	buf_addstr(out, "<header><h1>accperf</h1><p><bdi>");
	clean_add(out, file, CLEAN_XML);
	buf_addstr(out, "</bdi></p></header>\n<main>\n<section><h2>Summary</h2>\n<dl class=\"facts\">\n");
	fact("command", json_object_get(recorded, "command"), TEXT, out);
	fact("engine", json_object_get(r, "engine"), TEXT, out);
	fact("duration", json_object_get(r, "duration_ns"), TIME, out);
	fact("samples", json_object_get(r, "samples"), NUMBER, out);
	fact("lost", json_object_get(r, "lost"), NUMBER, out);
	fact("target slowed by (estimated)", json_object_get(cost, "target_slowdown"), SHARE, out);
	fact("how far to trust it", json_object_get(trust, "mark"), TEXT, out);
	if (json_is_string(json_object_get(trust, "reason")))
		fact("because", json_object_get(trust, "reason"), TEXT, out);
	buf_addstr(out, "</dl></section>\n");
}

void html_static(const char *file, const json_t *parts, struct buf *out)
{
	static const struct table_column functions[] = {
		{ "name", "function", TEXT, NULL, NULL },
		{ "object", "object", TEXT, NULL, NULL },
		{ "self", "self", SHARE, "low", "high" },
		{ "inclusive", "inclusive", SHARE, "inclusive_low", "inclusive_high" },
		{ "samples", "samples", NUMBER, NULL, NULL },
		{ 0 }
	};
	static const struct table_column edges[] = { { "producer", "written by", TEXT, NULL, NULL },
						     { "consumer", "read by", TEXT, NULL, NULL },
						     { "bytes", "bytes", BYTES, "low", "high" },
						     { "share", "share", SHARE, "share_low", "share_high" },
						     { 0 } };
	static const struct table_column objects[] = {
		{ "name", "object", TEXT, NULL, NULL },
		{ "kind", "kind", TEXT, NULL, NULL },
		{ "size", "size", BYTES, NULL, NULL },
		{ "share", "share of accesses", SHARE, "share_low", "share_high" },
		{ "samples", "samples", NUMBER, NULL, NULL },
		{ 0 }
	};
	static const struct table_column threads[] = {
		{ "comm", "process", TEXT, NULL, NULL },      { "pid", "pid", NUMBER, NULL, NULL },
		{ "tid", "thread", NUMBER, NULL, NULL },      { "share", "share", SHARE, "low", "high" },
		{ "samples", "samples", NUMBER, NULL, NULL }, { 0 }
	};
	static const struct table_column calls[] = { { "api", "API", TEXT, NULL, NULL },
						     { "name", "call", TEXT, NULL, NULL },
						     { "calls", "calls", NUMBER, "low", "high" },
						     { "bytes_in_estimate", "bytes in", BYTES, "bytes_in_estimate_low",
						       "bytes_in_estimate_high" },
						     { "cpu_share", "CPU", SHARE, "cpu_share_low", "cpu_share_high" },
						     { 0 } };

	static const struct table_column changed[] = { { "name", "function", TEXT, NULL, NULL },
						       { "object", "object", TEXT, NULL, NULL },
						       { "base", "before", SHARE, "base_low", "base_high" },
						       { "other", "now", SHARE, "other_low", "other_high" },
						       { "verdict", "the change is", TEXT, NULL, NULL },
						       { 0 } };
	static const struct table_column moved[] = { { "producer", "written by", TEXT, NULL, NULL },
						     { "consumer", "read by", TEXT, NULL, NULL },
						     { "base", "before", SHARE, "base_low", "base_high" },
						     { "other", "now", SHARE, "other_low", "other_high" },
						     { "verdict", "the change is", TEXT, NULL, NULL },
						     { 0 } };

	summary(file, parts, out);
	if (json_object_get(parts, "diff")) {
		table(parts, "diff", "functions", "What changed in time", changed, out);
		table(parts, "diff", "edges", "What changed in the flow", moved, out);
	}
	table(parts, "report", "functions", "Functions", functions, out);
	flame(parts, out);
	table(parts, "flow", "edges", "Flow: whose bytes are read by whom", edges, out);
	table(parts, "objects", "objects", "Objects", objects, out);
	table(parts, "stacks", "threads", "Threads", threads, out);
	table(parts, "offload", "calls", "Offload calls", calls, out);
	buf_addstr(out, "</main>\n");
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "html/page.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "html/bundle.h"
#include "html/pack.h"
#include "html/stack_diff.h"
#include "util/clean.h"
#include "util/grow.h"

static json_t *text_or_null(const char *s)
{
	AUTO_BUF(clean);

	if (!s || !*s)
		return json_pack("n");
	clean_add(&clean, s, CLEAN_TEXT);
	return buf_failed(&clean) ? NULL : json_string(clean.data);
}

/* {"status":N,"note":TEXT or null,"data":what it printed, or null} */
static json_t *part_value(const struct html_part *p, struct err *e)
{
	json_error_t why;
	json_t *data = p->json && p->len ? json_loadb(p->json, p->len, JSON_DISABLE_EOF_CHECK, &why) : json_pack("n");

	if (!data) {
		err_set(e, -EINVAL, "what `accperf %s` printed cannot be read: %s", p->name, why.text);
		return NULL;
	}
	return json_pack("{s:i,s:o,s:o}", "status", p->status, "note", text_or_null(p->note), "data", data);
}

static json_t *all_parts(const struct html_part *parts, size_t count, struct err *e)
{
	json_t *all = json_object();

	for (size_t i = 0; i < count && all; i++) {
		json_t *one = part_value(&parts[i], e);

		if (!one || json_object_set_new(all, parts[i].name, one)) {
			json_decref(all);
			if (!e->code)
				err_set(e, -ENOMEM, "out of memory");
			return NULL;
		}
	}
	if (!all)
		err_set(e, -ENOMEM, "out of memory");
	return all;
}

#define ROWS_LEAST 100 /* rows that a list keeps where the page is too long; by hand */

/* A list of a part that is long, and its bytes as the page has it. */
struct long_list {
	json_t *part, *rows;
	const char *key;
	size_t bytes;
};

struct long_lists {
	struct long_list *at;
	size_t count;
	uint32_t cap;
};

static int packed_size(const json_t *v, size_t *bytes)
{
	AUTO_BUF(out);

	if (!html_pack(v, &out))
		return -ENOMEM;
	*bytes = out.len;
	return 0;
}

/* Of the lists that a command cut itself: what it told about it becomes the part's. */
static int take_left_out(json_t *part)
{
	json_t *data = json_object_get(part, "data"), *left = json_object_get(data, "left_out");

	if (!json_is_object(left))
		return 0;
	if (json_object_set(part, "left_out", left))
		return -ENOMEM;
	return json_object_del(data, "left_out") ? -ENOMEM : 0;
}

static int add_left_out(json_t *part, const char *key, size_t more)
{
	json_t *left = json_object_get(part, "left_out");

	if (!left && json_object_set_new(part, "left_out", left = json_object()))
		return -ENOMEM;
	return json_object_set_new(left, key,
				   json_integer((json_int_t)more + json_integer_value(json_object_get(left, key))));
}

static int halve_rows(struct long_list *l)
{
	size_t n = json_array_size(l->rows), keep = n / 2;

	if (add_left_out(l->part, l->key, n - keep))
		return -ENOMEM;
	while (n > keep)
		json_array_remove(l->rows, --n);
	return packed_size(l->rows, &l->bytes);
}

static int find_lists(json_t *parts, struct long_lists *out)
{
	const char *name, *key;
	json_t *part, *rows;

	json_object_foreach(parts, name, part)
	{
		json_object_foreach(json_object_get(part, "data"), key, rows)
		{
			struct long_list l = { part, rows, key, 0 };

			if (json_array_size(rows) <= ROWS_LEAST)
				continue;
			if (packed_size(rows, &l.bytes) || !PUSH(out->at, out->count, out->cap, 16, l))
				return -ENOMEM;
		}
	}
	return 0;
}

/* The longest that can be cut yet; NULL: none. *all: bytes of those that are long. */
static struct long_list *longest_of(struct long_lists *lists, size_t *all)
{
	struct long_list *longest = NULL;

	*all = 0;
	for (size_t i = 0; i < lists->count; i++) {
		struct long_list *l = &lists->at[i];

		if (json_array_size(l->rows) <= ROWS_LEAST)
			continue;
		*all += l->bytes;
		longest = !longest || l->bytes > longest->bytes ? l : longest;
	}
	return longest;
}

int html_cut_lists(json_t *parts, size_t most)
{
	struct long_lists lists = { 0 };
	struct long_list *longest;
	const char *name;
	json_t *part;
	size_t all;
	int err = 0;

	json_object_foreach(parts, name, part) err = err ? err : take_left_out(part);
	err = err ? err : find_lists(parts, &lists);
	while (!err && (longest = longest_of(&lists, &all)) && all > most)
		err = halve_rows(longest);
	free(lists.at);
	return err;
}

/* The flow's own figures stand in its own part. */
static void drop_twice_told(json_t *parts)
{
	json_t *sharing = json_object_get(json_object_get(parts, "sharing"), "data"), *left;

	if (json_is_object(json_object_get(json_object_get(parts, "flow"), "data")) && json_is_object(sharing)) {
		json_object_del(sharing, "edges");
		json_object_del(sharing, "functions");
		json_object_del(sharing, "system_calls");
		left = json_object_get(sharing, "left_out");
		json_object_del(left, "edges");
		json_object_del(left, "functions");
		json_object_del(left, "system_calls");
	}
}

/* Where there is a base: both trees of stacks as one. */
static int compare_stacks(json_t *all, struct err *e)
{
	const json_t *base = json_object_get(json_object_get(all, HTML_BASE_STACKS), "data");
	const json_t *other = json_object_get(json_object_get(all, "stacks"), "data");
	struct err why = { 0 };
	json_t *diff;

	if (!json_is_object(base))
		return 0;
	diff = html_stack_diff(base, other, &why);
	if (!diff && why.code != -EDOM)
		return err_set(e, why.code, "%s", why.text);
	diff = json_pack("{s:i,s:o,s:o}", "status", diff ? 0 : 1, "note", text_or_null(diff ? NULL : why.text), "data",
			 diff ? diff : json_null());
	json_object_del(all, HTML_BASE_STACKS);
	return json_object_set_new(all, "stack_diff", diff) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

static void page_head(const char *file, struct buf *out)
{
	buf_addf(
		out,
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-%s'; "
		"style-src 'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
		html_bundle.script_sha256, html_bundle.style_sha256);
	clean_add(out, file, CLEAN_XML);
	buf_addstr(out, " - accperf</title>\n<style>");
	buf_add(out, html_bundle.style, html_bundle.style_len);
	buf_addstr(out, "</style>\n</head>\n<body>\n");
}

int html_page(const char *file, const struct html_part *parts, size_t count, struct buf *out, struct err *e)
{
	json_t *all, *data;
	bool packed;

	if (!html_bundled())
		return err_set(e, -ENOSYS,
			       "this accperf was built without the page's script: install " HTML_NEEDS
			       " (Debian 12: apt-get install esbuild node-d3) and build it again");
	all = all_parts(parts, count, e);
	if (!all)
		return e->code;
	drop_twice_told(all);
	if (html_cut_lists(all, HTML_LISTS_MOST))
		err_set(e, -ENOMEM, "out of memory");
	if (e->code || compare_stacks(all, e)) {
		json_decref(all);
		return e->code;
	}
	page_head(file, out);
	buf_addstr(out, "<div id=\"static\">\n");
	html_static(file, all, out);
	buf_addstr(out, "</div>\n<div id=\"app\" hidden></div>\n<script type=\"application/json\" id=\"data\">");
	data = json_pack("{s:o,s:s,s:O}", "file", text_or_null(file), "version", ACCPERF_VERSION, "parts", all);
	packed = data && html_pack(data, out);
	json_decref(data);
	json_decref(all);
	buf_addstr(out, "</script>\n<script>");
	buf_add(out, html_bundle.script, html_bundle.script_len);
	buf_addstr(out, "</script>\n</body>\n</html>\n");
	return packed && !buf_failed(out) ? 0 : err_set(e, -ENOMEM, "out of memory");
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "html/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/clean.h"
#include "util/map.h"

#define ROWS_WORTH_IT 3 /* rows: of fewer, columns are no shorter */
#define DEEPEST 60      /* levels of JSON, each a call; what commands print has a dozen */

static bool pack(const json_t *v, unsigned depth, struct buf *out);

/* A '<' never reaches the page: no text can end the element or begin another. */
static void html_add_text(const char *s, struct buf *out)
{
	size_t from = out->len;
	AUTO_BUF(raw);

	buf_addch(out, '"');
	clean_add(out, s, CLEAN_JSON);
	buf_addch(out, '"');
	if (buf_failed(out) || !memchr(out->data + from, '<', out->len - from))
		return;
	buf_add(&raw, out->data + from, out->len - from);
	out->len = from;
	for (size_t i = 0; i < raw.len; i++)
		if (raw.data[i] == '<')
			buf_addstr(out, "\\u003c");
		else
			buf_addch(out, raw.data[i]);
	out->failed |= raw.failed;
}

static bool columns_fit(const json_t *list)
{
	const json_t *first = json_array_get(list, 0);
	size_t n = json_array_size(list);

	if (n < ROWS_WORTH_IT || !json_is_object(first) || !json_object_size(first))
		return false;
	for (size_t i = 1; i < n; i++) {
		const json_t *row = json_array_get(list, i);
		const char *key;
		json_t *ignored;

		if (!json_is_object(row) || json_object_size(row) != json_object_size(first))
			return false;
		json_object_foreach((json_t *)(uintptr_t)first, key,
				    ignored) if (!json_object_get(row, key)) return false;
	}
	return true;
}

static bool all_same_member(const json_t *list, const char *key)
{
	const json_t *first = json_object_get(json_array_get(list, 0), key);

	for (size_t i = 1; i < json_array_size(list); i++)
		if (!json_equal(first, json_object_get(json_array_get(list, i), key)))
			return false;
	return true;
}

static bool all_texts(const json_t *list, const char *key)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!json_is_string(json_object_get(json_array_get(list, i), key)))
			return false;
	return true;
}

static bool pack_texts(const json_t *list, const char *key, struct buf *out)
{
	struct intern texts = { 0 };
	AUTO_BUF(at);
	bool ok = true;

	for (size_t i = 0; i < json_array_size(list) && ok; i++) {
		uint32_t id =
			intern_str(&texts, json_string_value(json_object_get(json_array_get(list, i), key)), NULL);

		ok = id;
		buf_addf(&at, "%s%u", i ? "," : "", id - 1);
	}
	buf_addstr(out, "{\"$texts\":[");
	for (uint32_t id = 1; id <= texts.count && ok; id++) {
		if (id > 1)
			buf_addch(out, ',');
		html_add_text(intern_get(&texts, id, NULL), out);
	}
	buf_addstr(out, "],\"$at\":[");
	if (at.len)
		buf_add(out, at.data, at.len);
	buf_addstr(out, "]}");
	intern_release(&texts);
	return ok && !buf_failed(&at);
}

static bool pack_column(const json_t *list, const char *key, unsigned depth, struct buf *out)
{
	bool ok = true;

	if (all_same_member(list, key)) {
		buf_addstr(out, "{\"$same\":");
		ok = pack(json_object_get(json_array_get(list, 0), key), depth, out);
		buf_addch(out, '}');
		return ok;
	}
	if (all_texts(list, key))
		return pack_texts(list, key, out);
	buf_addch(out, '[');
	for (size_t i = 0; i < json_array_size(list) && ok; i++) {
		if (i)
			buf_addch(out, ',');
		ok = pack(json_object_get(json_array_get(list, i), key), depth, out);
	}
	buf_addch(out, ']');
	return ok;
}

static bool pack_columns(const json_t *list, unsigned depth, struct buf *out)
{
	json_t *first = json_array_get(list, 0), *ignored;
	const char *key, *comma = "";
	bool ok = true;

	buf_addstr(out, "{\"$keys\":[");
	json_object_foreach(first, key, ignored)
	{
		buf_addstr(out, comma);
		html_add_text(key, out);
		comma = ",";
	}
	buf_addf(out, "],\"$rows\":%zu,\"$columns\":[", json_array_size(list));
	comma = "";
	json_object_foreach(first, key, ignored)
	{
		buf_addstr(out, comma);
		ok = ok && pack_column(list, key, depth, out);
		comma = ",";
	}
	buf_addstr(out, "]}");
	return ok;
}

static bool pack_list(const json_t *v, unsigned depth, struct buf *out)
{
	bool ok = true;

	if (columns_fit(v))
		return pack_columns(v, depth, out);
	buf_addch(out, '[');
	for (size_t i = 0; i < json_array_size(v) && ok; i++) {
		if (i)
			buf_addch(out, ',');
		ok = pack(json_array_get(v, i), depth, out);
	}
	buf_addch(out, ']');
	return ok;
}

static bool pack_object(const json_t *v, unsigned depth, struct buf *out)
{
	const char *key, *comma = "";
	json_t *value;
	bool ok = true;

	buf_addch(out, '{');
	json_object_foreach((json_t *)(uintptr_t)v, key, value)
	{
		buf_addstr(out, comma);
		html_add_text(key, out);
		buf_addch(out, ':');
		ok = ok && pack(value, depth, out);
		comma = ",";
	}
	buf_addch(out, '}');
	return ok;
}

static bool pack(const json_t *v, unsigned depth, struct buf *out)
{
	if (depth >= DEEPEST)
		return false;
	switch (json_typeof(v)) {
	case JSON_OBJECT: return pack_object(v, depth + 1, out);
	case JSON_ARRAY: return pack_list(v, depth + 1, out);
	case JSON_STRING: html_add_text(json_string_value(v), out); break;
	case JSON_INTEGER: buf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v)); break;
	case JSON_REAL: buf_addf(out, "%.12g", json_real_value(v)); break;
	case JSON_TRUE: buf_addstr(out, "true"); break;
	case JSON_FALSE: buf_addstr(out, "false"); break;
	case JSON_NULL: buf_addstr(out, "null"); break;
	}
	return true;
}

bool html_pack(const json_t *value, struct buf *out)
{
	return pack(value, 0, out) && !buf_failed(out);
}

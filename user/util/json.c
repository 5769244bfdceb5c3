// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/json.h"

#include <inttypes.h>
#include <math.h>

#include "util/clean.h"

static void put_quoted(struct buf *b, const char *str)
{
	buf_addch(b, '"');
	clean_add(b, str, CLEAN_JSON);
	buf_addch(b, '"');
}

static void begin_item(struct json *j, const char *key)
{
	uint64_t bit = 1ull << (j->depth & 63);

	if (j->depth) {
		if (j->has_items & bit)
			buf_addch(j->out, ',');
		j->has_items |= bit;
	}
	if (key) {
		put_quoted(j->out, key);
		buf_addch(j->out, ':');
	}
}

static void open_level(struct json *j, const char *key, bool array)
{
	begin_item(j, key);
	buf_addch(j->out, array ? '[' : '{');
	j->depth++;
	uint64_t bit = 1ull << (j->depth & 63);

	j->has_items &= ~bit;
	j->is_array = array ? j->is_array | bit : j->is_array & ~bit;
}

void json_obj(struct json *j, const char *key)
{
	open_level(j, key, false);
}

void json_arr(struct json *j, const char *key)
{
	open_level(j, key, true);
}

void json_end(struct json *j)
{
	buf_addch(j->out, j->is_array & (1ull << (j->depth & 63)) ? ']' : '}');
	j->depth--;
}

void json_str(struct json *j, const char *key, const char *value)
{
	if (!value) {
		json_null(j, key);
		return;
	}
	begin_item(j, key);
	put_quoted(j->out, value);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	begin_item(j, key);
	buf_addf(j->out, "%" PRIu64, value);
}

void json_i64(struct json *j, const char *key, int64_t value)
{
	begin_item(j, key);
	buf_addf(j->out, "%" PRId64, value);
}

void json_f64(struct json *j, const char *key, double value)
{
	begin_item(j, key);
	if (isfinite(value))
		buf_addf(j->out, "%.12g", value);
	else
		buf_addstr(j->out, "null");
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin_item(j, key);
	buf_addstr(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	begin_item(j, key);
	buf_addstr(j->out, "null");
}

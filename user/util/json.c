// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "util/clean.h"

static void put_quoted(struct buf *b, const char *str)
{
	buf_addch(b, '"');
	clean_add(b, str, CLEAN_JSON);
	buf_addch(b, '"');
}

#define ROWS_DEPTH 2 /* lists of the outermost object */
#define NOT_CUT SIZE_MAX

static uint64_t rows_most; /* of the process: json_limit_rows() */

void json_limit_rows(uint64_t most)
{
	rows_most = most;
}

uint64_t json_rows_most(void)
{
	return rows_most;
}

/* What is beyond the limit is written and taken back: the writers need not know. */
static void begin_row(struct json *j)
{
	if (++j->items <= rows_most)
		return;
	if (j->cut_at == NOT_CUT)
		j->cut_at = j->out->len;
	else if (!buf_failed(j->out))
		j->out->len = j->cut_at;
}

static void end_rows(struct json *j)
{
	if (j->cut_at == NOT_CUT)
		return;
	if (!buf_failed(j->out))
		j->out->len = j->cut_at;
	if (j->cuts < JSON_LISTS_CUT) {
		j->cut[j->cuts].list = j->list;
		j->cut[j->cuts++].left = j->items - rows_most;
	}
}

static void tell_cuts(struct json *j)
{
	unsigned n = j->cuts;

	j->cuts = 0;
	json_obj(j, "left_out");
	for (unsigned i = 0; i < n; i++)
		json_u64(j, j->cut[i].list, j->cut[i].left);
	json_end(j);
}

static bool in_rows(const struct json *j)
{
	return rows_most && j->depth == ROWS_DEPTH && j->is_array & 1ull << ROWS_DEPTH && j->list;
}

static void begin_item(struct json *j, const char *key)
{
	uint64_t bit = 1ull << (j->depth & 63);

	if (in_rows(j))
		begin_row(j);
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
	if (j->depth == ROWS_DEPTH) {
		j->list = array ? key : NULL;
		j->items = 0;
		j->cut_at = NOT_CUT;
	}
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
	if (in_rows(j))
		end_rows(j);
	if (j->depth == 1 && j->cuts)
		tell_cuts(j);
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

// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Length of the valid UTF-8 sequence at s, 0 if there is none: names come from foreign files. */
static unsigned utf8_len(const unsigned char *s)
{
	unsigned n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)))
		return 0;
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
		return 0;
	return n;
}

static void put_string(struct buf *b, const char *str)
{
	buf_addch(b, '"');
	for (const unsigned char *s = (const unsigned char *)str; *s;) {
		unsigned n = utf8_len(s);

		if (!n) {
			buf_addstr(b, "\xef\xbf\xbd");
			s++;
		} else if (n > 1) {
			buf_add(b, s, n);
			s += n;
		} else {
			if (*s == '"' || *s == '\\')
				buf_addf(b, "\\%c", *s);
			else if (*s < 0x20 || *s == 0x7f)
				buf_addf(b, "\\u%04x", *s);
			else
				buf_addch(b, (char)*s);
			s++;
		}
	}
	buf_addch(b, '"');
}

static void begin(struct json *j, const char *key)
{
	uint64_t bit = 1ull << (j->depth & 63);

	if (j->depth) {
		if (j->has_items & bit)
			buf_addch(j->out, ',');
		j->has_items |= bit;
	}
	if (key) {
		put_string(j->out, key);
		buf_addch(j->out, ':');
	}
}

static void open_level(struct json *j, const char *key, bool array)
{
	begin(j, key);
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
	begin(j, key);
	put_string(j->out, value);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	buf_addf(j->out, "%" PRIu64, value);
}

void json_i64(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	buf_addf(j->out, "%" PRId64, value);
}

void json_f64(struct json *j, const char *key, double value)
{
	begin(j, key);
	if (isfinite(value))
		buf_addf(j->out, "%.12g", value);
	else
		buf_addstr(j->out, "null");
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	buf_addstr(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	begin(j, key);
	buf_addstr(j->out, "null");
}

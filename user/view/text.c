// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/text.h"

#include <math.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "counts/counts_speed.h"
#include "util/clean.h"

void text_json_whole(struct json *j, const char *key, double v)
{
	if (isnan(v) || v < 0 || v > 1.8e19)
		json_null(j, key);
	else
		json_u64(j, key, text_whole(v));
}

void text_amount(struct buf *out, double bytes, unsigned columns)
{
	AUTO_BUF(b);

	if (isnan(bytes))
		buf_addch(&b, '?');
	else
		text_bytes(&b, text_whole(bytes));
	text_pad_left(out, b.data ? b.data : "", columns);
}

void text_count(struct buf *b, uint64_t n)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_addch(b, ',');
		buf_addch(b, digits[i]);
	}
}

void text_bytes(struct buf *b, uint64_t n)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB" };
	double v = (double)n;
	unsigned u = 0;

	for (; v >= 1000 && u < 5; u++)
		v /= 1000;
	buf_addf(b, u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

void text_seconds(struct buf *b, uint64_t ns)
{
	double s = (double)ns / 1e9;

	if (s < 1e-3)
		buf_addf(b, "%.0f us", s * 1e6);
	else if (s < 1)
		buf_addf(b, "%.0f ms", s * 1e3);
	else
		buf_addf(b, s < 100 ? "%.1f s" : "%.0f s", s);
}

void text_pad_left(struct buf *b, const char *s, unsigned columns)
{
	for (unsigned n = text_columns(s); n < columns; n++)
		buf_addch(b, ' ');
	buf_addstr(b, s);
}

unsigned text_columns(const char *s)
{
	unsigned columns = 0;
	bool shown;

	for (; *s; columns++)
		s += clean_char(s, &shown);
	return columns;
}

void text_name(struct buf *b, const char *s, unsigned max, unsigned columns)
{
	unsigned all = text_columns(s), cut = max && all > max ? all - max : 0, done = 0;
	/* what tells names apart stands at their end as often as at their beginning */
	unsigned from = cut && max > 2 ? (max - 2) / 2 : max, left_out = cut && max > 2 ? cut + 2 : cut;

	for (unsigned at = 0; *s; at++) {
		bool shown;
		unsigned n = clean_char(s, &shown);

		if (cut && at >= from && at < from + left_out) {
			if (at == from && max > 2) {
				buf_addstr(b, "..");
				done += 2;
			}
		} else {
			if (shown)
				buf_add(b, s, n);
			else
				buf_addch(b, '?');
			done++;
		}
		s += n;
	}
	for (; done < columns; done++)
		buf_addch(b, ' ');
}

void text_wrap(struct buf *b, const char *s, unsigned at, unsigned indent, unsigned width)
{
	bool fresh = true; /* nothing on this line yet: a word longer than the line stays whole */

	while (*s) {
		size_t n = strcspn(s, " ");
		char word[512];
		unsigned columns;

		if (n >= sizeof(word))
			n = sizeof(word) - 1;
		memcpy(word, s, n);
		word[n] = 0;
		s += n;
		columns = text_columns(word);
		if (!fresh && width && at + 1 + columns > width) {
			buf_addf(b, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!fresh) {
			buf_addch(b, ' ');
			at++;
		}
		text_name(b, word, 0, 0);
		at += columns;
		fresh = false;
		s += strspn(s, " ");
	}
	buf_addch(b, '\n');
}

void text_no_amounts(struct buf *b, double seconds, unsigned width)
{
	struct counts_speed_note note;
	AUTO_BUF(line);

	buf_addf(&line, "?: %s.", counts_speed_note(&note, seconds));
	text_wrap(b, line.data ? line.data : "", 0, 3, width);
}

static const char *const hues[] = {
	[TEXT_HOT] = "\033[31m", [TEXT_WARM] = "\033[32m", [TEXT_DIM] = "\033[2m", [TEXT_BOLD] = "\033[1m"
};

void text_hue_on(struct buf *b, const struct text_style *s, enum text_hue hue)
{
	if (s->colour && hue != TEXT_PLAIN)
		buf_addstr(b, hues[hue]);
}

void text_hue_off(struct buf *b, const struct text_style *s, enum text_hue hue)
{
	if (s->colour && hue != TEXT_PLAIN)
		buf_addstr(b, "\033[0m");
}

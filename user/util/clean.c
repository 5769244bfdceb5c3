// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/clean.h"

#include <stdint.h>
#include <string.h>

#define BROKEN UINT32_MAX

/* The character at s and its length; BROKEN and 1 where there is none. Stops at a NUL. */
static uint32_t decode_character(const unsigned char *s, unsigned *len)
{
	unsigned n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	uint32_t c = n < 2 ? s[0] : s[0] & (0x7fu >> n);

	*len = 1;
	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return BROKEN;
		c = c << 6 | (s[i] & 0x3f);
	}
	/* longer than needed, halves of UTF-16 pairs, beyond the last */
	if (!n || (n == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) || (n == 4 && (c < 0x10000 || c > 0x10ffff)))
		return BROKEN;
	*len = n;
	return c;
}

/* Control codes (C0, DEL, C1), what turns the direction of writing, ends a line, or is not seen; no characters. */
static bool hidden(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0, 0x1f },        { 0x7f, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },   { 0x200b, 0x200f },
		{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};

	for (unsigned i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef);
}

unsigned clean_char(const char *s, bool *shown)
{
	unsigned len;
	uint32_t c = decode_character((const unsigned char *)s, &len);

	*shown = c != BROKEN && !hidden(c);
	return len;
}

void clean_line(char *text)
{
	char *to = text;

	for (unsigned len; *text; text += len) {
		bool shown;

		len = clean_char(text, &shown);
		if (shown)
			memmove(to, text, len);
		else
			*to = '?';
		to += shown ? len : 1;
	}
	*to = 0;
}

static void add_hidden(struct buf *b, uint32_t c, enum clean_form form)
{
	if (form != CLEAN_JSON)
		buf_addch(b, '?');
	else if (c == BROKEN)
		buf_addstr(b, "\xef\xbf\xbd");
	else if (c < 0x10000)
		buf_addf(b, "\\u%04x", c);
	else
		buf_addf(b, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
}

static const char *entity(char c)
{
	switch (c) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	}
	return NULL;
}

/* A character that means something in this form. */
static bool add_special(struct buf *b, char c, enum clean_form form)
{
	const char *xml = form == CLEAN_XML ? entity(c) : NULL;

	if (xml)
		buf_addstr(b, xml);
	else if ((form == CLEAN_DOT || form == CLEAN_JSON) && (c == '"' || c == '\\'))
		buf_addf(b, "\\%c", c);
	else if (form == CLEAN_DOT && c == '&') /* graphviz knows entities, too */
		buf_addstr(b, "&amp;");
	else if (form == CLEAN_CSV && c == '"')
		buf_addstr(b, "\"\"");
	else
		return false;
	return true;
}

/* Bytes that mean nothing special in any form: all of ASCII that is seen but " & ' < > \ */
static const bool plain_byte[256] = {
	[0x20 ... 0x21] = true, [0x23 ... 0x25] = true, [0x28 ... 0x3b] = true,
	[0x3d] = true,          [0x3f ... 0x5b] = true, [0x5d ... 0x7e] = true,
};

/* So many at s. */
static unsigned plain(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	while (plain_byte[*p])
		p++;
	return (unsigned)(p - (const unsigned char *)s);
}

void clean_add(struct buf *b, const char *s, enum clean_form form)
{
	unsigned len;

	if (form == CLEAN_CSV) {
		buf_addch(b, '"');
		if (s && *s && strchr("=+-@", *s))
			buf_addch(b, '\'');
	}
	for (; s && *s; s += len) {
		uint32_t c;

		/* nearly all of a large export */
		len = plain(s);
		if (len) {
			buf_add(b, s, len);
			continue;
		}
		c = decode_character((const unsigned char *)s, &len);
		if (c == BROKEN || hidden(c))
			add_hidden(b, c, form);
		else if (len > 1 || !add_special(b, *s, form))
			buf_add(b, s, len);
	}
	if (form == CLEAN_CSV)
		buf_addch(b, '"');
}

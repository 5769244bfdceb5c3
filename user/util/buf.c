// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void buf_release(struct buf *b)
{
	if (!b)
		return;
	free(b->data);
	*b = (struct buf){ 0 };
}

bool buf_reserve(struct buf *b, size_t extra)
{
	size_t want, cap;
	char *p;

	if (b->failed || __builtin_add_overflow(b->len, extra, &want) || want == SIZE_MAX) {
		b->failed = true;
		return false;
	}
	if (want + 1 <= b->cap)
		return true;
	cap = b->cap ? b->cap : 64;
	while (cap < want + 1)
		cap = cap > SIZE_MAX / 2 ? want + 1 : cap * 2;
	p = realloc(b->data, cap);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->data = p;
	b->cap = cap;
	return true;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	if (!buf_reserve(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_addstr(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

/* Most texts fit where there is room already, and are made once. */
void buf_addf(struct buf *b, const char *fmt, ...)
{
	size_t room = !b->failed && b->cap > b->len ? b->cap - b->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < room) {
		b->len += (size_t)n;
		return;
	}
	if (room)
		b->data[b->len] = '\0';
	if (n < 0) {
		b->failed = true;
		return;
	}
	if (!buf_reserve(b, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

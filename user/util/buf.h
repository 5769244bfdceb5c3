/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growable byte buffer that is also a string builder. Zero-initialise, append, release.
 * Running out of memory is sticky: appends become no-ops and buf_failed() says so, so that callers
 * check once at the end. Included by many rooms.
 */
#ifndef ACCPERF_BUF_H
#define ACCPERF_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* NUL after the last byte once anything was appended */
	size_t len, cap;
	bool failed;
};

void buf_release(struct buf *b);
static inline void buf_clear(struct buf *b)
{
	b->len = 0;
}
static inline bool buf_failed(const struct buf *b)
{
	return b->failed;
}
bool buf_reserve(struct buf *b, size_t extra);
void buf_add(struct buf *b, const void *data, size_t len);
/* Inlined: exports consist of such. */
static inline void buf_addch(struct buf *b, char c)
{
	if (b->failed || b->len + 1 >= b->cap) {
		buf_add(b, &c, 1);
		return;
	}
	b->data[b->len++] = c;
	b->data[b->len] = '\0';
}
void buf_addstr(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Local clean-up: AUTO_BUF(b); frees b at the end of the scope. */
#define AUTO_BUF(name) struct buf name __attribute__((cleanup(buf_release))) = { 0 }

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "util/grow.h"

struct queue_entry {
	uint64_t time;
	uint64_t order; /* of arrival: equal times keep it */
	size_t at;      /* of the copied sample in bytes */
};

struct queue {
	struct queue_entry *entries;
	size_t count, cap;
	uint64_t arrivals;
	struct buf bytes;
	struct buf spare;
};

struct queue *queue_new(void)
{
	return calloc(1, sizeof(struct queue));
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	buf_release(&q->bytes);
	buf_release(&q->spare);
	free(q->entries);
	free(q);
}

/* Samples lie 8-byte aligned behind one another: the struct, its call chain, its stack, its text. */
static size_t copy_in(struct buf *b, const struct sample *s)
{
	size_t at = b->len, pad, text = s->text ? strlen(s->text) + 1 : 0;
	static const char zeros[8];

	buf_add(b, s, sizeof(*s));
	if (s->chain_len)
		buf_add(b, s->chain, s->chain_len * sizeof(*s->chain));
	if (s->stack_bytes)
		buf_add(b, s->stack, s->stack_bytes);
	if (text)
		buf_add(b, s->text, text);
	pad = -b->len & 7;
	buf_add(b, zeros, pad);
	return at;
}

int queue_push(void *ctx, const struct sample *s)
{
	struct queue *q = ctx;

	if (!GROW(q->entries, q->count, q->cap, 256))
		return -ENOMEM;
	q->entries[q->count] = (struct queue_entry){ s->time, q->arrivals++, copy_in(&q->bytes, s) };
	if (buf_failed(&q->bytes))
		return -ENOMEM;
	q->count++;
	return 0;
}

static int queue_by_time(const void *a, const void *b)
{
	const struct queue_entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static struct sample *sample_at(struct queue *q, size_t at)
{
	struct sample *s = (struct sample *)(q->bytes.data + at);

	s->chain = (const uint64_t *)(s + 1);
	s->stack = (const uint8_t *)(s->chain + s->chain_len);
	s->page = NULL;
	s->pages = 0;
	s->valid &= ~(uint32_t)SV_PAGES;
	if (s->text)
		s->text = (const char *)s->stack + s->stack_bytes;
	return s;
}

/* The first `n` of the sorted entries go; what is too young moves to the front of the other buffer. */
static int queue_deliver(struct queue *q, size_t n, sample_fn fn, void *ctx)
{
	size_t i, kept = 0;
	struct buf swap;
	int err = 0;

	for (i = 0; i < n; i++) {
		err = fn(ctx, sample_at(q, q->entries[i].at));
		if (err < 0)
			break;
	}
	buf_clear(&q->spare);
	for (; i < q->count; i++) {
		struct queue_entry e = q->entries[i];

		e.at = copy_in(&q->spare, sample_at(q, e.at));
		q->entries[kept++] = e;
	}
	q->count = kept;
	swap = q->bytes;
	q->bytes = q->spare;
	q->spare = swap;
	return err < 0 ? err : buf_failed(&q->bytes) ? -ENOMEM : 0;
}

static void sort(struct queue *q)
{
	if (q->count) /* qsort takes no NULL, not even for nothing */
		qsort(q->entries, q->count, sizeof(*q->entries), queue_by_time);
}

int queue_flush(struct queue *q, uint64_t until, sample_fn fn, void *ctx)
{
	size_t n = 0;

	sort(q);
	while (n < q->count && q->entries[n].time < until)
		n++;
	return queue_deliver(q, n, fn, ctx);
}

int queue_flush_half(struct queue *q, sample_fn fn, void *ctx)
{
	sort(q);
	return queue_deliver(q, (q->count + 1) / 2, fn, ctx);
}

void queue_fit(struct queue *q)
{
	buf_release(&q->spare);
	queue_deliver(q, 0, NULL, NULL);
	buf_release(&q->spare);
}

size_t queue_bytes(const struct queue *q)
{
	return q->bytes.len + q->count * sizeof(*q->entries);
}

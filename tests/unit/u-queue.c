// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples in order of time, and what a queue takes for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <malloc.h>

#include "kmod-free/queue.h"
#include "unit/unit.h"

#define MANY 2000u
#define STACK 4096u /* bytes of each */

static uint8_t stack[STACK];

struct seen {
	uint64_t last, count;
};

static int take(void *ctx, const struct sample *s)
{
	struct seen *seen = ctx;

	assert_true(s->time >= seen->last);
	assert_int_equal(s->stack_bytes, STACK);
	assert_memory_equal(s->stack, stack, STACK);
	seen->last = s->time;
	seen->count++;
	return 0;
}

static void fill(struct queue *q, unsigned n, uint64_t from)
{
	for (unsigned i = 0; i < n; i++) {
		struct sample s = { .time = from + (i ^ 1), .stack = stack, .stack_bytes = STACK };

		assert_int_equal(queue_push(q, &s), 0);
	}
}

/* Its reader was late once: what that took is given back, and what waits still is not lost. */
TEST(fits)
{
	struct queue *q = queue_new();
	struct seen seen = { 0 };
	size_t late, held;

	memset(stack, 7, sizeof(stack));
	fill(q, MANY, 1000);
	late = mallinfo2().uordblks + mallinfo2().hblkhd;
	assert_int_equal(queue_flush(q, 1000 + MANY - 10, take, &seen), 0);
	queue_fit(q);
	held = mallinfo2().uordblks + mallinfo2().hblkhd;
	/* a sanitizer's allocator says nothing of itself */
	assert_true(!late || late > held + MANY * STACK / 2);
	fill(q, 10, 1000 + MANY);
	assert_int_equal(queue_flush(q, UINT64_MAX, take, &seen), 0);
	assert_int_equal(seen.count, MANY + 10);
	queue_fit(q);
	assert_int_equal(queue_bytes(q), 0);
	fill(q, 2, 1);
	queue_free(q);
}

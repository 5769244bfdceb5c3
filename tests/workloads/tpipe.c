// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pipeline of three threads with two bounded queues: source_fill -> stage_filter -> sink_sum, each
 * item a buffer of 4096 words that is used again. SIZE = items per round.
 *
 * Planted (`quad`, non-stack, 4 bytes per word): source_fill -> stage_filter 16384 per item,
 * stage_filter -> sink_sum 16384 per item. Queue traffic (push, pop) comes on top and depends on timing.
 */
#include <pthread.h>

#include "work.h"

#define WORDS 4096
#define DEPTH 4

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t *item[DEPTH];
	unsigned int head, count;
};

static struct queue to_filter = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER },
		    to_sink = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER },
		    spare = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
static unsigned long items;
static uint64_t sink_digest;

STEP static void push(struct queue *q, uint32_t *item)
{
	pthread_mutex_lock(&q->lock);
	while (q->count == DEPTH)
		pthread_cond_wait(&q->changed, &q->lock);
	q->item[(q->head + q->count++) % DEPTH] = item;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

STEP static uint32_t *pop(struct queue *q)
{
	uint32_t *item;

	pthread_mutex_lock(&q->lock);
	while (!q->count)
		pthread_cond_wait(&q->changed, &q->lock);
	item = q->item[q->head];
	q->head = (q->head + 1) % DEPTH;
	q->count--;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	return item;
}

STEP static void source_fill(uint32_t *item, uint32_t n)
{
	uint32_t x = n * 747796405u + 1;

	for (unsigned int i = 0; i < WORDS; i++) {
		x = x * 1664525u + 1013904223u;
		item[i] = x;
	}
}

STEP static void stage_filter(uint32_t *item)
{
	uint32_t last = 0;

	for (unsigned int i = 0; i < WORDS; i++) {
		uint32_t v = item[i];

		item[i] = v - (last >> 1);
		last = v;
	}
}

STEP static uint64_t sink_sum(const uint32_t *item)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < WORDS; i++)
		sum = sum * 3 + item[i];
	return sum;
}

static void *filter_main(void *arg)
{
	for (unsigned long i = 0; i < items; i++) {
		uint32_t *item = pop(&to_filter);

		stage_filter(item);
		push(&to_sink, item);
	}
	return arg;
}

static void *sink_main(void *arg)
{
	uint64_t digest = 0;

	for (unsigned long i = 0; i < items; i++) {
		uint32_t *item = pop(&to_sink);

		digest = work_mix(digest, sink_sum(item));
		push(&spare, item);
	}
	sink_digest = digest;
	return arg;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 200);

	items = w.size;
	for (int i = 0; i < DEPTH; i++) {
		uint32_t *item = malloc(WORDS * sizeof(*item));

		if (!item)
			work_die(&w, "out of memory");
		push(&spare, item);
	}
	do {
		pthread_t filter, sink;

		if (pthread_create(&filter, NULL, filter_main, NULL) || pthread_create(&sink, NULL, sink_main, NULL))
			work_die(&w, "cannot make a thread");
		for (unsigned long i = 0; i < items; i++) {
			uint32_t *item = pop(&spare);

			source_fill(item, (uint32_t)i);
			push(&to_filter, item);
		}
		pthread_join(filter, NULL);
		pthread_join(sink, NULL);
	} while (work_more(&w, sink_digest));
	for (int i = 0; i < DEPTH; i++)
		free(pop(&spare));
	return work_done(&w);
}

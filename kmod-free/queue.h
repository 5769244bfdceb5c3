/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of several rings in order of time. Rings are drained one after the other, so a later ring
 * may hold older records; the owner takes the time first, drains everything, then flushes up to that time: nothing
 * older can still be under way. Included by store, record and tests. Owns deep copies.
 */
#ifndef ACCPERF_KMOD_FREE_QUEUE_H
#define ACCPERF_KMOD_FREE_QUEUE_H

#include "sample.h"

#define SETTLE_NS 2000000 /* a record is in its ring so long after its time */

struct queue;

struct queue *queue_new(void);
void queue_free(struct queue *q);
/* Copies the sample with its stack and text; a sample_fn, so rings deliver straight into it. */
int queue_push(void *q, const struct sample *s);
/* Delivers everything older than `until` in order of time; stops at the first negative result. */
int queue_flush(struct queue *q, uint64_t until, sample_fn fn, void *ctx);
/* The older half, whatever may still come: for a reader whose memory must not grow. */
int queue_flush_half(struct queue *q, sample_fn fn, void *ctx);
/* Gives back what it took for more than it holds now, such as all that came while its reader was late. */
void queue_fit(struct queue *q);
size_t queue_bytes(const struct queue *q);

#endif

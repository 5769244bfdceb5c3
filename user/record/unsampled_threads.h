/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that end before their first sample. A timer that belongs to a thread starts afresh with each,
 * so one that lives for less CPU time than a period is never sampled: that must be told. Pure logic,
 * fed with samples in order of time. Included by this room and tests.
 */
#ifndef ACCPERF_RECORD_UNSAMPLED_THREADS_H
#define ACCPERF_RECORD_UNSAMPLED_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "sample.h"
#include "util/map.h"

struct unsampled_threads {
	bool children;            /* processes that targets fork are targets */
	uint64_t born, unsampled; /* threads of targets: begun while we watched; of these, ended without a sample */
	struct map pids;          /* targets */
	struct map tids;          /* born and alive -> whether sampled */
};

int unsampled_threads_target(struct unsampled_threads *l, uint32_t pid);
/* 0 or -ENOMEM. */
int unsampled_threads_event(struct unsampled_threads *l, const struct sample *m);
void unsampled_threads_release(struct unsampled_threads *l);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events to calls: submissions are paired with the wait that completed them, by queue or event and
 * not by thread; what never completes is open. Times get the probes' cost taken off. No I/O: calls
 * go to a function. Included by this room and tests; owns the calls that are still open.
 */
#ifndef ACCPERF_OFFLOAD_CALLS_H
#define ACCPERF_OFFLOAD_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "format.h"
#include "kmod-free/uprobe.h"

/* What pairing must know of a probe. */
struct calls_probe {
	uint32_t api; /* fmt_offload_api.id */
	uint16_t family;
	uint8_t scope; /* enum probe_scope */
	uint8_t cost;  /* enum fmt_probe_class */
	bool completes, per_thread;
};

struct calls;

struct calls *calls_new(void (*out)(void *ctx, const struct fmt_call *c), void *ctx);
/* What each class of probe adds between the stamps; before the first event. */
void calls_price(struct calls *c, const double inside_ns[FMT_PROBE_CLASSES]);
void calls_free(struct calls *c); /* open ones are dropped: calls_end() first */
/* An event of probe p; site and stack are ids to be stored with the call. */
void calls_add(struct calls *c, const struct offload_event *ev, const struct calls_probe *p, uint32_t site,
	       uint32_t stack);
/* A process is gone: what it left is open. */
void calls_process_end(struct calls *c, uint32_t pid);
/* Queues in which nothing is under way are forgotten, and of the calls that are ids of the former profile. */
void calls_next_profile(struct calls *c);
uint32_t calls_queues(const struct calls *c); /* for tests */
void calls_end(struct calls *c);

struct calls_count {
	uint64_t calls, open, waits, empty_waits, dropped; /* dropped: too many open at once */
};
const struct calls_count *calls_count(const struct calls *c);

#endif

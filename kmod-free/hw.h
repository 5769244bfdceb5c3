/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the hardware sources have in common: events of pmu.c on every thread, a ring each, and the
 * filter that keeps what can be used. pebs.c and ibs.c are tables over it. Included by kmod-free and
 * tests.
 *
 * Threads that are born later must be added (add_task); events are not inherited because an inherited
 * event cannot be mapped.
 *
 * Where the hardware picks loads at random (LOAD_LATENCY), the period says nothing about how many loads
 * a sample stands for. Such samples are held back until the thread's counting event is read, and share
 * what it counted since; without one their period is 0: unknown.
 */
#ifndef ACCPERF_KMOD_FREE_HW_H
#define ACCPERF_KMOD_FREE_HW_H

#include "kmod-free/pmu.h"
#include "source.h"

#define HW_SYSFS "/sys/bus/event_source/devices"
#define HW_MAX_EVENTS 12 /* of loads and stores, on all kinds of core; by hand */

struct hw_filter {
	bool exact_ip;    /* drop samples whose instruction is not the one that accessed */
	bool need_mem_op; /* drop samples that are neither load nor store (IBS samples everything) */
};

/* Opens nothing yet: takes encodings (sampling ones; counting ones are opened beside them). */
int hw_new(struct sampling **out, const struct pmu_event *events, int n, const struct hw_filter *f,
	   const struct source_config *cfg, struct err *e);
/* What a processor's access sampling is called: events[0..n) for this configuration, or -errno. */
typedef int (*hw_encode_fn)(const struct source_config *cfg, struct pmu_event *events, int max, struct err *e);
int hw_open(hw_encode_fn encode, const struct hw_filter *f, struct sampling **out, const struct source_config *cfg,
	    struct err *e);
/* Whether the first event delivers here (hw_try); its encoding as text. */
int hw_probe(hw_encode_fn encode, uint64_t period, const struct hw_filter *f, char *text, size_t size, struct err *e);
int hw_add_task(struct sampling *s, pid_t tid, struct err *e);
int hw_start(struct sampling *s, struct err *e);
int hw_fds(const struct sampling *s, int *fds, int max);
int hw_read(struct sampling *s, sample_fn fn, void *ctx);
int hw_set_rate(struct sampling *s, double factor);
void hw_stats(const struct sampling *s, struct source_stats *out);
void hw_close(struct sampling *s);
/* Of a driver's row (source.h): all but how it is found and opened. */
#define HW_OPERATIONS                                                                                                  \
	.add_task = hw_add_task, .start = hw_start, .fds = hw_fds, .read = hw_read, .set_rate = hw_set_rate,           \
	.stats = hw_stats, .close = hw_close

/* For tests: an event of `tid` whose ring lies in memory (ring_from_memory), and what its counting event
 * says: value, time enabled, time running. */
int hw_add_memory(struct sampling *s, unsigned event, pid_t tid, void *mem, size_t data_bytes);
typedef bool (*hw_counter_fn)(void *ctx, pid_t tid, enum pmu_what what, uint64_t v[3]);
void hw_set_counter(struct sampling *s, hw_counter_fn fn, void *ctx);

/* "opened but delivers nothing", paranoid settings, no PMU: the sentence for a failed open. */
int hw_explain(int error, const char *what, struct err *e);

#endif

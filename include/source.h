/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a source of samples is: a table of functions. kmod-free/ implements them, user/record drives
 * them, cli and doctor list them; nothing right of ingest knows that sources exist.
 *
 * To add a source:
 *   1. kmod-free/NAME.c with one `const struct source_ops source_NAME`;
 *   2. declare it in kmod-free/registry.h and add one line to the table in registry.c, in the order
 *      in which `record -e auto` should try it;
 *   3. a test in tests/unit/u-NAME.c: decoding on bytes made by hand, so that it runs where the
 *      hardware is not;
 *   4. a paragraph in kmod-free/README.md: what it needs, what it cannot see.
 *
 * Life: probe (any time, leaves nothing behind) -> open -> add_task for every thread -> start ->
 * read again and again -> close. A source never prints; probe puts its reason into struct err.
 */
#ifndef ACCPERF_SOURCE_H
#define ACCPERF_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sample.h"
#include "util/err.h"

/* What the samples of a source are drawn by; decides how they are weighted and what is printed. */
enum source_bias {
	SOURCE_BY_COUNT = 1,  /* every period-th access: weight = accesses */
	SOURCE_BY_TIME = 2,   /* where time goes: weight = nanoseconds */
	SOURCE_BY_RANDOM = 3, /* hardware picks at random; totals from a counting event */
};

enum source_gives {
	SOURCE_LOADS = 1u << 0,
	SOURCE_STORES = 1u << 1,
	SOURCE_TICKS = 1u << 2,
	SOURCE_INSNS = 1u << 3,
	SOURCE_WATCHES = 1u << 4,
	SOURCE_IO = 1u << 5,
	SOURCE_LATENCY = 1u << 6,
	SOURCE_PROMPT = 1u << 7, /* delivers soon enough to arm a watchpoint */
};

struct source_config {
	double per_second;   /* samples wanted per thread-second; 0: the source's own default */
	uint64_t period;     /* fixed period in the source's unit; 0: derived from per_second */
	unsigned ldlat;      /* cycles; 0: every load */
	unsigned ring_pages; /* a power of two; 0: default */
	bool kernel;         /* samples of kernel mode too (needs the right) */
	bool phys;           /* physical addresses (needs the right) */
	bool page_size;
	bool prompt; /* samples are used to arm watchpoints: deliver each at once */
};

struct source_stats {
	uint64_t samples, lost, throttled, malformed;
	uint64_t filtered; /* delivered by the kernel, of no use: kernel address, no address, ... */
	double per_second; /* rate in force; NaN: unknown */
	/* Loads and stores counted by a counting event beside the sampled ones; ~0: unknown. */
	uint64_t counted_loads, counted_stores;
};

struct source; /* each source's own */

struct source_ops {
	const char *name;    /* as in record -e NAME */
	const char *summary; /* one line for doctor */
	enum source_bias bias;
	unsigned gives; /* enum source_gives */
	/* 0: works here. -errno: does not, e says why and what to do. text (may be NULL) receives
	 * the detail doctor prints when it works. */
	int (*probe)(char *text, size_t size, struct err *e);
	int (*open)(struct source **out, const struct source_config *cfg, struct err *e);
	/* One existing thread. -ESRCH: it is gone, which is no failure of the source. */
	int (*add_task)(struct source *s, pid_t tid, struct err *e);
	int (*start)(struct source *s, struct err *e);
	/* File descriptors to poll; returns their number, fills at most max. */
	int (*fds)(const struct source *s, int *fds, int max);
	/* Delivers what has arrived, with CLOCK_MONOTONIC times; a period of 0 is unknown; number of samples or
	 * -errno of the callback. */
	int (*read)(struct source *s, sample_fn fn, void *ctx);
	/* From now on `factor` times as many samples; their weights follow. -EOPNOTSUPP: fixed when opened. */
	int (*set_rate)(struct source *s, double factor);
	void (*stats)(const struct source *s, struct source_stats *out);
	void (*close)(struct source *s); /* NULL is fine */
};

#endif

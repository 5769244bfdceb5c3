/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a source of a recording is: a name, what it needs, and a table of functions. The recorder drives them all alike
 * (user/record/session.c); `record -e`, doctor, version and help read the one table of them (user/record/sources.h).
 * Those that a processor brings (PEBS and the like) leave the part in the recording to user/record/part_hardware.c,
 * and have a driver instead; nothing right of the recorder knows that sources exist. Included by kmod-free, record,
 * foreground and tests.
 *
 * To add an access source of a processor:
 *   1. kmod-free/NAME.c with a `static const struct source_driver` and the row `const struct source source_NAME`
 *      (tests/adding/source.c is one to begin with);
 *   2. its name in PROCESSOR_SOURCES of user/record/sources.h, where `record -e auto` should try it.
 * Then `record -e NAME` takes it, help and the man page name it, doctor and version list it. What it should have, too:
 * a test in tests/unit/u-NAME.c (decoding on bytes made by hand, so that it runs where the hardware is not), and a
 * line in kmod-free/README.md: what it needs, what it cannot see.
 *
 * To add another: user/record/part_NAME.c with `const struct source source_NAME` and a function that joins it to a
 * session, and a row in user/record/sources.h.
 *
 * Life of a driver: probe (any time, leaves nothing behind) -> open -> add_task for every thread -> start -> read again
 * and again -> close. A source never prints; probe puts its reason into struct err.
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
	SOURCE_INSNS = 1u << 3,
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

struct sampling; /* each driver's own */

struct source_driver {
	enum source_bias bias;
	unsigned gives; /* enum source_gives */
	/* 0: works here. -errno: does not, e says why and what to do. text (may be NULL) receives
	 * the detail doctor prints when it works. */
	int (*probe)(char *text, size_t size, struct err *e);
	int (*open)(struct sampling **out, const struct source_config *cfg, struct err *e);
	/* One existing thread. -ESRCH: it is gone, which is no failure of the source. */
	int (*add_task)(struct sampling *s, pid_t tid, struct err *e);
	int (*start)(struct sampling *s, struct err *e);
	/* File descriptors to poll; returns their number, fills at most max. */
	int (*fds)(const struct sampling *s, int *fds, int max);
	/* Delivers what has arrived, with CLOCK_MONOTONIC times; a period of 0 is unknown; number of samples or
	 * -errno of the callback. */
	int (*read)(struct sampling *s, sample_fn fn, void *ctx);
	/* From now on `factor` times as many samples; their weights follow. -EOPNOTSUPP: fixed when opened. */
	int (*set_rate)(struct sampling *s, double factor);
	void (*stats)(const struct sampling *s, struct source_stats *out);
	void (*close)(struct sampling *s); /* NULL is fine */
};

struct session;
struct located;

struct source {
	const char *name;                   /* as in record -e NAME */
	const char *summary;                /* one line for doctor */
	const char *needs;                  /* features of doctor, all of them; NULL: what its driver's probe() says */
	const struct source_driver *driver; /* NULL: it drives itself */

	/* Its part in a recording; each may be NULL. None blocks, and what is lost is told through session_count(). */

	/* The targets are attached and timers run. */
	int (*start)(void *part, struct session *s, struct err *e);
	/* Every sample in order of time, side band included. at: where it was (user/record/located_code.h). */
	int (*sample)(void *part, struct session *s, const struct sample *sample, struct located *at);
	/* A sample as it comes out of the ring: not in order. at: for who locates it first, and those after it. */
	int (*fresh)(void *part, struct session *s, const struct sample *sample, struct located *at);
	/* Descriptor whose readability means that poll() has something to do; -1: none. */
	int (*fd)(void *part);
	/* Some 20 times a second, and when fd() is readable. */
	int (*poll)(void *part, struct session *s, uint64_t now);
	/* Once a second, before the file is flushed. */
	int (*second)(void *part, struct session *s, uint64_t now);
	/* The profile ends and another begins, in which the recording goes on: what is held for the one is written;
	 * what the other needs is, and tables begin anew. */
	int (*ending)(void *part, struct session *s);
	int (*begun)(void *part, struct session *s, struct err *e);
	/* Detach everything; records of the part may still be written. Called once, also after errors. */
	void (*stop)(void *part, struct session *s);
	bool counts_all; /* what the kernel counts until then is its: stopped before the timers, nearer to the end */
	void (*release)(void *part);
};

#endif

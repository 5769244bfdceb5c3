/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording offload calls, as one component: finds the libraries, plants the probes, keeps to the
 * budget, pairs and hands out disk records. record and the daemon create one, tell it about
 * processes, poll it, and end it. Included by record and tests.
 *
 *     s = offload_session_new(&opts, &sink, &e);
 *     offload_session_attach_pid(s, pid, exe_or_NULL, &e);     every target, and forked children
 *     offload_session_poll(s) in the loop, each second offload_session_tick(s)
 *     offload_session_on_mmap(s, pid, path, time); offload_session_on_exit(s, pid);
 *     offload_session_end(s); offload_session_free(s);
 *
 * All calls from one thread; the budget is kept by a thread of its own inside.
 */
#ifndef ACCPERF_OFFLOAD_SESSION_H
#define ACCPERF_OFFLOAD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "format.h"
#include "sample.h"
#include "util/buf.h"
#include "util/err.h"

struct prices;

struct offload_opts {
	const char *list;          /* "auto", or names separated by commas (api_table.h, markers) */
	const char *const *probes; /* --offload-probe SPECs */
	unsigned probes_cnt;
	bool exact;                  /* never take probes away, send every call */
	double budget;               /* share of the target's CPU time, e.g. 0.01; 0 = 0.01 */
	unsigned records_per_second; /* and process; 0 = 1000 */
	bool system_wide;
	bool unasked; /* nobody asked: what cannot be had is left out, and nothing is told of it */
	/* return addresses may be replaced, though an exception that passes ends the program */
	bool returns;
	int mode;              /* enum uprobe_mode; 0 = the best there is */
	struct prices *prices; /* of earlier recordings, used and added to where nobody asked; may be NULL */
};

/* Where records go. put: one record of a fixed-size section. The others give ids, 0 if unknown. */
struct offload_sink {
	void *ctx;
	int (*put)(void *ctx, enum fmt_section section, const void *rec, uint32_t size);
	uint32_t (*string)(void *ctx, const char *s);
	/* A named counter's latest value; loss: something is missing for it. */
	void (*count)(void *ctx, const char *name, uint64_t value, bool loss);
	uint32_t (*stack)(void *ctx, const struct sample *s);                                     /* may be NULL */
	uint32_t (*site)(void *ctx, uint32_t pid, uint64_t time, uint64_t func, uint64_t caller); /* may be NULL */
};

struct offload_session;

struct offload_session *offload_session_new(const struct offload_opts *o, const struct offload_sink *sink,
					    struct err *e);
/* exe: of a process that has not called exec yet (a command about to be run): its path, else NULL. */
int offload_session_attach_pid(struct offload_session *s, int pid, const char *exe, struct err *e);
/* Every process of the machine, now and later (opts.system_wide). */
int offload_session_attach_all(struct offload_session *s, struct err *e);
void offload_session_on_fork(struct offload_session *s, int parent, int child);
/* A new mapping: a library loaded later. path NULL: not known. The tick finds them too, a second
 * late at most. */
void offload_session_on_mmap(struct offload_session *s, int pid, const char *path, uint64_t mapped_at);
void offload_session_on_exit(struct offload_session *s, int pid);
/* Calls under way, for sampler_returns(): return probes hide return addresses from unwinding. */
int offload_session_threads_map(const struct offload_session *s);
int offload_session_poll(struct offload_session *s);
void offload_session_tick(struct offload_session *s);
/* A profile ends and another begins: before, and after, when ids of strings and stacks begin anew. The caller tells
 * those functions again that are still probed. */
void offload_session_ending(struct offload_session *s);
void offload_session_begun(struct offload_session *s);
bool offload_session_probes(const struct offload_session *s, uint32_t api);
/* Takes the probes away, drains, writes totals and open calls. */
void offload_session_end(struct offload_session *s);
void offload_session_free(struct offload_session *s);

/* Sentences for the user, one a line: what is probed, at which cost, what could not be. */
void offload_session_notes(const struct offload_session *s, struct buf *out);
/* Something that was asked for by name could not be had. */
bool offload_session_degraded(const struct offload_session *s);
/* Nanoseconds the probes have cost the target so far, and calls seen. */
uint64_t offload_session_cost_ns(struct offload_session *s);
/* Checks list and specs without touching the kernel: usage errors. */
int offload_opts_check(const struct offload_opts *o, struct err *e);

#endif

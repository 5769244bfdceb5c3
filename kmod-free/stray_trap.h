/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether hits of hardware breakpoints end programs here. On some virtual machines the reason of a debug exception is
 * lost now and then, and the kernel sends the program that was hit a SIGTRAP that nobody asked for: a stray one
 * (README.md, "Where hardware breakpoints end programs"). What the host runs cannot be seen from within, so it is
 * tried out, on ourselves, who have a handler: STRAY_ENOUGH hits in a boot, by threads that take idle time only. What
 * was found is kept in the user's cache for this boot. A machine that is not virtual needs no trial. Included by cli,
 * ingest's doctor and tests (record and view).
 */
#ifndef ACCPERF_KMOD_FREE_STRAY_TRAP_H
#define ACCPERF_KMOD_FREE_STRAY_TRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

/* Where the defect was met, two in a million hits sent one: so many without say with 98 % that this is no such
 * machine. A recording of ten minutes by default makes 50,000 at most. */
#define STRAY_ENOUGH 2000000

/* How the reason begins why a recording did without breakpoints (its word `breakpoints`), where they harm. */
#define STRAY_ENDS_PROGRAMS "hits of hardware breakpoints end programs"

enum stray_verdict { STRAY_NONE, STRAY_UNTRIED, STRAY_SEEN };

struct stray_known {
	bool virtual_machine;
	uint64_t hits;    /* of our own, in trials of this boot */
	uint64_t signals; /* stray ones, in trials or recordings */
};

void stray_read(struct stray_known *k);
enum stray_verdict stray_verdict(const struct stray_known *k);
/* The same in words, for people: of a verdict and what it rests on. */
void stray_describe(const struct stray_known *k, char *out, unsigned size);
/* Whether the next recording will know of this one's hits; else why not. */
bool stray_kept(char *why, unsigned size);
/* Keeps that there were so many more. */
void stray_found(uint64_t signals);

/* From here on a stray signal to this process is counted and does not end it; other ways to get a SIGTRAP still do. */
void stray_guard(void);
uint64_t stray_own(void);

struct stray_trial;
/* Begins to hit breakpoints of our own. idle: in time that nobody else wants. NULL; -EBUSY: another process is at it,
 * whose findings stray_read() will tell. */
struct stray_trial *stray_trial_new(unsigned threads, bool idle, struct err *e);
/* What is known by now; false: the trial has ended: enough hits, a signal, or hits that do not come (*e says so). */
bool stray_trial_look(struct stray_trial *t, struct stray_known *now, struct err *e);
/* Ends it, and keeps what it found. */
void stray_trial_free(struct stray_trial *t);
/* Threads that this machine has room for. */
unsigned stray_trial_threads(void);

/* Signals of that kind to other processes, whatever their cause, seen by a BPF program. NULL: it cannot be loaded. */
struct stray_watch;
struct stray_watch *stray_watch_new(struct err *e);
struct stray_victim {
	uint64_t signals;
	uint32_t pid; /* the last one's */
	char comm[16];
};
void stray_watch_read(const struct stray_watch *w, struct stray_victim *v);
void stray_watch_free(struct stray_watch *w);

/* Without files, for tests: the number that a file of the cache holds for this boot; 0: none. */
uint64_t stray_parse(const char *text, const char *boot);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One `accperf record` as a child of the daemon, so that its crash is not ours, what it holds goes with it, and it
 * ends in order where we are killed. Included by this room and tests. Owns the process and its pipe.
 */
#ifndef ACCPERF_DAEMON_RECORDER_H
#define ACCPERF_DAEMON_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/keeper.h"
#include "util/buf.h"

enum recorder_end { RECORDER_RUNS, RECORDER_TURN, RECORDER_MEMORY, RECORDER_DISK, RECORDER_STOP };

struct recorder {
	uint32_t number;           /* ours, never used again */
	uint32_t service;          /* index; WATCHED_NONE: the configuration has it no longer */
	char folder[NAME_MAX + 1]; /* the service's name */
	pid_t pid;
	int said; /* the pipe of what it says; -1 */
	char name[KEEPER_NAME];
	unsigned segment;        /* the one that it writes; 0: none yet */
	unsigned counted;        /* segments that were, in `whole` */
	uint64_t whole, written; /* bytes: of those; of all when it was last asked */
	unsigned cut;            /* the last that was asked to end */
	uint64_t began, ending;  /* when; ending 0: it runs */
	unsigned asked;          /* how often, to end */
	bool next;               /* asked for its next file before it had one */
	enum recorder_end why;   /* RECORDER_RUNS: we did not ask it to end */
	double cpu;              /* seconds, so far */
	uint64_t memory, kernel; /* of it in the kernel, not mapped */
	unsigned looks;          /* at it */
	char line[1000];         /* that is not whole yet */
	size_t line_len;
};

#define RECORDER_LABELS 6u /* of one recording; by hand */

struct recorder_opts {
	const char *folder; /* of all services */
	const char *pids;   /* a list with commas */
	const char *effort, *what, *offload;
	const char *const *labels; /* "key=value", at most RECORDER_LABELS */
	unsigned label_count;
	double segment_time;
	uint64_t memory;
};

/* r: name, number, service are set. */
int recorder_start(struct recorder *r, const struct recorder_opts *o, struct err *e);
/* Asks it to end; once more: without looking for names. */
void recorder_end(struct recorder *r, enum recorder_end why);
/* Asks it to begin its next file; one that has none yet when recorder_has_file() says so. */
void recorder_next(struct recorder *r);
void recorder_has_file(struct recorder *r);
/* Asks again those that take long, and kills them in the end. hurry: within two seconds. */
void recorder_press(struct recorder *r, bool hurry);
/* A line of what it says, without the program's name; NULL: no more now. level: enum say_level. */
const char *recorder_line(struct recorder *r, int *level);
/* Reads its CPU time, of children included, and its memory: CPU seconds since the last time. */
double recorder_measure(struct recorder *r);
/* The kernel ends it (SIGXCPU) when it takes so much CPU time more: one that spins hears nobody, and the daemon may
 * hang. */
void recorder_limit(const struct recorder *r, double seconds);
/* True once it has ended: *status as of waitpid(), and *cpu as recorder_measure() for the last time. */
bool recorder_ended(struct recorder *r, int *status, double *cpu);
void recorder_release(struct recorder *r);

#endif

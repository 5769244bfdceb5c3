/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers from stored profiles: each made by this program's own reading commands, in children, one at a time, behind
 * all others in priority, with limits of time, memory and bytes written, and within an account of CPU time, so that
 * no question hurts the daemon or what it watches. Answers are kept for a while, and shared. Included by user/daemon.
 */
#ifndef ACCPERF_DAEMON_QUERIES_H
#define ACCPERF_DAEMON_QUERIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/query.h"

struct daemon;

#define QUERIES_KEPT 16u /* answers kept; by hand */

enum asked_state { ASKED_WAITS, ASKED_RUNS, ASKED_DONE, ASKED_FAILED };

struct asked_profile {
	char name[64];
	bool is_open;
};

struct asked_query {
	uint32_t id; /* 0: free */
	enum asked_state state;
	enum query_kind kind;
	char service[QUERY_NAME + 1];
	struct asked_profile *of, *base;
	unsigned of_count, base_count;
	unsigned users; /* who wait for it, or take it now */
	uint64_t made, last_used;
	int out;     /* the answer; -1 */
	bool partly; /* not all that was there could be read */
	char why[300];
};

struct queries {
	struct asked_query at[QUERIES_KEPT];
	uint32_t next_id;
	struct asked_query *runs; /* NULL: none */
	unsigned step;
	pid_t pid;
	int said, folder;    /* -1 */
	uint64_t began;      /* all its steps */
	double credit, cost; /* seconds of CPU time: that may be spent; spent so far */
	double unbooked;     /* of the cost, what the daemon's account has not seen */
};

enum queries_refusal { QUERIES_OK, QUERIES_NONE, QUERIES_MANY, QUERIES_BUSY, QUERIES_SPENT };

void queries_open(struct daemon *d);
/* Where profiles are put together for an answer. */
void queries_folder(struct daemon *d);
/* Its answer's id, which is the caller's until queries_leave(); 0: *why. service: index. */
uint32_t queries_ask(struct daemon *d, uint32_t service, const struct query *q, enum queries_refusal *why);
const struct asked_query *queries_find(const struct daemon *d, uint32_t id);
void queries_leave(struct daemon *d, uint32_t id);
/* Ends a step, begins one. */
void queries_look(struct daemon *d);
/* Time goes by: rate = seconds of CPU time a second that all may spend. */
void queries_earn(struct daemon *d, double rate, double seconds);
void queries_close(struct daemon *d);

#endif

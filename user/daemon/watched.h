/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes there are, and whose service each is. /proc is listed at each look; of a process that is known and no
 * longer young nothing is read but once in several looks, so that thousands of idle ones cost little.
 * Included by user/daemon and tests.
 */
#ifndef ACCPERF_DAEMON_WATCHED_H
#define ACCPERF_DAEMON_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/config.h"
#include "proc/container.h"
#include "util/err.h"

#define WATCHED_NONE UINT32_MAX

struct watched_process {
	int pid, parent;
	uint64_t start;    /* ticks since boot: with pid it tells one process from the next of that number */
	double cpu;        /* seconds, as last read */
	uint32_t service;  /* index; WATCHED_NONE */
	uint32_t recorder; /* that records it, the caller's number; WATCHED_NONE */
	bool root; /* of its service, and no ancestor is of any: recorded by its own number; others as its children */
	bool old_enough;
	bool decided;   /* whose it is */
	uint32_t place; /* index; WATCHED_NONE: of no service, or of too many places */
	char comm[16];
};

struct watched {
	struct watched_process *at; /* by pid */
	size_t count, cap;
	unsigned looks;
	struct container *places; /* that processes of services are in; units alone, too */
	size_t place_count, place_cap;
	struct pods pods;
};

/* What decides, of one process. */
struct watched_traits {
	int pid;
	const char *comm, *program, *cgroup; /* program: the last part of its file's path; "": not known */
	const struct container *in;          /* NULL: not known */
};

/* The first service that takes it; WATCHED_NONE. */
uint32_t watched_service_of(const struct daemon_config *c, const struct watched_traits *t);
/* Looks at what runs now. Recorders of processes that are still there are kept. */
int watched_look(struct watched *w, const struct daemon_config *c, struct err *e);
/* Its number where it is in a namespace of numbers of its own; 0: it is in ours, or gone. */
int watched_inner_pid(int pid);
/* Children of what is recorded are recorded with it: gives them their ancestor's recorder. */
void watched_inherit(struct watched *w);
/* Reads anew what CPU time processes have had, of those that this recorder records: the sum of what came since. */
double watched_cpu_since(struct watched *w, uint32_t recorder);
/* A recorder has ended. */
void watched_forget_recorder(struct watched *w, uint32_t recorder);
/* Other services than before: all is decided anew. */
void watched_forget_services(struct watched *w);
void watched_release(struct watched *w);

#endif

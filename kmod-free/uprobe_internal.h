/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The insides of the probing engine, shared by uprobe.c (libraries, links), uprobe_load.c (programs), uprobe_read.c
 * (what they leave), uprobe_cost.c and uprobe_alg.c (AF_ALG). Included by these only.
 */
#ifndef ACCPERF_KMOD_FREE_UPROBE_INTERNAL_H
#define ACCPERF_KMOD_FREE_UPROBE_INTERNAL_H

#include <pthread.h>

#include "kmod-free/uprobe.h"
#include "kmod-free/uprobe_self.h"
#include "control.h"
#include "offload.skel.h"

#define ATTACH_UPROBE_SESSION 57 /* newer than the headers of Debian 12 */

struct link_group {
	int pid;      /* 0: every process */
	bool returns; /* return addresses may be replaced */
	int *fds;
	unsigned cnt;
};

struct library {
	int fd;
	unsigned cnt;
	/* In this order: functions without exits, those with, markers, which have no return to probe. */
	unsigned without, functions; /* functions: of both kinds */
	unsigned exits;              /* of all functions together */
	uint32_t first;
	unsigned long *offsets, *exit_offsets;
	/* alone: of those without exits, where their returns are not probed */
	uint64_t *cookies, *exit_cookies, *alone;
	struct link_group *groups;
	unsigned groups_cnt;
	uint64_t content; /* of the instructions at all places */
	bool armed;
	bool traced; /* AF_ALG: two tracepoints, whatever the process */
	bool ended;  /* its place may be taken */
};

/* Programs that few recordings need. */
enum uprobe_later { UPROBE_LATER_SESSION, UPROBE_LATER_URING, UPROBE_LATER };

struct uprobe {
	struct offload_bpf *skel;
	struct offload_bpf *later[UPROBE_LATER]; /* of the same maps; NULL: not needed so far */
	enum uprobe_mode mode;
	struct uprobe_opts opts;
	struct uprobe_cost cost;
	struct bpf_link *exit_link, *uring_links[2];
	struct ring_buffer *ring;
	const struct uprobe_sink *sink; /* during uprobe_poll() */
	uint64_t malformed;
	struct probe_activity *activity;
	size_t activity_size;
	struct library libs[PROBE_LIBS];
	unsigned libs_cnt;
	bool taken[PROBE_MAX]; /* probes that have a library or an operation */
	unsigned perf_type;
	int self_lib;           /* our own functions */
	bool pid_filter_broken; /* kernels 6.6 to 6.10 compared threads, not processes */
	pthread_mutex_t lock;
};

/* uprobe_load.c: what each recording needs; 0, or -errno with a sentence. */
int uprobe_load(struct uprobe *u, enum uprobe_mode mode, struct err *e);
/* What few need, loaded by the first call; false with a sentence. By who loads the other programs: kernel_btf.h's state
 * is one thread's, and probes are planted by another. */
bool uprobe_session_program(struct uprobe *u, struct err *e);
bool uprobe_uring_programs(struct uprobe *u, struct bpf_program **submit, struct bpf_program **complete, struct err *e);
/* uprobe_read.c: its ring and its counters, once the programs are loaded; 0, or -errno with a sentence. */
int uprobe_read_open(struct uprobe *u, struct err *e);
void uprobe_read_close(struct uprobe *u);
/* uprobe_cost.c: 0, or -errno with a sentence when probes do not work here. */
int uprobe_measure(struct uprobe *u, struct err *e);
/* A place in the table of libraries, and so many probes in a row, which are then taken; -errno. Lock held. */
int uprobe_place(struct uprobe *u, unsigned count, uint32_t *first, struct err *e);
/* Attaches to the two tracepoints; -errno. */
int uprobe_alg_links(struct uprobe *u, struct link_group *g);
/* Operations whose result nobody has read yet. */
void uprobe_alg_open(const struct uprobe *u, void (*fn)(void *ctx, const struct probe_total_key *k), void *ctx);

#endif

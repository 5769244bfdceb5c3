/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uprobes are planted and removed by a process of their own. The kernel changes each page of code as a debugger does,
 * and refuses that to a thread that is to be killed: a recorder that SIGKILL meets while it plants or removes left its
 * breakpoints in the target for good ("failed to unregister, leaking uprobe" in the kernel's log), each of which is
 * then hit, for nobody. The planter is in a session of its own, takes no signal, holds nothing but what it was just
 * handed, and ends when the recorder does, after what it was about. What kills both at once while it works (a whole
 * cgroup) can still leave some. Included by kmod-free, measure and tests.
 *
 * To plant another way: an operation here, its case in planter_serve(), and its direct way for where no process can be
 * made.
 */
#ifndef ACCPERF_KMOD_FREE_PLANTER_H
#define ACCPERF_KMOD_FREE_PLANTER_H

#include <stdbool.h>
#include <stdint.h>

/* One program at places of one file, with what a hit on each is told. */
struct planter_places {
	int prog, file;       /* descriptors */
	unsigned attach_type; /* of a link to many places */
	bool ret;             /* at returns of the functions that begin there */
	const unsigned long *offsets;
	const uint64_t *cookies;
	unsigned cnt;
	int pid; /* 0: every process */
};

/* Those who plant: the first makes the process, the last ends it. */
void planter_begin(void);
void planter_end(void);
/* One link for all places; a descriptor, or -errno. */
int planter_multi(const struct planter_places *p);
/* A perf uprobe with the program behind it, at place i: the event's descriptor and the link's; 0, or -errno. */
int planter_perf(const struct planter_places *p, unsigned i, unsigned perf_type, int fds[2]);
/* Closes links and events; when it returns all are closed. */
void planter_close(const int *fds, unsigned cnt);
/* What all planters of this process took. */
uint64_t planter_cpu_ns(void);

#endif

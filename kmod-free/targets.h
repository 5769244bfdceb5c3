/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is observed: processes, threads, a cgroup, the machine, or a command that we start. Checks
 * that they exist and can be observed, says in a sentence when not, lists their threads until the
 * list is stable, and notices their end. Included by record and cli. Owns the pidfds and, for a command, the child
 * until targets_release().
 */
#ifndef ACCPERF_KMOD_FREE_TARGETS_H
#define ACCPERF_KMOD_FREE_TARGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "control.h"
#include "util/err.h"

struct target {
	int pid;   /* process */
	int pidfd; /* readable when it has ended; -1: none */
	bool gone;
	bool found; /* by its name or its parent, or in a list, not asked for by its number alone: it may have ended */
};

struct targets {
	struct target *procs;
	size_t count;
	int *tids; /* --tid only: just these */
	size_t tid_count;
	bool all;      /* -a */
	int cgroup_fd; /* -G, else -1 */
	int child;     /* -- CMD, else 0 */
	int go_fd;     /* closing the write end lets the child exec */
	int fail_fd;   /* errno of a failed exec arrives here */
	bool child_reaped;
	int child_status;
	double child_cpu_s; /* of the command and those that it waited for, once it is reaped */
	unsigned refused;   /* descendants that the user may not look into: not among procs */
	unsigned ended;     /* of lists: not among procs */
};

void targets_init(struct targets *t);
/* "12,34", or with blanks or line ends between them, as pgrep writes them; what: "process" or "thread", for the
 * sentence. */
int targets_check_list(const char *list, const char *what, struct err *e);
/* Such a list is appended; of several processes, those that live, one at least. */
int targets_add_pids(struct targets *t, const char *list, struct err *e);
int targets_add_tids(struct targets *t, const char *list, struct err *e);
/* All processes of that name, as `ps -e` and `pgrep -x` know it, but for ourselves and those that the user may not
 * look into. */
int targets_add_name(struct targets *t, const char *name, struct err *e);
/* Processes that descend from those that are there, but for ourselves: appended, and `found`. */
int targets_add_descendants(struct targets *t, struct err *e);
/* Path, or a name below the cgroup v2 mount or the v1 perf_event hierarchy. */
int targets_set_cgroup(struct targets *t, const char *name, struct err *e);
/* Forks; the child waits for targets_go(). */
int targets_start_command(struct targets *t, char **argv, struct err *e);
/* Once all is attached: the numbers are still of processes that the user may look into (util/rights.h). */
int targets_recheck(struct targets *t, struct err *e);
/* What programs that ask at each hit (bpf/entitled.bpf.h) are told of our user, before they are attached. */
struct lent_rights targets_lent(void);
/* Lets the command exec; fails with the reason when it cannot. */
int targets_go(struct targets *t, struct err *e);
/* What BPF programs call a process is what we call it: we are in no pid namespace of a container. */
bool targets_first_pid_namespace(void);
/* What bpf/whoami.bpf.h is told, before it is loaded: our namespace; 0 in the first. */
struct pid_namespace {
	uint64_t dev, ino;
} targets_pid_namespace(void);
/* Threads of a process now; *tids is malloc'ed. Returns their number or -errno. */
int targets_threads(int pid, int **tids);
/* True once every observed process (or the command) has ended. Never true for -a and -G. */
bool targets_ended(struct targets *t);
/* Wait status of the command, reaping it if it has ended; -1 while it runs. */
int targets_child_status(struct targets *t, bool wait);
/* Never kills anything: a command that still runs goes on. */
void targets_release(struct targets *t);

#endif

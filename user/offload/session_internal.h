/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The insides of a session, shared by session.c (life, records), found.c (files to probes) and
 * budget.c (arming and disarming within the budget). Included by these only and tests.
 */
#ifndef ACCPERF_OFFLOAD_SESSION_INTERNAL_H
#define ACCPERF_OFFLOAD_SESSION_INTERNAL_H

#include <pthread.h>

#include "kmod-free/libs.h"
#include "kmod-free/cold_price.h"
#include "kmod-free/uprobe.h"
#include "offload/api.h"
#include "offload/calls.h"
#include "offload/cells.h"
#include "offload/session.h"
#include "util/map.h"

#define SHARE_LEAST .02    /* of a CPU: who uses less would never pay a stretch back; by hand */
#define USER_PROBES_MAX 64 /* --offload-probe of one recording; by hand */
#define FAMILY_USER 1000   /* one for each --offload-probe */
#define FAMILY_MARKER 2000 /* one for each marker's name */

/* A moment, and what had been spent and counted by then. */
struct budget_mark {
	uint64_t at, cpu, hits, calls;
	double cost_ns;
};

struct known_lib {
	uint64_t dev, ino;
	char *path;
	int index;    /* of the engine; -1: nothing to probe in it */
	bool refused; /* the engine had no room for it, or would not have it */
	uint32_t first, count;
	uint32_t path_id; /* string */
	uint32_t group;   /* enum probe_apart */
	/* budget */
	uint64_t hits, calls; /* when last looked at */
	double cost_ns;       /* of these hits */
	double balance_ns;    /* what may still be spent */
	bool on, hot;
	bool leaves;               /* its probes are being removed */
	bool traced;               /* AF_ALG: no file */
	unsigned without;          /* functions of which not all exits are known */
	bool calls_back;           /* and an exception may pass them */
	struct budget_mark begin;  /* of the stretch */
	struct budget_mark piece;  /* begins what is not written yet */
	struct budget_mark looked; /* while armed: the last look */
	unsigned pieces;           /* of this stretch, written */
	double floor_ns;           /* let go when the balance falls below */
	double gap_mean, due;      /* while let go: of the gap; when it ends; work_clock() */
	uint64_t stretch_hits;     /* in all stretches that ended */
	double stretch_cost_ns;
	uint64_t outside_told; /* hits outside of stretches that were written, and their cost */
	double outside_cost_told;
	unsigned stretches;
	bool let_go; /* for the budget, at least once */
	bool mapped; /* seen in a process */
	bool in_use; /* of mapped.c: while it looks */
	bool rewritten;
};

/* Who called what, to be told again in the next profile. */
struct known_site {
	uint64_t func, caller;
	uint32_t pid, probe;
};

struct session_probe {
	struct calls_probe calls;
	uint64_t offset;              /* in the file */
	const struct offload_api *of; /* NULL: a user's own, a marker */
};

/* What those come to that are forgotten. */
struct gone_libs {
	uint64_t calls;
	unsigned functions, libs, called;
};

struct offload_session {
	struct offload_opts opts;
	struct offload_sink sink;
	struct uprobe *u; /* NULL until session_engine() */
	struct err engine_refused;
	struct calls *calls;
	/* by offload_api_index() */
	bool api_wanted[OFFLOAD_APIS_MOST], api_seen[OFFLOAD_APIS_MOST], api_called[OFFLOAD_APIS_MOST];
	bool markers;
	bool uring_wanted, uring_named, uring_on;
	bool alg_wanted, alg_named, alg_on;
	uint32_t alg_first, alg_path; /* probe; string */
	double alg_call_ns;           /* what each system call of a target costs while they are watched */
	bool automatic;
	struct offload_user_probe user[USER_PROBES_MAX];
	unsigned user_cnt;
	bool user_found[USER_PROBES_MAX], user_lib_seen[USER_PROBES_MAX];
	struct session_probe probes[PROBE_MAX];
	struct known_lib libs[512];
	uint64_t rewritten; /* files, whose places hold other instructions by now */
	bool libs_full;     /* what comes later in this profile is not looked at */
	unsigned libs_cnt;
	unsigned libs_kept; /* when the last profile began: nothing came since, nothing is looked for that went */
	struct gone_libs gone;
	double spent_ns;                /* on all probes so far; budget_book() */
	uint64_t rescan_at;             /* not before: look_for_later() */
	struct map pids;                /* pid -> CPU time when last seen; under `lock` */
	uint64_t cpu_gone;              /* of processes that have ended */
	struct map sites;               /* hash of pid, function, caller -> stack id */
	struct map totals_sites;        /* hash of pid, probe, caller -> stack id */
	struct known_site *known_sites; /* as in totals_sites */
	size_t known_count, known_cap;
	struct cells totals, hists;
	struct map stacks; /* tid -> stack id for its next call */
	struct intern marker_families;
	struct map catching;  /* hash of a file's device and inode -> 1: its code does not catch, 2: it may */
	bool returns_at_risk; /* some process has return probes that an exception may pass, should it ever catch one */
	struct buf notes;
	uint64_t notes_cut; /* that found no room in them */
	bool degraded, ended;
	uint64_t children, children_gone; /* forked; ended before they could be probed */
	struct map open_sites;            /* where calls are under way: how many */
	uint64_t open_now;
	uint64_t children_cpu; /* CPU time of the others before they were */
	uint64_t late;         /* libraries found loaded after recording of their process began */
	uint64_t late_ns;      /* the longest from a loading to the probes, of those whose loading was told */
	bool late_untold;      /* the loading of one was not told */
	unsigned ticks;
	double cpu_share; /* CPUs the target used lately; SHARE_LEAST or more */
	uint64_t random;
	double fault_ns; /* what a page fault takes here; 0: not measured */
	struct cold_price cold;
	double hot_end_ns; /* what a probe costs when recording ends; 0: not measured */
	uint64_t cpu_at, cpu_ns;

	/* budget thread */
	uint64_t looked;  /* when last */
	double arming_ns; /* that took so long when last */
	pthread_t thread;
	bool thread_runs, stop, stopped;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct fmt_offload_window *windows;
	unsigned windows_cnt, windows_cap;
};

/* Of a process, ended or ours or not; 0: gone. */
uint64_t session_process_cpu(int pid);
/* CPU time of the observed processes so far, lock held; 0: unknown. */
uint64_t session_cpu(struct offload_session *s);
/* found.c: a row for the table, not a file; NULL: no room. lib_ready() when it is filled. */
struct known_lib *session_new_lib(struct offload_session *s, const char *path);
void session_lib_ready(struct offload_session *s);
/* found.c: makes sure that what pid has mapped (and could load) is probed in pid. mapped_at: when it mapped what is
 * looked for, as far as we were told; 0: not told. */
bool session_wants(struct offload_session *s, const char *path);
int session_find(struct offload_session *s, int pid, bool installed, const char *exe, uint64_t mapped_at,
		 struct err *e);
/* pointed.c: where the functions lie that a library's table points to; the library's own are among them. */
#define POINTED_MOST 32 /* of one process; by hand */
struct pointed {
	uint64_t addr[POINTED_MOST];
	const struct offload_row *row[POINTED_MOST];
	const struct offload_api *of[POINTED_MOST];
	unsigned cnt;
};
void pointed_read(struct pointed *p, int pid, const struct lib_file *f, const struct offload_api *a);
/* mapped.c: files that no observed process maps any more are forgotten, with what is known of their probes. */
void session_forget_unmapped(struct offload_session *s);
/* catching.c: may the return addresses of pid be replaced? exe: the program that it is about to run; else what it has
 * mapped. */
bool session_bears_returns(struct offload_session *s, int pid, const char *exe);
/* budget.c */
int budget_start(struct offload_session *s);
void budget_stop(struct offload_session *s); /* disarms all, closes the stretches */
/* A library's first stretch begins; called with its engine index set. */
int budget_arm(struct offload_session *s, struct known_lib *l, struct err *e);
double budget_book(struct offload_session *s, struct known_lib *l);
/* At the library that came last, before another comes. */
void budget_first_look(struct offload_session *s);
/* All earn, pay and are let go or taken up; for blind_ns nobody looks again. Returns when to look, in nanoseconds from
 * now. Lock held, but while probes are removed. For tests. */
double budget_look(struct offload_session *s, double blind_ns);
/* A profile ends: so does a piece of each stretch, and what fell outside is told. */
void budget_cut(struct offload_session *s);
/* session.c */
uint64_t session_site_key(uint32_t pid, uint32_t probe, uint64_t site);
uint32_t session_site(struct offload_session *s, uint32_t pid, uint64_t time, uint64_t func, uint64_t caller);
/* CELL_SUMS of them. */
void session_total_sums(const struct probe_total *t, uint64_t *sum);
void session_put_cost(struct offload_session *s);
/* What plants probes is there from now on (s->u); -errno: it cannot be. */
int session_engine(struct offload_session *s, struct err *e);
/* next.c: from one profile to the next */
void session_keep_site(struct offload_session *s, const struct offload_event *ev);
void budget_write(struct offload_session *s); /* stretches that ended, to the sink */

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The attach engine of offload probes: bpf/offload.bpf.c behind uprobe_session links, uprobe_multi
 * pairs or perf uprobes, whichever this kernel has; libraries that can be armed and disarmed as a
 * whole; the ring; the in-kernel counts; the probes' cost, measured on ourselves. Included by
 * user/offload and tests. Links are attached per library and process, because probes are planted
 * per file and would otherwise slow every process that maps it.
 *
 * To add a way of attaching: append to enum uprobe_mode, try it in uprobe_new(), make its links in
 * links_make().
 *
 * Thread-safe: uprobe_arm, uprobe_disarm, uprobe_attach, uprobe_forget, uprobe_library_end and uprobe_activity.
 */
#ifndef ACCPERF_KMOD_FREE_UPROBE_H
#define ACCPERF_KMOD_FREE_UPROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "format.h"
#include "kmod-free/bpf_counters.h"
#include "probe.h"
#include "sample.h"
#include "util/err.h"

enum uprobe_mode { UPROBE_AUTO = 0, UPROBE_SESSION = 1, UPROBE_MULTI = 2, UPROBE_PERF = 3 };

struct uprobe_cost;

struct uprobe_opts {
	enum uprobe_mode mode;       /* AUTO: the best there is; another: that or nothing */
	unsigned records_per_second; /* and process; 0 = all */
	unsigned ring_bytes;         /* 0 = 2 MiB */
	bool alg;                    /* uprobe_alg() will be called */
	bool system_wide;            /* probe every process */
	/* Measured before, and taken for what probes cost here; NULL or without rounds: it is measured. */
	const struct uprobe_cost *known;
};

struct uprobe_point {
	uint64_t offset; /* in the file */
	struct probe_spec spec;
	/* Every place where the function ends, in the file: probed there. None: by a probe on its return, which
	 * replaces the return address, and only in processes that bear it (uprobe_attach). Read by uprobe_library()
	 * only. */
	const uint64_t *exits;
	unsigned exits_cnt;
};

/* One call as the probes saw it. */
struct offload_event {
	uint64_t time, entry, ret; /* ret 0: never returned */
	uint64_t in, out, items, queue, cpu, site, func;
	uint64_t events[PROBE_EVENTS];
	uint32_t events_cnt;
	uint32_t pid, tid, probe, kind, weight;
	uint32_t flags; /* enum wire_offload_flags */
	uint32_t voluntary, involuntary;
	int32_t level; /* with WO_LEVEL */
};

struct uprobe_sink {
	void *ctx;
	void (*event)(void *ctx, const struct offload_event *ev);
	/* The stack at the entry of this thread's next event with WO_STACK. May be NULL. */
	void (*stack)(void *ctx, const struct sample *s);
};

struct uprobe_class_cost {
	double call_ns, call_low, call_high; /* added by one probed call; low: hot caches, high: cold ones */
	double inside_ns;                    /* of it between the stamps */
};

/* By enum fmt_probe_class. UNKNOWN: the larger cost (budgets must hold) and the smaller inside_ns
 * (times must not come out too short). EMULATED is all 0 where this architecture has no such class. */
#define UPROBE_FIRST_KINDS 4 /* of first instructions: enum self_kind (uprobe_self.h) */
struct uprobe_cost {
	struct uprobe_class_cost of[FMT_PROBE_CLASSES];
	enum fmt_probe_class class_of[UPROBE_FIRST_KINDS];
	double nop_ns; /* one hit on a 5-byte NOP; NaN: not measured */
	double hot_ns; /* of STEPPED with hot caches, for comparison with uprobe_cost_now() */
	unsigned rounds;
};

/* What is dearer and what takes off less, for functions whose class is not known. */
void uprobe_cost_of_unknown(struct uprobe_cost *c);

struct uprobe;

/* Loads, tries, measures. NULL: *e says which right or kernel feature is missing. */
struct uprobe *uprobe_new(const struct uprobe_opts *o, struct err *e);
void uprobe_free(struct uprobe *u); /* detaches everything; NULL is fine */
enum uprobe_mode uprobe_mode(const struct uprobe *u);
const char *uprobe_mode_name(enum uprobe_mode m);
const struct uprobe_cost *uprobe_cost(const struct uprobe *u);
/* hot_ns measured once more, quickly, when the last event has been polled; NaN: cannot be. */
double uprobe_cost_now(struct uprobe *u);
/* Which cost a probe on this instruction has; the bytes are as they lie in the file. */
enum fmt_probe_class uprobe_class(const struct uprobe *u, const uint8_t *bytes, size_t n);
#define UPROBE_INSN_BYTES 16 /* the longest instruction has 15 */

/* Takes over fd (kept open: probes are planted through it, so that mount namespaces and deleted
 * files do not matter). *first: index of the probe of points[0], the others follow. The library's
 * index, or -errno. Not armed yet. */
int uprobe_library(struct uprobe *u, int fd, const struct uprobe_point *points, unsigned count, uint32_t *first,
		   struct err *e);
/* No process has the file any more: it is let go, and its probes' numbers and counts are free for others. What is in
 * the ring and in the totals of these probes is the caller's to take before. */
void uprobe_library_end(struct uprobe *u, int library);
/* Process pid takes part; attached at once where the library is armed. 1: it did already. returns: its functions'
 * return addresses may be replaced; else functions without exits are seen at their entries alone.
 * -E2BIG: there are too many. */
#define UPROBE_GROUPS_MOST                                                                                             \
	512u /* pairs of a process and a library: some 1,300 links, which 64 threads close in a second */
int uprobe_attach(struct uprobe *u, int library, int pid, bool returns, struct err *e);
/* From now on the process's return addresses are left alone, in every library; what was replaced is put back when its
 * calls return. */
void uprobe_no_returns(struct uprobe *u, int pid);
/* The process is gone. */
void uprobe_forget(struct uprobe *u, int pid);
/* Plants a library's probes; calls are counted from *when, to that of uprobe_pause(). -ESTALE: the file was
 * rewritten since, and a breakpoint might lie within an instruction. */
int uprobe_arm(struct uprobe *u, int library, uint64_t *when, struct err *e);
/* Removes those of these libraries, in the time of one, which is some 40 ms; others can be removed meanwhile. */
void uprobe_disarm(struct uprobe *u, const int *libraries, unsigned cnt);
void uprobe_disarm_all(struct uprobe *u);
/* Stops counting at *when; the probes are still there. */
void uprobe_pause(struct uprobe *u, int library, uint64_t *when);

int uprobe_threads_map(const struct uprobe *u); /* for sampler_returns() */
/* io_uring operations ops[0..count): from now on calls of probes *first, *first + 1, ... */
struct uprobe_uring {
	uint8_t opcode;
	uint32_t direction; /* URING_IN, URING_OUT or 0 */
};
int uprobe_uring(struct uprobe *u, const struct uprobe_uring *ops, unsigned count, uint32_t *first, struct err *e);
/* AF_ALG sockets become a library of the engine (to be armed like one, for all processes): its index,
 * or -errno. What a system call of a target costs while it is armed: *cost_ns. */
int uprobe_alg(struct uprobe *u, uint16_t family, uint32_t *first, double *cost_ns, struct err *e);
/* The algorithms seen so far; probe *first + index. Index 0, whose algorithm is not known, is not among them. */
void uprobe_alg_names(struct uprobe *u, void (*fn)(void *ctx, uint32_t index, const struct probe_alg *name), void *ctx);
/* Hands out what is there; never blocks. The number of records, or -errno. */
/* One record of the ring: -EBADMSG where it cannot be right, which uprobe_poll() counts. */
int uprobe_record(const void *data, size_t size, const struct uprobe_sink *sink);
uint64_t uprobe_malformed(const struct uprobe *u);
int uprobe_poll(struct uprobe *u, const struct uprobe_sink *sink);
/* Tell targets apart in the kernel too (system-wide links, perf uprobes). */
int uprobe_target(struct uprobe *u, int pid, bool wanted);

/* Hits and counted calls of a probe so far: plain memory, no system call. */
struct probe_activity uprobe_activity(const struct uprobe *u, uint32_t probe);
void uprobe_totals(struct uprobe *u,
		   void (*fn)(void *ctx, const struct probe_total_key *k, const struct probe_total *t), void *ctx);
void uprobe_hists(struct uprobe *u, void (*fn)(void *ctx, const struct probe_hist_key *k, const struct probe_hist *h),
		  void *ctx);
/* Takes those away that `drop` says: the tables are full one day, and then calls go uncounted. */
void uprobe_totals_drop(struct uprobe *u,
			bool (*drop)(void *ctx, const struct probe_total_key *k, const struct probe_total *t),
			void *ctx);
void uprobe_hists_drop(struct uprobe *u,
		       bool (*drop)(void *ctx, const struct probe_hist_key *k, const struct probe_hist *h), void *ctx);
/* Calls that are under way; probes never armed again since they began. */
void uprobe_open_calls(const struct uprobe *u, void (*fn)(void *ctx, const struct probe_total_key *k), void *ctx);
/* Of OFFLOAD_COUNTERS. */
uint64_t uprobe_counter(const struct uprobe *u, enum bpf_counter which);

#endif

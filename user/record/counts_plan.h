/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to measure next, so that timer samples become execution counts: functions that take time,
 * their graphs (built once a module and function), the links between their nodes, what is known of
 * each link, and which window would tell most for its cost. Writes sections 80..85. Knows nothing of
 * processes: addresses are a module's. Owned by part_counts.c, which opens the windows; tests. Included by this room
 * and tests.
 *
 * A link's worth is the time that hangs below it times how uncertain it is; dividing by windows
 * spent and by cost gives the next one, drawn at random in that proportion.
 *
 * What verified segments ran comes beside: they are drawn by count, and tell shares without any link.
 *
 * To measure in another way: a value of enum fmt_counts_how, a job of it in plan_choose(), what
 * its window means in plan_result().
 */
#ifndef ACCPERF_RECORD_COUNTS_PLAN_H
#define ACCPERF_RECORD_COUNTS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/emu.h"
#include "code/induction.h"
#include "proc/module.h"
#include "format.h"
#include "kmod-free/execbp.h"
#include "store/write.h"

#define PLAN_NONE UINT32_MAX
#define PLAN_FUNCTION_MAX (512u << 10) /* bytes: the graph of a longer one would take too long to build here */
#define PLAN_INDUCT_ONCE (1u << 20)    /* instructions looked at for one function's inductions */

struct plan_slot {
	struct module *module;
	uint64_t vaddr;
	uint32_t entry_of; /* the function that begins here, or PLAN_NONE: hits tell who calls it */
	uint8_t reg;
	uint32_t limit;
	bool ends;
};

struct plan_job {
	uint32_t how; /* enum fmt_counts_how */
	unsigned links, slots;
	uint32_t link[EXECWIN_SLOTS];
	struct plan_slot slot[EXECWIN_SLOTS];
	uint32_t hit_limit;
	uint64_t within_ns, time_ns;
	uint64_t longest_ns; /* RATE: time_ns is of the thread's CPU time, and lasts at most so long */
	bool within;  /* TRIPS: an exit alone tells, when no entry was met, but the header, if that has the last slot */
	bool process; /* of all threads, those that begin meanwhile among them */
	bool list;    /* TRIPS: to be looked at soon after its last hit */
};

struct plan_stats {
	uint64_t functions, graphs, nodes, links, callers;
	uint64_t too_big, unreadable, rewritable, unbounded;              /* functions that have time only, by reason */
	uint64_t windows[FMT_CL_REPLAY + 1], odd, empty, too_fast, stale; /* by how */
	uint64_t hung_anew;                                               /* see plan_hang() */
	/* wanted, but the tables are full: samples, functions, links */
	uint64_t past_functions, past_graphs, past_links;
};

/* Code that the recorder carried out itself, from a sample on. */
struct plan_burst {
	uint64_t time, ended, ip, own_ns;
	uint32_t pid, tid;
	struct emu_result result;
	const struct emu_count *count;
	size_t counts;
	const struct emu_call *call;
	size_t calls;
	const struct emu_cut *cut;
	size_t cuts;
};

/* A return address on the stack, in its module; false: unknown. */
typedef bool (*plan_place_fn)(void *ctx, uint64_t runtime, struct module **module, uint64_t *vaddr);

struct plan;

/* hit_ns: what one hit takes from the target; near: how many times as long code takes beside an armed
 * breakpoint (execbp_measure_near). */
struct plan *plan_new(struct store_writer *w, double hit_ns, double near, uint64_t seed);
/* Measured later. apart_ns: of hits that have work between them; window_ns: what a window takes from the thread that
 * runs meanwhile, besides. */
void plan_prices(struct plan *p, double hit_ns, double near, double apart_ns, double window_ns);
void plan_free(struct plan *p);
/* `ns` were spent here, in user mode. False: in a stub of a linkage table, which is no function: not taken. */
bool plan_sample(struct plan *p, struct module *m, uint64_t vaddr, double ns);
/* A sample's frames, leaf first, return addresses less 1: who called what takes time. */
void plan_stack(struct plan *p, struct modules *modules, const struct fmt_frame *frame, unsigned count);
/* Old time counts less, graphs of what became hot are built (for at most so long), worth is summed up. */
void plan_second(struct plan *p, uint64_t most_ns, uint64_t (*clock)(void));
/* Whether a module is there in the process that a window is for. */
typedef bool (*plan_mapped_fn)(void *ctx, const struct module *m);
/* More may be spent than is asked for. */
void plan_plenty(struct plan *p, bool plenty);
/* Rates, and trips that are rare, are taken of whole processes from now on: this one has several threads. */
void plan_whole_process(struct plan *p, bool whole);
/* A window for a thread that is just now at this address; slots: breakpoints that are free. */
bool plan_choose(struct plan *p, struct module *m, uint64_t vaddr, unsigned slots, plan_mapped_fn mapped, void *ctx,
		 struct plan_job *job);
/* Of the CPU time of such a window, what is lost beside those of its breakpoints (bit per slot). */
double plan_slowed(const struct plan *p, const struct plan_job *job, unsigned slots);
/* What it saw. Writes it. peek: reads the process, whose lists are walked; NULL: it is too late for that. */
int plan_result(struct plan *p, const struct plan_job *job, const struct exec_window *w, plan_place_fn place,
		induction_peek_fn peek, void *ctx);
/* What a burst ran of all links that it met. Writes it. */
int plan_replayed(struct plan *p, const struct plan_burst *b, plan_place_fn place, void *ctx);
/* What one segment ran, that came to the entry which was observed, and what it called (counts_segments.c). */
struct plan_carried {
	double stands_for;
	const struct emu_count *count;
	const struct emu_call *call;
	size_t counts, calls;
};
void plan_segment(struct plan *p, const struct plan_carried *s, plan_place_fn place, void *ctx);
/* The stretch is over: each of its segments stands for so many times what it was said to stand for. */
void plan_stretch(struct plan *p, double weight);
/* Writes all records whose last one wins. */
int plan_write(struct plan *p);
const struct plan_stats *plan_stats(const struct plan *p);
/* For naming: module and address of function i; false past the last. */
bool plan_function(const struct plan *p, uint32_t i, struct module **m, uint64_t *start);

#endif

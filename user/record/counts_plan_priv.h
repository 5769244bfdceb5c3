/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counts_plan.c (functions, graphs, links), counts_choose.c (worth, jobs), counts_result.c (windows),
 * counts_replay.c (bursts), counts_segments.c and counts_repeats.c (what both repeat) share. Included by these six and
 * by tests. */
#ifndef ACCPERF_RECORD_COUNTS_PLAN_PRIV_H
#define ACCPERF_RECORD_COUNTS_PLAN_PRIV_H

#include "code/equal_runs.h"
#include "counts/counts.h"
#include "record/counts_plan.h"
#include "util/map.h"

#define PLAN_EARLY 64 /* samples kept by address until there is a graph */
/* the first hit comes so soon where a window begins in its code; a hit itself takes 10 to 15 us */
#define PLAN_WITHIN_NS 20000
#define PLAN_CALLERS_MAX 64 /* call sites of one function */

enum plan_repeats_of { REPEATS_OF_BURST, REPEATS_OF_STRETCH, REPEATS_OF };

struct plan_func {
	struct fmt_counts_func rec;
	struct module *module;
	struct runs runs;                          /* if rec.flags has FMT_CF_GRAPH */
	bool tried, calls;                         /* calls: of interest because it calls something that is */
	double recent, incl, early_ns[PLAN_EARLY]; /* decayed ns; with what it calls */
	uint64_t early[PLAN_EARLY];
	unsigned earlies;
	uint32_t node;                                 /* id of its entry; its other nodes follow */
	double *node_ns, *node_recent, *need, *region; /* by node */
	uint64_t *node_samples;
	uint32_t *rate;          /* by node: index of its RATE link */
	uint32_t *inner, links;  /* its inner links, as many and in the order of runs.link */
	uint32_t *ratio, *trips; /* by node: its RATIO and its TRIPS link among these, or PLAN_NONE */
	uint32_t caller[PLAN_CALLERS_MAX], callers; /* links into its entry */
	uint32_t *out;                              /* links from its calls to what they enter */
	uint32_t outs, out_cap;
	double entries, unplaced; /* looked at; from an unknown place */
	uint32_t clock;           /* incomplete graph: the node that the others are measured by */
	double *runs_now;         /* by node: in the burst that is looked at; NULL: there was none yet */
	uint64_t *begins;         /* by byte of the function, a bit: a node is counted there */
	double *runs_all;         /* ... in all of them */
	double own_now, all_now;  /* in that burst: entries from itself, and all */
	double entered_now;       /* the same, before it is known which count */
	double ran_now;           /* instructions that ran in it */
	bool met_now;
	double replayed; /* instructions of bursts, decayed */
	unsigned bursts;
	double drawn_now;  /* instructions of verified segments in this stretch */
	double called_now; /* calls of it in them */
	struct fmt_counts_drawn drawn;
	struct {
		double instructions, repeats;
	} repeats_now[REPEATS_OF]; /* in the burst, or the stretch of segments, that is looked at */
	struct fmt_counts_repeats repeats;
};

struct plan_link {
	struct fmt_counts_link rec;
	uint32_t parent_func, child_func; /* indices; parent PLAN_NONE: CPU time */
	uint32_t parent, child;           /* nodes of theirs */
	uint32_t loop;                    /* TRIPS */
	struct counts_sums sums;
	unsigned fails, odd_runs;
	unsigned tries; /* windows for its sake, whatever they met */
	uint64_t within_ns, time_ns;
	double took_ns; /* a recent window, from first to last */
	double peak;    /* RATE: most hits of a recent window */
	unsigned since_peak;
	bool written, off;
	bool at_end;                    /* RATE of an entry that is never met: of where the function returns */
	bool recurs;                    /* ... and the thread lives on */
	uint32_t replay;                /* its rival that bursts tell of; PLAN_NONE: none yet */
	double called_now;              /* in the burst that is looked at, through it */
	double held_anchor, held_child; /* REPLAY: of bursts that are not written yet */
	unsigned held;
};

struct plan_timing {
	uint32_t func, node;
};

struct plan {
	struct store_writer *store;
	double hit_ns, near, apart_ns, window_ns;
	struct map lines;   /* module and EXECBP_NEAR bytes -> ns of samples there */
	double sampled;     /* ns, of all samples */
	struct map linkage; /* module and function -> 1: a table of stubs, 0: none */
	uint64_t random;
	struct plan_func *func;
	uint32_t funcs, func_cap;
	struct plan_link *link;
	uint32_t links, link_cap;
	uint32_t nodes;       /* ids given so far */
	struct intern places; /* module, start -> function index + 1 */
	struct map call_at;   /* child's entry node << 32 | order of place -> link */
	struct intern sites;
	double total; /* recent, all functions */
	bool plenty;
	bool whole_process;
	bool speed_measured;     /* some rate tells how fast the code runs */
	double level;            /* what a window was worth lately */
	double barren;           /* of the places met lately, those with nothing but time to measure */
	double timing_ns;        /* that windows which time may take: they are long, and hold up all others */
	uint64_t second;         /* when this was last added to */
	uint32_t inner, untimed; /* other windows since then; and how often one was to be timed, but was not allowed */
	struct plan_timing *timing; /* nodes that could be timed, listed anew by plan_worth() */
	uint32_t timings, timing_cap;
	uint32_t *passed; /* functions that the burst went through */
	uint32_t passes, pass_cap;
	struct replay_call *called;
	uint32_t calls, call_cap;
	double replayed; /* instructions of bursts, decayed */
	uint64_t last_burst;
	double drawn_nowhere;          /* of no function, in this stretch */
	struct fmt_counts_drawn drawn; /* the same, of all */
	uint32_t *drawn_in;            /* functions that this stretch's segments went through */
	uint32_t drawns, drawn_cap;
	struct plan_stats stats;
	int error;
};

/* The function that code ran in last, and where it lies: most code that ran lies in the same as what ran before it. */
struct plan_ran {
	uint32_t func; /* PLAN_NONE: unknown */
	uint64_t bias;
};
/* The function of an instruction that ran; PLAN_NONE: nobody knows. */
uint32_t plan_ran_at(struct plan *p, struct plan_ran *at, uint64_t ip, plan_place_fn place, void *ctx);
double plan_uniform(struct plan *p);
/* Index, PLAN_NONE without memory. */
uint32_t plan_func_at(struct plan *p, struct module *m, uint64_t vaddr);
uint32_t plan_add_link(struct plan *p, uint32_t how, uint32_t parent_func, uint32_t parent, uint32_t child_func,
		       uint32_t child);
/* Its RATE link, made at first use. */
uint32_t plan_rate_link(struct plan *p, uint32_t f, uint32_t node);
void plan_write_link(struct plan *p, uint32_t link);
/* What is cumulative, and may be as it was when it was written last. */
void plan_put(struct plan *p, enum fmt_section section, uint32_t id, const void *rec, size_t size);
/* What segments told so far (counts_segments.c). */
void plan_write_drawn(struct plan *p);
/* Of what ran of a function in one burst, or in one stretch; and the end of that (counts_repeats.c). */
void plan_repeats_add(struct plan_func *f, enum plan_repeats_of of, const struct emu_count *c);
void plan_repeats_fold(struct plan_func *f, enum plan_repeats_of of);
void plan_write_repeats(struct plan *p);

/* What the emulator's model of a processor took for what ran. */
static inline void plan_timed(struct plan_func *f, const struct emu_count *c)
{
	f->rec.timed += (double)c->runs;
	f->rec.cycles += (double)c->took / EMU_CYCLE;
}

/* What was measured of it is not to be used, nor more of it measured. */
void plan_void(struct plan *p, uint32_t link);
/* Of code that runs round and round without being a loop bursts tell which node runs often enough for the rest to be
 * measured by: links hang on that one from now on. */
void plan_hang(struct plan *p, uint32_t f);
/* `hits` entries of function f came from this return address (module NULL: unknown). True: from f itself. */
bool plan_caller(struct plan *p, uint32_t f, struct module *m, uint64_t ret, double hits);
/* The link of such calls; PLAN_NONE: none is known. */
uint32_t plan_call_link(struct plan *p, uint32_t f, const struct module *m, uint64_t ret);
static inline bool plan_has_graph(const struct plan_func *f)
{
	return f->rec.flags & FMT_CF_GRAPH;
}
/* Bursts that are held back to be added up are written now. */
void plan_replay_flush(struct plan *p);
/* Of the target's time, what is spent in the line around an address. */
double plan_line_share(const struct plan *p, const struct module *m, uint64_t vaddr);
void plan_worth(struct plan *p);
/* Time that a link decides about: of its child, and of what that calls. */
double plan_hangs_below(const struct plan *p, const struct plan_link *l);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The edge table: which function produced the bytes that another reads. One struct flow is one result for one
 * choice of semantics, stack and attribution; it is filled from the exact engine's sections, by an
 * estimator (include/estimate.h) or from a cached result. Pure data, no I/O. Included by model, advise, view and
 * tests. Owns its strings, functions and edges.
 *
 * Unknown figures are NaN. Pseudo-functions stand in parentheses and have object "".
 *
 *     struct flow f;
 *     flow_init(&f);
 *     p = flow_func(&f, "parse", "app"); c = flow_func(&f, "deflate", "libz.so.1");
 *     flow_edge(&f, p, c)->bytes += 64;
 *     flow_finish(&f);
 *
 * To add a figure per function: a field below, its NaN in flow_func(), its column in
 * struct fmt_flow_function (appended), its key in view/flow_json.c and in flow_schema there.
 */
#ifndef ACCPERF_FLOW_FLOW_H
#define ACCPERF_FLOW_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/map.h"

enum flow_engine { FLOW_EXACT = 1, FLOW_PMU = 2, FLOW_SOFT = 3 };
enum flow_semantics { FLOW_QUAD = 0, FLOW_KE = 1 };
enum flow_stack { FLOW_STACK_EXCLUDE = 0, FLOW_STACK_INCLUDE = 1 };

#define FLOW_NONE UINT32_MAX

/* Names of the producers that are no functions. */
#define FLOW_OUTSIDE "(outside)"
#define FLOW_BEFORE "(before attach)"
#define FLOW_KERNEL "(kernel)"
#define FLOW_UNKNOWN "(unknown)"

/* A function with all that it calls: what happened while it was on the stack. in: read inside, written
 * last outside; out: the reverse; local: both inside, which is no traffic of the whole. */
struct flow_inclusive {
	double in, in_low, in_high;
	double out, out_low, out_high;
	double in_taken, out_taken; /* of these: what system calls took */
	double local;
	double samples; /* reads that in, out and local rest on; NaN: counted */
	double instructions, compute, load_bytes, store_bytes, time_ns;
	double in_uma, out_uma, local_uma; /* distinct addresses */
};

struct flow_func {
	const char *name, *object; /* never NULL; object may be "" */
	double in, in_uma, in_low, in_high;
	double out, out_uma, out_low, out_high;
	double taken;                     /* of out: what system calls took */
	bool in_uma_bound, out_uma_bound; /* the UMA is a lower bound */
	double instructions, compute, loads, stores;
	double compute_low, compute_high;
	double unit_compute; /* of all whose bytes are its own: selected functions with what they call; NaN: compute */
	double unit_bytes;   /* that these load and store off the stack */
	bool part_of_others; /* its bytes stand with its callers */
	double load_bytes, store_bytes, stack_bytes;
	double moved_variance; /* of those that are not the stack's, by the accesses drawn or by counts; NaN: unknown */
	double self_ns, calls;
	double array_share;        /* of the distinct addresses: part in objects of a kilobyte and more; NaN unknown */
	double samples;            /* of loads and stores; NaN: counted, or unknown */
	bool by_counts;            /* its figures and weights are by execution counts, not by time */
	struct flow_inclusive inc; /* NaN unless asked for */
};

struct flow_edge {
	uint32_t producer, consumer; /* indices into funcs */
	double bytes, unique;        /* unique addresses, NaN unknown */
	double unique_met;           /* of them: those of the samples, which are certain; NaN unknown */
	double low, high;            /* NaN: no interval (exact: = bytes) */
	double sd;                   /* of bytes, from resampling alone, or from halves.h; NaN unknown, 0 exact */
	double samples;              /* that bear on it; NaN for exact */
	bool unresolved;             /* the methods disagree */
};

/* What system calls of one kind moved, by any function's hand. */
struct flow_call {
	uint32_t func; /* "(kernel:read)" */
	bool reads;    /* the kernel read memory: bytes were handed to it; else it wrote */
	double bytes, low,
		high; /* high: infinite where nothing is known of calls that were not seen; NaN as of edges */
};

struct flow {
	enum flow_engine engine;
	enum flow_semantics semantics;
	enum flow_stack stack;
	bool time_bias;                      /* weights by time, not by count */
	bool main_image;                     /* library functions stand as their caller in the main image */
	double speed_low, speed_high;        /* 95 % of true amounts over those here; NaN: shares alone are known */
	double speed_seconds;                /* a recording that would tell; see counts/counts_speed.h */
	double part;                         /* of the whole recording's bytes that this is of: less with a filter */
	double level;                        /* of the intervals, 0.95; 0 = none */
	double began_ns, duration_ns;        /* by the monotonic clock; NaN unknown */
	double loads, stores, windows, lost; /* samples it rests on; NaN = not applicable */
	double sd_freedom;                   /* degrees of freedom of the edges' sd; 0: many */
	bool inclusive;                      /* asked for: funcs[].inc holds what is known */
	uint32_t func_count_self;            /* with inclusive: those from here on are only on stacks of others */
	/* bytes that system calls or wide stores filled, but too far for all of it to be kept: who wrote them is
	 * not known */
	double cut_ranges;
	/* bytes whose writer was guessed among several, times the chance that it was another; and those read where no
	 * store was seen, near or far: NaN unknown */
	double guessed, unseen;
	/* bytes whose writers earlier recordings told, of the functions that they and this one met, and of these those
	 * in which this one contradicts them: NaN unknown */
	double earlier, earlier_compared, earlier_dropped;
	double cut_stacks; /* share of the bytes read on stacks that do not reach the thread's start; NaN unknown */
	struct flow_func *funcs;
	uint32_t func_count, func_cap;
	struct flow_edge *edges;
	size_t edge_count, edge_cap;
	struct flow_call *calls; /* largest first; none where they were not observed */
	size_t call_count, call_cap;
	struct map edge_at;  /* producer << 32 | consumer -> index */
	struct intern names; /* "name\0object" -> function index + 1 */
	bool failed;         /* memory ran out: the table is incomplete */
	bool summed;         /* totals are those of the edges: flow_finish() was the last to touch them */
	double total, taken; /* of all edges; of those whose bytes system calls took */
};

void flow_init(struct flow *f);
void flow_release(struct flow *f);
/* Index of the function, added on first use; object may be NULL. FLOW_NONE when memory ran out. */
uint32_t flow_func(struct flow *f, const char *name, const char *object);
/* Index or FLOW_NONE; never adds. object NULL: the first of that name. */
uint32_t flow_find(const struct flow *f, const char *name, const char *object);
/* The same for many names: an index of the functions that f has now. Without memory for it, it only takes longer. */
struct flow_names {
	const struct flow *f;
	struct map at;
};
void flow_names_index(struct flow_names *n, const struct flow *f);
void flow_names_release(struct flow_names *n);
uint32_t flow_names_find(const struct flow_names *n, const char *name, const char *object);
/* The edge, added (0 bytes) on first use; valid until the next call. NULL when memory ran out. */
struct flow_edge *flow_edge(struct flow *f, uint32_t producer, uint32_t consumer);
const struct flow_edge *flow_get(const struct flow *f, uint32_t producer, uint32_t consumer);
/* The edge of the same names in another flow, NULL: none. */
const struct flow_edge *flow_twin(const struct flow *from, const struct flow_edge *e, const struct flow_names *to);
/* IN and OUT as sums of the edges; edges sorted by bytes, largest first (edge pointers move). */
void flow_finish(struct flow *f);
/* Edges by distinct bytes, unknown ones last (edge pointers move). */
void flow_sort_unique(struct flow *f);
/* Sum of all edges' bytes. */
double flow_total(const struct flow *f);
/* The same of the whole recording, whatever part this is of: what shares are of. */
double flow_whole(const struct flow *f);
bool flow_is_pseudo(const struct flow_func *fn);
struct flow_range {
	double value, low, high; /* NaN: unknown */
};
/* What is computed by the code that reads its bytes. */
struct flow_range flow_computes(const struct flow_func *fn);
/* Arithmetic and logical instructions a byte that it loads and stores off the stack, with an interval of 95 %; of one
 * thing: what a selected function computes with all it calls, a byte that these move. */
struct flow_range flow_ops_per_byte(const struct flow *f, const struct flow_func *fn);
/* Distinct bytes of an edge; low: those that were met; high: as many as were read. */
struct flow_range flow_edge_unique(const struct flow *f, const struct flow_edge *e);
/* Views show amounts by these. Where samples come by time and no speed was measured (counts/counts_speed.h) they are
 * NaN, but for bytes that system calls took, which were counted. */
bool flow_has_amounts(const struct flow *f);
double flow_amount(const struct flow *f, double v);
struct flow_range flow_amounts(const struct flow *f, double v, double low, double high);
/* Of an amount of which system calls took so much: the rest alone goes with the speed of the code. */
struct flow_range flow_amounts_taken(const struct flow *f, struct flow_range of, double taken);
struct flow_range flow_edge_bytes(const struct flow *f, const struct flow_edge *e);
/* Of an amount of which system calls took so much. Their bytes were counted, those of code go with its speed: a share
 * of both is no surer than that. Of flow_whole(): within 0 to 1. */
struct flow_range flow_share(const struct flow *f, struct flow_range of, double taken);
bool flow_is_call(const struct flow_func *fn);
struct flow_range flow_edge_share(const struct flow *f, const struct flow_edge *e);
/* Adds b's edges and figures times `weight` to a (merge; a's options stand). 0 or -ENOMEM. */
int flow_add(struct flow *a, const struct flow *b, double weight);

/* As if it had not been asked for. */
void flow_drop_inclusive(struct flow *f);

const char *flow_engine_str(enum flow_engine e);
const char *flow_semantics_str(enum flow_semantics s);
const char *flow_stack_str(enum flow_stack s);

#endif

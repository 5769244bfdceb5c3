/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One function as a tree of nodes: code that runs equally often. The entry is a node, with all blocks
 * that every run passes; a loop's header is one, with those that every iteration passes; every other
 * block is one of its own (blocks that follow each other in a line together). And how the nodes'
 * counts could be measured from each other: hits of breakpoints on two of them, or the trip count of
 * a loop from its induction register. Owns the function's graph. Included by record.
 *
 * To see more blocks as equal: one more rule in classes() of equal_runs.c, and a line in u-equal-runs.c, which
 * checks every claim against single-stepped runs.
 */
#ifndef ACCPERF_CODE_EQUAL_RUNS_H
#define ACCPERF_CODE_EQUAL_RUNS_H

#include "code/cfg.h"
#include "code/induction.h"
#include "format.h"

struct runs_node {
	uint32_t kind;  /* enum fmt_counts_node_kind */
	uint32_t block; /* that stands for all of it; CFG_NONE: an entry that shares its address with a loop */
	uint32_t loop;  /* innermost around it; of a LOOP node: its own */
	uint32_t depth;
	uint64_t addr; /* where to break */
	struct block_work work;
};

#define RUNS_EXITS 3 /* beside the entry there are three breakpoints */

/* Breakpoints that tell a loop's trip count. */
struct runs_trips {
	struct induction in;
	uint64_t entry;              /* 0: there is no way */
	uint64_t exit[RUNS_EXITS];   /* distinct addresses */
	uint8_t exit_at[RUNS_EXITS]; /* index in in.exit */
	uint32_t exits;
	bool may_skip; /* the entry's breakpoint fires although the loop is not entered */
};

struct runs_link {
	uint32_t parent, child;
	uint32_t how;  /* FMT_CL_TRIPS or FMT_CL_RATIO: how it could be measured */
	uint32_t loop; /* TRIPS: index in trips[] */
};

struct runs {
	struct cfg cfg;
	bool complete;          /* every edge is known */
	struct runs_node *node; /* [0] is the entry */
	uint32_t nodes;
	uint32_t *node_of; /* by block; CFG_NONE: it never runs */
	struct runs_link *link;
	uint32_t links;
	struct runs_trips *trips; /* by loop */
};

/* As cfg_build(); trips are looked for as long as *budget (instructions) lasts. */
int runs_build(const struct block_code *code, uint64_t start, uint64_t end, uint32_t *budget, struct runs *out);
/* Code that runs round and round but is no loop (several ways lead into it) hangs on one of its nodes, of which the
 * graph does not tell how often it runs: whether `node` is of one, and in which loop that lies (CFG_NONE: in none). */
bool runs_knot(const struct runs *r, uint32_t node, uint32_t *loop);
/* The node on which that of a loop hangs, CFG_NONE if there is none. */
uint32_t runs_knot_anchor(const struct runs *r, uint32_t loop);
/* From now on it hangs on this node of it: links have other parents. */
void runs_knot_hang(struct runs *r, uint32_t node);
void runs_release(struct runs *r);
/* The node around an address, CFG_NONE if there is none. */
uint32_t runs_node_at(const struct runs *r, uint64_t addr);
/* The call whose return address this is, NULL if none. */
const struct cfg_call *runs_call_before(const struct runs *r, uint64_t return_addr);
/* The header's runs of one activation: registers at the entry's and at exit i's breakpoint. False:
 * these values do not fit together. peek: reads the process, for lists. */
bool runs_trip_count(const struct runs_trips *t, uint32_t i, uint64_t entry_value, uint64_t exit_value,
		     induction_peek_fn peek, void *ctx, uint64_t *trips);
/* The loop goes along a list, whose length is known only as long as nobody changes it. */
static inline bool runs_trips_list(const struct runs_trips *t)
{
	return t->entry && !t->in.stride;
}

#endif

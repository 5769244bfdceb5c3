/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording measured of execution counts (sections 80..88, see include/format.h and SECTIONS-COUNTS.md),
 * read back, and the tree that counts.h solves made of it. Everything in them is untrusted. Included by
 * volume, flow, view and tests.
 *
 *     counts_record_reader(&r, &e)		its rows of a walk over a profile (profile/walk.h)
 *     counts_record_end(&r, p)			sorts, drops what refers to nothing
 *     counts_record_tree(&r, &tree, &e)	tree.node k = record.node k (0: CPU time), groups = functions
 *     counts_record_solve(&r, &tree)
 *
 * To add a way of measuring a link: a value of enum fmt_counts_how, its windows in part_counts.c, its
 * case in link_ratio() of counts_build.c.
 */
#ifndef ACCPERF_COUNTS_COUNTS_WINDOWS_H
#define ACCPERF_COUNTS_COUNTS_WINDOWS_H

#include "counts/counts.h"
#include "format.h"
#include "profile/branches.h"
#include "profile/profile.h"
#include "profile/walk.h"
#include "util/err.h"
#include "util/map.h"

/* Sums over the windows of other recordings: counts_keep.h. */
struct counts_others {
	uint64_t recording[8];
	double anchor[8], child[8];
	uint32_t recordings, pad;
};

struct counts_rec_link {
	struct fmt_counts_link l; /* parent, child: indices into node[], not ids; REPLAY: rival into link[] */
	size_t window;            /* first of its windows in window[], in the order of time */
	size_t windows;
	struct counts_others others;
};

/* Of bursts (FMT_COUNTS_WENT) that began in a function, the sum of their parts that ran in one. */
struct counts_went {
	uint32_t from, function; /* indices; function UINT32_MAX: of no function */
	double part;
};

struct counts_record {
	struct fmt_counts_func *func;
	size_t funcs, func_cap;
	struct fmt_counts_node *node; /* [0] CPU time; function: an index */
	size_t nodes, node_cap;
	struct fmt_counts_block *block; /* node: an index */
	size_t blocks, block_cap;
	struct counts_rec_link *link;
	size_t links, link_cap;
	struct fmt_counts_window *window; /* by link, then time; link: an index */
	size_t windows, window_cap;
	struct map func_at, node_at, link_at, drawn_at, repeats_at, went_at; /* file's ids -> indices */
	const struct profile *profile; /* it came from: its modules, whose ids those of functions are */
	struct profile *owned;         /* by counts_record_load() */
	uint64_t recording;            /* tells this recording from others; 0: nothing does */
	bool merged;                   /* of several recordings, whose counts are not kept */
	uint64_t bursts, burst_instructions;
	uint64_t bursts_cut;         /* of them those that ended at a system call */
	struct branches branches;    /* ways that bursts went */
	bool ways_lost;              /* they make no sense */
	struct fmt_segment *segment; /* in the order of time */
	size_t segments, segment_cap;
	struct drawn_time {
		double stretches, running,
			square; /* how many; sums of the CPUs that ran user code, and their squares */
		double ticks;
	} drawn_time;
	struct fmt_counts_drawn *drawn; /* function: an index; UINT32_MAX: of no function */
	size_t drawns, drawn_cap;
	struct fmt_counts_repeats *repeats; /* function: an index */
	size_t repeated, repeats_cap;
	struct counts_went *went; /* one for each pair */
	size_t wents, went_cap;
	uint32_t dropped; /* records that referred to nothing, or made no sense */
	struct err *e;    /* while it is read */
};

/* Zero-initialise; e until the walk has ended. */
struct section_reader counts_record_reader(struct counts_record *r, struct err *e);
/* p: which was read with it, and must live as long. */
void counts_record_end(struct counts_record *r, const struct profile *p);
void counts_record_release(struct counts_record *r);
/* Reads a file for its counts alone. 0 with no funcs: it has none. */
int counts_record_load(struct counts_record *r, const char *path, struct err *e);
/* With the whole profile, from one walk. NULL: it cannot be read. counts_record_release() in any case. */
struct profile *counts_record_and_profile(struct counts_record *r, const char *path, struct err *e);

struct segment_shares;

/* A tree and what it points to. Groups are the functions, in the record's order; time in ns. */
struct counts_built {
	struct counts_tree tree;
	size_t *link_of;                 /* by link of the tree: index into record.link */
	struct segment_shares *segments; /* what they told of it; NULL: it is not solved */
};

/* Rival measurements of one node within a function: the better known one is taken. Rates stand beside
 * call sites as what their sum is compared with. */
int counts_record_tree(const struct counts_record *r, struct counts_built *b, struct err *e);
/* counts_solve(), and what segments tell of shares. */
int counts_record_solve(const struct counts_record *r, struct counts_built *b);
void counts_built_release(struct counts_built *b);
/* Both, on the heap, with what counts_solve_nodes() asks. NULL: *err is as counts_record_solve() returns it. */
struct counts_built *counts_built_new(const struct counts_record *r, int *err);
void counts_built_free(struct counts_built *b);

#endif

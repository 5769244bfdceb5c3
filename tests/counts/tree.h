/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of ratios of a whole program, with its true values: blocks of the functions that ran, from
 * their control-flow graphs, and how each hangs on its loop header, function entry or call sites.
 * Included by tests only.
 */
#ifndef ACCPERF_TESTS_COUNTS_TREE_H
#define ACCPERF_TESTS_COUNTS_TREE_H

#include "counts/truth.h"
#include "counts/counts.h"

enum tree_kind { TREE_ENTRY, TREE_HEADER, TREE_BLOCK };

struct tree_node {
	uint32_t object, function; /* index in tree.function */
	uint64_t addr;
	enum tree_kind kind;
	uint64_t runs; /* true */
};

struct tree_link {
	uint32_t parent, child;
	double ratio;        /* true: of the child's runs that come this way, per run of the parent */
	enum counts_how how; /* how a recording could know it: ONCE, TRIPS, RATIO */
	uint64_t anchors;    /* runs of the parent (TRIPS: activations) */
};

struct tree_function {
	uint32_t object;
	uint64_t start, end;
	double instructions; /* true */
	bool complete;
};

struct tree {
	struct tree_node *node;
	uint32_t nodes, node_cap;
	struct tree_link *link;
	uint32_t links, link_cap;
	struct counts_piece *part; /* group = function */
	uint32_t parts, part_cap;
	struct tree_function *function;
	uint32_t functions, function_cap;
	double total, unmapped; /* instructions; of code without function bounds */
};

int tree_build(struct truth *t, struct tree *out);
void tree_release(struct tree *t);

#endif

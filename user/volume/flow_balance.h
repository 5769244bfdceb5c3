/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often code ran, from the time that was sampled in it: the arithmetic, without I/O. A block's own
 * time says little about its executions (a load that waits gets all of the loop's samples), but
 * executions obey the control flow: what enters a block leaves it, a callee's entry runs as often as
 * the calls of it. The counts returned obey both nearly exactly, and explain the time as well as they
 * can when an instruction takes about as long everywhere, within a factor or so. Time and memory grow in
 * proportion to the edges: the number of passes over them has a bound.
 *
 * Included by this room and tests. To tell it of another kind of control flow: a group of edges.
 */
#ifndef ACCPERF_VOLUME_FLOW_BALANCE_H
#define ACCPERF_VOLUME_FLOW_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SMOOTH_NONE UINT32_MAX

struct flow_balance_node {
	double time; /* ns sampled in it */
	double cost; /* instructions of one execution; 0: its time says nothing about its executions */
	double runs; /* out: ns per instruction, that is, executions in a unit common to all nodes */
};

/* against: how much speaks against anything going this way; 0 nothing. */
struct flow_balance_edge {
	uint32_t to, group;
	double against;
};

/* The flow over a group's edges adds up to the executions of `from`: a block's successors, or the
 * callees of one call. SMOOTH_NONE: they come from where nothing is known. What may leave the known
 * code goes to a node of its own without cost. */
struct flow_balance_group {
	uint32_t from;
};

struct flow_balance {
	struct flow_balance_node *node;
	uint32_t nodes;
	struct flow_balance_edge *edge;
	uint32_t edges;
	struct flow_balance_group *group;
	uint32_t groups;
	double period; /* ns that one sample stands for */
};

/* 0; -ENOMEM; -EINVAL: an index out of range, a figure that is none. */
int flow_balance_solve(struct flow_balance *s);

#endif

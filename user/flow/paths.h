/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call tree with the flow on it: which path reads what which other path wrote, from what the exact engine
 * counted with --callees, or from the stacks of sampled accesses (sampled_paths.c). Paths that exchange little are
 * folded into their callers. Pure. Included by view and tests.
 */
#ifndef ACCPERF_FLOW_PATHS_H
#define ACCPERF_FLOW_PATHS_H

#include "flow/estimators.h"
#include "flow/flow.h"

#define PATHS_NONE UINT32_MAX

struct flow_path {
	const char *name, *object; /* borrowed from the input */
	uint32_t parent;           /* PATHS_NONE: a first function, or no function at all */
	uint32_t depth;
	bool again;                   /* its function is active above it already */
	uint64_t calls;               /* 0: unknown, where sampled */
	double instructions, compute; /* NaN where sampled; its own, and of what was folded into it */
	double in, out, local;        /* bytes it reads of other paths', others of its, it of its own */
	uint32_t folded;              /* paths that were folded into it */
};

struct flow_path_edge {
	uint32_t producer, consumer; /* indices of paths; PATHS_NONE: nobody was seen to write it */
	double bytes, unique;        /* unique: NaN unknown, and where several paths were folded */
};

struct flow_paths {
	struct flow_path *at; /* parents before children, in order of the tree */
	uint32_t count;
	struct flow_path_edge *edges; /* the largest first */
	size_t edge_count;
	double total;
	uint32_t all; /* paths there were */
	bool sampled; /* estimated: bytes are in the flow's unit, calls and computation unknown */
};

/* Paths and edges before they are folded. [0] is nobody: parent of the first functions, writer of what nobody was seen
 * to write. Parents come before children. */
struct path_source {
	struct flow_path *raw;
	uint32_t count;
	struct flow_path_edge *edge;
	size_t edges;
};

/* Keeps at most `most` paths (and those above them). -ENODATA: the profile has no such tree. */
int flow_paths_build(const struct flow_input *in, const struct est_opts *o, uint32_t most, struct flow_paths *out,
		     struct err *e);
/* The same of samples: reads by their stacks; the flow names the writer, and its stores have stacks. */
int flow_paths_sampled(const struct flow_input *in, const struct flow *f, const struct est_opts *o, uint32_t most,
		       struct flow_paths *out, struct err *e);
int flow_paths_fold(const struct path_source *s, uint32_t most, struct flow_paths *out, struct err *e);
void flow_paths_release(struct flow_paths *p);

#endif

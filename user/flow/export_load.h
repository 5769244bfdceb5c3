/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a file of another tool is written of (view/export.h), all of it from one walk over the profile. Included by
 * user/cli.
 */
#ifndef ACCPERF_FLOW_EXPORT_LOAD_H
#define ACCPERF_FLOW_EXPORT_LOAD_H

#include "flow/input.h"
#include "profile/branches.h"
#include "profile/call_tree.h"
#include "profile/in_order.h"

/* What its format wants. */
struct export_wish {
	bool branches; /* of one object, and nothing else */
	bool timed;    /* each sample with its time */
	bool flow;     /* bytes between functions */
	bool tree;     /* where there are no samples: what was counted by call path, for them */
};

struct export_loaded {
	struct profile *p;
	struct in_order in_order;
	struct call_tree tree;
	struct branches branches;
	uint32_t module;              /* that they are of: what was asked for, or what most are of */
	uint64_t taken, taken_of_all; /* of its, and of all */
	uint64_t *calls;              /* where there are no samples, but a call tree that was counted */
	struct flow_input in;
	struct flow flow;
	bool has_flow;
	struct err no_flow; /* why there is none */
};

/* With *l zeroed; 0 or -errno with *e. Unloaded in either case. */
int export_load(struct export_loaded *l, const char *path, const struct export_wish *wish, const struct filter *filter,
		struct err *e);
void export_unload(struct export_loaded *l);

#endif

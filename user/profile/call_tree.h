/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exact engine's call tree as samples of a profile that has none: what shows stacks shows it, then. Each path
 * is a stack of one frame a function, and weighs the instructions executed there. Included by flow and cli.
 */
#ifndef ACCPERF_PROFILE_CALL_TREE_H
#define ACCPERF_PROFILE_CALL_TREE_H

#include "profile/profile.h"
#include "profile/walk.h"

struct call_tree {
	struct fmt_x_node *node; /* parents before children */
	size_t count;
	uint32_t cap;
};

struct section_reader call_tree_reader(struct call_tree *t);
/* Where it cannot ride on the walk that reads the profile. */
int call_tree_load(const char *path, struct call_tree *t, struct err *e);
/* Appends stacks and cells to p, which still has the ids of the file (profile_load_with() and a reader). *calls: by
 * stack, of its innermost function from the one that called it; the caller's to free. 0, or -errno with a sentence. */
int call_tree_as_samples(struct profile *p, const struct call_tree *t, uint64_t **calls, struct err *e);
void call_tree_release(struct call_tree *t);

#endif

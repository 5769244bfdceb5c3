// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile_priv.h"
#include "util/grow.h"

#define DEEPEST 4096            /* frames; the engine folds recursion, so that only damage is deeper */
#define MOST_FRAMES (64u << 20) /* of all paths together: 256 MB */

static int take_path_node(void *ctx, const void *rec, size_t size)
{
	struct call_tree *t = ctx;

	return PUSH(t->node, t->count, t->cap, 1024, *(const struct fmt_x_node *)rec) ? 0 : -ENOMEM;
}

struct section_reader call_tree_reader(struct call_tree *t)
{
	static const struct section_row rows[] = { { FMT_X_NODE, sizeof(struct fmt_x_node), take_path_node, NULL } };

	return SECTION_READER(rows, t);
}

int call_tree_load(const char *path, struct call_tree *t, struct err *e)
{
	struct section_reader reader = call_tree_reader(t);
	struct profile *p = profile_load_with(path, 0, &reader, 1, e);

	profile_free(p);
	return p ? 0 : e->code;
}

void call_tree_release(struct call_tree *t)
{
	free(t->node);
	*t = (struct call_tree){ 0 };
}

struct planting {
	struct profile *p;
	const struct call_tree *t;
	uint32_t *frame_of; /* by function: its frame, 0: none yet */
	uint32_t thread;
};

static uint32_t module_of(const struct profile *p, const char *object)
{
	for (size_t i = 1; i < p->module_count; i++)
		if (!strcmp(p->modules[i].object, object))
			return (uint32_t)i;
	return 0;
}

/* A function as a frame without an address; 0: out of memory. */
static uint32_t plain_frame(struct planting *w, uint32_t function)
{
	struct profile *p = w->p;

	if (w->frame_of[function])
		return w->frame_of[function];
	if (!PUSH(p->lines, p->line_count, p->priv->line_cap, 64,
		  (struct profile_line){ .function = function,
					 .line = p->functions[function].line,
					 .file = p->functions[function].file }))
		return 0;
	/* [0] is none */
	if (!p->frame_count && !PUSH(p->frames, p->frame_count, p->priv->frame_cap, 64, (struct profile_frame){ 0 }))
		return 0;
	if (!PUSH(p->frames, p->frame_count, p->priv->frame_cap, 64,
		  (struct profile_frame){ .module = module_of(p, p->functions[function].object),
					  .first = (uint32_t)p->line_count - 1,
					  .count = 1,
					  .told = true }))
		return 0;
	return w->frame_of[function] = (uint32_t)p->frame_count - 1;
}

/* The path to the i-th node as a stack, leaf first. */
static int plant_stack(struct planting *w, size_t i)
{
	struct profile *p = w->p;
	struct profile_stack s = { .first = p->stack_frame_count, .flags = FMT_STACK_COMPLETE };

	while (s.count < DEEPEST) {
		const struct fmt_x_node *n = &w->t->node[i];
		uint32_t f = plain_frame(w, profile_function_id(p, n->function));

		if (!f || !PUSH(p->stack_frames, p->stack_frame_count, p->priv->stack_frame_cap, 1024, f))
			return -ENOMEM;
		s.count++;
		/* nodes stand in the order of their numbers */
		if (!n->parent || n->parent > i || w->t->node[n->parent - 1].id != n->parent)
			break;
		i = n->parent - 1;
	}
	return PUSH(p->stacks, p->stack_count, p->priv->stack_cap, 64, s) ? 0 : -ENOMEM;
}

static int plant(struct planting *w, uint64_t **calls)
{
	struct profile *p = w->p;
	size_t first = p->stack_count ? p->stack_count : 1;

	if (!p->stack_count && !PUSH(p->stacks, p->stack_count, p->priv->stack_cap, 64, (struct profile_stack){ 0 }))
		return -ENOMEM;
	*calls = calloc(first + w->t->count + 1, sizeof(**calls));
	if (!*calls)
		return -ENOMEM;
	for (size_t i = 0; i < w->t->count; i++) {
		const struct fmt_x_node *n = &w->t->node[i];
		struct profile_cell c = { .thread = w->thread, .stack = (uint32_t)p->stack_count };
		int err;

		if (!n->calls && !n->instructions)
			continue;
		if (p->stack_frame_count > MOST_FRAMES)
			return -E2BIG;
		err = plant_stack(w, i);
		if (err)
			return err;
		(*calls)[c.stack] = n->calls;
		c.samples[PROFILE_INSTRUCTIONS] = 1;
		c.weight[PROFILE_INSTRUCTIONS] = (double)n->instructions;
		if (!PUSH(p->cells, p->cell_count, p->priv->cell_cap, 64, c))
			return -ENOMEM;
		p->samples[PROFILE_INSTRUCTIONS]++;
		p->weight[PROFILE_INSTRUCTIONS] += (double)n->instructions;
		p->threads[w->thread].cell_count++;
	}
	return 0;
}

int call_tree_as_samples(struct profile *p, const struct call_tree *t, uint64_t **calls, struct err *e)
{
	struct planting w = { .p = p, .t = t, .thread = (uint32_t)p->thread_count };
	int err;

	*calls = NULL;
	w.frame_of = calloc(p->function_count + 1, sizeof(*w.frame_of));
	/* the engine's tree is of all threads together */
	if (!w.frame_of || !PUSH(p->threads, p->thread_count, p->priv->thread_cap, 4,
				 (struct profile_thread){
					 .pid = 1, .tid = 1, .comm = profile_comm(p, 1), .first_cell = p->cell_count }))
		err = -ENOMEM;
	else
		err = plant(&w, calls);
	free(w.frame_of);
	if (!err)
		return 0;
	free(*calls);
	*calls = NULL;
	return err_set(e, err, err == -E2BIG ? "the call tree has too many paths to be written out" : "out of memory");
}

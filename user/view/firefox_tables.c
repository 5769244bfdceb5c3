// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/firefox_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "util/grow.h"

int64_t firefox_string(struct firefox_tables *t, const char *text)
{
	uint64_t *at = map_put(&t->string_of, (uint64_t)(uintptr_t)text, NULL);

	if (at && !*at)
		*at = intern_str(&t->strings, text, NULL);
	return at && *at ? (int64_t)*at - 1 : -ENOMEM;
}

/* Modules of several processes are one library where path, kind and build-id agree. */
static int add_lib(struct firefox_tables *t, uint32_t module)
{
	const struct profile_module *m = &t->p->modules[module];
	AUTO_BUF(key);
	bool added;
	uint32_t id;

	if (!module || t->lib_of[module] != FIREFOX_NONE)
		return 0;
	buf_add(&key, m->build_id, m->build_id_len);
	buf_addf(&key, "/%u", m->kind);
	buf_addstr(&key, m->path);
	id = buf_failed(&key) ? 0 : intern_add(&t->lib_keys, key.data, key.len, &added);
	if (!id || firefox_string(t, m->object) < 0)
		return -ENOMEM;
	t->lib_of[module] = id - 1;
	if (!added)
		return 0;
	if (!GROW(t->libs, t->lib_count, t->lib_cap, 32))
		return -ENOMEM;
	t->libs[t->lib_count++] = module;
	return 0;
}

static int add_source(struct firefox_tables *t, const char *file)
{
	int64_t string = firefox_string(t, file);
	uint64_t *at;
	bool added;

	if (string < 0)
		return (int)string;
	at = map_put(&t->source_at, (uint64_t)string, &added);
	if (!at || !GROW(t->sources, t->source_count, t->source_cap, 64))
		return -ENOMEM;
	if (added) {
		*at = t->source_count;
		t->sources[t->source_count++] = (uint32_t)string;
	}
	return 0;
}

static int64_t func_of(struct firefox_tables *t, uint32_t function, uint32_t lib)
{
	struct firefox_func f = { function, lib };
	bool added;
	/* lib + 1: none is 0 */
	uint64_t *at = map_put(&t->func_at, (uint64_t)function << 32 | (uint32_t)(lib + 1), &added);

	if (!at || !GROW(t->funcs, t->func_count, t->func_cap, 256))
		return -ENOMEM;
	if (!added)
		return (int64_t)*at;
	*at = t->func_count;
	t->funcs[t->func_count++] = f;
	if (firefox_string(t, firefox_func_name(t, &f)) < 0)
		return -ENOMEM;
	if (function != FIREFOX_NONE && t->p->functions[function].file && add_source(t, t->p->functions[function].file))
		return -ENOMEM;
	return (int64_t)t->func_count - 1;
}

static int64_t add_frame(struct firefox_tables *t, uint32_t frame, uint32_t line, uint32_t depth, uint32_t function)
{
	int64_t func = func_of(t, function, frame ? t->lib_of[t->p->frames[frame].module] : FIREFOX_NONE);

	if (func < 0 || !GROW(t->frames, t->frame_count, t->frame_cap, 256))
		return -ENOMEM;
	t->frames[t->frame_count++] =
		(struct firefox_frame){ .frame = frame, .line = line, .depth = depth, .func = (uint32_t)func };
	return (int64_t)t->frame_count - 1;
}

/* The l-th line of a frame; 0 is the innermost. */
static int64_t frame_line_index(struct firefox_tables *t, uint32_t frame, uint32_t l)
{
	const struct profile_frame *f = &t->p->frames[frame];
	uint32_t line = f->first + l;
	int64_t at;

	if (t->frame_of[line] != FIREFOX_NONE)
		return t->frame_of[line];
	if (add_lib(t, f->module))
		return -ENOMEM;
	at = add_frame(t, frame, line, f->count - 1 - l, t->p->lines[line].function);
	if (at >= 0)
		t->frame_of[line] = (uint32_t)at;
	return at;
}

static uint64_t hash_node(const void *tables, uint32_t number)
{
	const struct firefox_node *n = &((const struct firefox_tables *)tables)->nodes[number - 1];

	return index_hash(n->prefix, n->frame);
}

static bool same_node(const void *tables, uint32_t number, const void *key)
{
	const struct firefox_node *n = &((const struct firefox_tables *)tables)->nodes[number - 1], *k = key;

	return n->prefix == k->prefix && n->frame == k->frame;
}

static int64_t node_below(struct firefox_tables *t, uint32_t prefix, int64_t frame)
{
	struct firefox_node key = { prefix, (uint32_t)frame };
	uint32_t *slot =
		frame < 0 ? NULL
			  : index_slot(&t->node_at, index_hash(prefix, key.frame), same_node, hash_node, t, &key);

	if (!slot || !GROW(t->nodes, t->node_count, t->node_cap, 1024) || t->node_count == FIREFOX_NONE - 1)
		return -ENOMEM;
	if (!*slot) {
		t->nodes[t->node_count++] = key;
		*slot = (uint32_t)t->node_count;
		t->node_at.used++;
	}
	return (int64_t)*slot - 1;
}

static int add_stack_nodes(struct firefox_tables *t, uint32_t stack)
{
	const struct profile_stack *s = &t->p->stacks[stack];
	int64_t node = FIREFOX_NONE;

	for (uint32_t i = s->count; i-- > 0;) {
		uint32_t frame = t->p->stack_frames[s->first + i];

		for (uint32_t l = t->p->frames[frame].count; l-- > 0;) {
			node = node_below(t, (uint32_t)node, frame_line_index(t, frame, l));
			if (node < 0)
				return -ENOMEM;
			if (!t->inlined)
				break;
		}
	}
	t->node_of[stack] = s->count ? (uint32_t)node : t->unknown_node;
	return 0;
}

static uint32_t *nones(size_t count)
{
	uint32_t *a = malloc((count + 1) * sizeof(*a));

	if (a)
		memset(a, 0xff, (count + 1) * sizeof(*a));
	return a;
}

int firefox_tables_build(struct firefox_tables *t, const struct profile *p, bool inlined)
{
	enum profile_unit unit = profile_unit(p);
	int64_t node;
	int err = 0;

	*t = (struct firefox_tables){ .p = p, .inlined = inlined };
	t->lib_of = nones(p->module_count);
	t->frame_of = nones(p->line_count);
	t->node_of = nones(p->stack_count);
	if (!t->lib_of || !t->frame_of || !t->node_of)
		return -ENOMEM;
	node = node_below(t, FIREFOX_NONE, add_frame(t, 0, FIREFOX_NONE, 0, 0));
	if (node < 0)
		return -ENOMEM;
	t->unknown_node = (uint32_t)node;
	node = node_below(t, FIREFOX_NONE, add_frame(t, 0, FIREFOX_NONE, 0, FIREFOX_NONE));
	if (node < 0)
		return -ENOMEM;
	t->idle_node = (uint32_t)node;
	for (size_t i = 0; i < p->cell_count && !err; i++)
		if (p->cells[i].samples[unit] && t->node_of[p->cells[i].stack] == FIREFOX_NONE)
			err = add_stack_nodes(t, p->cells[i].stack);
	return err;
}

void firefox_tables_release(struct firefox_tables *t)
{
	intern_release(&t->strings);
	map_release(&t->string_of);
	map_release(&t->func_at);
	intern_release(&t->lib_keys);
	map_release(&t->source_at);
	index_release(&t->node_at);
	free(t->libs);
	free(t->lib_of);
	free(t->frame_of);
	free(t->node_of);
	free(t->sources);
	free(t->funcs);
	free(t->frames);
	free(t->nodes);
	*t = (struct firefox_tables){ 0 };
}

enum firefox_category firefox_category_of(const struct firefox_tables *t, const struct firefox_frame *f)
{
	if (!f->frame)
		return t->funcs[f->func].function == FIREFOX_NONE ? FIREFOX_IDLE : FIREFOX_OTHER;
	switch (t->p->modules[t->p->frames[f->frame].module].kind) {
	case FMT_MOD_KERNEL: return FIREFOX_KERNEL;
	case FMT_MOD_JIT:
	case FMT_MOD_ANON: return FIREFOX_JIT;
	case FMT_MOD_FILE:
	case FMT_MOD_VDSO: return FIREFOX_USER;
	}
	return FIREFOX_OTHER;
}

const char *firefox_func_name(const struct firefox_tables *t, const struct firefox_func *f)
{
	return f->function == FIREFOX_NONE ? "(not running, or not sampled)" : t->p->functions[f->function].name;
}

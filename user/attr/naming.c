// SPDX-License-Identifier: GPL-2.0-or-later
#include "attr/naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbols.h"
#include "util/buf.h"
#include "util/grow.h"
#include "util/map.h"

#define MAX_CHAIN 256 /* functions inlined at one place; by hand */

struct naming {
	struct store_writer *w;
	struct symbols *symbols;
	struct map *wanted; /* [module id]: addresses -> 1: named already; [0] of no module */
	uint32_t wanted_cap;
	struct intern functions;
	uint64_t named[SYM_FLOW + 1], unknown;
	bool failed;
};

struct naming *naming_new(struct store_writer *w, bool use_cache, bool use_dwarf)
{
	struct naming *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->w = w;
	n->symbols = symbols_new(use_cache, use_dwarf);
	if (!n->symbols) {
		free(n);
		return NULL;
	}
	return n;
}

void naming_free(struct naming *n)
{
	if (!n)
		return;
	for (uint32_t i = 0; i < n->wanted_cap; i++)
		map_release(&n->wanted[i]);
	free(n->wanted);
	intern_release(&n->functions);
	symbols_free(n->symbols);
	free(n);
}

void naming_want(struct naming *n, uint32_t module, uint64_t addr)
{
	if (!GROW_ZEROED(n->wanted, (size_t)module + 1, n->wanted_cap, 64) || !map_put(&n->wanted[module], addr, NULL))
		n->failed = true;
}

/* ---- records ---- */

static uint32_t function_id(struct naming *n, const struct symbol_frame *f, const char *object, bool bare)
{
	AUTO_BUF(key);
	bool added;
	uint32_t id;

	buf_add(&key, f->name, strlen(f->name) + 1);
	buf_add(&key, object, strlen(object) + 1);
	if (f->decl_file)
		buf_addstr(&key, f->decl_file);
	buf_addf(&key, "%c%u", 0, f->decl_line);
	if (buf_failed(&key))
		return 0;
	id = intern_add(&n->functions, key.data, key.len, &added);
	if (id && added) {
		struct fmt_function rec = {
			.id = id,
			.name = store_string(n->w, f->name),
			.object = store_string(n->w, object),
			.file = store_string(n->w, f->decl_file),
			.line = f->decl_line,
			.flags = bare ? FMT_FN_BARE : 0,
		};

		if (store_put(n->w, FMT_FUNCTION, &rec, sizeof(rec)))
			n->failed = true;
	}
	return id;
}

static void store_symbol(struct naming *n, uint32_t module, const char *object, uint64_t addr,
			 const struct symbol_frame *chain, unsigned count, enum symbol_origin origin)
{
	struct fmt_inline inl[MAX_CHAIN];
	struct fmt_symbol head = { .addr = addr, .module = module };

	if (count > MAX_CHAIN) { /* the physical function stays the last */
		chain += count - MAX_CHAIN;
		count = MAX_CHAIN;
	}
	for (unsigned i = 0; i < count; i++)
		inl[i] = (struct fmt_inline){ function_id(n, &chain[i], object, origin == SYM_OFFSET),
					      store_string(n->w, chain[i].file), chain[i].line, 0 };
	head.count = count;
	n->named[origin]++;
	if (store_put_var(n->w, FMT_SYMBOL, &head, sizeof(head), inl, count * (uint32_t)sizeof(*inl)))
		n->failed = true;
}

static void put_plain(struct naming *n, uint32_t module, const char *object, uint64_t addr, const char *name,
		      enum symbol_origin origin)
{
	struct symbol_frame f = { .name = name };

	store_symbol(n, module, object, addr, &f, 1, origin);
}

/* The addresses of a module that are not named yet, and from now on are; NULL if there are none. */
static uint64_t *take_addresses(struct naming *n, uint32_t module, size_t *count)
{
	uint64_t *list, key, *value;
	size_t pos = 0, i = 0;
	struct map *set;

	*count = 0;
	if (module >= n->wanted_cap || !n->wanted[module].used)
		return NULL;
	set = &n->wanted[module];
	list = malloc(set->used * sizeof(*list));
	if (!list) {
		n->failed = true;
		return NULL;
	}
	while (map_next(set, &pos, &key, &value)) {
		if (!*value)
			list[i++] = key;
		*value = 1;
	}
	*count = i;
	if (i)
		return list;
	free(list);
	return NULL;
}

void naming_jit_known(struct naming *n, const struct module *m, struct jitmap *j)
{
	uint64_t addr, *named, start;
	size_t pos = 0;

	if (m->id >= n->wanted_cap)
		return;
	while (map_next(&n->wanted[m->id], &pos, &addr, &named)) {
		const char *name = *named ? NULL : jitmap_find(j, addr, &start);

		if (!name)
			continue;
		*named = 1;
		put_plain(n, m->id, m->path, addr, name, SYM_JIT);
	}
}

void naming_jit(struct naming *n, const struct module *m, struct jitmap *j)
{
	size_t count;
	uint64_t *list = take_addresses(n, m->id, &count), start;

	for (size_t i = 0; i < count; i++) {
		const char *name = j ? jitmap_find(j, list[i], &start) : NULL;

		if (name) {
			put_plain(n, m->id, m->path, list[i], name, SYM_JIT);
			continue;
		}
		n->unknown++;
		put_plain(n, m->id, m->path, list[i], m->path, SYM_OFFSET);
	}
	free(list);
	/* the next process, or program, of that number may have other code there */
	if (m->id < n->wanted_cap)
		map_release(&n->wanted[m->id]);
}

static void name_kernel(struct naming *n, const struct module *m)
{
	size_t count;
	uint64_t *list = take_addresses(n, m->id, &count);
	char name[64];

	for (size_t i = 0; i < count; i++) {
		symbols_kernel(list[i], name, sizeof(name));
		put_plain(n, m->id, m->path, list[i], name, SYM_KERNEL);
	}
	free(list);
}

struct resolve {
	struct naming *n;
	const struct module *m;
	const uint64_t *list;
};

static void store_resolved(void *ctx, size_t index, const struct symbol_frame *chain, unsigned count,
			   enum symbol_origin origin)
{
	struct resolve *r = ctx;

	store_symbol(r->n, r->m->id, r->m->object, r->list[index], chain, count, origin);
}

static int name_file(struct naming *n, struct module *m)
{
	struct resolve r = { .n = n, .m = m };
	size_t count;
	uint64_t *list = take_addresses(n, m->id, &count);
	int err;

	if (!list)
		return 0;
	r.list = list;
	err = symbols_resolve(n->symbols, m, list, count, store_resolved, &r);
	free(list);
	return err;
}

int naming_files(struct naming *n, struct modules *ms, bool (*enough)(void *ctx), void *ctx)
{
	int err = 0;

	for (uint32_t id = 1; id <= modules_count(ms) && !err; id++) {
		struct module *m = modules_get(ms, id);

		if (!m)
			continue;
		if (m->kind == FMT_MOD_KERNEL)
			name_kernel(n, m);
		else if (m->kind != FMT_MOD_JIT && m->kind != FMT_MOD_ANON && (!enough || !enough(ctx)))
			err = name_file(n, m);
	}
	return err;
}

int naming_all(struct naming *n, struct modules *ms, struct err *e)
{
	size_t count;
	uint64_t *list;
	int err = 0;

	for (uint32_t id = 1; id <= modules_count(ms); id++) {
		struct module *m = modules_get(ms, id);
		int one = 0;

		if (!m)
			continue;
		switch (m->kind) {
		case FMT_MOD_KERNEL: name_kernel(n, m); break;
		case FMT_MOD_JIT:
		case FMT_MOD_ANON: naming_jit(n, m, NULL); break;
		default: one = name_file(n, m);
		}
		if (one && !err)
			err = err_set(e, one, "%s could not be symbolised: %s", m->path, strerror(-one));
	}
	list = take_addresses(n, 0, &count);
	for (size_t i = 0; i < count; i++) {
		n->unknown++;
		put_plain(n, 0, "[unmapped]", list[i], "[unmapped]", SYM_OFFSET);
	}
	free(list);
	if (n->failed && !err)
		err = err_set(e, -ENOMEM, "some names could not be kept: out of memory or disk");
	return err;
}

void naming_counters(const struct naming *n, void (*put)(void *ctx, const char *name, uint64_t value, bool in_part),
		     void *ctx)
{
	const struct symbols_counters *s = symbols_counters(n->symbols);

	put(ctx, "addresses named by debug information", n->named[SYM_DWARF], false);
	put(ctx, "addresses named by symbol tables", n->named[SYM_TABLE], false);
	put(ctx, "addresses named by function bounds", n->named[SYM_FDE], false);
	put(ctx, "addresses named by where control flow ends", n->named[SYM_FLOW], false);
	put(ctx, "addresses named by offset only", n->named[SYM_OFFSET] - n->unknown, true);
	put(ctx, "addresses in unnamed code", n->unknown, true);
	put(ctx, "files with damaged debug information", s->dwarf_failed, true);
	put(ctx, "names from the cache", s->from_cache, false);
}

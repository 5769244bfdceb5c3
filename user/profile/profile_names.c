// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording that was killed has addresses and no names: they are found now, if the files still are. */
#include "profile/names_kept.h"

#include <stdlib.h>

#include "proc/ehframe.h"
#include "proc/module.h"
#include "profile/profile_priv.h"
#include "symbol/symbols.h"
#include "util/bisect.h"
#include "util/grow.h"

#define KEPT_MOST 100000 /* functions; then it begins anew */

/* Texts are numbers of `texts`; 0: none. */
struct kept_function {
	uint32_t module; /* number of its build-id */
	uint32_t name, decl_file, decl_line;
	uint64_t from, to; /* addresses */
	enum symbol_origin origin;
};

/* Of this process. */
static struct {
	bool on;
	struct intern modules, texts;
	struct kept_function *functions; /* by module and address; none overlap */
	uint32_t count, cap;
} kept;

void profile_keep_names(bool on)
{
	intern_release(&kept.modules);
	intern_release(&kept.texts);
	free(kept.functions);
	memset(&kept, 0, sizeof(kept));
	kept.on = on;
}

/* How many lie before that place or at it. */
static uint32_t kept_before(uint32_t module, uint64_t addr)
{
	const struct kept_function *f = kept.functions;

	return (uint32_t)BISECT(i, kept.count, f[i].module < module || (f[i].module == module && f[i].from <= addr));
}

static const struct kept_function *kept_function_at(const struct profile_module *m, uint64_t addr)
{
	uint32_t module = intern_add(&kept.modules, m->build_id, m->build_id_len, NULL), n = kept_before(module, addr);
	const struct kept_function *f = n ? &kept.functions[n - 1] : NULL;

	return f && module && f->module == module && addr < f->to ? f : NULL;
}

/* One that cannot be kept is looked for again. */
static void keep_function(const struct profile_module *m, const struct ehframe *eh, uint64_t addr,
			  const struct symbol_frame *s, enum symbol_origin origin)
{
	struct kept_function f = { .module = intern_add(&kept.modules, m->build_id, m->build_id_len, NULL),
				   .name = intern_str(&kept.texts, s->name, NULL),
				   .decl_file = s->decl_file ? intern_str(&kept.texts, s->decl_file, NULL) : 0,
				   .decl_line = s->decl_line,
				   .origin = origin };
	uint32_t at;

	if (!eh || !ehframe_function(eh, addr, &f.from, &f.to) || addr < f.from || addr >= f.to) {
		f.from = addr;
		f.to = addr + 1;
	}
	at = kept_before(f.module, f.from);
	if (!f.module || !f.name || kept_function_at(m, addr) || kept_function_at(m, f.from) ||
	    (at < kept.count && kept.functions[at].module == f.module && kept.functions[at].from < f.to) ||
	    !GROW(kept.functions, kept.count, kept.cap, 256))
		return;
	memmove(kept.functions + at + 1, kept.functions + at, (kept.count - at) * sizeof(*kept.functions));
	kept.functions[at] = f;
	kept.count++;
}

struct batch {
	struct profile *p;
	const uint32_t *frames; /* indexes of p->frames, as asked for */
	const struct profile_module *module;
	const struct ehframe *eh; /* of its file; NULL: not known */
	int err;
};

static int add_chain(struct batch *b, size_t index, const struct symbol_frame *chain, unsigned count,
		     enum symbol_origin origin)
{
	struct profile *p = b->p;
	size_t first = p->line_count;

	for (unsigned i = 0; i < count; i++) {
		const struct symbol_frame *s = &chain[i];
		int64_t fn = profile_function_of(p, profile_keep(p, s->name), b->module->object,
						 s->decl_file ? profile_keep(p, s->decl_file) : NULL, s->decl_line,
						 origin != SYM_OFFSET);

		if (fn < 0)
			return (int)fn;
		if (!PUSH(p->lines, p->line_count, p->priv->line_cap, 64,
			  (struct profile_line){ .function = (uint32_t)fn,
						 .line = s->line,
						 .file = s->file ? profile_keep(p, s->file) : NULL }))
			return -ENOMEM;
	}
	p->frames[b->frames[index]].first = (uint32_t)first;
	p->frames[b->frames[index]].count = count;
	return 0;
}

static void on_chain(void *ctx, size_t index, const struct symbol_frame *chain, unsigned count,
		     enum symbol_origin origin)
{
	struct batch *b = ctx;

	if (!b->err && count)
		b->err = add_chain(b, index, chain, count, origin);
	if (!b->err && count && kept.on)
		keep_function(b->module, b->eh, b->p->frames[b->frames[index]].addr, &chain[count - 1], origin);
}

/* Frames of functions that were named before get that name; how many are left, at the beginning. */
static size_t name_as_before(struct batch *b, uint32_t *frames, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n && !b->err; i++) {
		const struct profile_frame *frame = &b->p->frames[frames[i]];
		const struct kept_function *f = NULL;

		b->module = &b->p->modules[frame->module];
		if (b->module->build_id_len)
			f = kept_function_at(b->module, frame->addr);
		if (f) {
			struct symbol_frame s = { .name = intern_get(&kept.texts, f->name, NULL),
						  .decl_file = intern_get(&kept.texts, f->decl_file, NULL),
						  .decl_line = f->decl_line };

			b->frames = frames + i;
			b->err = add_chain(b, 0, &s, 1, f->origin);
		} else {
			frames[left++] = frames[i];
		}
	}
	return left;
}

/* The file is opened here where its functions' bounds are wanted, too. */
static int name_in_module(struct batch *b, struct symbols *symbols, const uint64_t *addrs, size_t n)
{
	const struct profile_module *m = b->module;
	struct module *file = kept.on ? module_open_path(m->path, m->build_id, m->build_id_len, NULL) : NULL;
	int err;

	if (!file)
		return symbols_resolve_path(symbols, m->path, m->build_id, m->build_id_len, addrs, n, on_chain, b);
	b->eh = module_ehframe(file);
	err = symbols_resolve(symbols, file, addrs, n, on_chain, b);
	b->eh = NULL;
	module_close_path(file);
	return err;
}

static int by_module_of_frame(const void *a, const void *b, void *ctx)
{
	const struct profile_frame *frames = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (frames[x].module != frames[y].module)
		return frames[x].module < frames[y].module ? -1 : 1;
	return x < y ? -1 : x > y;
}

static size_t unnamed_frames(const struct profile *p, uint32_t *out)
{
	size_t n = 0;

	for (uint32_t i = 1; i < p->frame_count; i++)
		if (!p->frames[i].count && p->modules[p->frames[i].module].kind == FMT_MOD_FILE)
			out[n++] = i;
	return n;
}

int profile_name_missing(struct profile *p)
{
	uint32_t *frames = calloc(p->frame_count + 1, sizeof(*frames));
	uint64_t *addrs = calloc(p->frame_count + 1, sizeof(*addrs));
	struct batch b = { .p = p };
	struct symbols *symbols = NULL;
	size_t n = 0;

	if (frames && addrs)
		n = unnamed_frames(p, frames);
	else
		b.err = -ENOMEM;
	if (kept.on && kept.count > KEPT_MOST)
		profile_keep_names(true);
	if (kept.on)
		n = name_as_before(&b, frames, n);
	if (!(p->priv->groups & PROFILE_MISSING))
		n = 0;
	if (n && !b.err) {
		qsort_r(frames, n, sizeof(*frames), by_module_of_frame, p->frames);
		symbols = symbols_new(true, true);
		b.err = symbols ? 0 : -ENOMEM;
	}
	for (size_t i = 0, end; i < n && !b.err; i = end) {
		const struct profile_module *m = &p->modules[p->frames[frames[i]].module];

		for (end = i; end < n && p->frames[frames[end]].module == p->frames[frames[i]].module; end++)
			addrs[end] = p->frames[frames[end]].addr;
		/* without a build-id nothing says that the file is the one that ran */
		if (!m->build_id_len)
			continue;
		b.frames = frames + i;
		b.module = m;
		if (name_in_module(&b, symbols, addrs + i, end - i))
			b.err = -ENOMEM;
	}
	symbols_free(symbols);
	free(frames);
	free(addrs);
	return b.err;
}

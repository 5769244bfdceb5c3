// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording that was killed has addresses and no names: they are found now, if the files still are. */
#include <stdlib.h>

#include "profile/profile_priv.h"
#include "symbol/symbols.h"
#include "util/grow.h"

struct batch {
	struct profile *p;
	const uint32_t *frames; /* indexes of p->frames, as asked for */
	const char *object;
	int err;
};

static int add_chain(struct batch *b, size_t index, const struct symbol_frame *chain, unsigned count,
		     enum symbol_origin origin)
{
	struct profile *p = b->p;
	size_t first = p->line_count;

	for (unsigned i = 0; i < count; i++) {
		const struct symbol_frame *s = &chain[i];
		int64_t fn = profile_function_of(p, profile_keep(p, s->name), b->object,
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
	if (n) {
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
		b.object = m->object;
		if (symbols_resolve_path(symbols, m->path, m->build_id, m->build_id_len, addrs + i, end - i, on_chain,
					 &b))
			b.err = -ENOMEM;
	}
	symbols_free(symbols);
	free(frames);
	free(addrs);
	return b.err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "attr/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attr/debugfile.h"
#include "attr/demangle.h"
#include "attr/dwfl.h"
#include "attr/ehframe.h"
#include "attr/symcache.h"
#include "attr/symtab.h"
#include "attr/syscalls.h"

#define MAX_NAME 1024

struct symbols {
	bool use_cache, use_dwarf;
	struct symbols_counters counters;
};

/* One call of symbols_resolve(). */
struct job {
	struct symbols *s;
	struct module *m;
	struct symcache *cache;
	const uint64_t *addrs; /* as the caller gave them */
	size_t *order;	       /* positions of the addresses still unnamed, by ascending address */
	size_t count;
	uint64_t *sorted; /* addrs[order[i]] */
	bool *done;	  /* by position in sorted */
	symbol_fn fn;
	void *ctx;
};

struct symbols *symbols_new(bool use_cache, bool use_dwarf)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (s) {
		s->use_cache = use_cache;
		s->use_dwarf = use_dwarf;
	}
	return s;
}

void symbols_free(struct symbols *s)
{
	free(s);
}

const struct symbols_counters *symbols_counters(const struct symbols *s)
{
	return &s->counters;
}

void symbols_kernel(uint64_t addr, char *out, size_t size)
{
	const char *name = addr == FMT_KERNEL_OTHER ? NULL : syscall_name(NULL, (long)addr);

	if (name)
		snprintf(out, size, "[kernel:%s]", name);
	else if (addr == FMT_KERNEL_OTHER)
		snprintf(out, size, "[kernel]");
	else
		snprintf(out, size, "[kernel:syscall_%llu]", (unsigned long long)addr);
}

/* Takes out what has been named, keeping the order. */
static void compact(struct job *j)
{
	size_t kept = 0;

	for (size_t i = 0; i < j->count; i++) {
		if (j->done[i])
			continue;
		j->order[kept] = j->order[i];
		j->sorted[kept++] = j->sorted[i];
	}
	memset(j->done, 0, j->count);
	j->count = kept;
}

static void from_cache(struct job *j)
{
	for (size_t i = 0; i < j->count; i++) {
		struct symbol_frame f[DWFL_MAX_CHAIN];
		unsigned n = symcache_get(j->cache, j->sorted[i], f, DWFL_MAX_CHAIN);

		if (!n)
			continue;
		j->fn(j->ctx, j->order[i], f, n, SYM_DWARF);
		j->s->counters.from_cache++;
		j->done[i] = true;
	}
	compact(j);
}

static void on_chain(void *ctx, size_t i, const struct dwfl_frame *frames, unsigned n)
{
	struct job *j = ctx;
	struct symbol_frame out[DWFL_MAX_CHAIN];
	char names[DWFL_MAX_CHAIN][MAX_NAME];

	for (unsigned k = 0; k < n; k++) {
		const char *name = frames[k].linkage ? frames[k].linkage : frames[k].name;

		/* a function without a name in DWARF is one for the symbol table */
		if (!name)
			return;
		out[k] = (struct symbol_frame){ demangle(name, names[k], MAX_NAME), frames[k].decl_file, frames[k].decl_line,
						frames[k].file, frames[k].line };
	}
	j->fn(j->ctx, j->order[i], out, n, SYM_DWARF);
	symcache_put(j->cache, j->sorted[i], out, n);
	j->s->counters.dwarf++;
	j->done[i] = true;
}

static void from_dwarf(struct job *j, int fd, int64_t bias)
{
	struct dwfl_file *f = j->count ? dwfl_file_open(fd, bias) : NULL;

	if (!f)
		return;
	dwfl_file_chains(f, j->sorted, j->count, on_chain, j);
	dwfl_file_close(f);
	compact(j);
}

static void from_symtab(struct job *j, const struct symtab *t, const struct ehframe *eh)
{
	for (size_t i = 0; i < j->count; i++) {
		const struct symtab_entry *e = symtab_find(t, j->sorted[i]);
		char name[MAX_NAME];
		struct symbol_frame f = { .name = name };
		uint64_t start, end;

		/* a symbol without a size says nothing about code that call frame information
		 * shows to be another function */
		if (!e || (!e->sized && eh && ehframe_function(eh, j->sorted[i], &start, &end) && start > e->start))
			continue;
		demangle(symtab_name(t, e), name, sizeof(name));
		j->fn(j->ctx, j->order[i], &f, 1, SYM_TABLE);
		j->s->counters.table++;
		j->done[i] = true;
	}
	compact(j);
}

/* What is left gets the bounds of its function, or its own address: never "unknown". */
static void from_bounds(struct job *j, const char *object, const struct ehframe *eh)
{
	for (size_t i = 0; i < j->count; i++) {
		char name[MAX_NAME];
		struct symbol_frame f = { .name = name };
		uint64_t start, end;
		bool bounds = eh && ehframe_function(eh, j->sorted[i], &start, &end);

		snprintf(name, sizeof(name), "%s+0x%llx", object, (unsigned long long)(bounds ? start : j->sorted[i]));
		j->fn(j->ctx, j->order[i], &f, 1, bounds ? SYM_FDE : SYM_OFFSET);
		if (bounds)
			j->s->counters.fde++;
		else
			j->s->counters.offset++;
	}
	j->count = 0;
}

static const uint64_t *compare_addrs;

static int by_addr(const void *a, const void *b)
{
	uint64_t x = compare_addrs[*(const size_t *)a], y = compare_addrs[*(const size_t *)b];

	return x < y ? -1 : x > y;
}

static void resolve_file(struct job *j)
{
	int fd = module_fd(j->m), debug = -1;
	const struct ehframe *eh = module_ehframe(j->m);
	struct symtab t = { 0 };
	int64_t bias = 0;

	/* addresses of a file that could not be opened are offsets in it: nothing else knows those */
	if (j->s->use_cache && j->s->use_dwarf && j->m->state == MODULE_OPEN)
		j->cache = symcache_open(j->m->build_id, j->m->build_id_len);
	from_cache(j);
	if (fd >= 0 && j->count) {
		debug = debugfile_open(fd, j->m->path, j->m->build_id, j->m->build_id_len, &bias);
		if (j->s->use_dwarf) {
			from_dwarf(j, fd, 0);
			if (debug >= 0)
				from_dwarf(j, debug, bias);
		}
		if (j->count) {
			symtab_add_file(&t, fd, 0);
			if (debug >= 0)
				symtab_add_file(&t, debug, bias);
			symtab_sort(&t);
			from_symtab(j, &t, eh);
			symtab_release(&t);
		}
	}
	from_bounds(j, j->m->object, eh);
	if (debug >= 0)
		close(debug);
	symcache_close(j->cache);
}

int symbols_resolve(struct symbols *s, struct module *m, const uint64_t *addrs, size_t count, symbol_fn fn, void *ctx)
{
	struct job j = { .s = s, .m = m, .addrs = addrs, .count = count, .fn = fn, .ctx = ctx };
	int err = 0;

	if (!count)
		return 0;
	s->counters.asked += count;
	if (m->kind == FMT_MOD_KERNEL) {
		for (size_t i = 0; i < count; i++) {
			char name[64];
			struct symbol_frame f = { .name = name };

			symbols_kernel(addrs[i], name, sizeof(name));
			fn(ctx, i, &f, 1, SYM_KERNEL);
		}
		return 0;
	}
	j.order = malloc(count * sizeof(*j.order));
	j.sorted = malloc(count * sizeof(*j.sorted));
	j.done = calloc(count, sizeof(*j.done));
	if (j.order && j.sorted && j.done) {
		for (size_t i = 0; i < count; i++)
			j.order[i] = i;
		compare_addrs = addrs;
		qsort(j.order, count, sizeof(*j.order), by_addr);
		for (size_t i = 0; i < count; i++)
			j.sorted[i] = addrs[j.order[i]];
		resolve_file(&j);
	} else {
		err = -ENOMEM;
	}
	free(j.order);
	free(j.sorted);
	free(j.done);
	return err;
}

int symbols_resolve_path(struct symbols *s, const char *path, const uint8_t *build_id, unsigned build_id_len, const uint64_t *addrs,
			 size_t count, symbol_fn fn, void *ctx)
{
	struct module *m = module_open_path(path, build_id, build_id_len, NULL);
	const char *slash = strrchr(path, '/');
	int err;

	if (m) {
		err = symbols_resolve(s, m, addrs, count, fn, ctx);
		module_close_path(m);
		return err;
	}
	/* the file is gone or another one: what the cache knows, else object+0xaddr */
	struct symcache *cache = s->use_cache ? symcache_open(build_id, build_id_len) : NULL;

	s->counters.asked += count;
	for (size_t i = 0; i < count; i++) {
		struct symbol_frame f[DWFL_MAX_CHAIN];
		unsigned n = symcache_get(cache, addrs[i], f, DWFL_MAX_CHAIN);
		char name[MAX_NAME];

		if (n) {
			s->counters.from_cache++;
			fn(ctx, i, f, n, SYM_DWARF);
			continue;
		}
		snprintf(name, sizeof(name), "%s+0x%llx", slash ? slash + 1 : path, (unsigned long long)addrs[i]);
		f[0] = (struct symbol_frame){ .name = name };
		s->counters.offset++;
		fn(ctx, i, f, 1, SYM_OFFSET);
	}
	symcache_close(cache);
	return 0;
}

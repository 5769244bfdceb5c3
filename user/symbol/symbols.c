// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/pieces.h"
#include "symbol/contained_child.h"
#include "symbol/debugfile.h"
#include "symbol/demangle.h"
#include "symbol/dwfl.h"
#include "proc/ehframe.h"
#include "symbol/symcache.h"
#include "symbol/symtab.h"
#include "proc/syscalls.h"
#include "util/buf.h"

#define MAX_NAME 1024            /* bytes of a name in words; longer ones are cut; by hand */
#define FILE_SECONDS 120         /* of CPU for one file; 50 MB of DWARF take half a second */
#define FILE_MEMORY (4ull << 30) /* bytes, and three times the files' own: a hostile file ends there; by hand */

struct symbols {
	bool use_cache, use_dwarf, absolute;
	struct symbols_counters counters;
};

/* One call of symbols_resolve(). */
struct symbols_job {
	struct symbols *s;
	struct module *m;
	const struct ehframe *eh;
	struct code_pieces pieces; /* where that says nothing */
	uint64_t *begins; /* by position in sorted, while symbol tables are read: of the function; 0: unknown */
	struct symcache *cache;
	const uint64_t *addrs; /* as the caller gave them */
	size_t *order;         /* positions of the addresses still unnamed, by ascending address */
	size_t count;
	uint64_t *sorted; /* addrs[order[i]] */
	bool *done;       /* by position in sorted */
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

void symbols_absolute(struct symbols *s)
{
	s->absolute = true;
	s->use_cache = false;
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
static void compact(struct symbols_job *j)
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

/* The function around addr, without its name; 0: not known. */
static enum symbol_origin nameless_bounds(struct symbols_job *j, uint64_t addr, uint64_t *start)
{
	uint64_t end, from = 0, to = 0, before, behind;

	if (j->eh && ehframe_function(j->eh, addr, start, &end))
		return SYM_FDE;
	for (unsigned i = 0; i < j->m->segment_count && !to; i++) {
		const struct module_segment *g = &j->m->segments[i];

		if ((g->flags & PF_X) && addr >= g->vaddr && addr - g->vaddr < g->filesz) {
			from = g->vaddr;
			to = g->vaddr + g->filesz;
		}
	}
	before = from;
	behind = to;
	ehframe_between(j->eh, addr, &before, &behind);
	j->pieces.read = module_code_read;
	j->pieces.ctx = j->m;
	j->pieces.from = before > from ? before : from;
	j->pieces.to = behind < to ? behind : to;
	return to && j->m->machine == EM_X86_64 && code_piece(&j->pieces, addr, start, &end) ? SYM_FLOW : 0;
}

/* What no file names gets the bounds of its function, or its own address: never "unknown". */
static void name_by_bounds(struct symbols_job *j, size_t i)
{
	char name[MAX_NAME];
	struct symbol_frame f = { .name = name };
	uint64_t start = j->sorted[i];
	enum symbol_origin by = nameless_bounds(j, start, &start);

	snprintf(name, sizeof(name), "%s+0x%llx", j->m->object, (unsigned long long)start);
	j->fn(j->ctx, j->order[i], &f, 1, by ? by : SYM_OFFSET);
	j->s->counters.fde += by == SYM_FDE;
	j->s->counters.offset += !by;
}

static void from_cache(struct symbols_job *j)
{
	for (size_t i = 0; i < j->count; i++) {
		struct symbol_frame f[DWFL_MAX_CHAIN];
		enum symbol_origin origin = 0;
		unsigned n = symcache_get(j->cache, j->sorted[i], f, DWFL_MAX_CHAIN, &origin);

		if (!origin)
			continue;
		if (n)
			j->fn(j->ctx, j->order[i], f, n, origin);
		else
			name_by_bounds(j, i);
		j->s->counters.from_cache += n > 0;
		j->done[i] = true;
	}
	compact(j);
}

/* ---- DWARF and symbol tables, read in children: the libraries are not made for hostile files ---- */

struct file_job {
	struct symbols_job *j;
	const struct debugfile *file[2]; /* DWARF: one; symbol tables: the module's and the separate one's */
	enum symbol_origin origin;
	bool keep; /* in the cache */
	struct contained_out *out;
	struct buf record;
	const struct dwfl_piece *piece; /* in the child: what chains are of; NULL: of what was asked for */
};

#define NOT_ASKED UINT32_MAX /* the index of a chain that is for the cache */
#define KEPT_AT_ONCE 16384   /* of one file at a time: some 30 ms; by hand */

static void put_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void pack_string(struct buf *b, const char *s)
{
	size_t n = s ? strnlen(s, MAX_NAME * 4) : 0;

	put_u32(b, s ? (uint32_t)n + 1 : 0);
	buf_add(b, s ? s : "", n);
	buf_addch(b, '\0');
}

/* In the child: one record a chain. */
static void send_chain(void *ctx, size_t i, const struct dwfl_frame *frames, unsigned n)
{
	struct file_job *d = ctx;
	char name[MAX_NAME];

	buf_clear(&d->record);
	put_u32(&d->record, d->piece ? NOT_ASKED : (uint32_t)i);
	put_u32(&d->record, d->piece ? (uint32_t)d->piece[i].addr : 0);
	put_u32(&d->record, d->piece ? (uint32_t)(d->piece[i].addr >> 32) : 0);
	put_u32(&d->record, d->piece ? d->piece[i].bytes : 1);
	put_u32(&d->record, n);
	for (unsigned k = 0; k < n; k++) {
		const char *raw = frames[k].linkage ? frames[k].linkage : frames[k].name;

		if (!raw) /* a function without a name in DWARF is one for the symbol table */
			return;
		put_u32(&d->record, frames[k].decl_line);
		put_u32(&d->record, frames[k].line);
		pack_string(&d->record, demangle(raw, name, sizeof(name)));
		pack_string(&d->record, frames[k].decl_file);
		pack_string(&d->record, frames[k].file);
	}
	if (!buf_failed(&d->record))
		contained_put(d->out, d->record.data, d->record.len);
}

static int pieces_by_address(const void *a, const void *b)
{
	const struct dwfl_piece *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* For the cache: the rest of the functions that were asked for, so that they are complete there. */
static void send_pieces(struct file_job *d, struct dwfl_file *f, struct dwfl_pieces *p)
{
	uint64_t *addr = malloc((p->count + 1) * sizeof(*addr));

	if (p->count)
		qsort(p->piece, p->count, sizeof(*p->piece), pieces_by_address);
	for (size_t i = 0; addr && i < p->count; i++)
		addr[i] = p->piece[i].addr;
	d->piece = p->piece;
	if (addr)
		dwfl_file_chains(f, addr, p->count, send_chain, d, NULL);
	free(addr);
}

static int produce_chains(void *ctx, struct contained_out *out)
{
	struct file_job *d = ctx;
	struct dwfl_file *f = dwfl_file_open(d->file[0]->fd, d->file[0]->alt, d->file[0]->bias);
	struct dwfl_pieces pieces = { .most = d->keep && d->j->cache ? KEPT_AT_ONCE : 0 };
	int err;

	d->out = out;
	if (!f)
		return 0;
	if (d->j->s->absolute)
		dwfl_file_absolute(f);
	err = dwfl_file_chains(f, d->j->sorted, d->j->count, send_chain, d, pieces.most ? &pieces : NULL);
	if (!err && pieces.count)
		send_pieces(d, f, &pieces);
	free(pieces.piece);
	return err;
}

struct symbols_input {
	const uint8_t *at, *end;
	bool bad;
};

static uint32_t get_u32(struct symbols_input *in)
{
	uint32_t v = 0;

	if (in->end - in->at < 4)
		in->bad = true;
	else
		memcpy(&v, in->at, 4);
	in->at += in->bad ? 0 : 4;
	return v;
}

static const char *unpack_string(struct symbols_input *in)
{
	uint32_t n = get_u32(in);
	const char *s = (const char *)in->at;
	size_t bytes = n ? n : 1;

	if (in->bad || (size_t)(in->end - in->at) < bytes || s[bytes - 1]) {
		in->bad = true;
		return NULL;
	}
	in->at += bytes;
	return n ? s : NULL;
}

static void keep_exactly(struct symbols_job *j, size_t i, const struct symbol_frame *frames, unsigned n,
			 enum symbol_origin origin)
{
	symcache_put(j->cache, (struct dwfl_piece){ j->sorted[i], 1 }, frames, n, origin);
}

static int consume_chain(void *ctx, const uint8_t *record, size_t size)
{
	struct file_job *d = ctx;
	struct symbols_job *j = d->j;
	struct symbol_frame out[DWFL_MAX_CHAIN];
	struct symbols_input in = { record, record + size, false };
	uint32_t i = get_u32(&in);
	uint64_t low = get_u32(&in), high = get_u32(&in);
	struct dwfl_piece at = { low | high << 32, get_u32(&in) };
	uint32_t n = get_u32(&in);

	if (in.bad || (i != NOT_ASKED && (i >= j->count || j->done[i])) || !n || n > DWFL_MAX_CHAIN)
		return -EIO;
	for (uint32_t k = 0; k < n; k++) {
		out[k].decl_line = get_u32(&in);
		out[k].line = get_u32(&in);
		out[k].name = unpack_string(&in);
		out[k].decl_file = unpack_string(&in);
		out[k].file = unpack_string(&in);
		if (in.bad || !out[k].name)
			return -EIO;
	}
	if (i == NOT_ASKED) {
		symcache_put(j->cache, at, out, n, d->origin);
		return 0;
	}
	j->fn(j->ctx, j->order[i], out, n, d->origin);
	if (d->keep)
		keep_exactly(j, i, out, n, d->origin);
	if (d->origin == SYM_DWARF)
		j->s->counters.dwarf++;
	else
		j->s->counters.table++;
	j->done[i] = true;
	return 0;
}

/* What the file can honestly hold: a hole has no debug information. */
static uint64_t honest_size(int fd)
{
	struct stat st;
	uint64_t held;

	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0)
		return 0;
	held = (uint64_t)st.st_blocks * 512;
	return held < (uint64_t)st.st_size ? held : (uint64_t)st.st_size;
}

/* Whether it was read to its end. */
static bool read_apart(struct file_job *d, int (*produce)(void *, struct contained_out *))
{
	struct contained_job apart = {
		.produce = produce,
		.consume = consume_chain,
		.ctx = d,
		.cpu_seconds = FILE_SECONDS,
		.memory = FILE_MEMORY,
		.keep_fd = { d->file[0]->fd, d->file[1] ? d->file[1]->fd : -1, d->file[0]->alt },
	};
	int err;

	for (unsigned i = 0; i < CONTAINED_FDS; i++)
		apart.memory += 3 * honest_size(apart.keep_fd[i]);
	demangle_prepare();
	err = contained_run(&apart);
	if (err && err != -ECANCELED)
		d->j->s->counters.dwarf_failed++;
	buf_release(&d->record);
	compact(d->j);
	return !err;
}

/* Whether there is any, and it was read to its end. */
static bool from_dwarf(struct symbols_job *j, const struct debugfile *file)
{
	struct file_job d = { .j = j, .file = { file }, .origin = SYM_DWARF, .keep = file->ours };

	j->s->counters.dwarf_failed += file->refused;
	return j->count && file->dwarf && read_apart(&d, produce_chains);
}

static int produce_symbols(void *ctx, struct contained_out *out)
{
	struct file_job *d = ctx;
	struct symbols_job *j = d->j;
	struct symtab t = { 0 };

	d->out = out;
	for (unsigned i = 0; i < 2; i++)
		if (d->file[i] && d->file[i]->fd >= 0)
			symtab_add_file(&t, d->file[i]->fd, d->file[i]->bias);
	symtab_sort(&t);
	for (size_t i = 0; i < j->count; i++) {
		const struct symtab_entry *e = symtab_find(&t, j->sorted[i]);

		/* a symbol without a size says nothing about code that is another function by call frame
		 * information, or by what control flow reaches */
		if (!e || (!e->sized && j->begins[i] > e->start))
			continue;
		send_chain(d, i, &(struct dwfl_frame){ .name = symtab_name(&t, e) }, 1);
	}
	symtab_release(&t);
	return 0;
}

/* keep: debug information that says nothing of what is left was read, so that none will say more of it later. */
static void from_symtab(struct symbols_job *j, const struct debugfile *own, const struct debugfile *separate, bool keep)
{
	struct file_job d = { .j = j, .file = { own, separate }, .origin = SYM_TABLE, .keep = keep };
	bool whole;

	j->begins = j->count ? calloc(j->count, sizeof(*j->begins)) : NULL;
	if (!j->begins)
		return;
	for (size_t i = 0; i < j->count; i++)
		nameless_bounds(j, j->sorted[i], &j->begins[i]);
	whole = read_apart(&d, produce_symbols);
	free(j->begins);
	j->begins = NULL;
	if (!whole || !keep)
		return;
	for (size_t i = 0; i < j->count; i++)
		keep_exactly(j, i, NULL, 0, SYM_OFFSET);
}

static int by_addr(const void *a, const void *b, void *addrs)
{
	const uint64_t *addr = addrs;
	uint64_t x = addr[*(const size_t *)a], y = addr[*(const size_t *)b];

	return x < y ? -1 : x > y;
}

static void resolve_file(struct symbols_job *j)
{
	struct debugfile own = { .fd = -1, .alt = -1 }, separate = own;
	int fd = module_fd(j->m);
	/* addresses of a file that could not be opened are offsets in it: nothing else knows those */
	uint64_t content = j->s->use_cache && j->s->use_dwarf ? module_content(j->m) : 0;
	bool all = false;

	j->eh = module_ehframe(j->m);
	if (content)
		j->cache = symcache_open(j->m->build_id, j->m->build_id_len, content);
	from_cache(j);
	if (j->count && debugfile_own(&own, fd, j->m->path)) {
		debugfile_separate(&separate, &own, j->m->path, j->m->build_id, j->m->build_id_len);
		if (j->s->use_dwarf) {
			all = from_dwarf(j, &own);
			all |= from_dwarf(j, &separate);
		}
		from_symtab(j, &own, &separate, all && own.ours && (separate.fd < 0 || separate.ours));
	}
	for (size_t i = 0; i < j->count; i++)
		name_by_bounds(j, i);
	code_pieces_release(&j->pieces);
	debugfile_close(&separate);
	debugfile_close(&own);
	symcache_close(j->cache);
}

int symbols_resolve(struct symbols *s, struct module *m, const uint64_t *addrs, size_t count, symbol_fn fn, void *ctx)
{
	struct symbols_job j = { .s = s, .m = m, .addrs = addrs, .count = count, .fn = fn, .ctx = ctx };
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
		qsort_r(j.order, count, sizeof(*j.order), by_addr, (void *)addrs);
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

int symbols_resolve_path(struct symbols *s, const char *path, const uint8_t *build_id, unsigned build_id_len,
			 const uint64_t *addrs, size_t count, symbol_fn fn, void *ctx)
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
	struct symcache *cache = s->use_cache ? symcache_open_gone(build_id, build_id_len) : NULL;

	s->counters.asked += count;
	for (size_t i = 0; i < count; i++) {
		struct symbol_frame f[DWFL_MAX_CHAIN];
		enum symbol_origin origin = 0;
		unsigned n = symcache_get(cache, addrs[i], f, DWFL_MAX_CHAIN, &origin);
		char name[MAX_NAME];

		if (n) {
			s->counters.from_cache++;
			fn(ctx, i, f, n, origin);
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

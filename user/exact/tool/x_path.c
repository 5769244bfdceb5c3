/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each function, with everything it calls, exchanges with the rest. A path is the order in which
 * functions were first entered on a stack: the functions on it are those that are active. Each byte
 * remembers the path of its last writer, so that a read is one edge between two paths, whatever their
 * depth; for a function, edges whose reader's path holds it and whose writer's does not are what
 * comes in. Bytes handed to the kernel leave.
 *
 * Chunks of the ke semantics: `ke` counts as for single functions, once per invocation. `within` counts a
 * chunk once per invocation of a function with all it calls, for all functions on the stack at a time: what
 * was read before at time T was read by the frames entered until T. So the reader's path gains one, and
 * the path of the innermost of these frames loses one; what sums up below a function is right for it.
 */
#include "x.h"

#define PATHS_MOST 2000000u /* then paths end in their parents, as lost_paths says; by hand */

typedef struct Path {
	UInt id;    /* from 1; 0 is nobody */
	Bool again; /* its function is active already: an inner call of a recursion */
	Fn *fn;
	struct Path *parent;
	struct Path *base; /* where the set of active functions last grew */
	struct Path *hash_next;
	ULong calls, insns, compute;
} Path;

typedef struct {
	ULong key; /* writer's path << 32 | reader's */
	UInt index;
	ULong bytes[2], ke[2];
	Long within[2];
	ULong unique[2];
} PathEdge;

Bool paths_on;
ULong lost_paths;
static Path **paths;
static UInt path_count, path_cap;
#define PATH_HASH 65536 /* chains of paths by parent and function; by hand */
static Path *path_hash[PATH_HASH];
static PathEdge **pedges;
static UInt pedge_count, pedge_cap, pedge_slots;
static PathEdge **pedge_hash;
static PathEdge *recent[256];

/* The stretches of inv_counter in which one thread ran; kept from the second thread on. */
typedef struct {
	UInt from;
	ThreadId tid;
} Stretch;
static Stretch *stretches;
static UInt stretch_count, stretch_cap;

void path_init(void)
{
	paths_on = opt.callees || opt.candidates;
}

static Path *path_child(Path *parent, Fn *fn, Bool again)
{
	UInt h = ((parent ? parent->id : 0) * 0x9e3779b1u ^ fn->id * 0x85ebca6bu) % PATH_HASH;
	Path *p;

	for (p = path_hash[h]; p; p = p->hash_next)
		if (p->parent == parent && p->fn == fn)
			return p;
	if (path_count >= PATHS_MOST) {
		lost_paths++;
		return parent;
	}
	if (path_count == path_cap) {
		path_cap = path_cap ? path_cap * 2 : 1024;
		paths = VG_(realloc)("x.paths", paths, path_cap * sizeof(*paths));
	}
	p = VG_(calloc)("x.path", 1, sizeof(*p));
	p->fn = fn;
	p->parent = parent;
	p->again = again;
	p->base = again ? parent->base : p;
	p->hash_next = path_hash[h];
	path_hash[h] = p;
	paths[path_count++] = p;
	p->id = path_count;
	return p;
}

/* Does this function stand by itself? Other ones are part of their caller's path. */
static Bool path_unit(const Fn *fn)
{
	if (!opt.callees)
		return fn->flags & FNF_CANDIDATE;
	return fn->flags & FNF_SELECTED && (!opt.attr_main || fn->flags & FNF_MAIN_IMAGE);
}

/* The frame is already counted among the active ones of its function. */
void path_enter(Thread *t, Frame *f, const Frame *up)
{
	Path *above = up ? up->path : NULL;

	if (!path_unit(f->fn)) {
		f->path = above;
		return;
	}
	if (t->active[f->fn->id] == 1 || !above)
		f->path = path_child(above, f->fn, False);
	else
		f->path = above->base->fn == f->fn ? above->base : path_child(above->base, f->fn, True);
	if (f->path && X.counting)
		f->path->calls++;
}

void path_counted(const Clock *now, const Clock *then)
{
	if (!X.path)
		return;
	X.path->insns += (UInt)(now->insns - then->insns);
	X.path->compute += (UInt)(now->compute - then->compute);
}

/* Another thread is about to run: what comes is told from what was by a number of its own. */
void path_switch(void)
{
	if (stretch_count == stretch_cap) {
		stretch_cap = stretch_cap ? stretch_cap * 2 : 256;
		stretches = VG_(realloc)("x.stretches", stretches, stretch_cap * sizeof(*stretches));
	}
	stretches[stretch_count++] = (Stretch){ ++inv_counter, X.t ? X.t->tid : 0 };
}

/* Which thread ran at this time. An entry says who ran until its beginning. */
static ThreadId thread_then(UInt time)
{
	UInt lo = 0, hi = stretch_count;

	while (lo < hi) {
		UInt mid = (lo + hi) / 2;

		if (stretches[mid].from > time)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < stretch_count ? stretches[lo].tid : X.t->tid;
}

static ULong mix(ULong k)
{
	k ^= k >> 31;
	k *= 0x9e3779b97f4a7c15ull;
	return k ^ k >> 29;
}

static void pedge_rehash(void)
{
	UInt slots = pedge_slots ? pedge_slots * 2 : 8192;
	PathEdge **h = VG_(calloc)("x.pedgehash", slots, sizeof(*h));

	for (UInt i = 0; i < pedge_count; i++) {
		UInt s = mix(pedges[i]->key) & (slots - 1);

		while (h[s])
			s = (s + 1) & (slots - 1);
		h[s] = pedges[i];
	}
	VG_(free)(pedge_hash);
	pedge_hash = h;
	pedge_slots = slots;
}

static PathEdge *pedge(UInt writer, UInt reader)
{
	ULong key = (ULong)writer << 32 | reader, m = mix(key);
	PathEdge *e = recent[m >> 40 & 255];
	UInt s;

	if (LIKELY_(e && e->key == key))
		return e;
	if (pedge_count * 2 >= pedge_slots)
		pedge_rehash();
	for (s = m & (pedge_slots - 1); (e = pedge_hash[s]); s = (s + 1) & (pedge_slots - 1))
		if (e->key == key)
			return recent[m >> 40 & 255] = e;
	if (pedge_count == pedge_cap) {
		pedge_cap = pedge_cap ? pedge_cap * 2 : 1024;
		pedges = VG_(realloc)("x.pedges", pedges, pedge_cap * sizeof(*pedges));
	}
	e = VG_(calloc)("x.pedge", 1, sizeof(*e));
	e->key = key;
	e->index = pedge_count;
	pedges[pedge_count++] = e;
	pedge_hash[s] = e;
	return recent[m >> 40 & 255] = e;
}

static void read_bytes(const Sec *s, UInt reader, Addr a, UInt n, UInt stack)
{
	UInt off = a & SEC_MASK;

	for (UInt i = 0, j; i < n; i = j) {
		UInt w = s->pw[off + i];
		PathEdge *e = pedge(w, reader);

		for (j = i + 1; j < n && s->pw[off + j] == w; j++)
			;
		e->bytes[stack] += j - i;
		if (opt.unique && e->index < PATH_SETS - 1)
			unique_set(PATH_SETS + e->index, stack, a + i, j - i);
	}
}

/* The path of the innermost frame that was active at `time`, which this thread's frames are in order of. */
static UInt path_since(UInt time)
{
	const Thread *t = X.t;
	UInt lo = 0, hi = t->depth;

	while (lo < hi) {
		UInt mid = (lo + hi) / 2;

		if (t->frames[mid].inv <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && t->frames[lo - 1].path ? t->frames[lo - 1].path->id : 0;
}

static void read_chunks(Sec *s, Addr a, UInt n, UInt stack)
{
	UInt off = a & SEC_MASK, reader = X.path ? X.path->id : 0;

	for (UInt c = off >> opt.chunk_shift; c <= (off + n - 1) >> opt.chunk_shift; c++) {
		PathChunk *p = &s->pc[c];
		UInt w = p->w, read_by = 0;

		if (p->inv == X.inv && X.t->depth && p->time >= X.t->frames[X.t->depth - 1].inv)
			continue; /* by this invocation, and so by all around it */
		if (p->inv != X.inv)
			pedge(w, reader)->ke[stack]++;
		if (p->time && (!stretch_count || thread_then(p->time) == X.t->tid))
			read_by = path_since(p->time);
		if (read_by != reader) {
			pedge(w, reader)->within[stack]++;
			if (read_by)
				pedge(w, read_by)->within[stack]--;
		}
		p->inv = X.inv;
		p->time = inv_counter;
	}
}

static void mark(Addr a, SizeT len, UInt writer)
{
	while (len) {
		UInt off = a & SEC_MASK, n = len < SEC_SIZE - off ? len : SEC_SIZE - off;
		Sec *s = sec_get(a);

		for (UInt i = 0; i < n; i++)
			s->pw[off + i] = writer;
		for (UInt c = off >> opt.chunk_shift; c <= (off + n - 1) >> opt.chunk_shift; c++)
			s->pc[c] = (PathChunk){ writer, 0, 0 };
		a += n;
		len -= n;
	}
}

void path_access(Addr a, UInt size, Bool write, UInt stack)
{
	UInt off = a & SEC_MASK, first = off + size > SEC_SIZE ? SEC_SIZE - off : size;

	if (write) {
		mark(a, size, X.path ? X.path->id : 0);
		return;
	}
	for (UInt n = first; size; a += n, size -= n, n = size) {
		Sec *s = sec_get(a);

		read_bytes(s, X.path ? X.path->id : 0, a, n, stack);
		if (opt.ke)
			read_chunks(s, a, n, stack);
	}
}

static UInt path_apart(UInt fn)
{
	Path *p = path_child(NULL, fns[fn], False);

	return p ? p->id : 0;
}

/* Of what is not counted no path is kept: its writer stands apart. */
void path_uncounted(Addr a, UInt size, UInt who)
{
	mark(a, size, path_apart(who));
}

void path_kernel_write(UInt fn, Addr a, SizeT len)
{
	mark(a, len, path_apart(fn));
}

void path_kernel_read(UInt fn, UInt inv, Addr a, SizeT len)
{
	UInt reader = path_apart(fn);

	while (len) {
		UInt off = a & SEC_MASK, n = len < SEC_SIZE - off ? len : SEC_SIZE - off;
		UInt stack = a - X.lo <= X.span;
		Sec *s = sec_get(a);

		read_bytes(s, reader, a, n, stack);
		for (UInt c = off >> opt.chunk_shift; opt.ke && c <= (off + n - 1) >> opt.chunk_shift; c++)
			if (s->pc[c].inv != inv) {
				PathEdge *e = pedge(s->pc[c].w, reader);

				/* no code has read it by that: its time stays */
				s->pc[c].inv = inv;
				e->ke[stack]++;
				e->within[stack]++;
			}
		a += n;
		len -= n;
	}
}

void path_forget(Sec *s, UInt off, UInt n)
{
	VG_(memset)(s->pw + off, 0, n * sizeof(*s->pw));
	for (UInt c = off >> opt.chunk_shift; c <= (off + n - 1) >> opt.chunk_shift; c++)
		s->pc[c] = (PathChunk){ 0, 0, 0 };
}

void path_copy(Sec *to, UInt to_off, const Sec *from, UInt from_off, UInt n)
{
	VG_(memcpy)(to->pw + to_off, from->pw + from_off, n * sizeof(*to->pw));
	VG_(memcpy)
	(to->pc + (to_off >> opt.chunk_shift), from->pc + (from_off >> opt.chunk_shift),
	 (n >> opt.chunk_shift) * sizeof(*to->pc));
}

/* ---- results ---- */

enum { DIR_IN, DIR_OUT, DIR_LOCAL, DIRS };

typedef struct {
	ULong bytes[DIRS][2];
	Long ke[DIRS][2];
	ULong unique[DIRS][3];
	Bool met;
} Sum;
static Sum *sums;

/* Which functions one edge concerns, and how: recomputed where it is not that of the last call. */
static struct {
	UInt *reads, *writes; /* by function: number of the last edge that has it on that side */
	UInt number;
	UInt *fn, *dir, count, cap;
} sides;

static void side_room(void)
{
	if (sides.count + 2 < sides.cap)
		return;
	sides.cap = sides.cap ? sides.cap * 2 : 256;
	sides.fn = VG_(realloc)("x.sides", sides.fn, sides.cap * sizeof(*sides.fn));
	sides.dir = VG_(realloc)("x.sides", sides.dir, sides.cap * sizeof(*sides.dir));
}

static Path *path_of(UInt id)
{
	return id ? paths[id - 1] : NULL;
}

static void sides_of(const PathEdge *e)
{
	UInt n = ++sides.number;

	sides.count = 0;
	for (Path *p = path_of(e->key >> 32); p; p = p->parent)
		sides.writes[p->fn->id] = n;
	for (Path *p = path_of((UInt)e->key); p; p = p->parent) {
		UInt f = p->fn->id;

		if (sides.reads[f] == n)
			continue;
		sides.reads[f] = n;
		side_room();
		sides.fn[sides.count] = f;
		sides.dir[sides.count++] = sides.writes[f] == n ? DIR_LOCAL : DIR_IN;
	}
	for (Path *p = path_of(e->key >> 32); p; p = p->parent) {
		UInt f = p->fn->id;

		if (sides.reads[f] == n)
			continue;
		sides.reads[f] = n;
		side_room();
		sides.fn[sides.count] = f;
		sides.dir[sides.count++] = DIR_OUT;
	}
}

static void add_edges(void)
{
	for (UInt i = 0; i < pedge_count; i++) {
		const PathEdge *e = pedges[i];

		sides_of(e);
		for (UInt k = 0; k < sides.count; k++) {
			UInt d = sides.dir[k];
			Sum *s = &sums[sides.fn[k]];

			for (UInt c = 0; c < 2; c++) {
				s->bytes[d][c] += e->bytes[c];
				s->ke[d][c] += d == DIR_OUT ? (Long)e->ke[c] : e->within[c];
			}
		}
	}
}

typedef struct {
	ULong bits[DIRS][2][UBLK_WORDS];
} Block;

/* The sets of one block of addresses, united by function; counted when the next block begins. */
static struct {
	ULong address;
	Block **of; /* by function */
	UInt *used, count;
} block;

static ULong ones(const ULong *a, const ULong *b)
{
	ULong n = 0;

	for (UInt i = 0; i < UBLK_WORDS; i++)
		n += __builtin_popcountll(a[i] | (b ? b[i] : 0));
	return n;
}

static void count_block(void)
{
	for (UInt i = 0; i < block.count; i++) {
		UInt f = block.used[i];
		Block *b = block.of[f];

		for (UInt d = 0; d < DIRS; d++) {
			for (UInt c = 0; c < 2; c++)
				sums[f].unique[d][c] += ones(b->bits[d][c], NULL);
			sums[f].unique[d][2] += ones(b->bits[d][0], b->bits[d][1]);
		}
		VG_(memset)(b, 0, sizeof(*b));
		sums[f].met = False;
	}
	block.count = 0;
}

static void unite_set(UInt index, UInt stack, ULong address, const ULong *bits)
{
	if (address != block.address)
		count_block();
	block.address = address;
	pedges[index]->unique[stack] += ones(bits, NULL);
	sides_of(pedges[index]);
	for (UInt k = 0; k < sides.count; k++) {
		UInt f = sides.fn[k];
		ULong *to;

		if (!block.of[f])
			block.of[f] = VG_(calloc)("x.block", 1, sizeof(Block));
		if (!sums[f].met) {
			sums[f].met = True;
			block.used[block.count++] = f;
		}
		to = block.of[f]->bits[sides.dir[k]][stack];
		for (UInt i = 0; i < UBLK_WORDS; i++)
			to[i] |= bits[i];
	}
}

static void unite_sets(void)
{
	block.of = VG_(calloc)("x.blocks", fn_count, sizeof(*block.of));
	block.used = VG_(calloc)("x.blocks", fn_count, sizeof(*block.used));
	block.count = 0;
	for (UInt i = 0; i < pedge_count; i++)
		pedges[i]->unique[0] = pedges[i]->unique[1] = 0;
	unique_path_sets(unite_set);
	count_block();
	for (UInt i = 0; i < fn_count; i++)
		VG_(free)(block.of[i]);
	VG_(free)(block.of);
	VG_(free)(block.used);
}

static void write_function(UInt f, const Sum *s)
{
	struct fmt_x_subtree r;
	struct fmt_x_subtree_ke k;
	uint64_t *sum[DIRS] = { r.in, r.out, r.local };
	uint64_t *set[DIRS] = { r.in_unique, r.out_unique, r.local_unique };
	uint64_t *ke[DIRS] = { k.in, k.out, k.local };

	VG_(memset)(&r, 0, sizeof(r));
	VG_(memset)(&k, 0, sizeof(k));
	r.function = k.function = f + 1;
	for (UInt d = 0; d < DIRS; d++) {
		for (UInt c = 0; c < 2; c++) {
			sum[d][c] = s->bytes[d][c];
			set[d][c] = opt.unique ? s->unique[d][c] : FMT_X_UNKNOWN;
			ke[d][c] = opt.ke ? (ULong)s->ke[d][c] : FMT_X_UNKNOWN;
		}
		k.unique[d] = opt.unique ? s->unique[d][2] : FMT_X_UNKNOWN;
	}
	out_rec(FMT_X_SUBTREE, &r, sizeof(r));
	out_rec(FMT_X_SUBTREE_KE, &k, sizeof(k));
}

static Int by_key(const void *a, const void *b)
{
	ULong x = (*(PathEdge *const *)a)->key, y = (*(PathEdge *const *)b)->key;

	return x < y ? -1 : x > y;
}

static void write_tree(void)
{
	PathEdge **sorted = VG_(malloc)("x.sorted", (pedge_count + 1) * sizeof(*sorted));

	for (UInt i = 0; i < path_count; i++) {
		const Path *p = paths[i];
		struct fmt_x_path r = { p->id,         p->parent ? p->parent->id : 0,
					p->fn->id + 1, p->again ? FMT_X_PATH_AGAIN : 0,
					p->calls,      p->insns,
					p->compute };

		out_rec(FMT_X_PATH, &r, sizeof(r));
	}
	VG_(memcpy)(sorted, pedges, pedge_count * sizeof(*sorted));
	VG_(ssort)(sorted, pedge_count, sizeof(*sorted), by_key);
	for (UInt i = 0; i < pedge_count; i++) {
		const PathEdge *e = sorted[i];
		struct fmt_x_path_edge r = { e->key >> 32, (UInt)e->key, { 0 }, { 0 }, { 0 } };

		for (UInt c = 0; c < 2; c++) {
			r.bytes[c] = e->bytes[c];
			r.unique[c] = opt.unique ? e->unique[c] : FMT_X_UNKNOWN;
			r.ke_chunks[c] = opt.ke ? e->ke[c] : FMT_X_UNKNOWN;
		}
		if (r.bytes[0] || r.bytes[1] || (opt.ke && (e->ke[0] || e->ke[1])))
			out_rec(FMT_X_PATH_EDGE, &r, sizeof(r));
	}
	VG_(free)(sorted);
}

void path_write(void)
{
	if (!paths_on)
		return;
	sums = VG_(calloc)("x.sums", fn_count, sizeof(*sums));
	sides.reads = VG_(calloc)("x.sides", fn_count, sizeof(*sides.reads));
	sides.writes = VG_(calloc)("x.sides", fn_count, sizeof(*sides.writes));
	sides.number = 0;
	add_edges();
	if (opt.unique)
		unite_sets();
	for (UInt f = FN_FIRST; f < fn_count; f++)
		if (fns[f]->mod && path_unit(fns[f]) && fns[f]->calls)
			write_function(f, &sums[f]);
	if (opt.callees)
		write_tree();
	VG_(free)(sides.reads);
	VG_(free)(sides.writes);
	VG_(free)(sums);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data objects and who uses them. Heap blocks are known by the call that allocated them: arguments
 * at the entry of the malloc family and operator new, the result at its return; the program's own
 * allocator runs unchanged. Globals come from symbol tables, stack data by the frame it lies in,
 * mappings by the function that asked for them.
 *
 * Live ranges stand in one sorted array; each instruction remembers the range it met last.
 */
#include "x.h"
#include "../stream.h"

enum { ALLOC_NONE, ALLOC_MALLOC, ALLOC_CALLOC, ALLOC_REALLOC, ALLOC_MEMALIGN, ALLOC_POSIX, ALLOC_FREE, ALLOC_FILL };

typedef struct {
	UInt id; /* from 1 */
	UInt kind;
	Fn *fn;
	ULong blocks, bytes, live, peak;
	ObjectReach reach;
} Obj;

typedef struct {
	Addr lo, hi;
	UInt obj;
	ULong born;
} Range; /* [lo, hi) */

static Obj *objs;
static UInt obj_count, obj_cap;
static UInt obj_gen = 1;
UInt object_of_access;

/* Sorted by address, in buckets so that a malloc-heavy program does not shift all of it. */
#define BUCKET_SHIFT 16
typedef struct {
	Range *r;
	UInt n, cap;
} Bucket;
typedef struct Chain {
	struct Chain *next;
	Addr base;
	Bucket b;
} Chain;
#define BUCKETS 65536 /* chains: 4 GiB of addresses before two buckets share one */
static Chain *buckets[BUCKETS];

typedef struct Key {
	struct Key *next;
	ULong key;
	UInt obj;
} Key;
#define KEYS 16384 /* chains of objects by what they are; by hand */
static Key *keys[KEYS];

static UInt region_of_kind(UInt kind)
{
	switch (kind) {
	case FMT_OBJ_LOCAL:
	case FMT_OBJ_STACK: return FMT_X_R_STACK;
	case FMT_OBJ_HEAP: return FMT_X_R_HEAP;
	case FMT_OBJ_GLOBAL: return FMT_X_R_GLOBAL;
	default: return FMT_X_R_OTHER;
	}
}

static UInt obj_new(UInt kind, const HChar *name, Fn *fn, Addr addr, SizeT size)
{
	Obj *o;
	struct fmt_object r;

	if (obj_count == obj_cap) {
		obj_cap = obj_cap ? obj_cap * 2 : 1024;
		objs = VG_(realloc)("x.objs", objs, obj_cap * sizeof(*objs));
	}
	o = &objs[obj_count++];
	VG_(memset)(o, 0, sizeof(*o));
	o->id = obj_count;
	o->kind = kind;
	o->fn = fn;
	reach_object(&o->reach, region_of_kind(kind));
	VG_(memset)(&r, 0, sizeof(r));
	r.id = o->id;
	r.kind = kind;
	r.name = out_string(name);
	r.function = fn ? fn->id + 1 : 0;
	r.addr = addr;
	r.size = size;
	out_rec(FMT_OBJECT, &r, sizeof(r));
	log_object(o->id, name);
	return o->id;
}

static UInt *keyed(ULong key)
{
	Key *k;
	ULong h = (key * 0x9e3779b97f4a7c15ull >> 40) % KEYS;

	for (k = keys[h]; k; k = k->next)
		if (k->key == key)
			return &k->obj;
	k = VG_(calloc)("x.key", 1, sizeof(*k));
	k->key = key;
	k->next = keys[h];
	keys[h] = k;
	return &k->obj;
}

static Bucket *bucket(Addr a, Bool make)
{
	Addr base = a >> BUCKET_SHIFT;
	Chain *c;

	for (c = buckets[base % BUCKETS]; c; c = c->next)
		if (c->base == base)
			return &c->b;
	if (!make)
		return NULL;
	c = VG_(calloc)("x.bucket", 1, sizeof(*c));
	c->base = base;
	c->next = buckets[base % BUCKETS];
	buckets[base % BUCKETS] = c;
	return &c->b;
}

/* First range in the bucket that ends above a. */
static UInt first_range_above(const Bucket *b, Addr a)
{
	UInt lo = 0, hi = b->n;

	while (lo < hi) {
		UInt mid = (lo + hi) / 2;

		if (b->r[mid].hi <= a)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void range_cut(Addr lo, Addr hi);

/* A range stands in every bucket it reaches into. */
static void range_add(Addr lo, Addr hi, UInt obj)
{
	if (lo >= hi)
		return;
	range_cut(lo, hi);
	for (Addr p = lo >> BUCKET_SHIFT; p <= (hi - 1) >> BUCKET_SHIFT; p++) {
		Bucket *b = bucket(p << BUCKET_SHIFT, True);
		UInt i = first_range_above(b, lo);

		if (b->n == b->cap) {
			b->cap = b->cap ? b->cap * 2 : 16;
			b->r = VG_(realloc)("x.ranges", b->r, b->cap * sizeof(*b->r));
		}
		VG_(memmove)(b->r + i + 1, b->r + i, (b->n - i) * sizeof(*b->r));
		b->r[i] = (Range){ lo, hi, obj, X.now };
		b->n++;
	}
}

/* Removes what overlaps. */
static void range_cut(Addr lo, Addr hi)
{
	for (Addr p = lo >> BUCKET_SHIFT; p <= (hi - 1) >> BUCKET_SHIFT; p++) {
		Bucket *b = bucket(p << BUCKET_SHIFT, False);
		UInt i, j;

		if (!b)
			continue;
		i = j = first_range_above(b, lo);
		while (j < b->n && b->r[j].lo < hi)
			j++;
		VG_(memmove)(b->r + i, b->r + j, (b->n - j) * sizeof(*b->r));
		b->n -= j - i;
	}
	obj_gen++;
}

static Range *range_at(Addr a)
{
	Bucket *b = bucket(a, False);
	UInt i;

	if (!b)
		return NULL;
	i = first_range_above(b, a);
	return i < b->n && b->r[i].lo <= a ? &b->r[i] : NULL;
}

/* ---- heap ---- */

#define MAX_BLOCKS (1u << 20) /* of the heap, told to a profile: 48 MiB; others are lost_blocks; by hand */
static UInt blocks_told;
ULong lost_blocks;

/* Samples know addresses only: where each block lay, and when. */
static void tell_block(const Range *r, ULong died)
{
	struct fmt_object o;

	if (!opt.sample_period && !opt.timer_period)
		return;
	if (!died && blocks_told >= MAX_BLOCKS) {
		lost_blocks++;
		return;
	}
	blocks_told += !died;
	VG_(memset)(&o, 0, sizeof(o));
	o.id = r->obj;
	o.kind = FMT_OBJ_HEAP;
	o.addr = r->lo;
	o.size = r->hi - r->lo;
	o.born = r->born;
	o.died = died;
	out_rec(FMT_OBJECT, &o, sizeof(o));
}

UInt object_alloc_kind(const HChar *name)
{
	static const struct {
		const HChar *name;
		UInt kind;
	} known[] = {
		{ "malloc", ALLOC_MALLOC },
		{ "__libc_malloc", ALLOC_MALLOC },
		{ "__libc_calloc", ALLOC_CALLOC },
		{ "calloc", ALLOC_CALLOC },
		{ "realloc", ALLOC_REALLOC },
		{ "__libc_realloc", ALLOC_REALLOC },
		{ "memalign", ALLOC_MEMALIGN },
		{ "__libc_memalign", ALLOC_MEMALIGN },
		{ "aligned_alloc", ALLOC_MEMALIGN },
		{ "_mid_memalign", ALLOC_MEMALIGN },
		{ "posix_memalign", ALLOC_POSIX },
		{ "free", ALLOC_FREE },
		{ "__libc_free", ALLOC_FREE },
		{ "cfree", ALLOC_FREE },
		{ "_Znwm", ALLOC_MALLOC },
		{ "_Znam", ALLOC_MALLOC },
		{ "_ZnwmRKSt9nothrow_t", ALLOC_MALLOC },
		{ "_ZnamRKSt9nothrow_t", ALLOC_MALLOC },
		{ "_ZnwmSt11align_val_t", ALLOC_MALLOC },
		{ "_ZnamSt11align_val_t", ALLOC_MALLOC },
		{ "_ZdlPv", ALLOC_FREE },
		{ "_ZdaPv", ALLOC_FREE },
		{ "_ZdlPvm", ALLOC_FREE },
		{ "_ZdaPvm", ALLOC_FREE },
	};

	for (UInt i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		UInt n = VG_(strlen)(known[i].name);

		/* a compiler's variant (.isra.0) is as good */
		if (!VG_(strncmp)(name, known[i].name, n) && (!name[n] || name[n] == '.'))
			return known[i].kind;
	}
	/* calloc may end as a jump to it: see object_alloc_goes_on() */
	return VG_(strstr)(name, "memset") ? ALLOC_FILL : ALLOC_NONE;
}

static UInt site_object(Addr ip, Fn *caller, const HChar *how, UInt kind)
{
	UInt *id = keyed((ULong)ip << 3 | kind);
	const HChar *file = NULL, *dir = NULL;
	HChar name[1200];
	UInt line = 0;

	if (*id)
		return *id;
	if (ip && VG_(get_filename_linenum)(VG_(current_DiEpoch)(), ip - 1, &file, &dir, &line) && file)
		VG_(snprintf)
	(name, sizeof(name), "%s in %.500s (%.400s:%u)", how, caller ? caller->name : "?", file, line);
	else if (ip) VG_(snprintf)(name, sizeof(name), "%s in %.500s+0x%lx", how, caller ? caller->name : "?",
				   caller && caller->entry && ip > caller->entry ? ip - caller->entry : 0ul);
	else VG_(snprintf)(name, sizeof(name), "%s", how);
	return *id = obj_new(kind, name, caller, 0, 0);
}

/* An allocator that ends as a jump to what fills the block, and returns it. */
void object_alloc_goes_on(const Frame *from, Frame *f)
{
	if (f->fn->alloc_kind != ALLOC_FILL || !from->alloc)
		return;
	f->alloc = from->alloc;
	VG_(memcpy)(f->alloc_arg, from->alloc_arg, sizeof(f->alloc_arg));
}

void object_alloc_enter(Frame *f)
{
	f->alloc = f->fn->alloc_kind == ALLOC_FILL ? NULL : f->fn;
	f->alloc_arg[0] = call_args[0];
	f->alloc_arg[1] = call_args[1];
	f->alloc_arg[2] = call_args[2];
	if (!opt.objects)
		return;
	if (f->fn->alloc_kind == ALLOC_FREE && call_args[0]) {
		Range *r = range_at(call_args[0]);

		if (r && r->lo == call_args[0] && objs[r->obj - 1].kind == FMT_OBJ_HEAP) {
			objs[r->obj - 1].live -= r->hi - r->lo;
			tell_block(r, X.now);
			range_cut(r->lo, r->hi);
		}
	}
}

void object_alloc_leave(Frame *f, Fn *caller)
{
	const ULong *a = f->alloc_arg;
	ULong size = 0, p = ret_value;
	UInt id;
	Obj *o;

	if (!f->alloc)
		return;
	switch (f->alloc->alloc_kind) {
	case ALLOC_MALLOC: size = a[0]; break;
	case ALLOC_CALLOC: size = a[0] * a[1]; break;
	case ALLOC_REALLOC: {
		Range *old = a[0] && opt.objects ? range_at(a[0]) : NULL;

		size = a[1];
		if (old && old->lo == a[0] && p) {
			objs[old->obj - 1].live -= old->hi - old->lo;
			tell_block(old, X.now);
			range_cut(old->lo, old->hi);
		}
		break;
	}
	case ALLOC_MEMALIGN: size = a[1]; break;
	case ALLOC_POSIX:
		size = a[2];
		p = (Int)ret_value == 0 && VG_(am_is_valid_for_client)(a[0], 8, VKI_PROT_READ) ? *(ULong *)a[0] : 0;
		break;
	default: return;
	}
	if (!p || !size || p + size < p || !VG_(am_is_valid_for_client)(p, 1, VKI_PROT_READ))
		return;
	shadow_heap(p, size);
	if (!opt.objects)
		return;
	/* operator new calls malloc: the outer one, which ends last, names the block */
	{
		Range *inner = range_at(p);

		if (inner && objs[inner->obj - 1].kind == FMT_OBJ_HEAP) {
			objs[inner->obj - 1].live -= inner->hi - inner->lo;
			objs[inner->obj - 1].blocks--;
			objs[inner->obj - 1].bytes -= inner->hi - inner->lo;
			tell_block(inner, X.now);
		}
	}
	id = site_object(f->ret, caller, f->alloc->name, FMT_OBJ_HEAP);
	o = &objs[id - 1];
	o->blocks++;
	o->bytes += size;
	o->live += size;
	if (o->live > o->peak)
		o->peak = o->live;
	range_add(p, p + size, id);
	if (opt.unique)
		reach_allocated(p, size, FMT_X_R_HEAP);
	tell_block(&(Range){ p, p + size, id, X.now }, 0);
}

/* ---- mappings ---- */

void object_mmap(Addr a, SizeT len, Bool anon)
{
	Thread *t = X.t;
	Fn *fn = X.fn;
	Addr ip = 0;

	if (!t || !t->depth)
		return;
	/* not mmap's own frame but its caller's */
	ip = t->frames[t->depth - 1].ret;
	if (t->depth > 1)
		fn = t->frames[t->depth - 2].fn;
	range_add(a, a + len, site_object(ip, fn, "mmap", FMT_OBJ_MMAP));
	(void)anon;
}

void object_unmap(Addr a, SizeT len)
{
	if (len)
		range_cut(a, a + len);
}

/* ---- variables and the rest ---- */

static Bool same_symbol(Addr a, Addr start)
{
	const HChar *name;
	PtrdiffT off;

	return VG_(get_datasym_and_offset)(VG_(current_DiEpoch)(), a, &name, &off) && a - off == start;
}

static Range variable_at(Addr a)
{
	const HChar *name;
	PtrdiffT off;
	HChar copy[512];
	Addr lo, hi, step;
	UInt id;

	if (!VG_(get_datasym_and_offset)(VG_(current_DiEpoch)(), a, &name, &off))
		return (Range){ 0, 0, 0, 0 };
	lo = a - off;
	VG_(snprintf)(copy, sizeof(copy), "%s", name);
	/* the core tells no sizes, but every address tells its symbol */
	for (step = 1; same_symbol(a + step, lo) && step < 1ul << 40; step *= 2)
		;
	hi = a + step / 2;
	for (step /= 2; step; step /= 2)
		if (same_symbol(hi + step, lo))
			hi += step;
	id = obj_new(FMT_OBJ_GLOBAL, copy, NULL, lo, hi + 1 - lo);
	objs[id - 1].blocks = 1;
	objs[id - 1].bytes = objs[id - 1].peak = hi + 1 - lo;
	range_add(lo, hi + 1, id);
	if (opt.unique)
		reach_allocated(lo, hi + 1 - lo, FMT_X_R_GLOBAL);
	return (Range){ lo, hi + 1, id, 0 };
}

/* Which variable of the function lies there; of several that share the place, the smallest. */
static UInt local_of_frame(Fn *fn, Long off)
{
	UInt best = ~0u;

	if (!fn->locals_asked) {
		fn->locals_asked = True;
		if (fn->mod && fn->entry)
			fn->local_count = ask_locals(fn->mod->path, fn->vaddr, &fn->locals);
		fn->local_obj = VG_(calloc)("x.locals", fn->local_count + 1, sizeof(*fn->local_obj));
	}
	for (UInt i = 0; i < fn->local_count; i++) {
		const struct xs_local *l = &fn->locals[i];

		if (off >= l->offset && off < l->offset + (Long)l->size &&
		    (best == ~0u || l->size < fn->locals[best].size))
			best = i;
	}
	return best;
}

/* Stack data belongs to the frame it lies in. */
static UInt frame_object(Addr a)
{
	Thread *t = X.t;
	UInt lo = frame_around(t, a);
	HChar name[1100];
	UInt *id;
	Fn *fn;

	fn = t->depth ? t->frames[lo].fn : NULL;
	if (fn && lo) {
		Long off = a - (t->frames[lo].sp + 8);
		UInt i = local_of_frame(fn, off);

		if (i < fn->local_count) {
			if (!fn->local_obj[i]) {
				VG_(snprintf)(name, sizeof(name), "%.48s in %.1000s", fn->locals[i].name, fn->name);
				fn->local_obj[i] = obj_new(FMT_OBJ_LOCAL, name, fn, 0, fn->locals[i].size);
				objs[fn->local_obj[i] - 1].bytes = objs[fn->local_obj[i] - 1].peak = fn->locals[i].size;
			}
			return fn->local_obj[i];
		}
	}
	id = keyed((ULong)(fn ? fn->id : 0) << 3 | 7);
	if (!*id) {
		VG_(snprintf)(name, sizeof(name), "stack of %.1000s", fn ? fn->name : "?");
		*id = obj_new(FMT_OBJ_STACK, name, fn, 0, 0);
	}
	return *id;
}

static UInt rest_object(Addr a)
{
	Sec *s = sec_get(a);
	UInt tag = s->tag[(a & SEC_MASK) >> 12];
	UInt *id = keyed((ULong)tag << 3 | 6);
	static const HChar *const names[] = { "[stack]", "[heap, outside any block]", "[sections of files]",
					      "[other memory]" };

	if (!*id)
		*id = obj_new(tag == FMT_X_R_HEAP     ? FMT_OBJ_HEAP
			      : tag == FMT_X_R_GLOBAL ? FMT_OBJ_GLOBAL
						      : FMT_OBJ_MMAP,
			      names[tag & 3], NULL, 0, 0);
	return *id;
}

/* ---- uses ---- */

#define USE_HASH 65536      /* chains of uses by function and object; by hand */
#define CONSUMER_USE 0xfffd /* sets that are no edges */
static Use *uses[USE_HASH];
static UInt use_count;

static Use *use_get(UInt fn, UInt obj)
{
	UInt h = (fn * 0x9e3779b1u ^ obj * 0x85ebca6bu) % USE_HASH;
	Use *u;

	for (u = uses[h]; u; u = u->next)
		if (u->fn == fn && u->object == obj)
			return u;
	u = VG_(calloc)("x.use", 1, sizeof(*u));
	u->fn = fn;
	u->object = obj;
	u->next = uses[h];
	u->reach = reach_get(fn, region_of_kind(objs[obj - 1].kind));
	uses[h] = u;
	if (opt.unique && use_count < 0xffff)
		u->set = edge_get(EDGE_KEY(use_count++, CONSUMER_USE))->index + 1;
	return u;
}

/* The object of an address that is on no stack: r.obj is 0 where nothing tells one. */
static Range object_at(Addr a)
{
	Range *found = range_at(a), r = found ? *found : (Range){ 0, 0, 0, 0 };

	/* a mapped file's data has symbols that say more than "mmap" */
	if (!r.obj || objs[r.obj - 1].kind == FMT_OBJ_MMAP) {
		Range v = variable_at(a);

		if (v.obj)
			r = v;
	}
	return r;
}

/* The kernel is no user of objects, but what it reads is read. */
void object_kernel(Addr a, SizeT len, Bool write)
{
	while (X.t && len) {
		Range r = a - X.lo <= X.span ? (Range){ 0, 0, 0, 0 } : object_at(a);
		UInt obj = r.obj ? r.obj : a - X.lo <= X.span ? frame_object(a) : rest_object(a);
		SizeT n = r.obj ? r.hi - a : 4096 - (a & 4095);

		n = n < len ? n : len;
		reach_touch(&objs[obj - 1].reach, a, n, write);
		a += n;
		len -= n;
	}
}

void object_access(Ev *e, Addr a, UInt size, Bool write)
{
	Use *u;

	if (LIKELY_(e->obj_gen == obj_gen && a >= e->obj_lo && a < e->obj_hi && e->use && e->use->fn == X.eff)) {
		u = e->use;
	} else if (a - X.lo <= X.span) {
		u = use_get(X.eff, frame_object(a));
		e->obj_gen = 0;
	} else {
		Range r = object_at(a);

		if (r.obj) {
			u = use_get(X.eff, r.obj);
			e->obj_lo = r.lo;
			e->obj_hi = r.hi;
			e->obj_gen = obj_gen;
			e->use = u;
		} else {
			u = use_get(X.eff, rest_object(a));
			e->obj_gen = 0;
		}
	}
	object_of_access = u->object;
	if (write) {
		u->writes++;
		u->write_bytes += size;
	} else {
		u->reads++;
		u->read_bytes += size;
	}
	if (u->set)
		unique_set(u->set - 1, 0, a, size);
	if (opt.unique) {
		reach_access(u->reach, a, size, write);
		reach_touch(&objs[u->object - 1].reach, a, size, write);
	}
}

static Int use_cmp(const void *a, const void *b)
{
	const Use *x = *(Use *const *)a, *y = *(Use *const *)b;

	if (x->fn != y->fn)
		return x->fn < y->fn ? -1 : 1;
	return x->object < y->object ? -1 : x->object > y->object;
}

void object_init(void)
{
	reach_init();
}

static const ObjectReach *nth_reach(UInt i)
{
	return &objs[i].reach;
}

void object_write(const UniqueSums *u)
{
	UInt n = 0, total = 0;
	Use **all;

	for (UInt h = 0; h < USE_HASH; h++)
		for (Use *p = uses[h]; p; p = p->next)
			total++;
	all = VG_(malloc)("x.alluses", (total + 1) * sizeof(*all));
	for (UInt h = 0; h < USE_HASH; h++)
		for (Use *p = uses[h]; p; p = p->next)
			all[n++] = p;
	VG_(ssort)(all, n, sizeof(*all), use_cmp);
	for (UInt i = 0; i < n; i++) {
		const Use *p = all[i];
		struct fmt_x_use r = { p->fn + 1,
				       p->object,
				       p->reads,
				       p->writes,
				       p->read_bytes,
				       p->write_bytes,
				       p->set && opt.unique ? u->edge[p->set - 1][0] : FMT_X_UNKNOWN };

		out_rec(FMT_X_USE, &r, sizeof(r));
	}
	VG_(free)(all);
	for (UInt i = 0; i < obj_count; i++) {
		struct fmt_x_object r = { objs[i].id, 0, objs[i].blocks, objs[i].bytes, objs[i].peak };

		out_rec(FMT_X_OBJECT, &r, sizeof(r));
	}
	if (opt.unique)
		reach_write(nth_reach, obj_count);
}

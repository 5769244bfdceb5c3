/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of the program as they are met: their numbers, names, files, and where those are mapped. */
#include "x.h"
#include "pub_tool_vkiscnums.h"
#include "../stream.h"

Fn **fns;
UInt fn_count;
static UInt fn_cap;
ULong lost_functions;
#define FN_HASH 65536 /* chains: of most programs a function has one of its own */
static Fn *fn_hash[FN_HASH];
static Module *modules;
static UInt module_count;

static Fn *fn_add(const HChar *name, Module *m, Addr entry, ULong vaddr)
{
	Fn *f;
	struct fmt_function r;
	const HChar *file = NULL, *dir = NULL;
	UInt line = 0;

	if (fn_count >= FN_MAX - 1)
		return lost_functions++, fns[FN_UNKNOWN]; /* 65,534 functions: what comes later cannot be told apart */
	if (fn_count == fn_cap) {
		fn_cap = fn_cap ? fn_cap * 2 : 1024;
		fns = VG_(realloc)("x.fns", fns, fn_cap * sizeof(*fns));
	}
	f = VG_(calloc)("x.fn", 1, sizeof(*f));
	f->id = fn_count;
	f->name = VG_(strdup)("x.fn", name);
	f->mod = m;
	f->entry = entry;
	f->vaddr = vaddr;
	fns[fn_count++] = f;
	if (m && m->is_main)
		f->flags |= FNF_MAIN_IMAGE;
	f->flags |= select_flags(name);
	if (!opt.functions)
		f->flags |= FNF_SELECTED;
	if (m)
		f->alloc_kind = object_alloc_kind(name);

	VG_(memset)(&r, 0, sizeof(r));
	r.id = f->id + 1;
	r.name = out_string(name);
	if (m) {
		r.object = out_string(m->path);
		if (entry && VG_(get_filename_linenum)(VG_(current_DiEpoch)(), entry, &file, &dir, &line) && file) {
			/* the caller cannot free what the debug info owns, and it may move: copy */
			HChar *path = VG_(malloc)("x.file", VG_(strlen)(file) + (dir ? VG_(strlen)(dir) : 0) + 2);

			VG_(sprintf)
			(path, "%s%s%s", dir && *dir && *file != '/' ? dir : "", dir && *dir && *file != '/' ? "/" : "",
			 file);
			r.file = out_string(path);
			r.line = line;
			VG_(free)(path);
		}
	}
	if (m && entry) {
		struct xs_place at = { f->id + 1, m->id, vaddr };

		out_rec(XS_FN_PLACE, &at, sizeof(at));
	}
	out_rec(FMT_FUNCTION, &r, sizeof(r));
	return f;
}

Fn *fn_pseudo(const HChar *name)
{
	for (UInt i = 0; i < fn_count; i++)
		if (!fns[i]->mod && VG_STREQ(fns[i]->name, name))
			return fns[i];
	return fn_add(name, NULL, 0, 0);
}

static const HChar *kernel_call_name(UInt nr)
{
	static const HChar *const names[] = {
#include "syscalls.h"
	};

	return nr < sizeof(names) / sizeof(names[0]) ? names[nr] : NULL;
}

Fn *fn_kernel(UInt nr)
{
	static Fn *cache[512];
	HChar name[96];
	const HChar *s;

	if (nr < 512 && cache[nr])
		return cache[nr];
	s = kernel_call_name(nr);
	if (s)
		VG_(snprintf)(name, sizeof(name), "(kernel:%s)", s);
	else
		VG_(snprintf)(name, sizeof(name), "(kernel:%u)", nr);
	if (nr < 512)
		return cache[nr] = fn_pseudo(name);
	return fn_pseudo(name);
}

void fn_init(void)
{
	fn_add("(outside)", NULL, 0, 0);
	fn_add("(before attach)", NULL, 0, 0);
	fn_add("(unknown)", NULL, 0, 0);
	fn_add("(kernel)", NULL, 0, 0);
}

ULong module_vaddr(const Module *m, Addr a)
{
	return m ? a - m->bias : a;
}

static Module *module_seen(const HChar *path, Long bias, Bool file)
{
	Module *m = VG_(calloc)("x.mod", 1, sizeof(*m));
	struct fmt_module r;
	static Bool main_seen;

	m->path = VG_(strdup)("x.mod", path);
	m->bias = bias;
	m->id = ++module_count;
	m->next = modules;
	modules = m;
	if (file && !main_seen) {
		HChar exe[4096]; /* the core hands out the last component only */

		VG_(client_fname)(exe, sizeof(exe), True);
		m->is_main = main_seen = VG_STREQ(exe, VG_(basename)(path));
	}
	VG_(memset)(&r, 0, sizeof(r));
	r.id = m->id;
	r.kind = file ? FMT_MOD_FILE : FMT_MOD_ANON;
	r.path = out_string(path);
	r.pid = file ? 0 : 1;
	out_rec(FMT_MODULE, &r, sizeof(r));
	return m;
}

/* Where the file's first byte is mapped: its program headers lead to .eh_frame_hdr. */
static Addr base_of(Addr a)
{
	const NSegment *s = VG_(am_find_nsegment)(a);
	Addr base = 0;

	if (!s || s->kind != SkFileC)
		return 0;
	for (Addr x = s->start; x;) {
		const NSegment *p = VG_(am_find_nsegment)(x);

		if (!p || p->kind != SkFileC || p->ino != s->ino || p->dev != s->dev)
			break;
		base = p->start;
		if (p->offset == 0)
			return base;
		x = p->start - 1;
	}
	return 0;
}

/* The mappings of one file, from its first on: estimators tell constants from variables by them. */
static void put_mappings(const Module *m)
{
	const NSegment *first = VG_(am_find_nsegment)(m->base), *s;

	for (Addr x = m->base; first && (s = VG_(am_find_nsegment)(x)) && s->kind == SkFileC; x = s->end + 1) {
		struct fmt_mapping r;

		if (s->ino != first->ino || s->dev != first->dev)
			break;
		VG_(memset)(&r, 0, sizeof(r));
		r.start = s->start;
		r.end = s->end + 1;
		r.pgoff = s->offset;
		r.pid = 1;
		r.module = m->id;
		r.prot = (s->hasX ? 1 : 0) | (s->hasW ? 2 : 0) | (s->hasR ? 4 : 0);
		out_rec(FMT_MAPPING, &r, sizeof(r));
	}
}

static Module *last;
static Addr last_lo, last_hi;

void module_forget(void)
{
	last = NULL;
}

Module *module_at(Addr a)
{
	const DebugInfo *di;
	const NSegment *seg;
	const HChar *path = NULL;
	Long bias = 0;
	Bool file = True;
	Module *m;

	if (last && a >= last_lo && a < last_hi)
		return last;
	di = VG_(find_DebugInfo)(VG_(current_DiEpoch)(), a);
	seg = VG_(am_find_nsegment)(a);
	if (di) {
		path = VG_(DebugInfo_get_filename)(di);
		bias = VG_(DebugInfo_get_text_bias)(di);
	} else if (seg && seg->kind == SkFileC && (path = VG_(am_get_filename)(seg))) {
		bias = seg->start - seg->offset;
	}
	if (!path) {
		path = "[anonymous code]";
		bias = 0;
		file = False;
	}
	for (m = modules; m; m = m->next)
		if (m->bias == bias && VG_STREQ(m->path, path))
			break;
	if (!m) {
		m = module_seen(path, bias, file);
		m->base = file ? base_of(a) : 0;
		if (m->base)
			put_mappings(m);
	}
	if (seg) {
		last = m;
		last_lo = seg->start;
		last_hi = seg->end + 1;
	}
	return m;
}

static const HChar *file_name_of(const HChar *path)
{
	const HChar *s = VG_(strrchr)(path, '/');

	return s ? s + 1 : path;
}

Fn *fn_at(Addr a)
{
	const HChar *sym = NULL;
	HChar name[1024];
	Module *m = module_at(a);
	Addr start = 0;
	Fn *f;
	UInt h;

	name[0] = 0;
	if (VG_(get_fnname_w_offset)(VG_(current_DiEpoch)(), a, &sym) && sym && *sym) {
		HChar *plus, *cold;

		VG_(snprintf)(name, sizeof(name), "%s", sym);
		plus = VG_(strrchr)(name, '+');
		start = a;
		if (plus && plus[1] >= '0' && plus[1] <= '9') {
			start = a - VG_(strtoull10)(plus + 1, NULL);
			*plus = 0;
		}
		plus = VG_(strchr)(name, '@'); /* the symbol's version */
		if (plus && plus != name)
			*plus = 0;
		/* The compiler splits off what it holds unlikely; to the reader it is one function. */
		cold = VG_(strstr)(name, ".cold");
		if (cold && (cold[5] == 0 || cold[5] == '.')) {
			*cold = 0;
			start = 0;
		}
	} else {
		start = ehframe_start(m, a);
		if (start)
			VG_(snprintf)(name, sizeof(name), "%s+0x%llx", file_name_of(m->path), module_vaddr(m, start));
		else
			VG_(snprintf)(name, sizeof(name), *m->path == '[' ? "%s" : "[%s]", file_name_of(m->path));
	}
	/* By name within the object: the linker folds twins, and .cold parts find their parent. Static
	 * functions of one name are told apart by their start. */
	h = m->id * 31;
	for (const HChar *p = name; *p; p++)
		h = (h ^ (UChar)*p) * 16777619u;
	h %= FN_HASH;
	for (f = fn_hash[h]; f; f = f->hash_next)
		if (f->mod == m && VG_STREQ(f->name, name) && (!start || !f->entry || f->entry == start)) {
			if (!f->entry && start) {
				f->entry = start;
				f->vaddr = module_vaddr(m, start);
			}
			return f;
		}
	f = fn_add(name, m, start, module_vaddr(m, start));
	if (f->id >= FN_FIRST) {
		f->hash_next = fn_hash[h];
		fn_hash[h] = f;
	}
	return f;
}

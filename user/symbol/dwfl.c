// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/dwfl.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "kmod-free/elffile.h"
#include "symbol/altlink.h"
#include "util/bisect.h"
#include "util/buf.h"
#include "util/grow.h"
#include "util/map.h"

/* DIE trees of hostile files may be deep; real ones stay below a hundred. */
#define MAX_DEPTH 256

struct cu_range {
	uint64_t start, end;
	uint32_t unit;
};

struct unit {
	Dwarf_Die die; /* a skeleton, too: it has the line table, and the symbol table names its functions */
};

struct dwfl_file {
	Elf *elf;
	Dwarf *dw;
	struct altlink alt;
	int64_t bias;
	struct unit *units;
	size_t unit_count, unit_cap;
	struct cu_range *ranges;
	size_t range_count, range_cap;
	bool absolute;
	struct intern joined; /* paths that were made absolute */
};

/* What is collected for one address while its unit is walked, outermost first. */
struct pending {
	uint64_t addr; /* in the file's own addresses */
	unsigned depth;
	bool done; /* found by the first walk */
	Dwarf_Die chain[DWFL_MAX_CHAIN];
};

struct dwfl_walk {
	struct pending *p;
	size_t count;
	bool into_all; /* lambdas and nested functions lie outside the function that holds their entry */
};

static int by_start(const void *a, const void *b)
{
	const struct cu_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int index_units(struct dwfl_file *f)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	/* Not asked for split units: libdw would open whatever path the skeleton names. */
	while (dwarf_get_units(f->dw, cu, &cu, NULL, &type, &die, NULL) == 0) {
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;
		bool any = false;

		if (type == DW_UT_partial || type == DW_UT_type)
			continue;
		if (!GROW(f->units, f->unit_count, f->unit_cap, 16))
			return -ENOMEM;
		f->units[f->unit_count] = (struct unit){ die };
		while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
			if (start >= end)
				continue;
			if (!GROW(f->ranges, f->range_count, f->range_cap, 16))
				return -ENOMEM;
			f->ranges[f->range_count++] = (struct cu_range){ start, end, (uint32_t)f->unit_count };
			any = true;
		}
		f->unit_count += any;
	}
	if (f->range_count)
		qsort(f->ranges, f->range_count, sizeof(*f->ranges), by_start);
	return 0;
}

/* libdw unpacks all sections that it knows before it is asked anything. Where variables lie nobody asks here, and that
 * is a seventh of a library's. */
static void hide_places_of_variables(int fd, Elf *elf)
{
	static const char *const hidden[] = { ".debug_loclists", ".debug_loc" };
	size_t names;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (!elffile_names(fd, elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		for (size_t i = 0; name && i < sizeof(hidden) / sizeof(hidden[0]); i++) {
			if (strcmp(name, hidden[i]))
				continue;
			sh.sh_type = SHT_NOBITS;
			gelf_update_shdr(scn, &sh);
		}
	}
}

struct dwfl_file *dwfl_file_open(int fd, int alt, int64_t bias)
{
	struct dwfl_file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->bias = bias;
	f->elf = elffile_begin(fd);
	if (f->elf && elf_kind(f->elf) == ELF_K_ELF && elffile_unpackable(fd, f->elf)) {
		hide_places_of_variables(fd, f->elf);
		f->dw = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	}
	if (f->dw)
		altlink_set(&f->alt, f->dw, alt); /* without it names are missing, lines are not */
	if (!f->dw || index_units(f) || !f->range_count) {
		dwfl_file_close(f);
		return NULL;
	}
	return f;
}

void dwfl_file_close(struct dwfl_file *f)
{
	if (!f)
		return;
	dwarf_end(f->dw);
	altlink_release(&f->alt);
	elf_end(f->elf);
	free(f->units);
	free(f->ranges);
	intern_release(&f->joined);
	free(f);
}

void dwfl_file_absolute(struct dwfl_file *f)
{
	f->absolute = true;
}

/* First address of the walk that is not below `addr`. */
static size_t first_not_below(const struct dwfl_walk *w, uint64_t addr)
{
	size_t lo = BISECT(mid, w->count, w->p[mid].addr < addr);

	return lo;
}

/* Adds the DIE to the chains of the addresses in its ranges; returns whether there were any. */
static bool claim(struct dwfl_walk *w, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	bool any = false;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		for (size_t i = first_not_below(w, start); i < w->count && w->p[i].addr < end; i++) {
			struct pending *p = &w->p[i];

			if (p->done)
				continue;
			if (p->depth < DWFL_MAX_CHAIN)
				p->chain[p->depth++] = *die;
			any = true;
		}
	}
	return any;
}

static void walk_children(struct dwfl_walk *w, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth > MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			if (claim(w, &die) || (w->into_all && dwarf_tag(&die) == DW_TAG_subprogram))
				walk_children(w, &die, depth + 1);
			break;
		/* functions may be defined inside these; everything else holds none */
		case DW_TAG_lexical_block:
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_try_block:
		case DW_TAG_catch_block: walk_children(w, &die, depth + 1); break;
		default: break;
		}
	} while (!dwarf_siblingof(&die, &die));
}

static const char *attr_string(Dwarf_Die *die, unsigned attr)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, attr, &a) ? dwarf_formstring(&a) : NULL;
}

static uint32_t attr_u32(Dwarf_Die *die, unsigned attr, bool integrate)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	if (!(integrate ? dwarf_attr_integrate(die, attr, &a) : dwarf_attr(die, attr, &a)) || dwarf_formudata(&a, &v) ||
	    v > UINT32_MAX)
		return 0;
	return (uint32_t)v;
}

static const char *call_file(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Files *files;
	Dwarf_Word index;
	Dwarf_Die cu;
	size_t n;

	if (!dwarf_attr(die, DW_AT_call_file, &a) || dwarf_formudata(&a, &index) ||
	    !dwarf_diecu(die, &cu, NULL, NULL) || dwarf_getsrcfiles(&cu, &files, &n) || index >= n)
		return NULL;
	return dwarf_filesrc(files, index, NULL, NULL);
}

static const char *placed(struct dwfl_file *f, Dwarf_Die *cu, const char *file)
{
	const char *dir = f->absolute && file && file[0] != '/' ? attr_string(cu, DW_AT_comp_dir) : NULL;
	AUTO_BUF(path);
	uint32_t id;

	if (!dir || dir[0] != '/')
		return file;
	buf_addf(&path, "%s/%s", dir, file);
	id = buf_failed(&path) ? 0 : intern_str(&f->joined, path.data, NULL);
	return id ? intern_get(&f->joined, id, NULL) : file;
}

static unsigned frames_of(struct dwfl_file *f, struct pending *p, Dwarf_Die *cu, struct dwfl_frame *out)
{
	Dwarf_Line *at = dwarf_getsrc_die(cu, p->addr);
	const char *file = at ? dwarf_linesrc(at, NULL, NULL) : NULL;
	int line = 0;

	if (at && dwarf_lineno(at, &line))
		line = 0;
	/* innermost first; each caller stands where the callee was inlined */
	for (unsigned i = 0; i < p->depth; i++) {
		Dwarf_Die *die = &p->chain[p->depth - 1 - i];
		const char *linkage = attr_string(die, DW_AT_linkage_name);

		if (!linkage)
			linkage = attr_string(die, DW_AT_MIPS_linkage_name);
		out[i] = (struct dwfl_frame){
			.name = attr_string(die, DW_AT_name),
			.linkage = linkage,
			.decl_file = dwarf_decl_file(die),
			.decl_line = attr_u32(die, DW_AT_decl_line, true),
			.file = placed(f, cu, file),
			.line = line > 0 ? (uint32_t)line : 0,
		};
		file = call_file(die);
		line = (int)attr_u32(die, DW_AT_call_line, false);
	}
	return p->depth;
}

/* ---- pieces of functions ---- */

/* A function's code, all of it or one of its parts, and the addresses in it where a chain or a line begins. */
struct dwfl_cuts {
	uint64_t start, end;
	uint64_t *at;
	size_t count, cap;
	bool failed;
};

static void cut_at(struct dwfl_cuts *c, uint64_t addr)
{
	if (addr > c->start && addr < c->end && !PUSH(c->at, c->count, c->cap, 64, addr))
		c->failed = true;
}

static void cut_by_inlined(struct dwfl_cuts *c, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth > MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;
		int tag = dwarf_tag(&die);

		while (tag == DW_TAG_inlined_subroutine && (at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
			cut_at(c, start);
			cut_at(c, end);
		}
		if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block)
			cut_by_inlined(c, &die, depth + 1);
	} while (!dwarf_siblingof(&die, &die));
}

static Dwarf_Addr line_addr(Dwarf_Lines *lines, size_t i)
{
	Dwarf_Addr addr = 0;

	dwarf_lineaddr(dwarf_onesrcline(lines, i), &addr);
	return addr;
}

static void cut_by_lines(struct dwfl_cuts *c, Dwarf_Die *cu)
{
	Dwarf_Lines *lines;
	size_t n;

	if (dwarf_getsrclines(cu, &lines, &n))
		return;
	for (size_t i = BISECT(k, n, line_addr(lines, k) <= c->start); i < n && line_addr(lines, i) < c->end; i++)
		cut_at(c, line_addr(lines, i));
}

static int cuts_in_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void add_pieces(struct dwfl_pieces *to, struct dwfl_cuts *c, int64_t bias)
{
	uint64_t from = c->start;

	if (c->count)
		qsort(c->at, c->count, sizeof(*c->at), cuts_in_order);
	for (size_t i = 0; i <= c->count; i++) {
		uint64_t next = i < c->count ? c->at[i] : c->end;

		if (next == from)
			continue;
		if (to->count == to->most || next - from > UINT32_MAX ||
		    !PUSH(to->piece, to->count, to->cap, 64,
			  ((struct dwfl_piece){ from + (uint64_t)bias, (uint32_t)(next - from) })))
			return;
		from = next;
	}
}

/* The part of its outermost function's code that holds the address. */
static bool part_around(struct pending *p, struct dwfl_cuts *c)
{
	Dwarf_Addr base;
	ptrdiff_t at = 0;

	while (p->depth && (at = dwarf_ranges(&p->chain[0], at, &base, &c->start, &c->end)) > 0)
		if (p->addr >= c->start && p->addr < c->end)
			return true;
	return false;
}

/* Of the functions of one unit that hold these addresses, each once: they are ascending. */
static void pieces_of(struct dwfl_file *f, Dwarf_Die *cu, struct pending *p, size_t count, struct dwfl_pieces *to)
{
	uint64_t end = 0;

	for (size_t i = 0; i < count && to->count < to->most; i++) {
		struct dwfl_cuts c = { 0 };

		if (p[i].addr < end || !part_around(&p[i], &c))
			continue;
		end = c.end;
		cut_by_inlined(&c, &p[i].chain[0], 0);
		cut_by_lines(&c, cu);
		if (!c.failed)
			add_pieces(to, &c, f->bias);
		free(c.at);
	}
}

int dwfl_file_chains(struct dwfl_file *f, const uint64_t *addrs, size_t count, dwfl_chain_fn *fn, void *ctx,
		     struct dwfl_pieces *pieces)
{
	/* unit of each address, then addresses grouped by unit with a counting sort */
	uint32_t *unit_of = malloc((count ? count : 1) * sizeof(*unit_of));
	size_t *first = calloc(f->unit_count + 2, sizeof(*first)),
	       *order = malloc((count ? count : 1) * sizeof(*order));
	struct pending *p = NULL;
	size_t r = 0, largest = 0;
	int err = -ENOMEM;

	if (!unit_of || !first || !order)
		goto out;
	for (size_t i = 0; i < count; i++) {
		uint64_t addr = addrs[i] - (uint64_t)f->bias;

		unit_of[i] = UINT32_MAX;
		while (r + 1 < f->range_count && f->ranges[r + 1].start <= addr)
			r++;
		if (f->range_count && f->ranges[r].start <= addr && addr < f->ranges[r].end) {
			unit_of[i] = f->ranges[r].unit;
			first[unit_of[i] + 1]++;
		}
	}
	for (size_t u = 0; u < f->unit_count; u++) {
		largest = first[u + 1] > largest ? first[u + 1] : largest;
		first[u + 1] += first[u];
	}
	for (size_t i = 0; i < count; i++)
		if (unit_of[i] != UINT32_MAX)
			order[first[unit_of[i]]++] = i;
	p = malloc((largest ? largest : 1) * sizeof(*p));
	if (!p)
		goto out;
	for (size_t u = 0, from = 0; u < f->unit_count; from = first[u++]) {
		struct dwfl_walk w = { p, first[u] - from, false };

		if (!w.count)
			continue;
		for (size_t i = 0; i < w.count; i++) {
			p[i].addr = addrs[order[from + i]] - (uint64_t)f->bias;
			p[i].depth = 0;
			p[i].done = false;
		}
		walk_children(&w, &f->units[u].die, 0);
		for (size_t i = 0; i < w.count; i++) {
			p[i].done = p[i].depth > 0;
			w.into_all |= !p[i].done;
		}
		if (w.into_all)
			walk_children(&w, &f->units[u].die, 0);
		for (size_t i = 0; i < w.count; i++) {
			struct dwfl_frame frames[DWFL_MAX_CHAIN];
			unsigned n = frames_of(f, &p[i], &f->units[u].die, frames);

			if (n)
				fn(ctx, order[from + i], frames, n);
		}
		if (pieces)
			pieces_of(f, &f->units[u].die, p, w.count, pieces);
	}
	err = 0;
out:
	free(unit_of);
	free(first);
	free(order);
	free(p);
	return err;
}

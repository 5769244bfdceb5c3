// SPDX-License-Identifier: GPL-2.0-or-later
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/elffile.h"
#include "symbol/altlink.h"
#include "symbol/locals.h"
#include "util/openfile.h"

#define MAX_DEPTH 64 /* of nested scopes: a file may claim any */

struct locals {
	Elf *elf;
	struct altlink alt;
	int fd;
	Dwarf *dw;
};

struct locals_search {
	uint64_t vaddr;
	int64_t base; /* frame base relative to the frame address */
	bool here;    /* only where variables are at vaddr */
	struct frame_local *out;
	size_t count, max;
};

/* Without what it refers to a file is left alone: libdw would go and look for it. */
static struct locals *open_dwarf(int fd, int alt, bool own)
{
	struct locals *l = fd >= 0 ? calloc(1, sizeof(*l)) : NULL;

	if (l) {
		l->fd = own ? fd : -1;
		l->elf = elffile_begin(fd);
		l->dw = l->elf && elffile_unpackable(fd, l->elf) ? dwarf_begin_elf(l->elf, DWARF_C_READ, NULL) : NULL;
		if (l->dw && altlink_set(&l->alt, l->dw, alt))
			return l;
		locals_close(l);
	} else if (fd >= 0 && own) {
		close(fd);
	}
	return NULL;
}

struct locals *locals_open(const char *path)
{
	struct stat st;

	return open_dwarf(openfile_regular(path, &st), -1, true);
}

struct locals *locals_open_fd(int fd, int alt)
{
	return open_dwarf(fd, alt, false);
}

void locals_close(struct locals *l)
{
	if (!l)
		return;
	if (l->dw)
		dwarf_end(l->dw);
	altlink_release(&l->alt);
	elf_end(l->elf);
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

static uint64_t die_size(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die type, peeled;
	Dwarf_Word size;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &type) ||
	    dwarf_peel_type(&type, &peeled) || dwarf_aggregate_size(&peeled, &size))
		return 0;
	return size;
}

static void add_local(struct locals_search *s, Dwarf_Die *die, int64_t offset)
{
	const char *name = dwarf_diename(die);
	uint64_t size = die_size(die);
	struct frame_local *l;

	if (!name || !size || size > 1u << 30 || s->count == s->max)
		return;
	for (size_t i = 0; i < s->count; i++)
		if (s->out[i].offset == offset && s->out[i].size == size &&
		    !strncmp(s->out[i].name, name, sizeof(s->out[i].name) - 1))
			return;
	l = &s->out[s->count++];
	memset(l, 0, sizeof(*l));
	l->offset = offset;
	l->size = size;
	strncpy(l->name, name, sizeof(l->name) - 1);
}

/* A place that is one frame offset, alone or in a list of places by address. */
static void variable(struct locals_search *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Op *expr;
	size_t len;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	if (!dwarf_attr(die, DW_AT_location, &attr))
		return;
	for (unsigned n = 0; n < 64 && (at = dwarf_getlocations(&attr, at, &base, &start, &end, &expr, &len)) > 0; n++)
		if (len == 1 && expr[0].atom == DW_OP_fbreg && (!s->here || (s->vaddr >= start && s->vaddr < end)))
			add_local(s, die, s->base + (int64_t)expr[0].number);
}

static void scope(struct locals_search *s, Dwarf_Die *die, unsigned depth)
{
	Dwarf_Die child;

	if (depth > MAX_DEPTH || dwarf_child(die, &child))
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_variable:
		case DW_TAG_formal_parameter: variable(s, &child); break;
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_try_block:
		case DW_TAG_catch_block: scope(s, &child, depth + 1); break;
		default: break;
		}
	} while (s->count < s->max && !dwarf_siblingof(&child, &child));
}

/* The frame address itself, or a frame pointer that the prologue put 16 below it. */
static bool frame_base(Dwarf_Die *die, int64_t *base)
{
	Dwarf_Attribute attr;
	Dwarf_Op *expr;
	size_t len;

	if (!dwarf_attr_integrate(die, DW_AT_frame_base, &attr) || dwarf_getlocation(&attr, &expr, &len) || len != 1)
		return false;
	if (expr[0].atom == DW_OP_call_frame_cfa)
		*base = 0;
	else if (expr[0].atom == DW_OP_reg6)
		*base = -16;
	else
		return false;
	return true;
}

static bool find_function(struct locals_search *s, Dwarf_Die *die, unsigned depth)
{
	Dwarf_Die child;

	if (depth > MAX_DEPTH || dwarf_child(die, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram && dwarf_haspc(&child, s->vaddr) > 0) {
			if (frame_base(&child, &s->base))
				scope(s, &child, 0);
			return true;
		}
		if ((tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
		     tag == DW_TAG_subprogram) &&
		    find_function(s, &child, depth + 1))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

static size_t search(struct locals *l, uint64_t vaddr, bool here, struct frame_local *out, size_t max)
{
	struct locals_search s = { .vaddr = vaddr, .out = out, .max = max, .here = here };
	Dwarf_Die cu;

	if (l && dwarf_addrdie(l->dw, vaddr, &cu))
		find_function(&s, &cu, 0);
	return s.count;
}

size_t locals_of(struct locals *l, uint64_t vaddr, struct frame_local *out, size_t max)
{
	return search(l, vaddr, false, out, max);
}

size_t locals_at(struct locals *l, uint64_t vaddr, struct frame_local *out, size_t max)
{
	return search(l, vaddr, true, out, max);
}

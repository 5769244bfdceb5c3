// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symtab.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kmod-free/elffile.h"
#include "util/bisect.h"
#include "util/grow.h"

#define MAX_SYMBOLS 8000000u /* of one table; more is an attack; by hand */
#define MAX_NAME 4096        /* bytes of a symbol; longer ones are cut; by hand */

static int add_entry(struct symtab *t, uint64_t start, uint64_t end, const char *name, size_t len, uint8_t rank,
		     bool sized)
{
	uint32_t id = intern_add(&t->names, name, len, NULL);

	if (!id)
		return -ENOMEM;
	if (!PUSH(t->entries, t->count, t->cap, 1, (struct symtab_entry){ start, end, id, rank, sized }))
		return -ENOMEM;
	return 0;
}

/* Of several names for one address the public, plain one reads best. */
static uint8_t rank_of(const GElf_Sym *s, const char *name)
{
	unsigned r = GELF_ST_BIND(s->st_info) == STB_GLOBAL ? 0 : GELF_ST_BIND(s->st_info) == STB_WEAK ? 1 : 2;

	r = r * 3 + (name[0] != '_' ? 0 : name[1] != '_' ? 1 : 2);
	return (uint8_t)(r + (GELF_ST_TYPE(s->st_info) == STT_NOTYPE ? 20 : 0));
}

struct symtab_file {
	Elf *elf;
	int fd;
	int64_t bias;
};

static int add_symbols(struct symtab *t, const struct symtab_file *f, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elffile_strings(f->fd, f->elf, sh->sh_link) ? elffile_data(f->fd, scn, ELFFILE_TABLE) : NULL;
	size_t n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;
	uint64_t bias = (uint64_t)f->bias;
	Elf *elf = f->elf;

	if (!data || n > MAX_SYMBOLS)
		return 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Sym s;
		GElf_Shdr in;
		const char *name;
		size_t len;
		Elf_Scn *home;

		if (!gelf_getsym(data, (int)i, &s))
			break;
		switch (GELF_ST_TYPE(s.st_info)) {
		case STT_FUNC:
		case STT_GNU_IFUNC:
		case STT_NOTYPE: break;
		default: continue;
		}
		if (s.st_shndx == SHN_UNDEF || s.st_shndx >= SHN_LORESERVE)
			continue;
		home = elf_getscn(elf, s.st_shndx);
		if (!home || !gelf_getshdr(home, &in) || !(in.sh_flags & SHF_EXECINSTR) || s.st_value < in.sh_addr ||
		    s.st_value - in.sh_addr >= in.sh_size)
			continue;
		name = elf_strptr(elf, sh->sh_link, s.st_name);
		if (!name || !*name || name[0] == '$' || name[0] == '.')
			continue;
		len = strnlen(name, MAX_NAME);
		if (memchr(name + 1, '@', len - 1))
			len = (size_t)((const char *)memchr(name + 1, '@', len - 1) - name);
		if (add_entry(t, s.st_value + bias,
			      (s.st_size && s.st_size <= in.sh_addr + in.sh_size - s.st_value
				       ? s.st_value + s.st_size
				       : in.sh_addr + in.sh_size) +
				      bias,
			      name, len, rank_of(&s, name), s.st_size > 0))
			return -ENOMEM;
	}
	return 0;
}

/* Slots of .plt.sec (or .plt behind its first entry) stand in the order of .rela.plt. */
static int add_plt(struct symtab *t, const struct symtab_file *f, const GElf_Shdr *plt, bool has_header,
		   Elf_Scn *rel_scn, const GElf_Shdr *rel)
{
	Elf_Data *data = elffile_data(f->fd, rel_scn, ELFFILE_TABLE), *syms;
	Elf_Scn *sym_scn = elf_getscn(f->elf, rel->sh_link);
	uint64_t bias = (uint64_t)f->bias;
	GElf_Shdr sym_sh;
	size_t n = rel->sh_entsize ? rel->sh_size / rel->sh_entsize : 0;

	if (!data || !sym_scn || !gelf_getshdr(sym_scn, &sym_sh) || n > MAX_SYMBOLS ||
	    !elffile_strings(f->fd, f->elf, sym_sh.sh_link) || !(syms = elffile_data(f->fd, sym_scn, ELFFILE_TABLE)))
		return 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t at = plt->sh_addr + (i + has_header) * 16;
		char text[MAX_NAME + 8];
		const char *name;
		GElf_Rela r;
		GElf_Sym s;
		int len;

		if (at + 16 > plt->sh_addr + plt->sh_size || !gelf_getrela(data, (int)i, &r))
			break;
		if (!gelf_getsym(syms, (int)GELF_R_SYM(r.r_info), &s))
			continue;
		name = elf_strptr(f->elf, sym_sh.sh_link, s.st_name);
		if (!name || !*name)
			continue;
		len = snprintf(text, sizeof(text), "%.*s@plt", MAX_NAME, name);
		if (add_entry(t, at + bias, at + 16 + bias, text, (size_t)len, 30, true))
			return -ENOMEM;
	}
	return 0;
}

/*
 * A stripped file keeps no name for what the linker puts around main: both pieces are whole sections, and .eh_frame
 * does not bound them. The names are those that crti.o gives to the sections' starts.
 */
static const char *name_of_section(const char *section)
{
	return !strcmp(section, ".init") ? "_init" : !strcmp(section, ".fini") ? "_fini" : NULL;
}

int symtab_add_file(struct symtab *t, int fd, int64_t bias)
{
	Elf *elf = elffile_begin(fd);
	struct symtab_file f = { elf, fd, bias };
	Elf_Scn *scn = NULL, *rel_scn = NULL;
	GElf_Shdr sh, plt = { 0 }, plt_sec = { 0 }, rel = { 0 };
	GElf_Ehdr eh;
	size_t names;
	int err = 0;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh) || !elffile_names(fd, elf, &names)) {
		elf_end(elf);
		return 0;
	}
	while (!err && (scn = elf_nextscn(elf, scn))) {
		const char *name, *whole;

		if (!gelf_getshdr(scn, &sh))
			continue;
		if ((sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM))
			err = add_symbols(t, &f, scn, &sh);
		name = elf_strptr(elf, names, sh.sh_name);
		if (!name || sh.sh_type == SHT_NOBITS)
			continue;
		whole = sh.sh_flags & SHF_EXECINSTR && sh.sh_size <= UINT64_MAX - sh.sh_addr ? name_of_section(name)
											     : NULL;
		if (whole && !err)
			err = add_entry(t, sh.sh_addr + (uint64_t)bias, sh.sh_addr + sh.sh_size + (uint64_t)bias, whole,
					strlen(whole), 31, true);
		if (!strcmp(name, ".plt"))
			plt = sh;
		else if (!strcmp(name, ".plt.sec"))
			plt_sec = sh;
		else if (!strcmp(name, ".rela.plt"))
			rel = sh, rel_scn = scn;
	}
	if (!err && rel_scn && eh.e_machine == EM_X86_64 && (plt.sh_size || plt_sec.sh_size))
		err = add_plt(t, &f, plt_sec.sh_size ? &plt_sec : &plt, !plt_sec.sh_size, rel_scn, &rel);
	elf_end(elf);
	return err;
}

static int by_address(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	/* ids follow the order in the file: stable from run to run */
	return x->name < y->name ? -1 : x->name > y->name;
}

void symtab_sort(struct symtab *t)
{
	size_t kept = 0;

	if (t->count)
		qsort(t->entries, t->count, sizeof(*t->entries), by_address);
	for (size_t i = 0; i < t->count; i++) {
		if (kept && t->entries[kept - 1].start == t->entries[i].start) {
			struct symtab_entry *k = &t->entries[kept - 1];

			/* an alias may know the size that the better name lacks */
			if (!k->sized && t->entries[i].sized) {
				k->end = t->entries[i].end;
				k->sized = true;
			}
			continue;
		}
		t->entries[kept++] = t->entries[i];
	}
	t->count = kept;
	for (size_t i = 0; i + 1 < t->count; i++)
		if (!t->entries[i].sized && t->entries[i].end > t->entries[i + 1].start)
			t->entries[i].end = t->entries[i + 1].start;
}

const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t addr)
{
	size_t lo = BISECT(mid, t->count, t->entries[mid].start <= addr);

	/* a symbol may lie inside a larger one (assembler labels): look a few back */
	for (size_t i = lo, tries = 0; i > 0 && tries < 8; i--, tries++)
		if (addr < t->entries[i - 1].end)
			return &t->entries[i - 1];
	return NULL;
}

const char *symtab_name(const struct symtab *t, const struct symtab_entry *e)
{
	return intern_get(&t->names, e->name, NULL);
}

void symtab_release(struct symtab *t)
{
	free(t->entries);
	intern_release(&t->names);
	*t = (struct symtab){ 0 };
}

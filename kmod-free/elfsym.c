// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/elfsym.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "kmod-free/elffile.h"

#define MAX_PHDRS 256        /* segments that are loaded; by hand */
#define MAX_SYMBOLS 4000000u /* of one file, the first; by hand */

struct image {
	Elf *elf;
	int fd; /* -1: in memory, all of it there already */
	GElf_Phdr load[MAX_PHDRS];
	unsigned loads;
};

/* Of a file only what it can honestly hold is read. */
static Elf_Data *elfsym_data_of(const struct image *im, Elf_Scn *scn, uint64_t max)
{
	return im->fd < 0 ? elf_getdata(scn, NULL) : elffile_data(im->fd, scn, max);
}

static bool strings_of(const struct image *im, size_t index)
{
	return im->fd < 0 || elffile_strings(im->fd, im->elf, index);
}

static void image_close(struct image *im)
{
	if (im->elf)
		elf_end(im->elf);
	im->elf = NULL;
}

static int image_open(struct image *im, int fd, const void *memory, uint64_t size, struct err *e)
{
	GElf_Ehdr eh;
	size_t n;

	memset(im, 0, sizeof(*im));
	elf_version(EV_CURRENT);
	im->fd = memory ? -1 : fd;
	/* Not mapped: a file truncated meanwhile must be an error, not a SIGBUS. */
	im->elf = memory ? elf_memory((char *)memory, size) : elffile_begin(fd);
	if (!im->elf || elf_kind(im->elf) != ELF_K_ELF || !gelf_getehdr(im->elf, &eh)) {
		image_close(im);
		return err_set(e, -ENOEXEC, "not an ELF file");
	}
	if (eh.e_ident[EI_CLASS] != ELFCLASS64) {
		image_close(im);
		return err_set(e, -ENOTSUP, "a 32-bit file; probes read 64-bit arguments only");
	}
	if (eh.e_type != ET_DYN && eh.e_type != ET_EXEC) {
		image_close(im);
		return err_set(e, -ENOEXEC, "neither a program nor a shared library");
	}
	if (elf_getphdrnum(im->elf, &n))
		n = 0;
	for (size_t i = 0; i < n && im->loads < MAX_PHDRS; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(im->elf, (int)i, &ph))
			break;
		if (ph.p_type == PT_LOAD)
			im->load[im->loads++] = ph;
	}
	if (!im->loads) {
		image_close(im);
		return err_set(e, -ENOEXEC, "the file has no loadable segment");
	}
	return 0;
}

static bool file_offset(const struct image *im, uint64_t addr, uint64_t *offset)
{
	for (unsigned i = 0; i < im->loads; i++) {
		const GElf_Phdr *p = &im->load[i];

		if (!(p->p_flags & PF_X) || addr < p->p_vaddr || addr - p->p_vaddr >= p->p_filesz)
			continue;
		*offset = addr - p->p_vaddr + p->p_offset;
		return true;
	}
	return false;
}

static int walk_table(struct image *im, Elf_Scn *scn, const GElf_Shdr *sh, int (*fn)(void *ctx, const struct elfsym *s),
		      void *ctx, unsigned *functions)
{
	Elf_Data *data = strings_of(im, sh->sh_link) ? elfsym_data_of(im, scn, ELFFILE_TABLE) : NULL;
	size_t n;
	int r;

	if (!data || !sh->sh_entsize || !data->d_buf)
		return 0;
	n = data->d_size / sizeof(Elf64_Sym);
	for (size_t i = 0; i < n && i < MAX_SYMBOLS; i++) {
		struct elfsym s = { 0 };
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF || !sym.st_value)
			continue;
		s.name = elf_strptr(im->elf, sh->sh_link, sym.st_name);
		if (!s.name || !*s.name || !file_offset(im, sym.st_value, &s.offset))
			continue;
		(*functions)++;
		r = fn(ctx, &s);
		if (r)
			return r;
	}
	return 0;
}

static int elfsym_walk_one(struct image *im, int (*fn)(void *ctx, const struct elfsym *s), void *ctx,
			   struct elfsym_info *info, struct err *e)
{
	struct elfsym_info mine = { 0 };
	int r = 0;

	for (int pass = 0; pass < 2 && !r; pass++) {
		for (Elf_Scn *scn = NULL; !r && (scn = elf_nextscn(im->elf, scn));) {
			GElf_Shdr sh;

			if (!gelf_getshdr(scn, &sh))
				continue;
			if (sh.sh_type != (pass ? SHT_SYMTAB : SHT_DYNSYM))
				continue;
			if (pass)
				mine.full_symbols = true;
			else
				mine.dynamic_symbols = true;
			r = walk_table(im, scn, &sh, fn, ctx, &mine.functions);
		}
	}
	if (info)
		*info = mine;
	if (!mine.dynamic_symbols && !mine.full_symbols)
		return err_set(
			e, -ENOENT,
			"the file has no symbols at all (static and stripped): its functions cannot be found by name");
	return 0;
}

int elfsym_walk(int fd, int (*fn)(void *ctx, const struct elfsym *s), void *ctx, struct elfsym_info *info,
		struct err *e)
{
	struct image im;
	int r = image_open(&im, fd, NULL, 0, e);

	if (!r)
		r = elfsym_walk_one(&im, fn, ctx, info, e);
	image_close(&im);
	return r;
}

int elfsym_walk_memory(const void *image, uint64_t size, int (*fn)(void *ctx, const struct elfsym *s), void *ctx,
		       struct elfsym_info *info, struct err *e)
{
	struct image im;
	int r = image_open(&im, -1, image, size, e);

	if (!r)
		r = elfsym_walk_one(&im, fn, ctx, info, e);
	image_close(&im);
	return r;
}

/* A note's description: three addresses, then three strings. */
static int one_marker(const struct image *im, const uint8_t *desc, size_t size, uint64_t base_now,
		      int (*fn)(void *ctx, const struct elfsym_marker *m), void *ctx)
{
	struct elfsym_marker m;
	const char *text[3];
	uint64_t addr[3];

	if (size < sizeof(addr))
		return 0;
	memcpy(addr, desc, sizeof(addr));
	desc += sizeof(addr);
	size -= sizeof(addr);
	for (int i = 0; i < 3; i++) {
		size_t n = strnlen((const char *)desc, size);

		if (n == size)
			return 0;
		text[i] = (const char *)desc;
		desc += n + 1;
		size -= n + 1;
	}
	/* Moved by prelink after the note was written. */
	if (base_now && addr[1])
		addr[0] += base_now - addr[1];
	if (!file_offset(im, addr[0], &m.offset))
		return 0;
	m.provider = text[0];
	m.name = text[1];
	m.args = text[2];
	return fn(ctx, &m);
}

static int markers(struct image *im, int (*fn)(void *ctx, const struct elfsym_marker *m), void *ctx)
{
	uint64_t base = 0;
	size_t names = 0;
	int r = 0;

	if (elf_getshdrstrndx(im->elf, &names) || !strings_of(im, names))
		return 0;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(im->elf, scn));) {
		GElf_Shdr sh;
		const char *name;

		if (gelf_getshdr(scn, &sh) && (name = elf_strptr(im->elf, names, sh.sh_name)) &&
		    !strcmp(name, ".stapsdt.base"))
			base = sh.sh_addr;
	}
	for (Elf_Scn *scn = NULL; !r && (scn = elf_nextscn(im->elf, scn));) {
		size_t off = 0, name_off, desc_off;
		Elf_Data *data;
		GElf_Shdr sh;
		GElf_Nhdr nh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_NOTE ||
		    !(data = elfsym_data_of(im, scn, ELFFILE_SMALL)))
			continue;
		while (!r && off < data->d_size && (off = gelf_getnote(data, off, &nh, &name_off, &desc_off)) > 0) {
			const uint8_t *buf = data->d_buf;

			if (name_off > data->d_size || nh.n_namesz > data->d_size - name_off ||
			    desc_off > data->d_size || nh.n_descsz > data->d_size - desc_off)
				break;
			if (nh.n_type == 3 && nh.n_namesz == sizeof("stapsdt") &&
			    !memcmp(buf + name_off, "stapsdt", sizeof("stapsdt")))
				r = one_marker(im, buf + desc_off, nh.n_descsz, base, fn, ctx);
		}
	}
	return 0;
}

int elfsym_markers(int fd, int (*fn)(void *ctx, const struct elfsym_marker *m), void *ctx, struct err *e)
{
	struct image im;
	int r = image_open(&im, fd, NULL, 0, e);

	if (!r)
		r = markers(&im, fn, ctx);
	image_close(&im);
	return r;
}

int elfsym_markers_memory(const void *image, uint64_t size, int (*fn)(void *ctx, const struct elfsym_marker *m),
			  void *ctx, struct err *e)
{
	struct image im;
	int r = image_open(&im, -1, image, size, e);

	if (!r)
		r = markers(&im, fn, ctx);
	image_close(&im);
	return r;
}

/* Of the table of dynamic symbols in this section. */
static bool variable_in(const struct image *im, Elf_Scn *scn, const GElf_Shdr *sh, const char *name, uint64_t *vaddr)
{
	Elf_Data *data = strings_of(im, sh->sh_link) ? elfsym_data_of(im, scn, ELFFILE_TABLE) : NULL;
	size_t n = data && data->d_buf ? data->d_size / sizeof(Elf64_Sym) : 0;

	for (size_t i = 0; i < n && i < MAX_SYMBOLS; i++) {
		const char *s;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		s = GELF_ST_TYPE(sym.st_info) == STT_OBJECT && sym.st_shndx != SHN_UNDEF
			    ? elf_strptr(im->elf, sh->sh_link, sym.st_name)
			    : NULL;
		if (s && !strcmp(s, name)) {
			*vaddr = sym.st_value;
			return true;
		}
	}
	return false;
}

bool elfsym_variable(int fd, const char *name, uint64_t *from)
{
	const GElf_Phdr *code = NULL;
	bool found = false;
	struct image im;
	uint64_t vaddr = 0;

	if (image_open(&im, fd, NULL, 0, NULL))
		return false;
	for (unsigned i = 0; i < im.loads && !code; i++)
		code = im.load[i].p_flags & PF_X ? &im.load[i] : NULL;
	for (Elf_Scn *scn = NULL; code && !found && (scn = elf_nextscn(im.elf, scn));) {
		GElf_Shdr sh;

		found = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNSYM && variable_in(&im, scn, &sh, name, &vaddr);
	}
	if (found)
		*from = vaddr - (code->p_vaddr - code->p_offset);
	image_close(&im);
	return found;
}

int elfsym_runpath(int fd, char *text, size_t size)
{
	struct image im;
	int r = image_open(&im, fd, NULL, 0, NULL);

	text[0] = 0;
	if (r)
		return r;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(im.elf, scn));) {
		Elf_Data *data;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNAMIC || !strings_of(&im, sh.sh_link) ||
		    !(data = elfsym_data_of(&im, scn, ELFFILE_SMALL)))
			continue;
		for (size_t i = 0; i < data->d_size / sizeof(Elf64_Dyn); i++) {
			const char *s;
			GElf_Dyn d;

			if (!gelf_getdyn(data, (int)i, &d) || d.d_tag == DT_NULL)
				break;
			if (d.d_tag != DT_RUNPATH && d.d_tag != DT_RPATH)
				continue;
			s = elf_strptr(im.elf, sh.sh_link, d.d_un.d_val);
			if (s && strlen(s) < size)
				strcpy(text, s);
		}
	}
	image_close(&im);
	return 0;
}

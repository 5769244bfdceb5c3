// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/elffile.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than linkers write: a program with -ffunction-sections keeps some dozens. libelf allocates 200
 * bytes for each before anything else. */
#define MAX_SECTIONS 200000u
#define MAX_SEGMENTS 65535u
/* A hole costs nothing on disk; file systems that compress hold eight times their blocks at best.
 * Below the floor the size does no harm, and small files may have no blocks at all. */
#define DENSITY 8
#define DENSE_FLOOR (16ull << 20)
#define MOST_PACKED 64 /* real sections shrink to a fifth, zeros to a thousandth */

bool elffile_plausible(int fd, uint64_t offset, uint64_t size, uint64_t max)
{
	struct stat st;

	if (fstat(fd, &st) || st.st_size < 0 || size > max || offset > (uint64_t)st.st_size ||
	    size > (uint64_t)st.st_size - offset)
		return false;
	return size <= DENSE_FLOOR || size / DENSITY <= (uint64_t)st.st_blocks * 512;
}

bool elffile_unpacks_to(uint64_t packed, uint64_t claimed)
{
	return claimed <= ELFFILE_SMALL || claimed / MOST_PACKED <= packed;
}

bool elffile_unpackable(int fd, Elf *elf)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		uint64_t claimed = 0;
		uint8_t old[12]; /* "ZLIB" and the size, big endian: .zdebug_* */
		GElf_Chdr ch;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		if (sh.sh_flags & SHF_COMPRESSED)
			claimed = gelf_getchdr(scn, &ch) ? ch.ch_size : UINT64_MAX;
		else if (!(sh.sh_flags & SHF_ALLOC) && sh.sh_offset <= INT64_MAX &&
			 pread(fd, old, sizeof(old), (off_t)sh.sh_offset) == sizeof(old) && !memcmp(old, "ZLIB", 4))
			for (int i = 4; i < 12; i++)
				claimed = claimed << 8 | old[i];
		if (!elffile_unpacks_to(sh.sh_size, claimed))
			return false;
	}
	return true;
}

/* Counts too large for the header stand in the first section's. */
static bool tables_plausible(int fd)
{
	union {
		Elf32_Ehdr w;
		Elf64_Ehdr x;
	} h = { 0 };
	union {
		Elf32_Shdr w;
		Elf64_Shdr x;
	} s = { 0 };
	uint64_t at, sections, segments;
	bool wide;

	if (pread(fd, &h, sizeof(h), 0) < (ssize_t)sizeof(h.w) || memcmp(h.w.e_ident, ELFMAG, SELFMAG))
		return true; /* not ELF: libelf says so */
	if (h.w.e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
		return false; /* no process of this machine runs it */
	wide = h.w.e_ident[EI_CLASS] == ELFCLASS64;
	at = wide ? h.x.e_shoff : h.w.e_shoff;
	sections = wide ? h.x.e_shnum : h.w.e_shnum;
	segments = wide ? h.x.e_phnum : h.w.e_phnum;
	if (at && at <= INT64_MAX && (!sections || segments == PN_XNUM)) {
		if (pread(fd, &s, sizeof(s), (off_t)at) < (ssize_t)sizeof(s.w))
			return true;
		sections = sections ? sections : wide ? s.x.sh_size : s.w.sh_size;
		segments = segments == PN_XNUM ? wide ? s.x.sh_info : s.w.sh_info : segments;
	}
	return sections <= MAX_SECTIONS && segments <= MAX_SEGMENTS;
}

Elf *elffile_begin(int fd)
{
	elf_version(EV_CURRENT);
	return tables_plausible(fd) ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
}

Elf_Data *elffile_data(int fd, Elf_Scn *scn, uint64_t max)
{
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS ||
	    !elffile_plausible(fd, sh.sh_offset, sh.sh_size, max))
		return NULL;
	return elf_getdata(scn, NULL);
}

bool elffile_strings(int fd, Elf *elf, size_t index)
{
	Elf_Scn *scn = elf_getscn(elf, index);
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && sh.sh_type == SHT_STRTAB && !(sh.sh_flags & SHF_COMPRESSED) &&
	       elffile_plausible(fd, sh.sh_offset, sh.sh_size, ELFFILE_TABLE);
}

bool elffile_names(int fd, Elf *elf, size_t *index)
{
	return !elf_getshdrstrndx(elf, index) && *index && elffile_strings(fd, elf, *index);
}

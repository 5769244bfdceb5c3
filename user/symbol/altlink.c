// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/altlink.h"

#include <elfutils/libdwelf.h>
#include <string.h>

#include "kmod-free/elffile.h"

bool altlink_set(struct altlink *a, Dwarf *dw, int fd)
{
	const void *want, *have;
	const char *name;
	ssize_t want_len = dwelf_dwarf_gnu_debugaltlink(dw, &name, &want), have_len;

	if (want_len <= 0)
		return true;
	a->elf = fd >= 0 ? elffile_begin(fd) : NULL;
	have_len = a->elf && elf_kind(a->elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(a->elf, &have) : 0;
	if (have_len == want_len && !memcmp(have, want, (size_t)want_len) && elffile_unpackable(fd, a->elf))
		a->dw = dwarf_begin_elf(a->elf, DWARF_C_READ, NULL);
	if (!a->dw)
		return false;
	dwarf_setalt(dw, a->dw);
	return true;
}

void altlink_release(struct altlink *a)
{
	if (a->dw)
		dwarf_end(a->dw);
	if (a->elf)
		elf_end(a->elf);
	a->dw = NULL;
	a->elf = NULL;
}

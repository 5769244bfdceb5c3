// SPDX-License-Identifier: GPL-2.0-or-later
/* A hostile ELF file: segments, build-id, unwind table, symbol table, names of addresses. */
/* harm: ELF notes, symbol tables, tables of names of a gigabyte, in probed files, too; 400 MB in a compressed table */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc/ehframe.h"
#include "proc/module.h"
#include "symbol/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_names(int fd, const uint64_t *addrs, unsigned n)
{
	struct symtab t = { 0 };

	if (symtab_add_file(&t, fd, 0))
		abort();
	symtab_sort(&t);
	for (unsigned i = 0; i < n; i++) {
		const struct symtab_entry *e = symtab_find(&t, addrs[i]);

		if (e && (!symtab_name(&t, e) || addrs[i] < e->start || addrs[i] >= e->end))
			abort();
	}
	symtab_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	unsigned n = 0;
	uint64_t addrs[64], off, vaddr;
	char path[48];
	struct module *m;
	const struct ehframe *f;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	m = module_open_path(path, NULL, 0, NULL);
	if (m) {
		f = module_ehframe(m);
		for (size_t i = 0; f && i < ehframe_count(f) && n < 32; i++)
			addrs[n++] = ehframe_start(f, i) + 1;
		for (unsigned i = 0; i < m->segment_count && n < 60; i++)
			addrs[n++] = m->segments[i].vaddr + 0x10;
		addrs[n++] = m->entry;
		addrs[n++] = ~0ull;
		for (unsigned i = 0; i < n; i++)
			if (module_vaddr_to_offset(m, addrs[i], &off))
				module_offset_to_vaddr(m, off, &vaddr);
		find_names(fd, addrs, n); /* in the child otherwise: f-dwarf.c */
		module_close_path(m);
	}
	close(fd);
	return 0;
}

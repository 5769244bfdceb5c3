// SPDX-License-Identifier: GPL-2.0-or-later
/* A hostile ELF file: segments, build-id, unwind table, symbol table, names of addresses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc/ehframe.h"
#include "symbol/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void named(void *ctx, size_t index, const struct symbol_frame *chain, unsigned count, enum symbol_origin origin)
{
	unsigned *calls = ctx;

	if (!count || !chain[count - 1].name || index >= 64)
		abort();
	calls[index]++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	unsigned calls[64] = { 0 }, n = 0;
	uint64_t addrs[64], off, vaddr;
	char path[48];
	struct module *m;
	const struct ehframe *f;
	struct symbols *s;

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
		s = symbols_new(false, false); /* DWARF is read apart: libdw may crash there */
		if (symbols_resolve(s, m, addrs, n, named, calls))
			abort();
		for (unsigned i = 0; i < n; i++)
			if (calls[i] != 1)
				abort();
		symbols_free(s);
		module_close_path(m);
	}
	close(fd);
	return 0;
}

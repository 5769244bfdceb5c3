// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile ELF file through the contained child's entries, as a recording takes it: traits, DWARF chains,
 * symbol table, demangling; then the variables of frames. libdw may crash there: that is the child's
 * business; each address still has exactly one name here.
 */
/* harm: DWARF that crashes or delays its library */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared_coverage.h"
#include "symbol/contained_child.h"
#include "symbol/locals.h"
#include "symbol/symbols.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDRESSES 64

struct asked {
	int fd;
	const uint64_t *addr;
	unsigned count, calls[ADDRESSES];
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	share_coverage();
	return 0;
}

static void named(void *ctx, size_t index, const struct symbol_frame *chain, unsigned count, enum symbol_origin origin)
{
	struct asked *a = ctx;

	if (!count || index >= a->count)
		abort();
	for (unsigned i = 0; i < count; i++)
		if (!chain[i].name)
			abort();
	a->calls[index]++;
}

static int find_locals(void *ctx, struct contained_out *out)
{
	struct asked *a = ctx;
	struct locals *l = locals_open_fd(a->fd, -1);
	struct frame_local found[32];

	for (unsigned i = 0; l && i < a->count; i++) {
		size_t n = locals_at(l, a->addr[i], found, 32) + locals_of(l, a->addr[i], found, 32);

		contained_put(out, &n, sizeof(n));
	}
	locals_close(l);
	return 0;
}

static int took(void *ctx, const uint8_t *record, size_t size)
{
	return size == sizeof(size_t) ? 0 : -EIO;
}

static unsigned places(struct module *m, uint64_t *addr)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->segment_count && n < ADDRESSES - 10; i++)
		for (unsigned k = 0; k < 8 && n < ADDRESSES - 2; k++)
			addr[n++] = m->segments[i].vaddr + k * (m->segments[i].filesz / 8 + 1);
	addr[n++] = m->entry;
	addr[n++] = m->entry + 5;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("dwarf", MFD_CLOEXEC);
	uint64_t addr[ADDRESSES];
	struct asked a = { .fd = fd, .addr = addr };
	struct contained_job job = {
		.produce = find_locals,
		.consume = took,
		.ctx = &a,
		.keep_fd = { fd, -1, -1 },
		.cpu_seconds = 5,
		.memory = 1ull << 30,
	};
	struct symbols *s;
	struct module *m;
	char path[48];

	forget_coverage();
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	m = module_open_path(path, NULL, 0, NULL);
	if (m) {
		a.count = places(m, addr);
		s = symbols_new(false, true);
		if (symbols_resolve(s, m, addr, a.count, named, &a))
			abort();
		for (unsigned i = 0; i < a.count; i++)
			if (a.calls[i] != 1)
				abort();
		symbols_free(s);
		contained_run(&job);
		module_close_path(m);
	}
	close(fd);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* names FILE N: names N addresses spread over the functions of an ELF file, prints how and how long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <fcntl.h>

#include "symbol/symbols.h"
#include "symbol/symtab.h"

static unsigned long frames;

static void on_name(void *ctx, size_t index, const struct symbol_frame *chain, unsigned count,
		    enum symbol_origin origin)
{
	frames += count;
}

int main(int argc, char **argv)
{
	size_t want = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
	struct symtab t = { 0 };
	struct symbols *s = symbols_new(true, true);
	const struct symbols_counters *c = symbols_counters(s);
	uint64_t *addrs = calloc(want, sizeof(*addrs));
	struct timespec a, b;
	struct rusage u;
	struct err e = { 0 };
	struct module *m;
	int fd;

	if (argc < 2 || (fd = open(argv[1], O_RDONLY)) < 0 || symtab_add_file(&t, fd, 0))
		return 1;
	symtab_sort(&t);
	for (size_t i = 0; i < want; i++) {
		const struct symtab_entry *f = &t.entries[i * 7919 % t.count];

		addrs[i] = f->start + (i * 31 + i / t.count) % (f->end - f->start);
	}
	clock_gettime(CLOCK_MONOTONIC, &a);
	m = module_open_path(argv[1], NULL, 0, &e);
	if (!m || symbols_resolve(s, m, addrs, want, on_name, NULL)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	getrusage(RUSAGE_SELF, &u);
	printf("%zu addresses, %lu frames in %.2f s, %ld MiB; cache %lu, DWARF %lu, symbols %lu\n", want, frames,
	       (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9, u.ru_maxrss / 1024,
	       (unsigned long)c->from_cache, (unsigned long)c->dwarf, (unsigned long)c->table);
	module_close_path(m);
	return 0;
}

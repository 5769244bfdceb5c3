// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions that have no name, as a driver keeps them to itself, and that a program calls by a table of pointers which
 * another library exports. The table is filled at run time, so it is looked at again at each tick.
 */
#include "offload/session_internal.h"

#include <string.h>

#include "kmod-free/elfsym.h"
#include "util/target_memory.h"

#define TABLE_MOST 8192 /* bytes of a table */

static void point_to(struct pointed *p, uint64_t addr, const struct offload_api *a, const char *name)
{
	bool per_thread;

	for (unsigned i = 0; i < p->cnt; i++)
		if (p->addr[i] == addr)
			return;
	if (!addr || p->cnt == POINTED_MOST)
		return;
	p->row[p->cnt] = offload_row_of(a, name, &per_thread);
	p->of[p->cnt] = a;
	p->addr[p->cnt++] = addr;
}

void pointed_read(struct pointed *p, int pid, const struct lib_file *f, const struct offload_api *a)
{
	const struct offload_table *t = a->table;
	uint8_t table[TABLE_MOST];
	uint64_t from;
	size_t size;

	if (!t || !f->mapped || !elfsym_variable(f->fd, t->symbol, &from))
		return;
	size = (size_t)t->entries * t->stride;
	if (size > sizeof(table) ||
	    target_memory_read((uint32_t)pid, f->start - f->pgoff + from, table, size) != (ssize_t)size)
		return;
	for (unsigned i = 0; i < t->entries; i++)
		for (unsigned k = 0; k < OFFLOAD_POINTERS; k++) {
			uint64_t addr;

			memcpy(&addr, table + (size_t)i * t->stride + k * sizeof(addr), sizeof(addr));
			point_to(p, addr, a, t->row[k]);
		}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The common file that dwz moved parts of DWARF to (.gnu_debugaltlink). libdw would open the path that the
 * file names, whatever lies there; here it is handed a descriptor or nothing. dwfl.c's and locals.c's own. */
#ifndef ACCPERF_SYMBOL_ALTLINK_H
#define ACCPERF_SYMBOL_ALTLINK_H

#include <elfutils/libdw.h>
#include <stdbool.h>

struct altlink {
	Elf *elf;
	Dwarf *dw;
};

/* fd: borrowed, -1 none. False: the file wants another than this one. Release after dwarf_end(dw). */
bool altlink_set(struct altlink *a, Dwarf *dw, int fd);
void altlink_release(struct altlink *a);

#endif

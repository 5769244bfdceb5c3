/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a module's debug information is: in it, beside it, under /usr/lib/debug, or, only if the user's
 * environment names servers (DEBUGINFOD_URLS; root's ACCPERF_DEBUGINFOD=1 besides), fetched by
 * debuginfod. Whatever a file says of itself is read in a contained child. Included by readers of DWARF (flow and
 * exact).
 */
#ifndef ACCPERF_SYMBOL_DEBUGFILE_H
#define ACCPERF_SYMBOL_DEBUGFILE_H

#include <stdbool.h>
#include <stdint.h>

struct debugfile {
	int fd;       /* -1: none */
	int alt;      /* of what dwz moved to a common file; -1: none */
	int64_t bias; /* what to add to its addresses to get the module's (not 0 for prelinked files) */
	bool dwarf;   /* has any that may be read */
	bool refused; /* has some that claims to unpack to what it cannot hold */
	bool ours;    /* openfile_is_ours(): names may be remembered */
	/* debugfile.c's */
	uint64_t first_load;
	char link[256];
	bool own;
};

/* Of the module itself; fd and path are borrowed. False, and nothing to close: it is no ELF file. */
bool debugfile_own(struct debugfile *out, int fd, const char *path);
/* The separate one of a module, which has its build-id; false: there is none. */
bool debugfile_separate(struct debugfile *out, const struct debugfile *own, const char *path, const uint8_t *build_id,
			unsigned build_id_len);
void debugfile_close(struct debugfile *d);

#endif

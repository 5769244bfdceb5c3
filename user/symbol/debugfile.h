/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a module's debug information is: beside it, under /usr/lib/debug, or, only if the user's
 * environment names servers (DEBUGINFOD_URLS), fetched by debuginfod. Included by symbols.c.
 */
#ifndef ACCPERF_SYMBOL_DEBUGFILE_H
#define ACCPERF_SYMBOL_DEBUGFILE_H

#include <stdint.h>

/* A descriptor of the separate debug file of the ELF file `fd`, or -1; *bias: what to add to its
 * addresses to get the module's (not 0 for prelinked files). path: of the module. */
int debugfile_open(int fd, const char *path, const uint8_t *build_id, unsigned build_id_len, int64_t *bias);

#endif

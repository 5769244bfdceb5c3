/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of the system calls that move data, for "(kernel:read)". Names of functions that stand for
 * several. Included by user/flow and view.
 * To add one: a row in sysname.c.
 */
#ifndef ACCPERF_FLOW_SYSNAME_H
#define ACCPERF_FLOW_SYSNAME_H

#include <stddef.h>

/* "(kernel:NAME)", "(kernel:NR)" for a call without a row, "(kernel)" for nr < 0. Returns buf. */
const char *kernel_name(int nr, char *buf, size_t size);

/* The C library has each string function several times, one per kind of processor; which one runs is no
 * property of the program: __memmove_avx512_unaligned_erms is memmove. Returns the length of the plain
 * name at *name, or 0. */
size_t flow_plain_name(const char **name);

#endif

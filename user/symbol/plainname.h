/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One name for functions that stand for one. Included by profile and flow. To add a family or a kind of processor: a
 * word in a table of plainname.c.
 */
#ifndef ACCPERF_SYMBOL_PLAINNAME_H
#define ACCPERF_SYMBOL_PLAINNAME_H

#include <stddef.h>

/* The C library has each string function several times, one per kind of processor; which one runs is no
 * property of the program: __memmove_avx512_unaligned_erms is memmove. Returns the length of the plain
 * name, which *name then points to, or 0. */
size_t plain_name(const char **name);

#endif

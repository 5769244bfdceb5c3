/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function's name in few columns, by what its language makes of names: parameters and the returned type go first
 * (C++), then namespaces, then what stands in angle brackets (C++, Rust) or before the package (Go); of an address in
 * an object the middle of the object. Pure text. Included by view and tests.
 */
#ifndef ACCPERF_SYMBOL_SHORTNAME_H
#define ACCPERF_SYMBOL_SHORTNAME_H

#include <stddef.h>

#define SHORT_NAME_MOST 4096 /* bytes of a name, and of an answer with its NUL */

/* At most `most` columns of it in out, which has SHORT_NAME_MOST; 0: nothing sensible is so short, the name is longer
 * than that, or it has bytes that are no ASCII. */
size_t short_name(const char *name, unsigned most, char *out);

#endif

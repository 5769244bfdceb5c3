/* SPDX-License-Identifier: GPL-2.0-or-later */
/* C++ and Rust names for people, those of C++ and old Rust by the C++ runtime library if it is there. Names come
 * from foreign files: overlong ones are left as they are. Included by symbols.c (flow, exact and tests). */
#ifndef ACCPERF_SYMBOL_DEMANGLE_H
#define ACCPERF_SYMBOL_DEMANGLE_H

#include <stddef.h>

/* Loads the library: to be done before a child that may open nothing demangles. */
void demangle_prepare(void);
/* Demangled into out; when it cannot be, the name itself. Returns out. */
const char *demangle(const char *name, char *out, size_t size);

#endif

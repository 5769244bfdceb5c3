/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of Rust's functions for people: those that its compiler makes today (RFC 2603, "_R..."), and the escapes of
 * older ones once the C++ runtime has taken them apart. Hashes of crates and lifetimes are left out. Names come from
 * foreign files: what is deeper or longer than any compiler makes is refused. Pure. Included by this room alone.
 */
#ifndef ACCPERF_SYMBOL_RUST_NAME_H
#define ACCPERF_SYMBOL_RUST_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* "_RNvNtCs1234_7mycrate3foo3bar" -> "mycrate::foo::bar"; false: no such name, out holds nothing of use. */
bool rust_name(const char *mangled, char *out, size_t size);
/* "_$LT$a..B$u20$as$u20$a..C$GT$::d" -> "<a::B as a::C>::d", in place. */
void rust_unescape(char *name);

#endif

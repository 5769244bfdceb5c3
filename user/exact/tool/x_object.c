/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "x.h"
UInt object_alloc_kind(const HChar *name) { return 0; }
void object_init(void) {}
void object_access(Ev *e, Addr a, UInt size, Bool write) {}
void object_alloc_leave(Fn *fn, Addr caller_ip, Fn *caller) {}
void object_mmap(Addr a, SizeT len, Bool anon) {}
void object_unmap(Addr a, SizeT len) {}
void object_write(void) {}
void subtree_write(void) {}
void subtree_access(Addr a, UInt size, Bool write, UInt stack) {}

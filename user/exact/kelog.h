/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The four logs of Kim & Edwards' tool, by invocation, and the list of all accesses (xQUAD), binary form.
 * Freestanding: written inside Valgrind, printed as text by `accperf exact --dump-log`. Included by this room and
 * tests.
 *
 * A log = struct ke_head, then records of its kind until the end of the file. Little endian. A file
 * that ends inside a record was cut short; what precedes is whole.
 *
 * Invocations count from 1 in the order of their calls; 0 is nobody: written outside the program's
 * selected functions, or by the kernel. One record per invocation appears when it ends (subcalls:
 * when it begins), so memory is bounded by the invocations that live.
 */
#ifndef ACCPERF_EXACT_KELOG_H
#define ACCPERF_EXACT_KELOG_H

#include <stdint.h>

#define KE_MAGIC 0x474c454bu /* "KELG" */
#define KE_VERSION 1         /* changes with the layout */

enum ke_kind { KE_FUNCTION = 1, KE_SUBCALLS = 2, KE_ICOUNT = 3, KE_XFERS = 4, KE_ACCESSES = 5 };
#define KE_KINDS 5 /* of enum ke_kind */

struct ke_head {
	uint32_t magic;
	uint16_t version, kind;
	uint32_t chunk;    /* bytes, KE_XFERS */
	uint32_t rec_size; /* 0: of KE_FUNCTION and KE_ACCESSES, whose records vary */
};

struct ke_function { /* followed by len bytes: name, a tab, object */
	uint32_t function, len;
};

struct ke_subcall {
	uint64_t invocation, parent;
	uint32_t function, pad;
};

struct ke_icount { /* while it was the innermost selected one */
	uint64_t invocation, instructions, compute;
};

struct ke_xfer {
	uint64_t reader, writer, chunks;
};

enum ke_access_flags { KE_A_STORE = 1, KE_A_STACK = 2, KE_A_FUNCTION = 4, KE_A_OBJECT = 8 };

/* An access, or with KE_A_FUNCTION or KE_A_OBJECT a name, before the first access of its bearer: size bytes follow. */
struct ke_access {
	uint64_t time, addr;       /* instructions executed before its block */
	uint64_t call;             /* of the function, from 1; 0: in none that is selected */
	uint32_t function, object; /* 0 unknown */
	uint32_t size, flags;
};
#define KE_NAME_MAX 2000 /* bytes; longer ones are cut; by hand */

_Static_assert(sizeof(struct ke_access) == 40, "log layout");
_Static_assert(sizeof(struct ke_head) == 16 && sizeof(struct ke_subcall) == 24 && sizeof(struct ke_icount) == 24 &&
		       sizeof(struct ke_xfer) == 24,
	       "log layout");

#endif

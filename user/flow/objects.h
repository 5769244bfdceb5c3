/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data objects: who reads and writes them, and how hard functions use memory. Pure; no I/O.
 * Included by view, cli and tests.
 *
 * An object is a variable (from the profile, else from the symbol tables of its files), an allocation
 * site where the profile holds blocks, and otherwise a range of memory without a wide gap between its
 * accesses (inferred: two blocks that lie close by are one range), or several such of one mapping that have the
 * same users (object_ranges.h). A variable, and a range of forked processes, stand once for each program.
 *
 * Figures per function, of accesses the profile holds:
 *   MAR            memory accesses per instruction
 *   non-local MAR  the same without the stack's
 *   stack ratio    stack accesses / all accesses
 *   MAI            share of the program's non-stack accesses / share of its instructions: above 1 the
 *                  function uses memory more than the program on the whole; functions rank by it
 */
#ifndef ACCPERF_FLOW_OBJECTS_H
#define ACCPERF_FLOW_OBJECTS_H

#include "flow/flow.h"
#include "flow/input.h"

#define OBJECT_USERS 4

struct object_user {
	const char *name; /* function; NULL: none */
	double bytes;
};

struct object_row {
	char name[160];
	const char *kind;     /* global, local, heap, mapping, stack, inferred */
	const char *function; /* owner or allocating function, "" unknown */
	uint64_t addr;        /* 0: many places */
	double size;          /* NaN unknown */
	double blocks;
	unsigned places;    /* ranges taken together, 1 otherwise */
	unsigned processes; /* that were seen to use it; 0: counted by the exact engine, which does not tell */
	double reads, writes, read_bytes, write_bytes;
	double share;   /* of all accesses shown */
	double samples; /* NaN: counted */
	unsigned reader_count, writer_count;
	struct object_user readers[OBJECT_USERS], writers[OBJECT_USERS]; /* largest first */
};

struct object_function {
	const char *name, *object;
	double accesses, instructions; /* NaN unknown */
	double mar, nonlocal_mar, stack_ratio, mai;
};

struct objects {
	struct object_row *rows; /* by accesses, largest first */
	size_t row_count, row_cap;
	struct object_function *functions; /* by MAI, then accesses */
	size_t function_count;
	bool exact, time_bias;
	double speed_seconds; /* where there are none: a recording that would tell; see counts/counts_speed.h */
	bool amounts;         /* else bytes and numbers of accesses are in no known unit, only shares and ratios tell */
	double samples;
	size_t inferred; /* rows that are ranges only */
};

int objects_build(const struct flow_input *in, bool stack, struct objects *out, struct err *e);
void objects_release(struct objects *o);

#endif

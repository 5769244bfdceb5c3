/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data objects: who reads and writes them, and how hard functions use memory. Pure; no I/O.
 * Included by view and tests.
 *
 * An object is a variable (from the profile, else from the symbol tables of its files), an allocation
 * site where the profile holds blocks, and otherwise a range of memory without a wide gap between its
 * accesses (inferred: two blocks that lie close by are one range), or several such of one mapping that have the
 * same users (object_ranges.h). A variable, and a range of forked processes, stand once for each program.
 *
 * Figures per function, of accesses the profile holds (Ostadzadeh and others, xQUAD):
 *   MAR            memory accesses per instruction
 *   non-local MAR  the same without the stack's
 *   stack ratio    stack accesses / all accesses
 *   relative MAR   non-local MAR / the program's: above 1 the function uses memory more than the program does
 *   MAI            time for memory / accesses, of the regions that cost anything: the function's time x (sum of
 *                  cost factor x MAR by region) / those accesses. The lower, the more it suits hardware: its rank
 * and by region the objects, distinct addresses and accesses.
 */
#ifndef ACCPERF_FLOW_OBJECTS_H
#define ACCPERF_FLOW_OBJECTS_H

#include "flow/flow.h"
#include "flow/input.h"

#define OBJECT_USERS 4 /* functions named with an object, the largest; by hand */

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
	uint32_t pid;       /* of the first of them */
	const char *comm;   /* what that is called; NULL: unknown */
	double reads, writes, read_bytes, write_bytes;
	double share;                 /* of all accesses shown */
	double samples;               /* NaN: counted */
	double inferred;              /* of these, by what was told of the memory around (heap.h); 0: none */
	double share_error;           /* half of a 95 % interval of `share`, of allocation sites; NaN unknown */
	double written, read, unread; /* distinct bytes, the kernel's accesses included; unread: written, never read */
	unsigned reader_count, writer_count;
	struct object_user readers[OBJECT_USERS], writers[OBJECT_USERS]; /* largest first */
	double *over_time; /* by slice: share of all accesses, then samples; NULL: not asked, or not known */
};

enum object_region { REGION_STACK, REGION_HEAP, REGION_DATA, REGION_OTHER, OBJECT_REGIONS };

/* What a function uses of a region; NaN unknown. */
struct object_reach {
	double objects;   /* variables and allocation sites; of the stack, variables alone */
	double addresses; /* distinct ones that accesses began at */
	double bytes;     /* distinct */
	double reads, writes;
	double low, high; /* first address and one past the last */
};

/* Of an access, in the time of an average instruction. */
struct object_costs {
	double factor[OBJECT_REGIONS];
	bool measured;
};

struct object_function {
	const char *name, *object;
	double accesses, instructions; /* NaN unknown */
	double mar, nonlocal_mar, stack_ratio, relative_mar;
	struct object_reach reach[OBJECT_REGIONS];
	double time;          /* in objects.time_unit */
	double communication; /* of it, for accesses of regions that cost anything */
	double weighed;       /* number of these accesses */
	double mai;
	unsigned rank; /* for hardware, from 1; 0 unknown */
};

struct objects {
	struct object_row *rows; /* by accesses, largest first */
	size_t row_count, row_cap;
	struct object_function *functions; /* by rank, then relative MAR, then accesses */
	size_t function_count;
	bool exact, time_bias;
	double speed_low, speed_high; /* 95 % of true amounts over those here; NaN: there are none */
	double speed_seconds;         /* where there are none: a recording that would tell; see counts/counts_speed.h */
	bool amounts; /* else bytes and numbers of accesses are in no known unit, only shares and ratios tell */
	double samples;
	unsigned processes;  /* that were seen to use any; 0: the exact engine does not tell */
	size_t inferred;     /* rows that are ranges only */
	struct object_heap { /* accesses of the heap by how their site is known; parts of all, NaN: no allocations */
		double known, inferred, unknown;
	} heap;
	struct object_costs costs;
	const char *time_unit;           /* ns, cycles (of the exact engine's model); NULL: times are not known */
	bool reaches;                    /* addresses were told apart: exact, with --objects and --unique */
	uint32_t slices;                 /* of rows' over_time; 0: none, as counts of the exact engine have no time */
	double slice_start, slice_width; /* in the profile's time */
};

/* The stack for nothing, everything else for the time of an instruction: the paper's simple case. */
extern const struct object_costs object_costs_default;
extern const char *const object_region_names[OBJECT_REGIONS];
/* "stack=0,heap=4,data=2,other=4": factors that are not named stay. */
int object_costs_parse(const char *text, struct object_costs *out, struct err *e);
/* By what a load takes here from as much memory as the program used of each region: 0, -ENODATA or -ENOMEM. */
int object_costs_measured(const struct flow_input *in, struct object_costs *out, struct err *e);
#define OBJECT_SLICES_MOST 1000 /* of time; by hand */
/* slices: into how many parts of the recording rows' samples are put, too; 0: none. */
int objects_build(const struct flow_input *in, bool stack, const struct object_costs *costs, uint32_t slices,
		  struct objects *out, struct err *e);
void objects_release(struct objects *o);

#endif

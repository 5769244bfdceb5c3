/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the exact engine stores: the records of sections 32 to 47. A part of format.h, which includes it and tells how
 * to add a section; nobody else includes it.
 */
#ifndef ACCPERF_FORMAT_EXACT_H
#define ACCPERF_FORMAT_EXACT_H

#include <stdint.h>

/* Where an access went. FMT_X_BOTH counts an address once that was touched in both ways. */
enum fmt_x_class { FMT_X_DATA = 0, FMT_X_STACK = 1, FMT_X_BOTH = 2 };
enum fmt_x_region { FMT_X_R_STACK = 0, FMT_X_R_HEAP = 1, FMT_X_R_GLOBAL = 2, FMT_X_R_OTHER = 3 };
#define FMT_X_UNKNOWN 0xffffffffffffffffull /* not measured in this run */

enum fmt_x_has {
	FMT_X_HAS_QUAD = 1,
	FMT_X_HAS_UNIQUE = 2,
	FMT_X_HAS_KE = 4,
	FMT_X_HAS_OBJECTS = 8,
	FMT_X_HAS_SLICES = 16,
	FMT_X_HAS_CYCLES = 32, /* a static cost model with simulated caches, not a measurement */
	FMT_X_HAS_TREE = 64,
	FMT_X_ATTR_MAIN = 128,   /* library routines' accesses belong to their caller in the main image */
	FMT_X_SELECTED = 256,    /* only listed functions, each with what it calls */
	FMT_X_WINDOW = 512,      /* counted between --start-at and --stop-at only */
	FMT_X_INCOMPLETE = 1024, /* the run ended before the program did, or this is a checkpoint */
};

struct fmt_x_run {
	uint64_t instructions; /* all threads, counted or not; the unit of time in this profile */
	uint64_t counted;      /* those inside the counting window */
	uint64_t loads, stores, load_bytes, store_bytes; /* counted */
	uint64_t cycles;                                 /* model; FMT_X_UNKNOWN */
	uint64_t slice;                                  /* instructions per slice; 0 none */
	uint32_t chunk;                                  /* bytes per chunk of the ke semantics */
	uint32_t has;                                    /* enum fmt_x_has */
	uint64_t shadow_bytes;                           /* memory for last writers and readers */
	uint64_t unique_bytes;                           /* memory for the sets of unique addresses */
	uint64_t touched; /* distinct bytes of the program that were accessed, rounded to pages */
};
_Static_assert(sizeof(struct fmt_x_run) == 96, "fmt_x_run");

enum fmt_x_scope { FMT_X_SELF = 1, FMT_X_INCLUSIVE = 2, FMT_X_UNIT = 3 };

/* INCLUSIVE: with everything called below, recursion counted once; its unique figures are unknown. UNIT: of what
 * belongs to it as accesses do, where functions are selected or libraries belong to their callers.
 * in_unique = IN UMA: distinct addresses read. out_unique = OUT UMA: distinct addresses written and
 * then read by anyone. written_unique: written, read or not. */
struct fmt_x_func {
	uint32_t function; /* fmt_function.id */
	uint32_t scope;    /* enum fmt_x_scope */
	uint64_t calls;    /* invocations */
	uint64_t instructions;
	uint64_t compute;         /* arithmetic and logical instructions */
	uint64_t transfer;        /* data transfers */
	uint64_t control;         /* control transfers; what is left is none of the three */
	uint64_t ops_int, ops_fp; /* compute instructions times SIMD lanes */
	uint64_t cycles;          /* model; FMT_X_UNKNOWN */
	uint64_t loads, stores;
	uint64_t load_bytes[4], store_bytes[4];                  /* enum fmt_x_region */
	uint64_t in_unique[3], out_unique[3], written_unique[3]; /* enum fmt_x_class */
};
_Static_assert(sizeof(struct fmt_x_func) == 224, "fmt_x_func");

/* IN and OUT of a function are sums over its edges. */
struct fmt_x_edge {
	uint32_t producer, consumer; /* fmt_function.id; pseudo-functions are functions too */
	uint64_t bytes[2];           /* quad; DATA, STACK */
	uint64_t unique[3];          /* distinct addresses; DATA, STACK, BOTH */
	uint64_t ke_chunks[2];       /* ke; times fmt_x_run.chunk = bytes */
};
_Static_assert(sizeof(struct fmt_x_edge) == 64, "fmt_x_edge");

/* One way to reach a function; a recursive call is folded into the outer node of its function. */
struct fmt_x_node {
	uint32_t id, parent; /* from 1; parent 0 = a thread's first function */
	uint32_t function, pad;
	uint64_t calls;
	uint64_t instructions, compute, cycles; /* self */
	uint64_t load_bytes, store_bytes;
};
_Static_assert(sizeof(struct fmt_x_node) == 64, "fmt_x_node");

struct fmt_x_use {
	uint32_t function, object; /* fmt_function.id, fmt_object.id */
	uint64_t reads, writes, read_bytes, write_bytes;
	uint64_t unique; /* distinct addresses */
};
_Static_assert(sizeof(struct fmt_x_use) == 48, "fmt_x_use");

struct fmt_x_object {
	uint32_t object, pad; /* fmt_object.id */
	uint64_t blocks;      /* allocations of this site; 1 for a variable */
	uint64_t bytes;       /* allocated in all */
	uint64_t peak;        /* most bytes alive at a time */
};
_Static_assert(sizeof(struct fmt_x_object) == 32, "fmt_x_object");

struct fmt_x_slice {
	uint64_t slice; /* from instruction slice * fmt_x_run.slice on */
	uint32_t function, pad;
	uint64_t instructions;
	uint64_t load_bytes[2], store_bytes[2]; /* DATA, STACK */
};
_Static_assert(sizeof(struct fmt_x_slice) == 56, "fmt_x_slice");

/* in: read inside, last written outside. out: read outside, last written inside. local: both inside. */
struct fmt_x_subtree {
	uint32_t function, pad;
	uint64_t in[2], out[2], local[2]; /* bytes; DATA, STACK */
	uint64_t in_unique[2], out_unique[2], local_unique[2];
};
_Static_assert(sizeof(struct fmt_x_subtree) == 104, "fmt_x_subtree");

/* Chunks of fmt_x_run.chunk bytes. in, local: a chunk counts once per invocation of the function with all that it
 * calls, until it is written again; out: once per reading invocation. unique: distinct addresses of in, out and local,
 * data and stack together. */
struct fmt_x_subtree_ke {
	uint32_t function, pad;
	uint64_t in[2], out[2], local[2]; /* DATA, STACK */
	uint64_t unique[3];
};
_Static_assert(sizeof(struct fmt_x_subtree_ke) == 80, "fmt_x_subtree_ke");

enum fmt_x_path_flags { FMT_X_PATH_AGAIN = 1 }; /* its function is among those above it already */

/* Functions in the order in which they were first entered on a stack. What is selected away, or is attributed to its
 * caller, is part of its caller's path. */
struct fmt_x_path {
	uint32_t id, parent; /* from 1; parent 0 = a thread's first function, or no function */
	uint32_t function, flags;
	uint64_t calls;
	uint64_t instructions, compute; /* self */
};
_Static_assert(sizeof(struct fmt_x_path) == 40, "fmt_x_path");

struct fmt_x_path_edge {
	uint32_t producer, consumer; /* fmt_x_path.id; 0: nobody was seen to write it, or outside all paths */
	uint64_t bytes[2], unique[2], ke_chunks[2]; /* DATA, STACK; ke as in fmt_x_edge */
};
_Static_assert(sizeof(struct fmt_x_path_edge) == 56, "fmt_x_path_edge");

/* What a function accessed in one region. */
struct fmt_x_reach {
	uint32_t function, region; /* enum fmt_x_region, by the kind of the object */
	uint64_t reads, writes;    /* accesses */
	uint64_t low, high;        /* first address and one past the last */
	uint64_t addresses;        /* distinct ones that accesses began at */
	uint64_t bytes;            /* distinct */
};
_Static_assert(sizeof(struct fmt_x_reach) == 56, "fmt_x_reach");

/* Distinct bytes of an object, the kernel's accesses included. */
struct fmt_x_extent {
	uint32_t object, pad;           /* fmt_object.id */
	uint64_t low, high;             /* first address and one past the last */
	uint64_t written, read, unread; /* unread: written and never read */
};
_Static_assert(sizeof(struct fmt_x_extent) == 48, "fmt_x_extent");

/* A cell of the address space in which anything was allocated or accessed; all cells of a profile have one size. */
struct fmt_x_map {
	uint64_t addr, len;
	uint32_t region, pad;           /* enum fmt_x_region */
	uint64_t allocated;             /* distinct bytes in heap blocks and variables; FMT_X_UNKNOWN elsewhere */
	uint64_t written, read, unread; /* distinct; unread: written and never read */
};
_Static_assert(sizeof(struct fmt_x_map) == 56, "fmt_x_map");

#endif

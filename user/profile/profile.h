/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded profile in memory, for the commands that read one: functions, frames, stacks, threads
 * and the samples folded to one cell for each (thread, stack) while the file streams past, so that
 * memory follows the number of distinct stacks, never the number of samples. Owns everything it points to, until
 * profile_free(). Included by many rooms.
 *
 * The order of definitions and their users in the file does not matter: names are resolved when all
 * has been read. Functions are one per (name, object, file), whatever number of ids the file used.
 *
 * To read a further section here: a row and its take_*() in profile.c; turn ids into indexes in
 * finish(), and bound everything that comes from the file.
 */
#ifndef ACCPERF_PROFILE_PROFILE_H
#define ACCPERF_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "profile/filter.h"
#include "util/err.h"

/* ACCESSES: sampled loads and stores, where a recording holds nothing but those. */
enum profile_unit { PROFILE_TIME, PROFILE_INSTRUCTIONS, PROFILE_ACCESSES, PROFILE_UNITS };

#define PROFILE_NO_OBJECT "[unknown]" /* stands for the object of functions that have none */
struct profile_function {             /* [0] is "(unknown)" */
	const char *name, *object;
	const char *file; /* NULL: unknown */
	uint32_t line;    /* 0: unknown */
	uint32_t id;      /* the first that the file has for it; 0: it has none, as of functions named here */
	bool named;       /* by a symbol or a function bound, not by its bare address */
};

struct profile_line { /* one step of an inline chain, innermost first */
	uint32_t function;
	uint32_t line;    /* 0: unknown */
	const char *file; /* NULL: unknown */
};

struct profile_frame { /* [0] unused */
	uint64_t addr;
	uint32_t module;       /* index into modules */
	uint32_t first, count; /* lines; count is at least 1 */
	bool told, nameless;   /* by the file's symbols; and by a function without a name. Else named here */
};

struct profile_module { /* [0] stands for "no module" */
	uint32_t id;    /* as the file has it */
	uint32_t kind;  /* enum fmt_module_kind; 0: none */
	uint32_t pid;
	const char *path;   /* never NULL */
	const char *object; /* its last component, or [vdso], [kernel]...; never NULL */
	uint8_t build_id[20];
	uint32_t build_id_len; /* 0: unknown */
	uint64_t content;      /* tells files of one build-id apart; 0: unknown */
};

struct profile_stack { /* [0]: no stack */
	size_t first;  /* into stack_frames, leaf first */
	uint32_t count;
	uint32_t flags; /* enum fmt_stack_flags */
};

struct profile_place {                      /* where processes run; [0]: its control group says nothing */
	const char *unit, *container, *pod; /* NULL: not in one, or unknown */
};

struct profile_thread {
	uint32_t pid, tid;
	const char *comm; /* of the process; NULL: unknown */
	uint32_t place;   /* of the process */
	size_t first_cell, cell_count;
};

struct profile_cell {
	uint32_t stack, thread; /* indexes */
	uint64_t samples[PROFILE_UNITS];
	double weight[PROFILE_UNITS]; /* sum of periods: ns, or instructions */
};

struct profile_wait { /* off the CPU in one stack of a process: profile/waits.h */
	uint32_t stack, pid, place;
	const char *comm;             /* of the process; NULL: unknown */
	uint64_t count;               /* told */
	double ns, ready_ns, squares; /* with their weights */
};

struct profile_counter {
	const char *name;
	uint64_t value;
	bool loss;    /* records missing */
	bool in_part; /* records there, but not whole */
};

struct profile_exact { /* instructions, by the exact engine; one for each function */
	double self, inclusive;
	uint64_t calls;
};

struct profile {
	struct profile_function *functions;
	struct profile_line *lines;
	struct profile_frame *frames;
	struct profile_module *modules;
	struct profile_stack *stacks;
	uint32_t *stack_frames;
	uint8_t *stack_frame_flags; /* with PROFILE_ORDER, of the first of stack_frames; all further ones have none */
	size_t stack_flag_cap;
	uint32_t *stack_seen; /* by stack: the how manieth with a sample, from 1; NULL as above */
	struct profile_thread *threads;
	struct profile_cell *cells; /* by thread */
	struct profile_counter *counters;
	struct profile_wait *waits;
	struct profile_place *places;
	size_t function_count, line_count, frame_count, module_count, stack_count, stack_frame_count;
	size_t thread_count, cell_count, counter_count, wait_count, place_count;

	struct profile_exact *exact; /* meaningful if has_exact; function_count of them */
	double exact_total;
	bool has_exact;
	uint64_t accesses; /* FMT_ACCESS records, which are not kept */
	bool has_calls;    /* of accelerators and libraries that could be one */
	bool has_counts;   /* of executions */
	bool has_edges;    /* the exact engine's, or those of a stored flow */
	uint64_t samples[PROFILE_UNITS];
	double weight[PROFILE_UNITS], weight_squares[PROFILE_UNITS];
	uint64_t first_time, last_time; /* of samples, monotonic ns */
	uint64_t start_realtime_ns, start_monotonic_ns;
	uint64_t duration_ns; /* 0: unknown */
	uint64_t lost;        /* samples; what else was is among the counters */
	bool lost_known;
	struct fmt_cost cost;
	bool has_cost;
	double rate; /* samples per second last in force; NaN: unknown */
	struct fmt_end end;
	bool has_end;
	char recovery[300]; /* a sentence, if the file is damaged or unfinished */

	struct profile_private *priv;
};

/* NULL on failure: no file, foreign, newer, out of memory. Damage is not failure: see recovery.
 * Frames that the recording did not come to name are named now, from the same files by build-id. */
struct profile *profile_load(const char *path, struct err *e);
/* The same without opening any other file. */
struct profile *profile_load_as_stored(const char *path, struct err *e);

enum profile_group {
	PROFILE_SAMPLES = 1, /* stacks, symbols, and samples folded; without, only tables: modules, functions... */
	PROFILE_MISSING = 2, /* frames that the recording did not come to name are named from the files they lie in */
	PROFILE_ORDER = 4,   /* flags of stacks' frames, and which stack had a sample first */
	PROFILE_KEPT = 8,    /* as MISSING, by what this process found before alone (names_kept.h) */
};

/* The same in two steps: asks for groups, and takes other readers' rows along on the walk (profile/walk.h), which is
 * the only one. These find below what the file's ids stand for, from the end of the walk to profile_free(). */
struct section_reader;
struct profile *profile_open(const char *path, struct err *e);
int profile_read(struct profile *p, unsigned groups, const struct section_reader *others, size_t count, struct err *e);
/* Both steps, for readers that need nothing of the profile before the walk. NULL: it cannot be read. */
struct profile *profile_load_with(const char *path, unsigned groups, const struct section_reader *others, size_t count,
				  struct err *e);
struct store_reader *profile_reader(const struct profile *p);
uint32_t profile_function_id(const struct profile *p, uint32_t id); /* 0: none such, or nameless */
/* The physical function (id of the file) that the file's symbols have for code; 0: they do not tell of it. One
 * without a name is PROFILE_NAMELESS, which is no function's id. */
#define PROFILE_NAMELESS UINT32_MAX
uint32_t profile_symbol_of(const struct profile *p, uint32_t module_id, uint64_t addr);
/* The same of a frame's index. */
uint32_t profile_symbol_of_frame(const struct profile *p, uint32_t frame);
const char *profile_comm(const struct profile *p, uint32_t pid);  /* NULL: unknown */
uint32_t profile_module_of(const struct profile *p, uint32_t id); /* 0: none such */
void profile_free(struct profile *p);
/* Does the filter take a sample of this process with this stack? Its code is that of the innermost function. */
bool profile_takes(const struct profile *p, const struct filter *f, uint32_t pid, const char *comm, uint32_t stack);
/* No sample of it is of a process that the filter leaves out. */
bool profile_takes_all(const struct profile *p, const struct filter *f);
/* Leaves the samples that the filter takes: the share of the whole that is, NaN where there was none. */
double profile_keep_part(struct profile *p, const struct filter *f);
/* Value of a meta key, NULL if the file has none. */
const char *profile_meta(const struct profile *p, const char *key);
/* What the recorder counted by this name, 0 if nothing. */
uint64_t profile_counted(const struct profile *p, const char *name);
/* Index of the stack that the file calls `id`; 0: none such. */
uint32_t profile_stack_of(const struct profile *p, uint32_t id);
/* Frame at the beginning of the function that execution counts call `id`; 0: none such. */
uint32_t profile_counts_frame(const struct profile *p, uint32_t id);
/* Which unit the shares should use: time where there are time samples. */
enum profile_unit profile_unit(const struct profile *p);

static inline uint32_t profile_stack_frames(const struct profile *p, uint32_t stack)
{
	return p->stacks[stack].count;
}

/* Leaf first; its module by the file's id. */
static inline struct fmt_frame profile_stack_frame(const struct profile *p, uint32_t stack, uint32_t i)
{
	size_t at = p->stacks[stack].first + i;
	const struct profile_frame *f = &p->frames[p->stack_frames[at]];

	return (struct fmt_frame){ .addr = f->addr,
				   .module = p->modules[f->module].id,
				   .flags = at < p->stack_flag_cap ? p->stack_frame_flags[at] : 0 };
}

#endif

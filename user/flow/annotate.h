/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One function, instruction by instruction: time samples, executions by counts, bytes by access samples, loops, lines.
 * Joined from what a profile holds (profile/profile.h, flow/input.h, counts/counts_windows.h) and what its file holds
 * now, if that is still the same build. Code and debug information are untrusted: code is decoded, DWARF is read in a
 * contained child (symbol/symbols.h). Owns all that it points to, but names of the profile. Included by view and
 * tests.
 *
 * To show a further figure of an instruction: a field of struct annotate_insn, filled in annotate.c, a column in
 * view/annotate.c, a property in its schema.
 */
#ifndef ACCPERF_FLOW_ANNOTATE_H
#define ACCPERF_FLOW_ANNOTATE_H

#include <time.h>

#include "counts/counts_report.h"
#include "flow/input.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/map.h"

#define ANNOTATE_NONE UINT32_MAX

/* Of the whole recording. Bytes: NaN where shares alone are known. */
struct annotate_bytes {
	double share, low, high, bytes;
	uint64_t samples;
};

struct annotate_insn {
	uint64_t addr;
	uint32_t len;        /* 0: its code is not there */
	uint32_t text;       /* offset into annotation.text */
	uint32_t part, loop; /* loop: the innermost; ANNOTATE_NONE */
	uint32_t line;       /* 0: unknown */
	const char *file;    /* NULL: unknown */
	uint64_t calls;      /* an address outside of the function that it calls or jumps to; 0: none */
	const char *callee;  /* what stands there; NULL: unknown */
	const char *inlined; /* the function that was inlined here; NULL: the function itself, or unknown */
	uint64_t samples;
	double weight;
	double time, low, high;         /* share of the whole recording */
	struct counts_figure runs;      /* per second of CPU time */
	struct counts_figure per_entry; /* for each time that the function is entered */
	struct annotate_bytes read, written;
	bool hot; /* in what is shown first */
};

struct annotate_loop {
	uint64_t addr; /* of its header */
	uint32_t parent, depth, insns;
	uint64_t samples;
	double time; /* with the loops inside */
	bool hot;
};

struct annotate_part {
	uint64_t start, end; /* end == start: its bounds are not known */
};

struct annotation {
	const char *name, *object, *file; /* of the profile; file: NULL unknown */
	uint32_t line;
	const char *path; /* of its module */
	enum profile_unit unit;
	bool precise;           /* a sample names the instruction that it is of */
	uint64_t samples, runs; /* of the function; runs: instructions whose executions are known */
	double time, low, high; /* its share of the whole recording */
	double shown;           /* share of the time that the filter leaves */
	struct counts_figure entries;
	struct annotate_bytes read, written;
	bool accesses;       /* the profile has samples of loads and stores */
	bool all_is_hot;     /* nothing is left out */
	char no_code[300];   /* why there are no instructions, a sentence; "": there are */
	char no_counts[160]; /* the same of executions */
	char others[200];    /* objects with functions of the same name that are not shown */
	struct annotate_part *part;
	struct annotate_insn *insn;
	struct annotate_loop *loop;
	size_t parts, insns, loops, part_cap, insn_cap, loop_cap;
	struct buf text;
	struct intern names;
	time_t built; /* when the file that holds the code was written last; 0 unknown */
};

struct annotate_opts {
	const char *function;
	const struct filter *filter;
	bool intel; /* syntax */
	bool all;   /* everything is hot */
};

/* in: read without a filter. counts: with no funcs there are none. -ENOENT: no function of that name has code of its
 * own there, and *e says what is near. */
int annotate(const struct profile *p, const struct flow_input *in, const struct counts_record *counts,
	     const struct annotate_opts *o, struct annotation *out, struct err *e);
void annotation_release(struct annotation *a);
static inline const char *annotation_text(const struct annotation *a, const struct annotate_insn *i)
{
	return i->len ? a->text.data + i->text : "";
}

/* All that is joined, from one walk over the file. */
struct annotate_loaded {
	struct profile *p;
	struct flow_input in;
	struct counts_record counts;
};

/* With struct annotate_loaded zeroed; 0 or -errno with *e. Unloaded in either case. */
int annotate_load(struct annotate_loaded *l, const char *path, struct err *e);
void annotate_unload(struct annotate_loaded *l);
/* The function whose code a frame of the profile lies in, whatever was inlined there; NULL: unknown. */
const char *annotate_own_code(const struct profile *p, uint32_t frame);
/* The first function that `name` was inlined into; NULL: none. */
const char *annotate_inlined_into(const struct profile *p, const char *name);

#endif

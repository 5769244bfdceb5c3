/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the estimators work on: a whole profile's accesses, watch windows, system-call ranges,
 * mappings, objects and exact figures, with every code address resolved to a function. input.c reads
 * it through user/store; estimators get it finished and do no I/O. Included by view, command and tests.
 *
 * To add a section: an array below, a row in input.c, its release.
 */
#ifndef ACCPERF_FLOW_INPUT_H
#define ACCPERF_FLOW_INPUT_H

#include "counts/counts_speed.h"
#include "flow/cache.h"
#include "flow/call_stretches.h"
#include "flow/flow.h"
#include "flow/heap.h"
#include "format.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "profile/walk.h"

struct in_func {
	const char *name, *object; /* object: base name of its file, "" for pseudo-functions */
	bool main_image;
	bool clears;        /* memset and its like: what it writes is mostly written again */
	bool stub;          /* a linkage stub, which is a part of its caller */
	double executed_sd; /* of the log of how much it ran, of all that ran, as counts tell; 0 nothing was counted */
};

/* One instruction as executed on behalf of one function. */
struct in_site {
	uint64_t ip;
	uint32_t module, func;
	bool clears; /* the function whose code it is, though another may bear it */
	/* into parts.block, + 1: its accesses are weighed by how often that ran in bursts; 0: by something else */
	uint32_t block;
	int32_t field; /* fmt_burst_site.field; 0 unknown */
};

#define IN_A_UNSAMPLED (1u << 31) /* of in_access.flags: it ran, as counts tell, but when is not known */

struct in_access {
	uint64_t time, addr;
	double weight;
	uint32_t site, func; /* indices */
	uint32_t tid, pid;
	uint32_t stack;       /* index of stack + 1 with opts.stacks; 0 unknown */
	uint32_t size, flags; /* enum fmt_access_flags */
	uint32_t local;       /* object site + 1 of the local variable, or of its frame; 0 unknown, or not asked for */
	uint32_t width; /* of one repetition, where `size` is of all that a string instruction moves; 0: it is not */
};

/* How many it stands for; each repetition is one, as in the exact engine. */
static inline double in_accesses(const struct in_access *a)
{
	return a->width ? a->weight * a->size / a->width : a->weight;
}

struct in_hit {
	uint64_t time;
	uint32_t site, func, tid, flags;
	int32_t syscall;
	uint64_t invocation; /* 0: unknown, or none of a function's */
};

struct in_window {
	uint64_t armed, ended, addr;
	struct in_access arm;
	uint64_t arm_invocation; /* 0 unknown */
	uint32_t len, end_reason, write_only_after;
	uint32_t count; /* hits[first .. first + count) */
	size_t first;
};

/* A range that a system call wrote, read or mapped. */
struct in_sysio {
	uint64_t time, addr, len;
	double weight;
	uint32_t pid, tid, func; /* func: "(kernel:read)"... */
	uint32_t dir;            /* enum fmt_sysio_dir */
	bool stack;
	uint8_t measure;  /* enum call_measure: what tells how much of such calls there was */
	uint32_t stretch; /* of calls.stretch, + 1; 0: of none, as in profiles of old */
};

/* RELRO: tables of addresses that the dynamic linker fills once. */
enum in_region_kind {
	IN_R_READONLY = 1,
	IN_R_RELRO,
	IN_R_DATA,
	IN_R_BSS,
	IN_R_HEAP,
	IN_R_STACK,
	IN_R_FILE,
	IN_R_OTHER
};

/* What bursts saw of an instruction; and the writers of what it read, which was written so many instructions before. */
struct in_burst_site {
	uint32_t site;
	uint32_t bursts; /* that met it */
};

struct in_burst_pair {
	uint32_t reader, writer; /* sites; writer FLOW_NONE: written before the burst */
	uint32_t bin;            /* fmt_burst_pair.bin */
	double bytes;
};

/* The same of earlier recordings of these files. A load that this recording did not meet is not among them. */
struct in_earlier_site {
	uint32_t site;
	double bursts;
};

struct in_earlier_pair {
	uint32_t reader, writer; /* site; function, FLOW_NONE: written before the burst */
	uint32_t bin;
	double bytes;
};

/*
 * Bursts in parts, each with sums of its own: a part counts as a whole when bursts are resampled.
 * Blocks: pieces of functions whose loads are weighed by how often they ran in bursts.
 */
struct in_part_pair {
	uint32_t part, pair; /* pair: into burst_pair */
	double bytes;
};

struct in_part_site {
	uint32_t part, site, bursts;
};

struct in_part_runs {
	uint32_t part, block;
	double runs;
};

struct burst_block;  /* volume/block_balance.h */
struct counts_built; /* counts/counts_windows.h */

struct in_parts {
	uint64_t *begin; /* by part: time of its first burst */
	uint32_t count;  /* 0: bursts differ nobody knows how much */
	struct in_part_pair *pair;
	struct in_part_site *site;
	struct in_part_runs *runs;
	struct burst_block *block;
	size_t pairs, sites, runs_count, blocks;
};

/* One burst's items: reads of what had been written before it, then what it wrote and left. */
struct in_burst {
	uint64_t time;
	uint32_t pid, tid;
	uint32_t part; /* below parts.count, if there are any */
	size_t first;
	uint32_t loads, stores;
};

/* What an instruction read, looked at again later. */
struct in_revisit {
	uint32_t site;        /* FLOW_NONE: unknown */
	double same, changed; /* ns: it was still the same, and not any more; changed 0: that was not seen */
};

struct in_burst_item {
	uint64_t addr;
	uint32_t site;       /* FLOW_NONE: unknown */
	uint16_t size, mark; /* mark: fmt_burst_item.mark */
};

/* A piece of the address space, not overlapping others of the same process. */
struct in_region {
	uint64_t start, end;
	uint32_t pid;
	enum in_region_kind kind;
	bool lazy; /* RELRO filled call by call, not at once */
	const char *name;
};

struct in_object {
	uint64_t addr, end, born, died; /* died UINT64_MAX: still alive */
	uint32_t pid;                   /* 0: of every process */
	uint32_t kind;                  /* enum fmt_object_kind */
	uint32_t site;                  /* index into object_sites */
};

/* What is reported: a variable, or all blocks of one allocation site. */
struct in_object_site {
	uint32_t id; /* fmt_object.id, 0 if found in an ELF file */
	uint32_t kind;
	const char *name, *function;
	uint64_t size, blocks;
	const char *file; /* whose symbol table it is from; NULL: the profile's own */
	uint64_t place;   /* there */
	uint32_t heap;    /* heap.site + 1, where its blocks are a sample; 0: they are all, or none */
};

/* The functions of a call stack, innermost first; with opts.stacks. */
struct in_stack {
	size_t first; /* into stack_func */
	uint32_t count;
	bool complete; /* down to the thread's first function */
};

struct in_function_time {
	double self_ns, instructions;
	double inc_ns, inc_instructions; /* while it was on the stack; with opts.stacks */
	/* With opts.compute. Without instruction samples, instructions are time at a nominal speed. */
	double compute, inc_compute, compute_samples;
	double undecoded; /* instructions whose code could not be read */
	uint64_t samples;
};

#define IN_TRUSTED 0.6 /* of an estimate must come from counts for it to be called counted */

/* What a function executed, by counts that were measured; for the whole recording. */
struct in_counted {
	double instructions, compute, loads, stores, load_bytes, store_bytes, calls;
	double total;     /* instructions, by whatever is known; those above only of what has a graph */
	double low, high; /* 95 % of total, as a part of all functions' */
	double trust;     /* how much of it is by counts: 0..1; see IN_TRUSTED */
};

/* Parts of all that was sampled; 1: all, NaN: nothing was. */
struct in_part {
	double loaded;   /* of the bytes that loads took: what flow adds up */
	double moved;    /* of the bytes loaded and stored off the stack: what a timeline adds up */
	double accesses; /* of the loads and stores off the stack: what objects are ranked by */
};

struct flow_input {
	/* who and how */
	enum flow_engine engine;
	bool main_image;       /* as asked for in the options */
	bool recorded_main;    /* the engine itself attributed library code to the main image */
	bool from_start;       /* the recording began with the program */
	uint64_t census_limit; /* executions of each store instruction that its census reports; 0 none, or unknown */
	bool incomplete;
	bool has_invocations;         /* some hits say which invocation they came from */
	bool has_compute;             /* opts.compute was obeyed: times[] says what computes */
	double began_ns, duration_ns; /* by the monotonic clock; NaN unknown */
	double lost;                  /* samples; NaN unknown */
	struct in_part kept;          /* that filter and tid leave */
	bool time_unit_instructions;
	char missing[400]; /* what the file could not give, a sentence; "" = nothing */

	struct in_func *funcs;
	uint32_t func_count, func_cap;
	struct intern func_names;
	uint32_t outside, before, unknown; /* the pseudo-functions, always there */
	struct in_site *sites;
	uint32_t site_count, site_cap;
	struct intern site_keys;
	struct intern texts; /* names of variables */

	struct in_access *access; /* by time */
	size_t access_count, access_cap;
	struct in_access *blind; /* accesses whose address is not known: volume only, in no order */
	size_t blind_count, blind_cap;
	struct in_window *window; /* by arming time */
	size_t window_count, window_cap;
	struct in_hit *hit;
	size_t hit_count, hit_cap;
	struct in_sysio *sysio; /* by time */
	size_t sysio_count, sysio_cap;
	struct call_stretches calls; /* in which system calls were observed; their weights are scaled already */
	struct in_burst_site *burst_site;
	size_t burst_site_count;
	struct in_burst_pair *burst_pair;
	size_t burst_pair_count;
	struct in_earlier_site *earlier_site;
	size_t earlier_site_count, earlier_site_cap;
	struct in_earlier_pair *earlier_pair; /* their readers are among these sites */
	size_t earlier_pair_count, earlier_pair_cap;
	struct in_parts parts;
	struct in_burst *burst; /* by time */
	size_t burst_count, burst_cap;
	struct in_revisit *revisit;
	size_t revisit_count, revisit_cap;
	struct in_burst_item *burst_item;
	size_t burst_item_count, burst_item_cap;
	struct in_region *region; /* by pid, start */
	size_t region_count, region_cap;
	struct in_object *object; /* by address, then birth */
	size_t object_count, object_cap;
	uint64_t object_longest;
	struct in_object_site *object_site;
	size_t object_site_count, object_site_cap;
	struct heap heap;               /* allocations, where a live recording saw some */
	struct in_function_time *times; /* by function */
	struct in_counted *counted;     /* by function; NULL: nothing was counted */
	uint32_t counted_count;
	struct counts_speed speed;   /* what weights by time rest on, as amounts */
	struct counts_built *solved; /* of the profile's counts_record (counts_windows.h); NULL: not asked, or none */
	struct in_stack *stack;
	size_t stack_count, stack_cap;
	uint32_t *stack_func;
	size_t stack_func_count, stack_func_cap;

	/* exact figures, as stored; function ids translated to indices */
	struct fmt_x_run x_run;
	bool has_x;
	struct fmt_x_func *x_func;
	size_t x_func_count, x_func_cap;
	struct fmt_x_edge *x_edge;
	size_t x_edge_count, x_edge_cap;
	struct fmt_x_subtree *x_subtree;
	size_t x_subtree_count, x_subtree_cap;
	struct fmt_x_subtree_ke *x_subtree_ke;
	size_t x_subtree_ke_count, x_subtree_ke_cap;
	struct fmt_x_path *x_path; /* ids as stored */
	size_t x_path_count, x_path_cap;
	struct fmt_x_path_edge *x_path_edge;
	size_t x_path_edge_count, x_path_edge_cap;
	struct fmt_x_slice *x_slice;
	size_t x_slice_count, x_slice_cap;
	struct fmt_x_use *x_use; /* object = index of object_site */
	size_t x_use_count, x_use_cap;
	struct fmt_x_object *x_object;
	size_t x_object_count, x_object_cap;
	struct fmt_x_reach *x_reach;
	size_t x_reach_count, x_reach_cap;
	struct fmt_x_extent *x_extent; /* object = index of object_site */
	size_t x_extent_count, x_extent_cap;
	struct fmt_x_map *x_map;
	size_t x_map_count, x_map_cap;

	struct flow_cache cache;
	struct flow_ready *ready;      /* estimates of it that were made before: shared.h; NULL: none */
	struct store_reader *reader;   /* the profile's; owns the strings */
	const struct profile *profile; /* whose ids these are; NULL: made by hand */
	struct profile *owned;         /* by flow_input_load() */
	uint32_t *func_of;             /* by function of the profile: its index + 1; 0: not met */
	char command[256];
	char program[256]; /* base name of the main image, "" unknown */
	char *build_ids;   /* "object=hex\n" lines of file modules, for merge */
};

struct flow_input_opts {
	bool no_earlier; /* what earlier recordings saw is left aside */
	bool bytes;      /* asked for bytes alone: samples of nothing but time are not told apart by function */
	bool main_image; /* library functions stand as their nearest caller in the main image */
	const struct filter *filter; /* what its processes read; NULL: all */
	uint32_t tid;                /* only this; 0: all */
	bool stores_too; /* leave out what other processes write, too: who produced what is read is then unknown */
	bool stacks;     /* resolve the functions of all call stacks */
	bool compute;    /* read the sampled code: which instructions compute */
	bool locals;     /* name the local variables behind accesses of the stack */
};

/* Its readers ride on profile_read() of a profile that is read anyway, with PROFILE_ORDER; flow_input_end() takes the
 * result. The profile must outlive *in. */
#define FLOW_INPUT_READERS 4
#define FLOW_INPUT_GROUPS (PROFILE_SAMPLES | PROFILE_ORDER | PROFILE_MISSING)
struct raw;                                               /* what is being read */
bool flow_input_in_part(const struct flow_input_opts *o); /* filter or tid leave out processes or threads */
struct raw *flow_input_begin(struct flow_input *in, struct profile *p, const struct flow_input_opts *o,
			     struct section_reader *readers, struct err *e);
int flow_input_end(struct raw *r, int err);
/* Which function of a flow each of count functions of the profile is, FLOW_NONE: none. NULL: out of memory; to be
 * freed. */
uint32_t *flow_input_join(const struct flow_input *in, const struct flow *f, size_t count);
/* Leaves the accesses of the functions that the filter takes; in->kept is the less. */
void flow_input_keep_code(struct flow_input *in, const struct filter *f);
int flow_input_load(struct flow_input *in, const char *path, const struct flow_input_opts *o, struct err *e);
/* Both on one walk, the profile with all names. NULL: it cannot be read. *why: there is no input, and *in is empty. */
struct profile *flow_input_and_profile(struct flow_input *in, const char *path, const struct flow_input_opts *o,
				       struct err *why, struct err *e);
void flow_input_release(struct flow_input *in);

/* Are sums of weights amounts, or do shares alone tell? What the exact engine drew stands for numbers that it knows. */
bool in_has_amounts(const struct flow_input *in, bool time_bias);
/* 95 % of the true amounts over those estimated; 1 and 1: they rest on no speed; NaN: shares alone tell. */
void in_amounts_spread(const struct flow_input *in, bool time_bias, double *low, double *high);
/* Index of a function by name, added on first use. FLOW_NONE when out of memory. */
uint32_t in_func_add(struct flow_input *in, const char *name, const char *object);
/* What the process is called, NULL if the profile does not say. */
const char *in_comm(const struct flow_input *in, uint32_t pid);
/* The region of an address, NULL if none is known. */
const struct in_region *in_region_at(const struct flow_input *in, uint32_t pid, uint64_t addr);
/* The object that held this address then, NULL if none is known. */
const struct in_object *in_object_at(const struct flow_input *in, uint32_t pid, uint64_t addr, uint64_t time);

#endif

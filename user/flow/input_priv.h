/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between input.c (reads), input_code.c (whose code), input_resolve.c (order) and their parts. Included by these
 * and tests. */
#ifndef ACCPERF_FLOW_INPUT_PRIV_H
#define ACCPERF_FLOW_INPUT_PRIV_H

#include "counts/counts_windows.h"
#include "flow/input.h"
#include "profile/profile.h"
#include "store/earlier.h"
#include "util/grow.h"

struct raw_part_site {
	uint32_t part;
	struct fmt_burst_part_site s;
};

struct raw_part_pair {
	uint32_t part;
	struct fmt_burst_part_pair p;
};

/* Sums over bursts, as last written. */
struct raw_bursts {
	struct map site_at; /* fmt_burst_site.id -> index */
	struct fmt_burst_site *site;
	size_t sites, site_cap;
	struct map pair_at; /* bin << 42 ^ reader << 21 ^ writer */
	struct fmt_burst_pair *pair;
	size_t pairs, pair_cap;
	/* of parts, by part */
	uint64_t *part_begin;
	struct raw_part_site *part_site;
	struct raw_part_pair *part_pair;
	size_t parts, part_cap, part_sites, part_site_cap, part_pairs, part_pair_cap;
	/* by site: the block (flow_input.parts) of which it tells how often that ran; NULL: no blocks */
	uint32_t *block;
	struct map block_at; /* module << 44 ^ address of any access -> the block around it */
};

/* As read: by the file's ids, of which the last record of a site counts. */
struct raw_earlier {
	struct map site_at; /* fmt_earlier_site.id -> index */
	struct fmt_earlier_site *site;
	size_t sites, site_cap;
	struct fmt_earlier_pair *pair;
	size_t pairs, pair_cap;
};

struct site_key {
	uint64_t ip;
	uint32_t module, function; /* function: fmt_function.id where the engine knew it */
};

/* A site that was met before: most accesses are of few, and asking an array is cheaper than asking a table. */
#define RAW_MET 512 /* of 24 bytes: they stay in a core's cache */
struct raw_met {
	struct site_key key;
	uint32_t id; /* 0: none yet */
};

/* What a site as read became, where no stack has a say in it. */
struct raw_resolved {
	uint32_t id; /* of flow_input.site_keys; 0: not known yet, or it depends */
	uint32_t func;
};

/* Everything by the file's own ids, until all of the file has been read. */
struct raw {
	struct flow_input *in;
	struct flow_input_opts o;
	struct err *e;
	int failed;  /* while it was read */
	bool shared; /* it had been read before */
	uint64_t first_time, last_time;
	struct map opened;             /* id -> struct module *, 0: not to be had */
	struct symbols *symbols;       /* of those, for code without a name in the profile; NULL until it is asked */
	uint32_t main_module;          /* id, 0 unknown */
	struct intern site_keys;       /* struct site_key, as used */
	struct raw_met met[RAW_MET];   /* by the low bits of the address */
	struct raw_resolved *resolved; /* by site_keys' number, from 0 */
	uint32_t resolved_cap;
	struct profile *p;    /* functions, modules, stacks, their frames, samples */
	uint32_t *main_func;  /* by stack: of the nearest frame in the main image, + 1; 0 not looked for, or none */
	uint32_t *frame_func; /* by frame: its function + 1; 0 not looked for */
	struct fmt_mapping *mapping;
	size_t mapping_count, mapping_cap;
	struct fmt_object *object;
	size_t object_count, object_cap;
	struct heap_raw heap;
	struct sampled_stack *cell; /* in the order in which the file tells of them */
	size_t cell_count;
	struct raw_calls *calls;
	size_t calls_count, calls_cap;
	uint64_t *invocation;
	size_t invocation_count, invocation_cap;
	struct counts_record counts; /* execution counts, where the recording took them */
	bool counts_asked;           /* for their solution: input_counts_solved() */
	int counts_err;
	struct raw_bursts bursts;
	struct raw_earlier earlier;
	struct raw_local *local;
	size_t local_count, local_cap;
	struct input_locals_places *places; /* of these, with their frames' variables */
};

/* An access of the stack whose frame is known. */
struct raw_local {
	uint32_t access; /* index, as read */
	uint32_t frame;
	int32_t offset;
};

/* Invocation numbers of a window's hits. */
struct raw_calls {
	uint64_t armed, addr, arm;
	size_t first;
	uint32_t count;
};

static inline uint64_t input_code_key(uint32_t module, uint64_t ip)
{
	return ip ^ (uint64_t)module << 44;
}

static inline uint32_t raw_frames(const struct raw *r, uint32_t stack)
{
	return profile_stack_frames(r->p, stack);
}

/* Leaf first; its module by the file's id. */
static inline struct fmt_frame raw_frame(const struct raw *r, uint32_t stack, uint32_t i)
{
	return profile_stack_frame(r->p, stack, i);
}

/* Of memory that an access may reach; what claims more is damaged. */
#define LAST_ADDR (UINT64_MAX - (1u << 22))
#define INPUT_MOST (64u << 20) /* records of one kind; a file that claims more is not one of ours */

/* Why there was no room for one more: -errno, with r->e filled. */
int input_full(const struct raw *r, size_t count);

/* One more record of the file at the end of an array. 0 or -errno, with r->e filled. */
#define INPUT_PUSH(r, array, count, cap, ...)                                                                          \
	((count) < INPUT_MOST && PUSH(array, count, cap, 256, __VA_ARGS__) ? 0 : input_full(r, count))
static inline const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

int input_resolve(struct raw *r);
/* Does the part that is asked for have this thread? What has not is left out; before sites are resolved. */
bool input_wants(const struct raw *r, uint32_t pid, uint32_t tid);
void input_leave_out(struct raw *r);
/* What was counted, solved the first time that it is asked for; err: as counts_record_solve(), *out NULL then. */
int input_counts_solved(struct raw *r, const struct counts_built **out);
/* Counted figures of functions; after input_resolve(). */
int input_counts(struct raw *r);
/* What was drawn by time, in the unit of what was counted; once all functions are known. */
void input_one_scale(struct flow_input *in);
/* System calls: a stretch, as read; and what all of them stand for, once they are in order. */
int input_call_stretch(struct raw *r, const struct fmt_sysio_stretch *b);
int input_calls(struct raw *r);
/* Allocations: sites, and blocks as objects; before objects are put in order. */
int input_heap(struct raw *r);
/* Regions of all mappings, globals of their files. */
int input_regions(struct raw *r);
/* Weights of time samples by the control flow. Before sites are resolved. */
int input_runs(struct raw *r);
/* Data that bursts saw: as read; after accesses are resolved; the end. */
struct section_reader input_burst_reader(struct raw *r);
int input_burst_resolve(struct raw *r);
void input_burst_release(struct raw *r);
void input_parts_release(struct in_parts *p);
/* What bursts of earlier recordings saw: as read; once all sites of this one are known; the end. */
int input_earlier_site(void *ctx, const void *rec, size_t size);
int input_earlier_pair(void *ctx, const void *rec, size_t size);
int input_earlier_resolve(struct raw *r);
void input_earlier_release(struct raw *r);
/* Sites are renumbered by (address, module, resulting function). */
int resolve_code(struct raw *r, uint32_t *site, uint32_t *func, uint32_t stack);
/* Functions of all stacks; accesses then refer to them by index. */
int input_stacks(struct raw *r);
/* Local variables behind accesses of the stack: asked for before accesses are put in order, named when functions have
 * their numbers. */
int input_locals_ask(struct raw *r);
int input_locals_name(struct raw *r);
void input_locals_release(struct raw *r);
/* Computation of every function; func_of_cell: whose each cell of samples is, FLOW_NONE nobody's. */
/* Of an instruction, in which accesses are weighed before anything tells a speed. */
double input_nominal_ns(const struct raw *r);
int input_compute(struct raw *r, const uint32_t *func_of_cell);
void find_main_module(struct raw *r);
uint32_t func_of_code(struct raw *r, uint64_t ip, uint32_t module, uint32_t function);
/* By the file's number. */
uint32_t func_by_record(struct raw *r, uint32_t function);
/* The nearest frame in the main image: who stands for library code with --attribute main. */
uint32_t main_caller(struct raw *r, uint32_t stack);
/* Of the i-th frame of a stack. */
uint32_t func_of_frame(struct raw *r, uint32_t stack, uint32_t i);
/* An allocation site or a variable, one entry for all its blocks. */
static inline int add_object_site(struct raw *r, uint32_t id, uint32_t kind, const char *name, const char *function,
				  uint64_t size, uint32_t *out)
{
	struct flow_input *in = r->in;

	*out = (uint32_t)in->object_site_count;
	return INPUT_PUSH(r, in->object_site, in->object_site_count, in->object_site_cap,
			  (struct in_object_site){
				  .id = id,
				  .kind = kind,
				  .name = name ? name : "",
				  .function = function ? function : "",
				  .size = size,
				  .blocks = 1,
			  });
}
/* NULL: none of this id. */
const struct profile_module *raw_module(const struct raw *r, uint32_t id);
/* Its file, opened once; NULL: none, or another build. Until raw_close_modules(). */
struct module *raw_open_module(struct raw *r, uint32_t id);
void raw_close_modules(struct raw *r);

#endif

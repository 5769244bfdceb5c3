/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exact engine inside Valgrind: everything the files of this folder share. Included by them
 * only; no libc here, pub_tool_*.h and include/format.h only.
 *
 *   x_main.c    options, start, end, what the core tells us
 *   x_instr.c   a basic block of the target -> addresses into a buffer + one call per block
 *   x_exec.c    that call: counts, then every access in order (the hot path)
 *   x_short.c   the same for what is measured unless told otherwise
 *   x_shadow.c  last writer and reader of every byte; ranges the kernel touches or maps
 *   x_edge.c    producer -> consumer counters and sets of unique addresses
 *   x_stack.c   threads, call stacks, call tree, inclusive figures
 *   x_select.c  the functions that the user listed
 *   x_path.c    what functions exchange with all they call, and the call tree with it
 *   x_func.c    address -> function and module; x_ehframe.c for stripped code
 *   x_sample.c  synthetic samples, census, watch windows, cost model
 *   x_object.c  data objects; x_reach.c how far they and functions reach
 *   x_log.c     the Kim & Edwards logs, streamed by invocation
 *   x_out.c     the stream to the driver (user/exact/stream.h)
 *
 * To add a figure: a field in Counters (added up per block or access), its line in x_out.c, the
 * record field in include/format.h.
 */
#ifndef ACCPERF_X_H
#define ACCPERF_X_H

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_vki.h"

#include "format.h"

#define LIKELY_(x) __builtin_expect(!!(x), 1)
#define UNLIKELY_(x) __builtin_expect(!!(x), 0)

/* ---- what to measure ---- */

typedef struct {
	Int out;              /* the stream to the driver; all descriptors here are inherited, -1: none */
	Int core_log;         /* where the core writes: closed once the core has its own copy */
	Int class_w, class_r; /* pipe to the driver's instruction classifier; -1 none */
	Bool quad, unique, ke, cycles, objects;
	Bool attr_main; /* attribute to the latest caller in the main image */
	UInt chunk, chunk_shift;
	ULong slice;
	Int lists; /* x_select.c; the next four come from it */
	Bool functions, candidates, start_at, stop_at;
	Bool callees; /* every function is a candidate */
	UInt start_n, stop_n, writers_n;
	ULong sample_period, timer_period; /* 0 off */
	ULong seed;
	UInt census;
	UInt windows, window_hits, window_free; /* free: hits without a write before write-only */
	ULong window_delay, window_life;        /* instructions */
	Int log[5];                             /* by kind, from KE_FUNCTION on */
	ULong accesses_most;                    /* in the list; 0: no bound */
	UInt xfer_shift;
	Bool log_stack; /* stack accesses are logged, too */
	UInt checkpoint_s;
} Options;
extern Options opt;

/* ---- functions ---- */

enum { FN_OUTSIDE = 0, FN_BEFORE = 1, FN_UNKNOWN = 2, FN_KERNEL = 3, FN_FIRST = 4, FN_MAX = 65535 };

typedef struct {
	ULong insns, compute, transfer, control, ops_int, ops_fp, loads, stores;
	ULong load_bytes[4], store_bytes[4]; /* enum fmt_x_region */
	ULong cycles;
	ULong pad; /* an even number of words: vector adds */
} Counters;
#define COUNTERS_N (sizeof(Counters) / sizeof(ULong))

/*
 * The same, running on and on, modulo 2^32 but for the cycles: only differences between two times mean anything, and
 * those are told (clock_due()) before 2^32 of anything can have passed.
 */
typedef UInt four_lanes __attribute__((vector_size(16), may_alias));
typedef struct {
	union {
		UInt lane[16];
		four_lanes four[4];
		struct {
			UInt insns, compute, transfer, control, ops_int, ops_fp, loads, stores;
			UInt load_bytes[4], store_bytes[4];
		};
	};
	ULong cycles, pad;
} __attribute__((aligned(16))) Clock;
#define LANES 16               /* counters: what a line of the cache holds; those above */
#define CLOCK_INSNS (1u << 21) /* told so often: an instruction counts less than 2 KiB of anything */

typedef struct Module {
	struct Module *next;
	UInt id;
	HChar *path;
	Long bias; /* address in memory - address in the file */
	Bool is_main;
	Addr eh_hdr; /* in memory; 0 none */
	Addr base;
} Module;

enum { FNF_SELECTED = 4, FNF_START = 8, FNF_STOP = 16, FNF_MAIN_IMAGE = 32, FNF_CANDIDATE = 64, FNF_WRITERS = 128 };

struct xs_local;

typedef struct Fn {
	UInt id; /* index; disk id is id + 1 */
	UInt flags;
	UInt alloc_kind;
	Module *mod;
	Addr entry;
	ULong vaddr;
	HChar *name;
	struct Fn *hash_next;
	struct xs_local *locals; /* asked for at the first access to its frame */
	UInt local_count;
	Bool locals_asked;
	UInt *local_obj;
	ULong calls;
	Counters self, inc; /* filled from the call tree when wanted */
	Counters unit;      /* what belongs to it as its accesses do; where that is not what it does itself */
	Counters slice0;    /* self when the slice began */
} Fn;

extern Fn **fns;
extern UInt fn_count;
Fn *fn_at(Addr a);
Fn *fn_pseudo(const HChar *name);
Fn *fn_kernel(UInt nr);
extern Int VG_(safe_fd)(Int oldfd); /* out of the target's reach; in the core's archive */
Module *module_at(Addr a);
ULong module_vaddr(const Module *m, Addr a);
void fn_init(void);
void module_forget(void); /* something was mapped or unmapped */
void select_init(void);
UInt select_flags(const HChar *name); /* FNF_SELECTED, _CANDIDATE, _START, _STOP where listed */
extern ULong lost_functions, lost_nodes, lost_invocations, lost_blocks;
/* Start of the function around `a` by the call frame table of its object; 0 unknown. */
Addr ehframe_start(Module *m, Addr a);

/* ---- blocks ---- */

enum { EV_LOAD = 1, EV_STORE = 2, EV_MODIFY = 3, EV_SP = 4 };

struct Edge;
/*
 * What x_short.c tells apart: loads and stores of a power of two up to 32 bytes, by its logarithm; OP_STACK beyond,
 * those that met a block of the running stack.
 */
enum { OP_SLOW = 0, OP_SP = 1, OP_LOAD = 2, OP_STORE = 8, OP_STACK = 14 };

typedef struct {
	const void *way; /* where x_short.c goes on for it */
	/* The block of addresses that this instruction met last, and everything about it that the next time needs. */
	ULong block; /* x_short.c, met(); ~0: none */
	union {
		struct {
			/* as if they went from address 0 on: */
			Addr k;    /* words of its chunks */
			Addr bits; /* the set of bytes that this edge or this writer has touched */
		};
		struct { /* the long way: block of addresses, for stores also the writer, and its bits */
			ULong ublk, *ubits;
		};
	};
	ULong want;         /* what a chunk's word is when all of it is as it was, but for the invocation */
	ULong hits, chunks; /* loads of the edge there, and chunks of them, that it has not got yet */
	UChar op;
	UChar kind;
	UChar rep;
	UChar region; /* that the block's counts take it to meet, enum fmt_x_region */
	UShort size;
	UShort stack; /* 1: the block's bytes count as stack */
	struct Edge *edge;
	UInt ekey;
	UInt obj_gen;        /* objects were born or died since: look again */
	UInt census:31;      /* executions left to report */
	UInt census_stack:1; /* one of them was a store to the stack */
	Addr ip;
	Addr obj_lo, obj_hi;
	struct Use *use;
} __attribute__((aligned(64))) Ev;

typedef struct {
	UShort off; /* from the block's start */
	UChar cost; /* quarter cycles */
	UChar cls;
} Ins;

typedef struct BB {
	Fn *fn; /* NULL: a linkage stub, part of its caller */
	Addr addr, ret_ip;
	Bool is_entry;
	UInt n_ev, n_ins;
	ULong code_hash;
	struct BB *hash_next;
	struct Flush *flushes;
	Ins *ins;
	Ev *ev;
} BB;

#define RED_ZONE 128 /* bytes below the stack pointer that the ABI gives a function */

enum { EXIT_PLAIN = 0, EXIT_CALL = 1, EXIT_RET = 2 };

/*
 * The call that works off what a part of a block did; two lines of the cache. The bytes of its accesses are among what
 * it adds in the short way, which takes each to meet the same kind of memory as last time.
 */
typedef struct Flush {
	BB *bb;
	Fn *fn;       /* the block's, and so is ret_ip: here, because reading the block is a miss */
	Ev *ev, *end; /* its events */
	Addr ret_ip;
	struct Flush *next; /* of the block's */
	UShort from, to;    /* events */
	UShort exit;
	UShort insns;
	UInt cycles;
	UShort ins_from, ins_to;
	union {
		UInt add[LANES];
		four_lanes add_four[LANES / 4];
	} __attribute__((aligned(64)));
} Flush;
_Static_assert(sizeof(Ev) == 128 && sizeof(Flush) == 128, "two lines of the cache");

#define EVBUF 512 /* addresses that one call works off: a block's and those of its parts; by hand */
extern ULong evbuf[EVBUF];
extern ULong ret_value; /* RAX at the last return */
extern ULong call_args[3];

IRSB *x_instrument(VgCallbackClosure *, IRSB *, const VexGuestLayout *, const VexGuestExtents *, const VexArchInfo *,
		   IRType, IRType);
typedef VG_REGPARM(1) void (*flush_fn)(Flush *);
UInt ask_locals(const HChar *path, ULong vaddr, struct xs_local **out);
flush_fn exec_pick(const HChar **name);
extern Bool short_way; /* by exec_pick(): words of chunks tell what K_* below says */
void run_short(Flush *) VG_REGPARM(1);
void run_uncounted(Flush *);
void short_init(void);
const void *short_way_of(UInt op);
void sites_settle(void); /* edges get what instructions have kept for them */
void site_settle(Ev *e);

/* ---- shadow memory ---- */

#define SEC_SHIFT 14 /* log2 of the bytes whose shadow comes into being at once: few tables, little unused; by hand */
#define SEC_SIZE (1u << SEC_SHIFT) /* bytes */
#define SEC_MASK (SEC_SIZE - 1)
#define PM_BITS (37 - SEC_SHIFT) /* 128 GiB directly, the rest through a hash */

enum { TAG_NONE = 0xff };

/*
 * A chunk's word in the short way: from bit 32 on its last writer, of all its bytes, unless K_MIXED says that the array
 * of one per byte holds, which it does not otherwise; below the invocation that has read it since.
 */
#define K_WHO 0x1ffff00000000ull
#define K_MIXED (1ull << 48)

/* A set of addresses that was met in a block. */
typedef struct {
	ULong key;
	ULong *bits; /* NULL: none yet */
} MetSet;
#define MET_SETS 4 /* of a block: a line of the cache */

typedef struct Sec {
	UShort *w;                 /* last writer, per byte */
	ULong *k;                  /* ke, per chunk: last writing function << 32 | invocation that read last */
	UInt *xr, *xw;             /* logs: last reading and writing invocation, per log chunk */
	UInt *pw;                  /* paths: last writer, per byte */
	struct PathChunk *pc;      /* and who read last, per ke chunk */
	UChar tag[SEC_SIZE >> 12]; /* enum fmt_x_region per page */
	MetSet met[][MET_SETS] __attribute__((aligned(64))); /* by block; in the short way alone */
} Sec;

extern Sec **pm;
Sec *sec_slow(Addr a);
static inline Sec *sec_get(Addr a)
{
	Sec *s = LIKELY_(a >> 37 == 0) ? pm[a >> SEC_SHIFT] : NULL;

	return LIKELY_(s != NULL) ? s : sec_slow(a);
}
Sec *sec_find(Addr a); /* NULL: never touched */
UInt sec_tag(Sec *s, Addr a);
void shadow_init(void);
void blocks_forget(void); /* no instruction knows its block any more */
void shadow_forget(Addr a, SizeT len);
/* The short way: `fn` writes these bytes. */
void shadow_mark(Sec *s, UInt off, UInt n, UInt fn);
void shadow_copy(Addr from, Addr to, SizeT len);
void shadow_heap(Addr a, SizeT len);
void shadow_brk(Addr a, SizeT len);
void kernel_reads(UInt fn, Addr a, SizeT len);
void kernel_writes(UInt fn, Addr a, SizeT len);
void *shadow_alloc(SizeT n);
void *shadow_table(SizeT n); /* zeroed */
void shadow_table_free(void *p, SizeT n);
void *shadow_kept(SizeT n); /* zeroed, at a line of the cache, never freed */
extern ULong shadow_bytes, unique_bytes, touched_secs;

/* ---- edges ---- */

typedef struct Edge {
	UInt key, index; /* producer << 16 | consumer */
	ULong bytes[2], ke[2];
} Edge;

#define EDGE_KEY(w, c) ((UInt)(w) << 16 | (UInt)(c))
#define CONSUMER_WRITTEN 0xffff /* the set of addresses a function wrote */
Edge *edge_get(UInt key);
extern Edge **edges;
extern UInt edge_count;
#define UBLK_SHIFT 10                 /* log2 of the bytes of a block: its bits fill two lines of the cache; by hand */
#define UBLK_BYTES (1u << UBLK_SHIFT) /* whose set has one bit for each */
#define UBLK_WORDS (UBLK_BYTES / 64)
ULong *ubits_get(ULong key);
#define PATH_SETS (1u << 25) /* sets from this index on are x_path.c's */
/* Calls visit() for every set of addresses from PATH_SETS on: its index less that, its class, its block. */
void unique_path_sets(void (*visit)(UInt index, UInt stack, ULong block, const ULong *bits));
static inline ULong ukey(UInt edge_index, UInt stack, Addr a)
{
	return (ULong)edge_index << 38 | (ULong)stack << 37 | ((a >> UBLK_SHIFT) & 0x1fffffffffull);
}
/* At most 64 of them, which may lie in two words. */
static inline void bits_set_few(ULong *bits, UInt off, UInt n)
{
	UInt word = off >> 6, bit = off & 63;
	ULong m = n >= 64 ? ~0ull : (1ull << n) - 1;

	bits[word] |= m << bit;
	if (bit + n > 64)
		bits[word + 1] |= m >> (64 - bit);
}

/* An access that stores the processor's state has some 500. */
static inline void bits_set(ULong *bits, UInt off, UInt n)
{
	for (; UNLIKELY_(n > 64); off += 64, n -= 64)
		bits_set_few(bits, off, 64);
	bits_set_few(bits, off, n);
}

void unique_set(UInt edge_index, UInt stack, Addr a, SizeT n);
/* Sums up the sets: per edge, and unions per consumer and per producer. */
typedef struct {
	ULong (*edge)[3];                    /* by edge index */
	ULong (*in)[3], (*out)[3], (*wr)[3]; /* by function id */
} UniqueSums;
void unique_sums(UniqueSums *u);
void unique_sums_free(UniqueSums *u);

/* ---- threads and stacks ---- */

typedef struct Node {
	UInt id;
	Fn *fn;
	struct Node *parent, *last_child, *hash_next;
	ULong calls;
	Counters self, inc; /* inc: of the outermost frames of fn, not yet settled */
} Node;

typedef struct {
	Fn *fn;
	Node *node;
	Addr sp, ret;
	UInt inv, eff_inv;
	UShort eff;
	UChar outer;   /* outermost activation of fn in this thread */
	UChar barrier; /* 1 signal handler on this stack, 2 on another */
	struct Path *path;
	struct Inv *log;
	Fn *alloc;          /* the allocator that it is, or ends */
	ULong alloc_arg[3]; /* of that call */
	Clock snap;
} Frame;

typedef struct {
	ThreadId tid;
	Bool live;
	Frame *frames;
	UInt depth, cap;
	UInt *active; /* by function id */
	Node **act_node;
	UInt act_cap;
	Addr sp, stack_end;      /* the running stack's last byte */
	Addr stack_hi, stack_lo; /* while the pointer is between these it is the same stack */
	Addr begun;              /* where the pointer was first; 0: of the first thread */
	UInt world, era;         /* era: of the pages' kinds */
	UInt pending;
	UChar signal; /* the next call is a handler's: 1 on this stack, 2 on the alternate one */
	Addr pend_ret, pend_sp;
	UInt held; /* pending when a signal came */
	Addr held_ret, held_sp;
	Clock tot, seg0;
	UInt syscall_fn;
	Int syscall_nr;
	UInt syscall_inv;
	struct Inv *log_cur; /* innermost logged invocation */
	UInt log_insns, log_compute;
} Thread;

/* The innermost frame whose base is above a; the outermost stands first, so their pointers fall. */
static inline UInt frame_around(const Thread *t, Addr a)
{
	UInt lo = 0, hi = t->depth;

	while (hi - lo > 1) {
		UInt mid = (lo + hi) / 2;

		if (t->frames[mid].sp + 8 > a)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* The running thread's state, flat: the hot path touches nothing else. */
typedef struct {
	Fn *known; /* the running function, where its next block needs no look at the stack; else NOBODY */
	Fn *fn;
	Addr sp, top_sp;
	Addr lo, span; /* stack test: addr - lo <= span */
	ULong world;   /* 1..127: as long as it is the same, pages are of the same kind and the stack is where it was */
	UInt pending;
	UInt eff; /* function that accesses belong to */
	UInt inv; /* and its invocation */
	UInt counting;
	UInt names_writers; /* of what is written while nothing is counted */
	ULong mix;          /* eff and world */
	Clock tot;
	Node *node;
	Thread *t;
	struct Path *path;               /* where the running function stands in the tree of paths */
	Long ld_cd, st_cd, in_cd, cy_cd; /* samples are due when these reach 0 */
	ULong now;                       /* instructions, counted or not */
	Addr pend_ret, pend_sp;          /* of the call under way: linkage stubs push more */
	ULong slice_end;
	ULong due; /* when the slice ends, or the clock must be told */
} State;
#define NOBODY ((Fn *)1)
/*
 * Addresses have 47 bits, the number of a block of them 37: above it stand eff and the world, and between these three
 * bits that x_short.c needs, which are 0.
 */
#define MIX_EFF 38
#define MIX_WORLD 57
extern State X;
extern UInt inv_counter;
extern Node **nodes;
extern UInt node_count;

void clock_due(void);
void stack_enter(BB *bb);
void stack_switch(ThreadId tid);
void stack_sp(Addr sp);
void world_new_era(void); /* pages may be of another kind than before */
void stack_signal(ThreadId tid, Bool alt);
void stack_signal_done(ThreadId tid);
void stack_thread_start(ThreadId tid);
void stack_thread_end(ThreadId tid);
void stack_finish_all(void);
void seg_refresh(void); /* closes all open segments and inclusive figures, for a checkpoint */
Thread *thread_get(ThreadId tid);
void slice_end(void);
void fn_selfs(void);

/* ---- paths ---- */

typedef struct PathChunk {
	UInt w;    /* path of its last writer */
	UInt inv;  /* invocation that read last since it was written */
	UInt time; /* inv_counter at the last read by code since then; 0 none */
} PathChunk;
extern Bool paths_on;
extern ULong lost_paths;
void path_init(void);
void path_enter(Thread *t, Frame *f, const Frame *up);
void path_counted(const Clock *now, const Clock *then); /* what the running path did */
void path_switch(void);
void path_access(Addr a, UInt size, Bool write, UInt stack);
void path_uncounted(Addr a, UInt size, UInt who);
void path_kernel_read(UInt fn, UInt inv, Addr a, SizeT len);
void path_kernel_write(UInt fn, Addr a, SizeT len);
void path_forget(Sec *s, UInt off, UInt n);
void path_copy(Sec *to, UInt to_off, const Sec *from, UInt from_off, UInt n);
void path_write(void);

/* ---- samples ---- */

void sample_init(void);
void sample_access(Ev *e, Addr a, UInt flags, Bool stack);
void sample_insns(Flush *f, ULong n);
void sample_cycles(Flush *f);
void sample_census(Ev *e, Addr a, Bool stack);
void sample_sysio(Addr a, SizeT len, UInt dir);
ULong cache_cost(Addr a, UInt size);
extern UChar *win_filter;
extern UInt win_armed;
void window_touch(Ev *e, Addr a, UInt size, UInt flags);
void window_kernel(Addr a, SizeT len, UInt flags, Int nr);
void windows_flush(Bool final);
void window_tick(void);

/* ---- objects ---- */

typedef struct Reach Reach;
typedef struct {
	Addr low, high;
	UInt read, written; /* sets of addresses */
} ObjectReach;
void reach_init(void);
Reach *reach_get(UInt fn, UInt region);
void reach_object(ObjectReach *o, UInt region);
void reach_allocated(Addr a, SizeT len, UInt region);
void reach_touch(ObjectReach *o, Addr a, SizeT len, Bool write);
void reach_access(Reach *r, Addr a, UInt size, Bool write);
void reach_write(const ObjectReach *(*nth)(UInt i), UInt objects);

typedef struct Use {
	UInt fn, object;
	struct Use *next;
	Reach *reach;
	ULong reads, writes, read_bytes, write_bytes;
	UInt set; /* edge index of its unique set */
} Use;
void object_init(void);
UInt object_alloc_kind(const HChar *name);
void object_access(Ev *e, Addr a, UInt size, Bool write);
extern UInt object_of_access; /* of the last one */
void object_kernel(Addr a, SizeT len, Bool write);
void object_alloc_enter(Frame *f);
void object_alloc_goes_on(const Frame *from, Frame *f);
void object_alloc_leave(Frame *f, Fn *caller);
void object_mmap(Addr a, SizeT len, Bool anon);
void object_unmap(Addr a, SizeT len);
void object_write(const UniqueSums *u);

/* ---- logs ---- */

extern Bool logs_on;
void log_init(void);
void log_call(Frame *f, Frame *parent);
void log_return(Frame *f);
void log_load(Addr a, UInt size);
void log_access(Addr a, UInt size, Bool store, Bool stack, UInt object);
void log_object(UInt id, const HChar *name);
void log_store(Addr a, UInt size);
void log_kernel_store(Addr a, SizeT len);
void log_flush(void);
void log_counted(Thread *t); /* what the running invocation did */

/* ---- output ---- */

void out_init(void);
void out_rec(UInt section, const void *rec, UInt size);
void out_var(UInt section, const void *head, UInt hsize, const void *tail, UInt tsize);
UInt out_string(const HChar *s);
void out_flush(void);
void out_snapshot(const HChar *incomplete, Bool final);
extern Bool out_dead; /* a forked child: measures nothing, writes nothing */
UInt out_stack(const struct fmt_frame *fr, UInt n, UInt flags);
void out_symbol(Module *m, Addr ip, ULong vaddr, Fn *fn);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile file: what is on disk. Compiles freestanding; included by user/store, user/exact and
 * tests, and by what fills or walks a section (many rooms). doc: user/store/FORMAT.md, SECTIONS.md.
 *
 * File = struct fmt_file, then chunks until the end. A chunk = struct fmt_chunk + stored bytes
 * (zstd unless FMT_RAW). A chunk holds `count` records of one section: of `rec_size` bytes each, or,
 * when rec_size is 0, each prefixed by its length as u32. A torn write loses the last one. Little endian
 * throughout; strings are ids into FMT_STRING, 0 = none.
 * Floating values are IEEE doubles; NaN on disk means "unknown" (null in JSON).
 *
 * To add a section:
 *   1. user/store/NAME.h with its record: fields of fixed width, no implicit padding, its size asserted; what it means
 *      stands above it, with its number (tests/adding/section.h is one to begin with, tests/adding/command.c reads it);
 *   2. its number in enum fmt_section, at the end of your folder's range.
 * Readers that do not know it pass over it. To add a field: append it to the record; readers of older files see zeros,
 * so choose an encoding in which zero means unknown. Never reorder, never renumber.
 */
#ifndef ACCPERF_FORMAT_H
#define ACCPERF_FORMAT_H

#include <stdint.h>

#define FMT_MAGIC 0x3146525046434341ull /* "ACCFPRF1" */
#define FMT_CHUNK_MAGIC 0x4b4e4843u     /* "CHNK" */
#define FMT_MAJOR 1                     /* readers refuse every other one */
#define FMT_MINOR 0                     /* of additions, which older readers pass over: none refuses it */
#define FMT_MAX_CHUNK (64u << 20)       /* raw bytes; a larger claim is corruption */

struct fmt_file {
	uint64_t magic;
	uint16_t major, minor;
	uint32_t header_size; /* chunks begin here */
	uint64_t start_realtime_ns;
	uint64_t start_monotonic_ns;
};
_Static_assert(sizeof(struct fmt_file) == 32, "fmt_file");

enum fmt_chunk_flags {
	FMT_RAW = 1,
	/* packed, after a change that packs better; FMT_RAW goes with each: FORMAT.md says why */
	FMT_TURNED = 2,       /* bytes by their place in a record */
	FMT_STEPS = 4,        /* the first 8 bytes of a record as what they are more than in the one before */
	FMT_STEPS_TURNED = 8, /* both, in that order */
};
#define FMT_CHANGED (FMT_TURNED | FMT_STEPS | FMT_STEPS_TURNED)

struct fmt_chunk {
	uint32_t magic;
	uint16_t section; /* enum fmt_section */
	uint16_t flags;
	uint32_t rec_size;
	uint32_t count;
	uint32_t raw_size, stored_size;
	uint64_t seq;   /* 0, 1, 2...: a gap is a lost chunk */
	uint64_t xxh64; /* of the stored bytes, seeded with the header bytes before this field */
};
_Static_assert(sizeof(struct fmt_chunk) == 40, "fmt_chunk");

/* Killed while the last chunks were packed anew: [from, to) is told again from `to` on. */
struct fmt_replaced {
	uint64_t from, to; /* offsets in the file */
};
_Static_assert(sizeof(struct fmt_replaced) == 16, "fmt_replaced");

enum fmt_section {
	/* core, 1..31 */
	FMT_META = 1,           /* variable: key NUL value NUL; later wins */
	FMT_STRING = 2,         /* variable: u32 id, bytes */
	FMT_PROCESS = 3,        /* struct fmt_process */
	FMT_MODULE = 4,         /* struct fmt_module */
	FMT_STACK = 5,          /* variable: struct fmt_stack, frames leaf first */
	FMT_SAMPLE = 6,         /* struct fmt_sample */
	FMT_ACCESS = 7,         /* struct fmt_access */
	FMT_WINDOW = 8,         /* variable: struct fmt_window, then its hits */
	FMT_SYSIO = 9,          /* struct fmt_sysio */
	FMT_FUNCTION = 10,      /* struct fmt_function */
	FMT_SYMBOL = 11,        /* variable: struct fmt_symbol, then its inline chain */
	FMT_COUNTER = 12,       /* struct fmt_counter: cumulative, the last of a name wins */
	FMT_RATE = 13,          /* struct fmt_rate: from here on this rate is in force */
	FMT_COST = 14,          /* struct fmt_cost: cumulative, the last wins */
	FMT_MAPPING = 15,       /* struct fmt_mapping */
	FMT_OBJECT = 16,        /* struct fmt_object: data objects */
	FMT_SYSIO_STRETCH = 17, /* struct fmt_sysio_stretch: while system calls were observed */
	FMT_WAIT = 18,          /* struct fmt_wait: a thread was off the CPU */
	FMT_REPLACED = 19,      /* struct fmt_replaced: the file's last; what of it does not count */
	FMT_PLACE = 20,         /* struct fmt_place: the last of a process wins */
	FMT_END = 31,           /* struct fmt_end: the recording ended in order */
	/* exact engine, 32..47 */
	FMT_X_RUN = 32,        /* struct fmt_x_run: what was measured, totals; the last wins */
	FMT_X_FUNC = 33,       /* struct fmt_x_func: per function, self and inclusive */
	FMT_X_EDGE = 34,       /* struct fmt_x_edge: producer -> consumer, both semantics */
	FMT_X_NODE = 35,       /* struct fmt_x_node: call tree, parents before children */
	FMT_X_USE = 36,        /* struct fmt_x_use: function x data object */
	FMT_X_OBJECT = 37,     /* struct fmt_x_object: what FMT_OBJECT has no room for */
	FMT_X_SLICE = 38,      /* struct fmt_x_slice: function x time slice */
	FMT_X_SUBTREE = 39,    /* struct fmt_x_subtree: communication of a candidate with all below it */
	FMT_X_SUBTREE_KE = 40, /* struct fmt_x_subtree_ke: the same in chunks */
	FMT_X_PATH = 41,       /* struct fmt_x_path: call tree of what reads and writes, parents before children */
	FMT_X_PATH_EDGE = 42,  /* struct fmt_x_path_edge: producer -> consumer, by path */
	FMT_X_REACH = 44,      /* struct fmt_x_reach: addresses of a function by region */
	FMT_X_EXTENT = 45,     /* struct fmt_x_extent: addresses of an object */
	FMT_X_MAP = 46,        /* struct fmt_x_map: address space, cell by cell */
	/* offload, 48..63 */
	FMT_OFFLOAD_API = 48,    /* struct fmt_offload_api: one probed symbol */
	FMT_CALL = 49,           /* struct fmt_call: one offload call (or one of `weight`) */
	FMT_OFFLOAD_HIST = 50,   /* struct fmt_offload_hist: cumulative cells, the last of a key wins */
	FMT_OFFLOAD_TOTAL = 51,  /* struct fmt_offload_total: cumulative, the last of a key wins */
	FMT_OFFLOAD_WINDOW = 52, /* struct fmt_offload_window: while a library's probes were in place */
	FMT_OFFLOAD_COST = 53,   /* struct fmt_offload_cost: the last wins */
	/* flow, 64..79 */
	FMT_FLOW = 64,          /* struct fmt_flow: a finished flow result */
	FMT_FLOW_FUNCTION = 65, /* struct fmt_flow_function: of the result last begun */
	FMT_FLOW_EDGE = 66,     /* struct fmt_flow_edge: of the result last begun */
	FMT_WINDOW_CALLS = 67,  /* variable: struct fmt_window_calls, then an invocation number per hit */
	FMT_BURST_SITE = 68,    /* struct fmt_burst_site: cumulative, the last of an id wins */
	FMT_BURST_PAIR = 69,    /* struct fmt_burst_pair: cumulative, the last of a (reader, writer, bin) wins */
	FMT_BURST_DATA = 70,    /* variable: struct fmt_burst_data, then struct fmt_burst_item */
	FMT_BURST_PART = 71,    /* variable: struct fmt_burst_part, then its sites, then its pairs */
	FMT_HEAP_TURN = 72,     /* user/store/heap.h has the structs of these three */
	FMT_HEAP_BLOCK = 73,
	FMT_HEAP_FREED = 74,
	FMT_BURST_REVISIT = 76, /* struct fmt_burst_revisit: whether a word that was read changed later */
	FMT_BURST_BRANCH = 75,  /* struct fmt_burst_branch: those of one place add up */
	FMT_EARLIER_SITE = 77,  /* user/store/earlier.h has the structs of these two */
	FMT_EARLIER_PAIR = 78,
	/* execution counts, 80..95 */
	FMT_COUNTS_FUNC = 80,     /* struct fmt_counts_func: the last of an id wins */
	FMT_COUNTS_NODE = 81,     /* struct fmt_counts_node: code that runs equally often; the last of an id wins */
	FMT_COUNTS_BLOCK = 82,    /* struct fmt_counts_block: where such code lies */
	FMT_COUNTS_LINK = 83,     /* struct fmt_counts_link: the last of an id wins */
	FMT_COUNTS_WINDOW = 84,   /* struct fmt_counts_window: what one window saw of one link */
	FMT_COUNTS_BURST = 85,    /* struct fmt_counts_burst: how one burst went */
	FMT_SEGMENT = 86,         /* struct fmt_segment: what a thread did between two system calls */
	FMT_COUNTS_DRAWN = 87,    /* struct fmt_counts_drawn: what segments ran; the last of an id wins */
	FMT_COUNTS_WENT = 88,     /* struct fmt_counts_went: what one burst ran; all add up */
	FMT_COUNTS_REPEATS = 89,  /* struct fmt_counts_repeats: of string instructions; the last of a function wins */
	FMT_SEGMENT_STRETCH = 90, /* struct fmt_segment_stretch: user time while segments were drawn */
};

struct fmt_process {
	uint32_t pid, ppid;
	uint64_t start, end;    /* monotonic ns, 0 = unknown */
	uint32_t comm, cmdline; /* strings */
};
_Static_assert(sizeof(struct fmt_process) == 32, "fmt_process");

/* What its control group says of a process; none is written of one of which it says nothing. */
struct fmt_place {
	uint32_t pid;
	uint32_t unit, container, pod; /* strings */
};
_Static_assert(sizeof(struct fmt_place) == 16, "fmt_place");

enum fmt_module_kind {
	FMT_MOD_FILE = 1,
	FMT_MOD_KERNEL = 2, /* frame address = system call number, or FMT_KERNEL_OTHER */
	FMT_MOD_JIT = 3,    /* absolute addresses of one process, named by a perf map */
	FMT_MOD_VDSO = 4,
	FMT_MOD_ANON = 5, /* executable memory without a file or a map */
};
#define FMT_KERNEL_OTHER 0xffffffffull /* an address above all numbers of system calls: in the kernel, but in no call */

struct fmt_module {
	uint32_t id; /* from 1 */
	uint32_t kind;
	uint32_t path; /* string, as the target sees it */
	uint32_t pid;  /* JIT, ANON: whose */
	uint8_t build_id[20];
	uint32_t build_id_len;
	uint64_t content; /* hash that tells files with one build-id apart; 0: unknown, or others can write the file */
};
_Static_assert(sizeof(struct fmt_module) == 48, "fmt_module");

enum fmt_frame_flags {
	FMT_FRAME_RETURN = 1, /* a caller: addr is the return address less one, inside the call */
	FMT_FRAME_SIGNAL = 2, /* a signal trampoline; the frame after it was interrupted, not calling */
};

/* A code address, ready to be looked up in FMT_SYMBOL: ELF virtual address within the module (file
 * kinds, vdso), else absolute. */
struct fmt_frame {
	uint64_t addr;
	uint32_t module; /* 0: address belongs to no known module */
	uint32_t flags;  /* enum fmt_frame_flags */
};
_Static_assert(sizeof(struct fmt_frame) == 16, "fmt_frame");

enum fmt_stack_flags {
	FMT_STACK_COMPLETE = 1, /* unwound to the thread's first frame */
	FMT_STACK_CUT = 2,      /* the snapshot ended first */
	FMT_STACK_BROKEN = 4,   /* no unwind rule for some frame */
};

struct fmt_stack {
	uint32_t id; /* from 1 */
	uint16_t count;
	uint16_t flags;
	/* struct fmt_frame frames[count]; */
};
_Static_assert(sizeof(struct fmt_stack) == 8, "fmt_stack");

enum fmt_wait_flags {
	FMT_WAIT_READY = 1, /* it would have gone on, another had the CPU */
	FMT_WAIT_OPEN = 2,  /* it was not back when observation ended: ns until then */
};

struct fmt_wait {
	uint64_t time; /* when it left the CPU */
	uint64_t ns;   /* until it ran again */
	double weight; /* waits that it stands for */
	uint32_t pid, tid, stack, flags;
};
_Static_assert(sizeof(struct fmt_wait) == 40, "fmt_wait");

enum fmt_sample_flags {
	FMT_S_KERNEL = 1,
	FMT_S_INSTRUCTIONS = 2, /* period counts instructions, not ns */
};

struct fmt_sample {
	uint64_t time;
	uint64_t period; /* ns (or instructions) this sample stands for */
	uint32_t pid, tid;
	uint32_t stack;
	uint16_t cpu, flags;
};
_Static_assert(sizeof(struct fmt_sample) == 32, "fmt_sample");

enum fmt_access_flags {
	FMT_A_LOAD = 1,
	FMT_A_STORE = 2,
	FMT_A_STACK = 4, /* between sp less red zone and the stack's base */
	FMT_A_KERNEL = 8,
	FMT_A_ATOMIC = 16,
	FMT_A_REP = 32,
	FMT_A_CENSUS = 64,   /* store seen by the census, not by sampling: no weight */
	FMT_A_TIME = 128,    /* drawn by time, not by count */
	FMT_A_DERIVED = 256, /* address computed from a sampled block, not sampled itself */
	FMT_A_NO_ADDR = 512, /* the instruction ran, its address could not be computed: addr is 0 */
};

/* As one list, because a window holds a copy of what chose its address and cannot grow in its middle. */
#define FMT_ACCESS_FIELDS                                                                                              \
	uint64_t time; /* ns; exact engine: instructions executed */                                                   \
	uint64_t addr;                                                                                                 \
	uint64_t ip;       /* as fmt_frame.addr */                                                                     \
	double weight;     /* how many such accesses this one stands for */                                            \
	uint64_t data_src; /* perf's encoding; 0 = unknown */                                                          \
	uint64_t phys;     /* 0 = unknown */                                                                           \
	uint32_t module;   /* of ip */                                                                                 \
	uint32_t pid, tid;                                                                                             \
	uint32_t stack;    /* 0 = unknown */                                                                           \
	uint32_t function; /* self function where the engine knows it, else 0 */                                       \
	uint32_t latency;  /* cycles; 0 = unknown */                                                                   \
	uint32_t size;     /* bytes; 0 = unknown */                                                                    \
	uint32_t flags;

struct fmt_access {
	FMT_ACCESS_FIELDS
	/* With FMT_A_STACK: whose local variables it may have touched. */
	uint32_t frame;       /* addr lies in the frame of the stack's frame-th address, from 1; 0 = unknown */
	int32_t frame_offset; /* of addr from that frame's canonical frame address */
	uint64_t page_size;   /* bytes, of the page that addr lies in; 0 = unknown */
};
_Static_assert(sizeof(struct fmt_access) == 96, "fmt_access");

struct fmt_arm {
	FMT_ACCESS_FIELDS
};
_Static_assert(sizeof(struct fmt_arm) == 80, "fmt_arm");

enum fmt_window_end {
	FMT_W_HITS = 1,
	FMT_W_TIME = 2,
	FMT_W_REPLACED = 3,
	FMT_W_EXIT = 4,
	FMT_W_STOLEN = 5,
};

struct fmt_window {
	uint64_t armed, ended; /* ns */
	uint64_t addr;
	struct fmt_arm arm; /* the access that chose the address: the first fields of fmt_access */
	uint32_t len, end_reason;
	uint32_t write_only_after; /* hits before the first switch; ~0: never */
	uint32_t count;
	/* struct fmt_hit hits[count]; */
};
_Static_assert(sizeof(struct fmt_window) == 120, "fmt_window");

struct fmt_hit {
	uint64_t time;
	uint64_t ip;
	uint32_t module, function;
	uint32_t tid, stack;
	uint32_t flags;  /* enum fmt_access_flags; neither LOAD nor STORE: undecided */
	int32_t syscall; /* with FMT_A_KERNEL; -1 unknown */
};
_Static_assert(sizeof(struct fmt_hit) == 40, "fmt_hit");

/* Which invocation of its function each hit of a window came from, where that is counted. */
struct fmt_window_calls {
	uint64_t armed, addr; /* of the window */
	uint64_t arm;         /* invocation of the access that chose the address */
	uint32_t count, pad;
	/* uint64_t invocation[count]; numbers of one recording, 0 = unknown or none */
};
_Static_assert(sizeof(struct fmt_window_calls) == 32, "fmt_window_calls");

enum fmt_sysio_flags {
	FMT_IO_STACK = 1,   /* all of it between stack pointer and stack base; the exact engine tells */
	FMT_IO_READ = 2,    /* the kernel counts it among what was read: fmt_sysio_stretch.moved[0], */
	FMT_IO_WRITTEN = 4, /* or written: moved[1] */
};
enum fmt_sysio_dir { FMT_IO_KERNEL_WRITES = 1, FMT_IO_KERNEL_READS = 2, FMT_IO_MAPS = 3 };

struct fmt_sysio {
	uint64_t time;
	uint64_t addr, len;
	double weight; /* calls this one stands for */
	uint32_t pid, tid;
	int32_t nr;
	uint32_t dir;
	uint32_t stack;
	uint32_t flags; /* enum fmt_sysio_flags */
};
_Static_assert(sizeof(struct fmt_sysio) == 56, "fmt_sysio");

enum fmt_sysio_stretch_flags {
	FMT_IOB_MOVED = 1, /* the kernel tells `moved` */
	FMT_IOB_RAN = 2,   /* and the CPU times below */
};

/* From `begin` to `end` all system calls of the targets were observed; it stands for `weight` times its length, which
 * the weights of its FMT_SYSIO records hold already. Weight 0: no stretch, but the time since the last. */
struct fmt_sysio_stretch {
	uint64_t begin, end; /* ns */
	uint64_t span_ns;    /* since the record before this one, or since the first stretch began */
	double weight;
	uint64_t seen[2];  /* bytes read and written by calls that came by, of those that the kernel counts itself, */
	uint64_t moved[2]; /* and by all of them since the record before this one, whether a stretch was on or not */
	uint32_t flags;    /* enum fmt_sysio_stretch_flags */
	uint32_t pad;
	uint64_t ran_ns, ran_all_ns; /* CPU time of the targets: in the stretch, and since the record before this one */
	uint64_t spent_ns;           /* of both: what it cost them to be observed */
};
_Static_assert(sizeof(struct fmt_sysio_stretch) == 96, "fmt_sysio_stretch");

enum fmt_function_flags { FMT_FN_BARE = 1 /* named by an address: neither symbol nor bounds */ };

struct fmt_function {
	uint32_t id;                 /* from 1 */
	uint32_t name, object, file; /* strings */
	uint32_t line;
	uint32_t flags; /* enum fmt_function_flags */
};
_Static_assert(sizeof(struct fmt_function) == 24, "fmt_function");

/* (module, addr) -> functions, innermost first: the last of the chain is the physical function. */
struct fmt_symbol {
	uint64_t addr;
	uint32_t module;
	uint32_t count;
	/* struct fmt_inline chain[count]; */
};
_Static_assert(sizeof(struct fmt_symbol) == 16, "fmt_symbol");

struct fmt_inline {
	uint32_t function;
	uint32_t file, line; /* where execution stands in this function */
	uint32_t pad;
};
_Static_assert(sizeof(struct fmt_inline) == 16, "fmt_inline");

enum fmt_counter_flags {
	FMT_C_LOSS = 1,    /* a sample or record that should be here is not */
	FMT_C_IN_PART = 2, /* it is here, but its stack or a name is not whole */
	FMT_C_LEVEL = 4,   /* no sum: of two, the larger one stands for both */
};

struct fmt_counter {
	uint32_t name; /* string */
	uint32_t flags;
	uint64_t value;
};
_Static_assert(sizeof(struct fmt_counter) == 16, "fmt_counter");

struct fmt_rate {
	uint64_t time;
	uint32_t source; /* string: soft, pebs, watch... */
	uint32_t pad;
	double per_second;
	uint64_t period;
};
_Static_assert(sizeof(struct fmt_rate) == 32, "fmt_rate");

struct fmt_cost {
	uint64_t time;
	uint64_t own_cpu_ns;     /* the profiler's own */
	uint64_t target_cpu_ns;  /* the target's, while observed; 0 = unknown */
	uint64_t target_lost_ns; /* estimated: interrupts, hits, probes */
	uint64_t peak_rss;
	uint64_t bytes_written;
};
_Static_assert(sizeof(struct fmt_cost) == 48, "fmt_cost");

struct fmt_mapping {
	uint64_t time; /* from when on */
	uint64_t start, end;
	uint64_t pgoff;
	uint32_t pid, module;
	uint32_t prot; /* 1 exec 2 write 4 read */
	uint32_t name; /* string for memory without a module: [stack], [heap], file paths of data */
};
_Static_assert(sizeof(struct fmt_mapping) == 48, "fmt_mapping");

enum fmt_object_kind {
	FMT_OBJ_GLOBAL = 1,
	FMT_OBJ_LOCAL = 2,
	FMT_OBJ_HEAP = 3,
	FMT_OBJ_MMAP = 4,
	FMT_OBJ_STACK = 5,
};

struct fmt_object {
	uint32_t id;
	uint32_t kind;
	uint32_t name;       /* string: variable, or allocation site */
	uint32_t function;   /* owner or allocating function */
	uint64_t addr, size; /* 0 where many blocks share the site; further records of its id are blocks */
	uint64_t born, died; /* 0 = before / still */
};
_Static_assert(sizeof(struct fmt_object) == 48, "fmt_object");

enum fmt_end_reason {
	FMT_END_DONE = 1,
	FMT_END_SIGNAL = 2,
	FMT_END_TARGET_GONE = 3,
	FMT_END_ERROR = 4,
	FMT_END_NEXT = 5 /* the recording went on in another file */
};

struct fmt_end {
	uint64_t time;
	uint64_t duration_ns;
	uint64_t samples, lost;
	uint32_t reason;
	uint32_t exit_status; /* of -- CMD, as wait() gives it; ~0 none */
};
_Static_assert(sizeof(struct fmt_end) == 40, "fmt_end");

/* ---- offload calls, 48..63 ---- */

enum fmt_offload_kind {
	FMT_OK_CALL = 1,   /* done when it returns */
	FMT_OK_SUBMIT = 2, /* returns early; a wait on its queue or event completes it */
	FMT_OK_WAIT = 3,   /* completes what was submitted; never an FMT_CALL of its own */
	FMT_OK_KERNEL = 4, /* submitted to the kernel, seen by tracepoints: no probe cost in its times */
};

enum fmt_offload_variant { FMT_OV_UNKNOWN = 0, FMT_OV_HOST = 1, FMT_OV_ACCELERATED = 2 };

/* What the kernel does with the instruction a probe was put on decides what a hit costs. */
enum fmt_probe_class {
	FMT_PROBE_UNKNOWN = 0,  /* or a file from before this was told apart */
	FMT_PROBE_STEPPED = 1,  /* executed elsewhere by a single step: the dearer one */
	FMT_PROBE_EMULATED = 2, /* push, nop, relative jumps and calls */
	FMT_PROBE_TRACED = 3,   /* system calls seen by tracepoints: nothing is taken off their times */
	FMT_PROBE_CLASSES = 4,
};

/* Was the library in any observed process, or only where one would find it? */
enum fmt_offload_mapped { FMT_OM_UNKNOWN = 0, FMT_OM_INSTALLED = 1, FMT_OM_MAPPED = 2 };

struct fmt_offload_api {
	uint32_t id;      /* from 1 */
	uint32_t api;     /* string: openssl, cuda, ... : the family within which nested calls count once */
	uint32_t name;    /* string: the API call without version suffixes; groups twins */
	uint32_t symbol;  /* string: as probed */
	uint32_t library; /* string: path as the target sees it */
	uint32_t kind;    /* enum fmt_offload_kind */
	uint32_t variant; /* enum fmt_offload_variant */
	uint32_t group;   /* fmt_offload_window.group it belongs to */
	uint32_t probe;   /* enum fmt_probe_class */
	uint32_t mapped;  /* enum fmt_offload_mapped; a later record of the id with this alone brings it up to date */
};
_Static_assert(sizeof(struct fmt_offload_api) == 40, "fmt_offload_api");

enum fmt_call_flags {
	FMT_CALL_IN = 1,         /* bytes_in is known */
	FMT_CALL_OUT = 2,        /* bytes_out is known */
	FMT_CALL_ITEMS = 4,      /* items is known */
	FMT_CALL_TIMED = 8,      /* busy_ns is known: the call completed and outlasted the probe's cost */
	FMT_CALL_SWITCHED = 16,  /* a context switch inside: keep it out of fits */
	FMT_CALL_BLOCKED = 32,   /* the thread gave up the CPU inside: design "sync-OS" */
	FMT_CALL_ASYNC = 64,     /* returned before it was complete */
	FMT_CALL_OPEN = 128,     /* completion never seen: complete, busy_ns hold nothing */
	FMT_CALL_INSIDE = 256,   /* within a call of another family, whose time holds this one's */
	FMT_CALL_FAILED = 512,   /* the API returned an error */
	FMT_CALL_LATE = 1024,    /* completion seen at a later wait than the first: an upper bound */
	FMT_CALL_CPU = 2048,     /* cpu_ns is known */
	FMT_CALL_ENTERED = 8192, /* only its beginning was seen: returned, complete and all times hold nothing */
	FMT_CALL_LEVEL = 32768,  /* level is known, and the totals are told by level */
	FMT_CALL_EITHER = 4096,  /* the API does not tell the direction: bytes_in holds the bytes */
};

/* In the key of a sum: at which level its calls compressed, as the API was told. 0: not known, as in older files. */
static inline uint32_t fmt_level(int32_t level)
{
	return (uint32_t)level ^ 1u << 31;
}
static inline int32_t fmt_level_told(uint32_t key)
{
	return (int32_t)(key ^ 1u << 31);
}

/* Times are CLOCK_MONOTONIC as the probes saw them; the *_ns fields have the probes' own cost
 * taken off (struct fmt_offload_cost). */
struct fmt_call {
	uint64_t submit;    /* the outermost call was entered */
	uint64_t returned;  /* it returned; 0 = never seen */
	uint64_t wait;      /* the host began to wait for it; 0 = it did not wait */
	uint64_t complete;  /* it is known to be done; 0 = never seen */
	uint64_t bytes_in;  /* handed to the API */
	uint64_t bytes_out; /* received from it */
	uint64_t items;     /* work items of a kernel launch */
	uint64_t queue;     /* stream or queue handle; 0 = none or the default one */
	uint64_t submit_ns; /* inside the submitting call */
	uint64_t wait_ns;   /* inside the wait that completed it */
	uint64_t busy_ns;   /* submit to completion */
	uint64_t cpu_ns;    /* CPU time of the calling thread inside the submitting call and wait */
	double weight;      /* calls this one stands for: records thinned 1 in N while it was made */
	uint32_t api;       /* fmt_offload_api.id */
	uint32_t pid, tid;
	uint32_t site;  /* stack of two frames: API and caller; 0 = unknown */
	uint32_t stack; /* whole stack, sampled; 0 = not taken */
	uint32_t flags; /* enum fmt_call_flags */
	uint32_t batch; /* calls completed by the same wait; 1 for synchronous calls */
	int32_t level;  /* at which it compressed, as the API was told: -1 may be its usual one; 0 in older files */
};
_Static_assert(sizeof(struct fmt_call) == 136, "fmt_call");

/* Exact counts made in the kernel, whatever the thinning of FMT_CALL. Bin b holds values v with
 * 2^(b-1) <= v < 2^b; bin 0 holds 0; FMT_BIN_UNKNOWN: no such figure; FMT_BIN_SWITCHED: of calls with
 * a context switch inside, whatever their time. Raw time: the cost of the probe is in it. */
#define FMT_BIN_UNKNOWN 255
#define FMT_BIN_SWITCHED 254
struct fmt_offload_hist {
	uint64_t count, bytes, ns;
	uint32_t pid, api;
	uint8_t bytes_bin, time_bin;
	uint8_t pad[2];
	uint32_t level; /* fmt_level() */
};
_Static_assert(sizeof(struct fmt_offload_hist) == 40, "fmt_offload_hist");

struct fmt_offload_total {
	uint64_t calls; /* outermost ones, while the probes were in place */
	uint64_t bytes_in, bytes_out;
	uint64_t ns;       /* raw */
	uint64_t cpu_ns;   /* raw */
	uint64_t switched; /* calls with a context switch inside; their time: */
	uint64_t switched_ns;
	uint64_t failed;
	uint64_t open;          /* entered, return never seen */
	uint64_t unknown_bytes; /* calls whose bytes could not be read */
	uint64_t records;       /* FMT_CALL records made of them */
	uint32_t pid, api;
	uint32_t site;      /* as fmt_call.site; 0 = unknown */
	uint32_t level;     /* fmt_level() */
	uint64_t site_addr; /* the caller's address, which is the key; 0 = all for which there was no room */
	uint64_t faults;    /* of pages, within the calls; counted where fmt_offload_cost.fault_ns is given */
};
_Static_assert(sizeof(struct fmt_offload_total) == 120, "fmt_offload_total");

/* A stretch of time in which the probes of one library were in place: the totals are those of the
 * stretches. One stretch = the whole recording when the budget allowed it. Each library has a last
 * record with armed = disarmed = the end of the recording, no calls, and the hits that fell outside
 * of stretches, while probes were being planted and removed. */
struct fmt_offload_window {
	uint64_t armed, disarmed;         /* disarmed 0: until the end */
	uint64_t calls;                   /* outermost, inside; ~0 unknown */
	uint64_t hits;                    /* probe hits, nested ones included */
	uint32_t library;                 /* string */
	uint32_t group;                   /* enum probe_apart: those have stretches of their own */
	uint64_t cpu_armed, cpu_disarmed; /* CPU time of the observed processes so far; 0 = unknown */
	uint64_t hits_ns;  /* what the hits cost, each at its probe's class; 0 = unknown: hits x call_ns */
	uint64_t gap_mean; /* the gap before was drawn from an exponential distribution of this mean; 0: it was not */
};
_Static_assert(sizeof(struct fmt_offload_window) == 72, "fmt_offload_window");

enum fmt_offload_attach { FMT_OA_SESSION = 1, FMT_OA_MULTI = 2, FMT_OA_PERF = 3 };

struct fmt_offload_cost {
	uint64_t time;
	double call_ns;             /* added to the target by one probed call, FMT_PROBE_STEPPED: entry and return */
	double call_low, call_high; /* with hot, with cold caches */
	double inside_ns;           /* part of it that falls between the two time stamps */
	double nop_ns;              /* of one hit on a 5-byte NOP marker; NaN = not measured */
	uint32_t attach;            /* enum fmt_offload_attach */
	uint32_t samples;           /* rounds measured */
	double emulated_call_ns;    /* the same of FMT_PROBE_EMULATED; 0 = unknown */
	double emulated_low, emulated_high;
	double emulated_inside_ns;
	double hot_ns, hot_end_ns; /* FMT_PROBE_STEPPED with hot caches: at start, when recording ended; 0 = unknown */
	double fault_ns; /* that a first touch of a page of memory takes; 0 = not measured, and faults not counted */
	/* Of memory displaced from the caches near the core, as behind a hit: a line that is waited for, a byte
	 * that is streamed, beyond what they take from there; 0 = not measured. */
	double line_ns, byte_ns;
	double far_byte_ns; /* the same byte, at a place that nothing fetched ahead, from behind the second cache */
};
_Static_assert(sizeof(struct fmt_offload_cost) == 136, "fmt_offload_cost");

#include "format_exact.h"

/* ---- finished flow results, 64..79 ---- */

enum fmt_flow_flags { FMT_FLOW_TIME_BIAS = 1, FMT_FLOW_MAIN_IMAGE = 2, FMT_FLOW_GUESSES = 4 };

/* Unknown figures are NaN. */
struct fmt_flow {
	uint32_t engine;    /* 1 exact, 2 pmu, 3 soft */
	uint32_t semantics; /* 0 quad, 1 ke */
	uint32_t stack;     /* 0 excluded, 1 included */
	uint32_t flags;
	double level; /* of the intervals; 0 = none */
	double duration_ns;
	double loads, stores, windows, lost; /* samples it rests on */
	/* with TIME_BIAS: 95 % of true amounts over those here; unknown, or 0 in older files: shares alone are known */
	double speed_low, speed_high;
	double guessed, unseen; /* with GUESSES: bytes; flow.h has what they are */
};
_Static_assert(sizeof(struct fmt_flow) == 96, "fmt_flow");

enum fmt_flow_function_flags { FMT_FF_IN_UMA_BOUND = 1, FMT_FF_OUT_UMA_BOUND = 2 };

struct fmt_flow_function {
	uint32_t id;           /* within the result, from 0 */
	uint32_t name, object; /* strings */
	uint32_t flags;
	double in_uma, out_uma;
	double instructions, compute, loads, stores;
	double load_bytes, store_bytes, stack_bytes;
	double self_ns, calls;
	double in_low, in_high, out_low, out_high;
};
_Static_assert(sizeof(struct fmt_flow_function) == 136, "fmt_flow_function");

enum fmt_flow_edge_flags { FMT_FE_UNRESOLVED = 1 };

struct fmt_flow_edge {
	uint32_t producer, consumer; /* fmt_flow_function.id */
	uint32_t flags, pad;
	double bytes, unique, low, high, samples;
	double sd; /* of bytes, from resampling alone */
};
_Static_assert(sizeof(struct fmt_flow_edge) == 64, "fmt_flow_edge");

/*
 * What all bursts (FMT_COUNTS_BURST) together knew of an instruction that reads or writes memory, or ends a block.
 * Segments that were carried on (FMT_SEGMENT) count in `bursts`, and in the pairs, data and parts below. They do not
 * count in runs and bytes: they are not drawn by time.
 */
struct fmt_burst_site {
	uint32_t id; /* from 1 */
	uint32_t module;
	uint64_t ip; /* as fmt_frame.addr */
	double runs;
	double load_bytes, load_stack; /* at addresses that the burst knew: all, on the stack */
	double store_bytes, store_stack;
	uint32_t bursts; /* and segments, that met it */
	int32_t field;   /* FMT_FIELD_*: of its operand in memory; 0: not known, as in older files */
};
_Static_assert(sizeof(struct fmt_burst_site) == 64, "fmt_burst_site");

/* The distance of an operand from the register that it is relative to, so many a byte, and two marks. */
#define FMT_FIELD_BYTE 4
#define FMT_FIELD_INDEXED 2 /* and times another register */
#define FMT_FIELD_KNOWN 1

/* Bytes that an instruction read, not on the stack. */
struct fmt_burst_pair {
	uint32_t reader, writer; /* fmt_burst_site.id; writer 0: the burst had not seen it written */
	/* 2^bin instructions, and less than twice as many, lay between; of writer 0: since the burst began */
	uint32_t bin;
	uint32_t pad;
	double bytes;
};
_Static_assert(sizeof(struct fmt_burst_pair) == 24, "fmt_burst_pair");

/* Of one burst, drawn by chance: reads of what had not been written in it, then what it wrote and left. */
struct fmt_burst_data {
	uint64_t time; /* of the sample that it began with */
	uint32_t pid, tid;
	uint32_t loads, stores; /* items of each */
};
_Static_assert(sizeof(struct fmt_burst_data) == 24, "fmt_burst_data");

/*
 * Marks tell whether two values are alike, and nothing else of them: what is beside the kind is a sum with a salt that
 * the recorder draws and forgets.
 */
#define FMT_MARK_BITS 13
enum fmt_mark_kind {
	FMT_MARK_UNKNOWN = 0,
	FMT_MARK_ZERO = 1,   /* four bytes */
	FMT_MARK_SMALL = 2,  /* four bytes of less than 4096 */
	FMT_MARK_CODE = 3,   /* eight bytes that are the address of code, */
	FMT_MARK_FILE = 4,   /* of what was mapped from a file, */
	FMT_MARK_MEMORY = 5, /* of other memory */
	FMT_MARK_OTHER = 6,  /* any other four bytes */
	FMT_MARK_KINDS = 7,
};

struct fmt_burst_item {
	uint64_t addr;
	uint32_t site; /* fmt_burst_site.id */
	uint16_t size;
	uint16_t mark; /* of what it moved: fmt_mark_kind << FMT_MARK_BITS, and which; 0 in older files */
};
_Static_assert(sizeof(struct fmt_burst_item) == 16, "fmt_burst_item");

/* A word that a burst read, looked at again several times. The first that differed ended it. */
struct fmt_burst_revisit {
	uint64_t time; /* of the first look */
	uint32_t site; /* fmt_burst_site.id */
	uint32_t size;
	uint64_t same_ns;    /* after so long it was still as at first */
	uint64_t changed_ns; /* and after so long not any more; 0: that was not seen */
};
_Static_assert(sizeof(struct fmt_burst_revisit) == 32, "fmt_burst_revisit");

/*
 * What FMT_BURST_SITE and FMT_BURST_PAIR add up, of some bursts on end only: those from `time` to the next part's.
 * Parts tell how far bursts differ. One with many items goes on in further records with the same time.
 */
struct fmt_burst_part {
	uint64_t time; /* of its first burst */
	uint32_t bursts;
	uint32_t sites, pairs; /* items of each */
	uint32_t pad;
};
_Static_assert(sizeof(struct fmt_burst_part) == 24, "fmt_burst_part");

struct fmt_burst_part_site {
	uint32_t site; /* fmt_burst_site.id */
	uint32_t bursts;
	double runs;
};
_Static_assert(sizeof(struct fmt_burst_part_site) == 16, "fmt_burst_part_site");

struct fmt_burst_part_pair {
	uint32_t reader, writer, bin; /* as fmt_burst_pair */
	float bytes;
};
_Static_assert(sizeof(struct fmt_burst_part_pair) == 16, "fmt_burst_part_pair");

enum fmt_branch_kind {
	FMT_BRANCH_TAKEN = 1,    /* the instruction at `from` led to `to` */
	FMT_BRANCH_STRAIGHT = 2, /* from the instruction at `from` to that at `to`, which was a taken branch */
};

/* Which way bursts (FMT_COUNTS_BURST) went. Addresses as fmt_frame.addr; a straight run lies in one module. */
struct fmt_burst_branch {
	uint32_t kind; /* enum fmt_branch_kind */
	uint32_t times;
	uint32_t from_module, to_module;
	uint64_t from, to;
};
_Static_assert(sizeof(struct fmt_burst_branch) == 32, "fmt_burst_branch");

/* ---- execution counts, 80..95 ---- */

enum fmt_counts_func_flags {
	FMT_CF_GRAPH = 1,      /* its control-flow graph was built; else it has time only */
	FMT_CF_COMPLETE = 2,   /* every edge is known and every loop has one entry */
	FMT_CF_TOO_BIG = 4,    /* no graph: more blocks than the limit */
	FMT_CF_UNREADABLE = 8, /* no graph: its bytes could not be read, or are no code */
	FMT_CF_VOLATILE = 16,  /* no graph: memory that may be rewritten (JIT) */
	FMT_CF_RECURSIVE = 32, /* seen calling itself, directly or not */
	FMT_CF_BARE = 64,      /* no bounds are known: `start` is all there is */
};

/* A function by its bounds in .eh_frame. Its name: FMT_SYMBOL of (module, start). */
struct fmt_counts_func {
	uint32_t id; /* from 1 */
	uint32_t module;
	uint64_t start, end; /* as fmt_frame.addr */
	double self_ns;      /* user-mode time of its timer samples, cumulative */
	uint64_t samples;
	uint32_t flags; /* enum fmt_counts_func_flags */
	uint32_t blocks, loops;
	uint32_t pad;
	double unused; /* earlier files: pairs of samples that met the same instruction; never used again */
	/* older files: bursts that began in it, and the sum of its parts of each burst's instructions; 0: see
	 * FMT_COUNTS_WENT */
	double begun, replayed;
	/* activations of it in bursts that were seen to begin, or to be under way, but not how they went on */
	double cut;
	double stayed; /* of `replayed`, in bursts that began in it; 0 in all functions: unknown */
	/* its instructions in bursts and verified segments, and the cycles that a model of a processor took for them;
	 * 0: none ran, or an older file */
	double timed, cycles;
};
_Static_assert(sizeof(struct fmt_counts_func) == 112, "fmt_counts_func");

enum fmt_counts_node_kind { FMT_CN_ENTRY = 1, FMT_CN_LOOP = 2, FMT_CN_BLOCK = 3 };

/* All blocks of one function that run equally often: those that every run of the function (or every
 * iteration of a loop) passes once, or a block of its own. Node 0 is not written: it stands for the
 * target's CPU time in seconds. Work: of one execution, all of the node's blocks together. */
struct fmt_counts_node {
	uint32_t id;       /* from 1 */
	uint32_t function; /* fmt_counts_func.id */
	uint32_t kind;     /* enum fmt_counts_node_kind */
	uint32_t depth;    /* loops around it */
	uint64_t addr;     /* the function's entry, the loop's header, the block */
	double instructions, compute, loads, stores, load_bytes, store_bytes;
	double self_ns; /* user-mode time of timer samples in its blocks, cumulative */
	uint64_t samples;
	uint64_t unused; /* 0; earlier files have a figure here that nothing read: never used again */
};
_Static_assert(sizeof(struct fmt_counts_node) == 96, "fmt_counts_node");

struct fmt_counts_block {
	uint64_t addr;
	uint32_t bytes;
	uint32_t node;
};
_Static_assert(sizeof(struct fmt_counts_block) == 16, "fmt_counts_block");

enum fmt_counts_how {
	FMT_CL_ONCE = 1,  /* by the control flow: `ratio` times (1); no windows */
	FMT_CL_TRIPS = 2, /* windows: anchor = activations of the loop, child = how often its header ran */
	FMT_CL_RATIO = 3, /* windows: hits of the parent, hits of the child (through this call site) */
	/* parent 0. Windows: seconds of CPU time (all for as long as asked), hits as if they had cost none of it */
	FMT_CL_RATE = 4,
	/* as RATIO, but the recorder carried out the code itself: runs of both in each burst that met one */
	FMT_CL_REPLAY = 5,
};

enum fmt_counts_link_flags {
	FMT_CL_CALL = 1,     /* child = a function's entry, reached from the parent's block */
	FMT_CL_TAIL = 2,     /* by a jump */
	FMT_CL_INDIRECT = 4, /* through a register or memory */
	FMT_CL_LIST = 16,    /* TRIPS: a list's elements, counted in memory right after the loop had gone along it */
	FMT_CL_VOID = 8,     /* turned out not to be measurable in this way: its windows say nothing */
};

/* How often `child` runs for each run of `parent`. A child may have several parents by call sites:
 * these add up. It may also have links of several `how`s from the same parent, or RATE from node 0
 * beside others: these are rival measurements of the same, to be chosen from or combined.
 * A link without windows (and not ONCE) is known to exist and unknown in size. */
struct fmt_counts_link {
	uint32_t id;            /* from 1 */
	uint32_t parent, child; /* fmt_counts_node.id */
	uint32_t how;           /* enum fmt_counts_how */
	uint32_t flags;         /* enum fmt_counts_link_flags */
	uint32_t rival;         /* REPLAY: id of the RATIO link that asks for the same; else 0 */
	uint64_t site;          /* CALL: the return address, in the parent function's module; else 0 */
	double ratio;           /* ONCE */
	double seen;            /* CALL: entries of the child that were looked at and came from here */
	double seen_of;         /* CALL: entries of the child that were looked at */
};
_Static_assert(sizeof(struct fmt_counts_link) == 56, "fmt_counts_link");

/* One window on one thread; those with equal `armed` and `tid` were one window. Never cut off: hits
 * are counted until its hottest breakpoint reached its limit, from that one's first hit on. */
struct fmt_counts_window {
	uint64_t armed, ended; /* ns; ended: when the last counted hit came, or time was up */
	double anchor, child;  /* see enum fmt_counts_how */
	double least, most;    /* TRIPS: of one activation; else 0 */
	uint32_t link;         /* fmt_counts_link.id */
	uint32_t pid, tid;
	uint32_t odd; /* TRIPS: activations that could not be told (another exit, no whole number) */
	/* RATIO: how long the counted hits of all breakpoints took, in CPU time, with what they cost; hits 0:
	 * unknown */
	uint64_t took_ns;
	uint32_t hits, within_ns; /* the first hit had to come so soon after arming; 0: whenever */
};
_Static_assert(sizeof(struct fmt_counts_window) == 80, "fmt_counts_window");

/* The windows of REPLAY links with the same `armed` and `tid` are of this burst, unless several were added up. */
struct fmt_counts_burst {
	uint64_t armed, ended;       /* ns; armed: the sample that it began with */
	uint64_t ip, end_ip;         /* as fmt_frame.addr */
	uint64_t instructions;       /* carried out */
	uint32_t module, end_module; /* 0: unknown */
	uint32_t pid, tid;
	uint32_t end;     /* enum emu_end */
	uint32_t skipped; /* calls that were left early, with unknown results */
	uint32_t unknown; /* instructions without a rule */
	uint32_t pages, syscalls;
	uint32_t own_us; /* that it took of the recorder's CPU time */
};
_Static_assert(sizeof(struct fmt_counts_burst) == 80, "fmt_counts_burst");

enum fmt_segment_state {
	FMT_SEG_TIMED = 1,    /* drawn for its time alone; all others were carried on in the recorder */
	FMT_SEG_VERIFIED = 2, /* it came to the entry that was observed, with the same registers */
	FMT_SEG_DIVERGED = 3, /* to another, or to none */
	FMT_SEG_CENSORED =
		4,        /* longer than it was followed, in instructions or in time: `ns` is the least that it took */
	FMT_SEG_LOST = 5, /* its entry was not seen: `ns` is unknown, 0 */
	FMT_SEG_STATES = 6
};

/* Why it is not verified. */
enum fmt_segment_cause {
	FMT_SEGC_NONE = 0,
	FMT_SEGC_ENTRY = 1,     /* another system call, or from elsewhere */
	FMT_SEGC_REGISTERS = 2, /* the same, with other registers */
	FMT_SEGC_BRANCH = 3,    /* unknown branch or target */
	FMT_SEGC_MEMORY = 4,    /* memory that is not mapped, or too much of it */
	FMT_SEGC_CODE = 5,      /* code that is written while it runs, or cannot be read */
	FMT_SEGC_STUCK = 6,     /* it would crash, or turn without end */
	FMT_SEGC_CLOCK = 7,     /* it read the clock, which is another one by now */
	FMT_SEGC_SIGNAL = 8,    /* a signal came in between */
	FMT_SEGC_HORIZON = 9,   /* more instructions than are carried on */
	FMT_SEGC_LONG = 10,     /* no entry for so long */
	FMT_SEGC_UNSEEN = 11,   /* the next that was seen of the thread is a return: a filter refused the entry */
	FMT_SEGC_PAGES = 12,    /* what came with it was lost */
	FMT_SEGC_DENIED = 13,   /* its memory may not be read */
	FMT_SEGC_TIME = 14,     /* its time is unknown: clocks contradict each other */
	FMT_SEGCS = 15
};

/* `weight` of a segment is for so much time of the recording. */
#define FMT_SEGMENT_STRETCH_NS 20000000.0

/* From the return of a system call to the next entry of the same thread. Drawn by count: `weight` is the number of such
 * segments that this one stands for, among those of its kind (TIMED, or carried on). */
struct fmt_segment {
	uint64_t begun; /* ns */
	double weight;
	double ns;             /* CPU time in user mode, without `gap_ns` and with faults; may be below 0 by chance */
	uint64_t instructions; /* VERIFIED; otherwise as far as it was carried on */
	uint32_t stretch;      /* segments with the same number were drawn in the same piece of time */
	uint32_t pid, tid;
	uint32_t state, cause; /* enum fmt_segment_state, fmt_segment_cause */
	uint32_t taken_ns;     /* that taking its pages took, before it began */
	uint32_t gap_ns;       /* between both observations and user code, as measured: taken off */
	uint32_t faults;       /* of pages, whose kernel time is in `ns` */
	int32_t nr, entry_nr;  /* system calls at both ends; -1: unknown */
};
_Static_assert(sizeof(struct fmt_segment) == 72, "fmt_segment");

/* A piece of time in which segments were drawn, by the samples whose time lies in it. Under load it is not like any
 * other: the recorder draws while it has a CPU itself. */
struct fmt_segment_stretch {
	uint64_t from, until; /* ns */
	double user_ns;       /* that samples in user mode stand for */
	uint32_t stretch;     /* as fmt_segment.stretch */
	uint32_t ticks;       /* such samples */
};
_Static_assert(sizeof(struct fmt_segment_stretch) == 32, "fmt_segment_stretch");

/* What verified segments ran of one function. Sums over stretches: of the weighted instructions y in it, of y * y, and
 * of y * x, where x are those of all functions. Appended later, 0 in all: unknown: of the weighted calls c of it, of
 * c * c, and of c * x. */
struct fmt_counts_drawn {
	uint32_t function;  /* id; 0: all code of which no function is known */
	uint32_t stretches; /* that it ran in */
	double instructions, square, with_all;
	double calls, calls_square, calls_with_all;
	uint32_t called; /* stretches that it was called in */
	uint32_t unused; /* 0 */
};
_Static_assert(sizeof(struct fmt_counts_drawn) == 64, "fmt_counts_drawn");

/* Of a burst that began in one function, the part of its instructions that ran in a function: those of a burst add up
 * to 1. */
struct fmt_counts_went {
	uint32_t from, function; /* fmt_counts_func.id; 0: code of which no function is known */
	float part;
};
_Static_assert(sizeof(struct fmt_counts_went) == 12, "fmt_counts_went");

/* How often a function's `rep` instructions went on, beyond the first of each run, in what bursts and verified segments
 * ran of it. Sums over bursts and stretches of segments: of instructions x, repetitions y, x * x, x * y, y * y, and the
 * accesses of all repetitions. A function in which none was seen has no record. */
struct fmt_counts_repeats {
	uint32_t function; /* id */
	uint32_t seen;     /* bursts, and stretches of segments, that it ran in */
	double instructions, repeats, instructions2, both, repeats2;
	double loads, stores, load_bytes, store_bytes;
};
_Static_assert(sizeof(struct fmt_counts_repeats) == 80, "fmt_counts_repeats");
#endif

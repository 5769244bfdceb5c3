/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One probe-able function of an offload API: what BPF must know to turn its entry and return into
 * one call with bytes, and what travels back. Fixed widths: shared by bpf/offload.bpf.c,
 * kmod-free/uprobe.c and user/offload. The table of APIs is user/offload/api.c, nowhere else. Included by bpf,
 * kmod-free, offload and tests.
 *
 * To add a way of finding bytes: append to enum probe_op, evaluate it in bpf/offload.bpf.c
 * (expr_entry, expr_return), give it a spelling in user/offload/spec.c if users may write it.
 */
#ifndef ACCPERF_PROBE_H
#define ACCPERF_PROBE_H

#include "abi.h"

enum probe_op {
	PX_NONE = 0,        /* not known */
	PX_CONST = 1,       /* value */
	PX_ARG = 2,         /* argument a */
	PX_MUL = 3,         /* argument a times argument b */
	PX_FIELD = 4,       /* at entry: the field at argument a + off */
	PX_FIELD_AFTER = 5, /* the same, at return */
	PX_USED = 6,        /* field before - field after: avail_in */
	PX_GREW = 7,        /* field after - field before: pos, total_out */
	PX_RETURN = 8,      /* the returned size; error codes (-4096 and up) are unknown */
	PX_SUM = 9, /* of the 64-bit array at argument a, of argument b items; off: of the field there behind each */
	PX_PRODUCT = 10,    /* of the same */
	PX_GRID = 11,       /* product of the six arguments from a: grid times block */
	PX_DIM3 = 12,       /* of two structs of three ints passed by value from argument a on */
	PX_FIELD_PAIR = 13, /* at entry: the field times the next one */
	/* value of these two: where a job's bytes are told, see PX_JOB_VALUE */
	PX_JOB = 14,  /* of the job at argument a + off + the 32-bit number just before a + off */
	PX_JOBS = 15, /* sum over the 64-bit array of pointers to jobs at argument a, of argument b items */
	/* of `level` alone: what a PK_LEVEL said of the object at argument a; with off, what zlib's state there says */
	PX_OBJECT = 16,
};

/* A job's bytes: its field at `first`, or, where the 32-bit field at `tells` is `is`, that at `other`. */
#define PX_JOB_VALUE(first, other, tells, is)                                                                          \
	((__u64)(first) | (__u64)(other) << 16 | (__u64)(tells) << 32 | (__u64)(is) << 48)
#define PX_ITEMS_MOST 16 /* items of a sum or a product, of more the bytes are unknown; by hand */
#define PX_JOBS_MOST 64  /* jobs of a burst that are added up, of more the bytes are unknown; by hand */

struct probe_expr {
	__u8 op;    /* enum probe_op */
	__u8 a, b;  /* argument numbers from 0 */
	__u8 width; /* bytes of the field or argument: 4, 8; 0 = 8 */
	__u16 off;
	__u8 when_arg; /* argument number + 1: counts only if that argument == when, else 0 bytes, */
	__u8 when;
	__u64 value; /* or unknown if this has the bit numbered by the argument; PX_CONST: the
			 * value; PX_SUM, PX_PRODUCT: number of items when nonzero */
};
_Static_assert(sizeof(struct probe_expr) == 16, "probe_expr");

enum probe_kind {
	PK_CALL = 1,   /* done when it returns */
	PK_SUBMIT = 2, /* returns early */
	PK_WAIT = 3,   /* returns when a queue, an event or everything is done */
	PK_EVENT = 4,  /* puts an event behind what was submitted to a queue */
	PK_BEGIN = 5,  /* marker: a call begins here, and ends at PK_END of the same family */
	PK_END = 6,
	PK_LEVEL =
		7, /* no call: says at which level the object at queue_arg works from now on; of none: nobody knows */
};

/* No probe is wanted on its end. */
static inline int probe_entry_only(__u32 kind)
{
	return kind == PK_BEGIN || kind == PK_END || kind == PK_LEVEL;
}

enum probe_ok { /* which returned values are success */
		PR_ANY = 0,
		PR_ZERO = 1,
		PR_POSITIVE = 2, /* as int */
		PR_SIZE = 3,     /* not a small negative number */
		PR_NONZERO = 4,
		PR_NOT_NEGATIVE = 5, /* as int */
		PR_STREAM = 6,       /* that, or zlib's Z_BUF_ERROR, -5: the stream had no room or no input */
};

enum probe_scope { PS_QUEUE = 0, PS_EVENT = 1, PS_ALL = 2 };

#define PROBE_EVENTS 4 /* of one wait: a record has room for so many, the rest is WO_MORE_EVENTS; by hand */

/* Functions of a library that are called far more often, or far less, than its others: each kind has stretches of time
 * of its own, so that those called often leave time for the others. */
enum probe_apart { PA_WITH_OTHERS = 0, PA_CHECKSUMS = 1, PA_KEYS = 2, PA_KINDS = 3 };

struct probe_spec {
	struct probe_expr in, out, items;
	struct probe_expr level; /* at which it compresses, as the API has it; told at entry */
	__u8 kind;               /* enum probe_kind */
	__u8 ok;                 /* enum probe_ok */
	__u8 scope;              /* enum probe_scope, of PK_WAIT */
	__u8 block_arg;          /* the rest are argument numbers + 1, 0 = none. Nonzero there: PK_CALL */
	__u8 queue_arg;
	__u8 event_arg;      /* an event handle */
	__u8 event_out;      /* pointer to a handle, filled by the call */
	__u8 list_n, list_p; /* count and array of handles waited for */
	__u8 either;         /* direction not told by the API: `in` holds the bytes */
	__u16 family;        /* calls nested in one of the same family do not count */
	__u16 queue_off;     /* the queue is the pointer found there in what queue_arg points to */
	__u8 completes;      /* a PK_CALL that also waits for what its queue holds */
	__u8 per_thread;     /* queue 0 is the thread's own */
	__u8 apart;          /* enum probe_apart: armed and disarmed by themselves */
	__u8 job_event;      /* a job is its own event, and so is what is returned, which is complete then; 0: none */
	__u32 library;       /* index of the library's epoch */
};
_Static_assert(sizeof(struct probe_spec) == 88, "probe_spec");

enum wire_offload_flags {
	WO_IN = 1,
	WO_OUT = 2,
	WO_ITEMS = 4,
	WO_FAILED = 8,
	WO_INSIDE = 16,
	WO_OPEN = 32,
	WO_STACK = 64,        /* a struct wire_sample of this thread with time = entry came before */
	WO_MORE_EVENTS = 128, /* waited for more than PROBE_EVENTS */
	WO_MARKER = 256,      /* between two markers, not entry and return */
	WO_EITHER = 512,
	WO_KERNEL = 1024,   /* submitted to the kernel, seen by tracepoints: no probe cost in its times */
	WO_UNTIMED = 2048,  /* only its entry is probed: counted, never timed */
	WO_BY_EXITS = 4096, /* its end is seen by probes on the function's exits */
	WO_LEVEL = 8192,
};

struct wire_offload {
	struct wire_head h; /* kind WIRE_OFFLOAD; time = ret or, when open, the thread's end */
	__u64 entry, ret;
	__u64 in, out, items;
	__u64 queue;
	__u64 cpu;  /* ns of CPU time between the stamps */
	__u64 site; /* return address: the caller */
	__u64 func; /* address probed */
	__u64 events[PROBE_EVENTS];
	__u32 events_cnt;
	__u32 probe; /* index of the attached probe */
	__u32 kind;  /* enum probe_kind, after block_arg */
	__u32 weight;
	__u32 flags;                  /* enum wire_offload_flags */
	__u32 voluntary, involuntary; /* context switches between the stamps */
	__s32 level;
};
_Static_assert(sizeof(struct wire_offload) == 32 + 13 * 8 + 32, "wire_offload");

/* Keys and values of the in-kernel aggregates, read by kmod-free/uprobe_read.c. */
struct probe_total_key {
	__u32 pid, probe;
	__u64 site;  /* 0: all sites for which there was no room */
	__u32 level; /* probe_level() */
	__u32 pad;
};

/* 0: not known. */
static inline __u32 probe_level(__u32 flags, __s32 level)
{
	return flags & WO_LEVEL ? (__u32)level ^ 1u << 31 : 0;
}

struct probe_total {
	__u64 calls, in, out, ns, cpu;
	__u64 switched, switched_ns;
	__u64 failed, open, unknown, records;
	__u64 faults;     /* of pages */
	__u64 stack_time; /* when its stack was last taken */
};

#define PROBE_BIN_UNKNOWN 255  /* of bytes */
#define PROBE_BIN_SWITCHED 254 /* of time: a context switch inside */

/* Bits of v: the bin of a size or a time. Without a branch, which the verifier would follow both ways at each step. */
static inline __u8 probe_bin_of(__u64 v)
{
	__u64 top = v >> 63, bits = top, step;

	v >>= top;
	for (unsigned half = 32; half > 1; half /= 2) {
		step = (((1ull << half) - 1 - v) >> 63) * half; /* half, where v has more bits than that */
		bits += step;
		v >>= step;
	}
	return (__u8)(bits + v - (v >> 1 & v)); /* of 3 two */
}

struct probe_activity {
	__u64 hits, calls;
};

struct probe_hist_key {
	__u32 pid, probe;
	__u8 bytes_bin, time_bin, pad[2];
	__u32 level; /* probe_level() */
};

struct probe_hist {
	__u64 count, bytes, ns;
};

#define URING_OPS 64 /* io_uring operations we can tell apart */
/* In uring_ops: the probe's index with the direction of the bytes; 0 = not wanted. */
#define URING_IN 0x40000000u
#define URING_OUT 0x80000000u
#define URING_PROBE(v) ((v)&0xffffu)

/* AF_ALG: as bind() was told them. Probes of their own are made as algorithms appear; the first stands
 * for sockets that were bound before anybody looked. */
struct probe_alg {
	char type[16];
	char name[64];
};
#define PROBE_ALGS 16 /* a power of two */

/* A socket: its algorithm, and the operation under way. */
struct probe_alg_sock {
	__u64 entry; /* of the last send */
	__u64 busy;  /* ns within earlier system calls of this operation */
	__u64 end;   /* of the last read */
	__u64 in, out, site;
	__u64 cpu, sum_exec; /* of the thread, at entry */
	__u64 end_cpu;       /* these: of the operation, until the last read */
	__u32 voluntary, involuntary, end_voluntary, end_involuntary;
	__u32 pid, tid, on_cpu, epoch;
	__u32 alg; /* index of its name; 0: bound before we looked */
	__u32 flags;
	__u8 at_once; /* one read takes the result: not a skcipher */
	__u8 pending, more, partly;
	__u8 unknown; /* of its bytes some are not */
	__u8 pad[3];
};

/* A probe's cookie: its index, and how its calls end. */
#define PROBE_INDEX(cookie) ((cookie)&0xffffu)
#define PROBE_BY_EXITS 0x10000u /* probes on the function's exits see it */
#define PROBE_ALONE 0x20000u    /* nothing sees it: the entry is all there is */

#define PROBE_MAX 512 /* attached (library, symbol) pairs; also the size of arrays in BPF */
#define PROBE_LIBS 64 /* libraries with probes in them; also the size of an array in BPF; by hand */

/* A call under way, and those of a thread: the kernel side's own, read by user space when a recording ends. */
#define PROBE_SLOTS 3
struct probe_slot {
	__u64 entry, sp, site, func, cpu, queue;
	__u64 in, out, items; /* values, or the value before */
	__u64 in_at, out_at;  /* where to read at return */
	__u64 event_at;
	__u64 events[PROBE_EVENTS];
	__u32 events_cnt;
	__u32 probe, epoch, library;
	__u32 on_cpu;
	__u32 pid, tid;
	__u64 sum_exec; /* CPU time accounted at entry */
	__u64 faults;   /* of the thread at entry, then of the call */
	__u32 voluntary, involuntary;
	__u32 flags;
	__s32 level;
	__u16 family;
	__u8 used, kind;
};

/* What a call was handed: the registers of the calling convention, and where the others lie. */
struct probe_args {
	__u64 reg[8];
	__u64 stack;
};

/* The entry's half of an expression. */
struct size_seen {
	__u64 v;  /* the value, or what it was before */
	__u64 at; /* where to look at return; 0: nothing to do there */
};

#define TOLD_LEVEL 3 /* of these: the last */

struct probe_thread {
	struct probe_slot slots[PROBE_SLOTS];
	struct probe_args args;   /* of the hit under way: on the programs' stack they would take a sixth of it */
	struct size_seen told[4]; /* of the hit under way: what goes in, what comes out, items, level */
	__u32 told_bits;          /* which of them are known */
	__u32 chosen;             /* number of the slot that begins or ends */
};

#endif

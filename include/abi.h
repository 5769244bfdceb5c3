/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that BPF programs put into rings: the wire type, neither memory's nor disk's. Included by bpf/ (after
 * kernel types) and kmod-free, and by what names its numbers (many rooms). Fixed widths, no pointers; sizes and
 * offsets are asserted below, so both sides of the ring agree or do not compile.
 *
 * To add a record: append a value to enum wire_kind (never renumber), declare the struct beginning
 * with struct wire_head, assert its size, decode it in kmod-free/.
 */
#ifndef ACCPERF_ABI_H
#define ACCPERF_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define RED_ZONE 128 /* bytes below the stack pointer that the ABI gives a function */

enum wire_kind {
	WIRE_SAMPLE = 1,  /* a timer tick: registers and a piece of the user stack */
	WIRE_SYSIO = 2,   /* a system call that read or wrote user memory */
	WIRE_OFFLOAD = 3, /* one offload call */
	WIRE_WATCH = 4,   /* a hardware breakpoint was hit */
	WIRE_PAGE = 5,    /* memory of the process that the next sample is of */
	WIRE_BACK = 6,    /* a thread runs again, whose leaving the CPU was a WIRE_SAMPLE with WIRE_F_OFF */
	WIRE_ENTRY = 7,   /* a segment that was drawn ends */
	WIRE_BLOCK = 8,   /* memory was allocated: where, how much, and the stack */
	WIRE_FREED = 9,   /* a block that a WIRE_BLOCK told of is no more */
};

struct wire_head {
	__u32 kind;     /* enum wire_kind */
	__u32 size;     /* of the whole record */
	__u64 time;     /* CLOCK_MONOTONIC, ns */
	__u32 pid, tid; /* as the initial pid namespace sees them */
	__u32 cpu;
	__u32 flags; /* WIRE_F_* */
};
_Static_assert(sizeof(struct wire_head) == 32, "wire_head");

#define WIRE_F_KERNEL 1u        /* the timer hit kernel mode; regs are those of the user entry */
#define WIRE_F_STACK_CUT 2u     /* the stack piece ends before the stack does */
#define WIRE_F_STACK_FAULT 4u   /* the stack piece ends at a page that was not present */
#define WIRE_F_PAGES 16u        /* of a sample: pages were asked for, and came before it */
#define WIRE_F_OFF 32u          /* not a tick: the thread leaves the CPU; period: one of so many times is told */
#define WIRE_F_READY 64u        /* with WIRE_F_OFF: it would go on, another has the CPU */
#define WIRE_F_KERNEL_TICK 256u /* of a sample: taken in the tick that the kernel has anyway, no interrupt of ours */
#define WIRE_F_CARRIED 128u     /* of a segment: its begin came as a WIRE_SAMPLE, with pages */

/* User registers in DWARF order on x86-64 (rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip) so that the
 * unwinder indexes them as .eh_frame does; then flags and fs_base. arm64 puts x0..x30, sp, pc. */
enum {
	WREG_AX,
	WREG_DX,
	WREG_CX,
	WREG_BX,
	WREG_SI,
	WREG_DI,
	WREG_BP,
	WREG_SP,
	WREG_R8,
	WREG_R9,
	WREG_R10,
	WREG_R11,
	WREG_R12,
	WREG_R13,
	WREG_R14,
	WREG_R15,
	WREG_IP,
	WREG_FLAGS,
	WREG_FSBASE,
	WREG_MAX
};

struct wire_sample {
	struct wire_head h;
	__u64 period;    /* ns since the previous tick of this event */
	__u64 kernel_ip; /* where in the kernel, or 0 */
	__s64 syscall;   /* number while in a system call, else -1 */
	__u64 switches;  /* of the thread so far, wanted by itself or not */
	__u64 ran;       /* the thread's CPU time, ns from a beginning of its own; 0: unknown */
	__u64 regs[WREG_MAX];
	__u32 stack_bytes;     /* that follow, from regs[WREG_SP] upwards */
	__u32 code_hash;       /* wire_code_hash() of the bytes at regs[WREG_IP]; 0: could not be read */
	__u32 pages, pages_ns; /* how many WIRE_PAGE have the same time, tid and CPU; what taking them took */
	/* of the stack, a bit for each page from that of regs[WREG_SP] on: not present, zeros stand for it */
	__u32 absent, pad;
	/* __u8 stack[stack_bytes]; */
};
#define WIRE_CODE_WORDS 4 /* words of 8 bytes: two instructions of the longest kind; by hand */

/* Code that is generated while the program runs may be other code by the time user space reads it. Never 0. */
static inline __attribute__((always_inline)) __u32 wire_code_hash(const __u64 *w)
{
	__u64 h = 0;

	for (int i = 0; i < WIRE_CODE_WORDS; i++) {
		h = (h ^ w[i]) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return (__u32)(h >> 32) | 1;
}
_Static_assert(sizeof(struct wire_sample) == 32 + 40 + 8 * WREG_MAX + 24, "wire_sample");

struct wire_back {
	struct wire_head h;
	__u64 left; /* when it left */
};
_Static_assert(sizeof(struct wire_back) == 40, "wire_back");

#define WIRE_PAGE_BYTES 4096 /* a page of x86-64 */
#define WIRE_PAGES 256       /* with one sample, as asked for... */
#define WIRE_POINTERS 16     /* ...and those that general registers point into... */
#define WIRE_SLOTS 16        /* ...and those that pointers in memory point into, where these lie */
#define WIRE_SEEN (1u << 14) /* bits: wire_seen_bit() keeps 14 of its product; few of WIRE_PAGES meet in one */
#define WIRE_PAGES_ALL (WIRE_PAGES + WIRE_POINTERS + WIRE_SLOTS)

struct wire_page {
	struct wire_head h; /* time, tid and CPU are the sample's */
	__u64 addr;
	__u8 byte[WIRE_PAGE_BYTES];
};
_Static_assert(sizeof(struct wire_page) == 32 + 8 + WIRE_PAGE_BYTES, "wire_page");

/* Which pages the next sample of a process is to bring along. */
struct wire_wanted {
	__u32 pid; /* 0: none are wanted; the program clears it */
	__u32 count, slots, pad;
	__u64 addr[WIRE_PAGES];
	__u64 slot[WIRE_SLOTS];
	__u64 seen[WIRE_SEEN / 64]; /* a bit for each page of `addr`: what points there need not take it again */
};

static inline __u32 wire_seen_bit(__u64 addr)
{
	return (__u32)((addr / WIRE_PAGE_BYTES * 0x9e3779b97f4a7c15ull) >> 50);
}

/* A watched address was touched, or a watched instruction reached. Registers are those of user mode:
 * after the access for user hits, at the system call for hits inside the kernel. */
struct wire_watch {
	struct wire_head h; /* WIRE_F_KERNEL: the kernel touched it */
	__u64 cookie;       /* generation << 8 | slot */
	__u64 addr;
	__u64 kernel_ip;
	__s64 syscall;  /* -1: none */
	__u64 on_stack; /* the eight bytes at the user's stack pointer; 0 if unreadable */
	__u64 regs[WREG_MAX];
};
_Static_assert(sizeof(struct wire_watch) == 32 + 40 + 8 * WREG_MAX, "wire_watch");

/* One system call that moved data to or from user memory, or mapped some. */
struct wire_sysio {
	struct wire_head h;
	__s64 nr, result;
	__u64 ip;             /* user's, behind the system call */
	__u32 iov_cnt, every; /* ranges that follow; every: one in so many calls is reported */
			      /* struct wire_range ranges[iov_cnt]; */
};
_Static_assert(sizeof(struct wire_sysio) == 32 + 16 + 8 + 8, "wire_sysio");

struct wire_range {
	__u64 addr, len;
};

#define WIRE_CALLS 512 /* system calls, by their number folded: a power of two, above all there are */

/* What a segment was drawn with, and then how it went. */
struct wire_segment {
	__u64 begun;     /* ns; WIRE_SAMPLE has the same time */
	__u64 from, ran; /* when it was let go, ns; the thread's CPU time then, or since then */
	__u64 faults, switches;
	__s32 nr;    /* of the call that returned */
	__u32 flags; /* WIRE_F_CARRIED */
};
_Static_assert(sizeof(struct wire_segment) == 48, "wire_segment");

/* The next system call of a thread; nr -1: the next that was seen is a return. */
struct wire_entry {
	struct wire_head h;
	struct wire_segment s;
	__s64 nr;
	__u64 regs[WREG_MAX]; /* as user mode left them; WREG_AX: nr */
};
_Static_assert(sizeof(struct wire_entry) == 32 + 48 + 8 + 8 * WREG_MAX, "wire_entry");

/* Registers and stack are as the allocator returns. */
struct wire_block {
	struct wire_sample s;
	__u64 addr, bytes; /* as asked for */
	__u32 role, turn;  /* enum heap_role */
			   /* __u8 stack[s.stack_bytes]; */
};
_Static_assert(sizeof(struct wire_block) == sizeof(struct wire_sample) + 24, "wire_block");

struct wire_freed {
	struct wire_head h;
	__u64 addr, born; /* ns, as its WIRE_BLOCK has it */
	__u32 again, pad; /* no end was seen: the address is given out again */
};
_Static_assert(sizeof(struct wire_freed) == 32 + 24, "wire_freed");

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One sample in memory, the same for every source: a timer tick, a sampled access, a watch hit, a
 * system call's range or a side-band event. Wire records (abi.h, perf rings) are decoded into it;
 * disk records (format.h) are made from it. Everything but bpf/ may include this.
 *
 * `valid` says which fields hold something: a field whose bit is clear is unknown, never zero.
 */
#ifndef ACCPERF_SAMPLE_H
#define ACCPERF_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sample_kind {
	SAMPLE_TICK = 1,    /* `period` nanoseconds were spent at `ip` */
	SAMPLE_INSN = 2,    /* `period` instructions were executed around `ip` */
	SAMPLE_ACCESS = 3,  /* a load or store of `addr` */
	SAMPLE_WATCH = 4,   /* a watched address was touched */
	SAMPLE_EXEC_BP = 5, /* an execute breakpoint was hit */
	SAMPLE_SYSIO = 6,   /* a system call read or wrote [addr, addr+size) */
	SAMPLE_MMAP = 7,
	SAMPLE_COMM = 8,
	SAMPLE_FORK = 9,
	SAMPLE_EXIT = 10,
	SAMPLE_LOST = 11,     /* `period` records were lost before this point */
	SAMPLE_THROTTLE = 12, /* the kernel stopped the event (period 1) or let it go on (0) */
	SAMPLE_AUX = 13,      /* [addr, addr+size) of the AUX buffer was filled; period: PERF_AUX_FLAG_* */
	SAMPLE_OFF = 14,      /* the thread leaves the CPU; one of `period` times is told */
	SAMPLE_BACK = 15,     /* the thread of a SAMPLE_OFF, which left at `addr` (ns), runs again */
};

enum sample_valid {
	SV_TIME = 1u << 0,
	SV_IP = 1u << 1,
	SV_ADDR = 1u << 2,
	SV_SIZE = 1u << 3,
	SV_REGS = 1u << 4,  /* regs[] in DWARF order, see abi.h */
	SV_STACK = 1u << 5, /* stack bytes from regs[SP] */
	SV_DATA_SRC = 1u << 6,
	SV_LATENCY = 1u << 7,
	SV_PHYS = 1u << 8,
	SV_CPU = 1u << 9,
	SV_SYSCALL = 1u << 10,
	SV_PAGE_SIZE = 1u << 11,
	SV_EXACT_IP = 1u << 12,
	SV_ID = 1u << 13,
	SV_PROT = 1u << 14,
	SV_SWITCHES = 1u << 15,
	SV_PAGES = 1u << 16, /* SAMPLE_TICK: page[], as memory was then; asked for by sampler_want_pages() */
	SV_RAN = 1u << 17,
};

enum sample_flag {
	SF_KERNEL = 1u << 0, /* hit in kernel mode */
	SF_LOAD = 1u << 1,
	SF_STORE = 1u << 2, /* both set: read-modify-write */
	SF_STACK_CUT = 1u << 4,
	SF_EXEC = 1u << 5, /* SAMPLE_COMM because of exec; SAMPLE_MMAP of code */
	SF_ATOMIC = 1u << 7,
	/* SAMPLE_TICK at the first instruction after a system call: the kernel's time, that came due where it
	 * could not be interrupted */
	SF_RETURNS = 1u << 8,
	SF_READY = 1u << 9,        /* SAMPLE_OFF: it would go on, another has the CPU */
	SF_KERNEL_TICK = 1u << 10, /* SAMPLE_TICK of the kernel's own, which interrupts whether we look or not */
};

#define SAMPLE_REGS 19 /* WREG_MAX of abi.h; asserted where both meet */

struct sample_build_id {
	uint8_t len; /* 0: unknown */
	uint8_t id[20];
};

#define SAMPLE_PAGE_SHIFT 12                  /* log2 of the next */
#define SAMPLE_PAGE (1u << SAMPLE_PAGE_SHIFT) /* bytes of a page of x86-64 */

struct sample_page {
	uint64_t addr; /* a multiple of SAMPLE_PAGE */
	const uint8_t *byte;
};

struct sample {
	enum sample_kind kind;
	uint32_t valid; /* enum sample_valid */
	uint32_t flags; /* enum sample_flag */
	uint32_t pid, tid, cpu;
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	uint64_t ip;
	uint64_t period;   /* in the unit of the kind */
	uint64_t switches; /* SAMPLE_TICK, with SV_SWITCHES: context switches of the thread since its birth */
	uint64_t ran;      /* SAMPLE_TICK, with SV_RAN: CPU time of the thread, ns from a beginning of its own */
	uint64_t addr, size;
	uint64_t data_src, phys, page_size;
	uint32_t latency;
	int32_t syscall;
	uint32_t source; /* index of the source in the registry */
	uint64_t regs[SAMPLE_REGS];
	const uint8_t *stack; /* borrowed: valid during the callback only */
	uint32_t stack_bytes;
	uint32_t
		stack_absent; /* a bit for each page of it, from that of regs[SP] on: not present, zeros stand for it */
	uint32_t code_hash;   /* SAMPLE_TICK: wire_code_hash() of the code at ip, then; 0: unknown */
	const struct sample_page *page; /* SV_PAGES, borrowed; samples in order of time have none any more */
	uint32_t pages, pages_ns;       /* pages_ns: what taking them took from the thread */
	const uint64_t *chain;          /* perf's call chain with its context markers, borrowed, unaligned */
	uint32_t chain_len;
	uint64_t event_id; /* perf's, tells events of one ring or file apart */
	/* side-band */
	uint32_t prot; /* PROT_* of a SAMPLE_MMAP */
	uint32_t ppid, ptid;
	uint64_t pgoff, ino;
	uint32_t dev_major, dev_minor;
	struct sample_build_id build_id;
	const char *text; /* path or comm, borrowed */
};

typedef int (*sample_fn)(void *ctx, const struct sample *s);

#define STACK_PAGES 32 /* bits of stack_absent */

/* What of the stack is known without a gap. */
static inline uint32_t sample_stack_known(const struct sample *s, uint64_t sp)
{
	for (unsigned i = 0; i < STACK_PAGES; i++)
		if (s->stack_absent >> i & 1) {
			uint64_t known = i ? i * SAMPLE_PAGE - sp % SAMPLE_PAGE : 0;

			return known < s->stack_bytes ? (uint32_t)known : s->stack_bytes;
		}
	return s->stack_bytes;
}

#endif

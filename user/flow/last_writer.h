/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rule A of the estimator: who wrote what this load reads, told from store records alone (sampled
 * stores, the census, system calls), the nearest first. One sweep in order of time answers all loads
 * and the first question of every watch window. Included by this room and tests.
 */
#ifndef ACCPERF_FLOW_LAST_WRITER_H
#define ACCPERF_FLOW_LAST_WRITER_H

#include "estimate.h"
#include "flow/input.h"

/* How near the evidence was. */
enum near {
	NEAR_CONSTANT = 1,
	NEAR_GRANULE,
	NEAR_LINE,
	NEAR_BLOCK,
	NEAR_PAGE,
	NEAR_NONE,
	NEAR_BLIND /* unlocated_loads.h */
};

struct last_written {       /* there is one in each read: without a hole */
	uint64_t age;       /* of the record that tells; 0: not told by one */
	uint64_t addr;      /* that it wrote */
	uint32_t producer;  /* function */
	uint32_t stack;     /* of its store, index of in->stack + 1; 0 unknown */
	uint32_t site;      /* of its store; FLOW_NONE: the kernel's, or not told by one store */
	uint8_t near:7;     /* enum near */
	bool overwritten:1; /* the overwrite test replaced the recorded writer */
};

/* One read (or a part of a wide one) and its producer. */
struct read_answer {
	uint32_t site, func, pid; /* reading instruction and function */
	uint32_t object, size;    /* object: index or FLOW_NONE; size: of this part */
	uint32_t stack;           /* of the read, index of in->stack + 1; 0 unknown */
	/* index into in->burst + 1; 0 none. Of a burst, in which it was not written: `size` bytes that tell whose,
	 * and stand for none */
	uint32_t burst;
	uint16_t mark; /* fmt_burst_item.mark; 0 unknown */
	uint32_t call; /* of a system call: index into in->sysio + 1; 0 none */
	double bytes;  /* it stands for */
	uint64_t addr;
	struct last_written a;
};

struct last_writer {
	struct read_answer *reads;
	size_t read_count, read_cap;
	struct last_written *window_start; /* by window */
	bool time_bias;
	double loads, stores; /* samples used */
	/* of ranges that system calls or wide stores filled, too many or too long to be kept whole */
	double cut_bytes;
	uint32_t site_count; /* those of the input, then one per system call that reads */
};

int last_writer_run(const struct flow_input *in, const struct est_opts *o, struct last_writer *c, struct err *e);
void last_writer_release(struct last_writer *c);

#endif

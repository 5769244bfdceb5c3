/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a sample is, and the target's code there, as far as accesses need it: which block it stands in, what that block
 * reads and writes, and how each becomes a record. A sample that leaves the queue is located once, where unwinding its
 * stack begins; what was found goes with it from part to part. Included by the session and its parts and tests.
 *
 * Of a fresh sample the place is found when the first part asks for it: at the few at which a window may open, as after
 * the queue the thread has left that code. The others that look at this sample then get the same, and so does its stack
 * behind the queue (procmap_keep()), unless the mappings have changed: those that other CPUs tell of are still to come
 * while it is fresh. Then the window alone, which is short, rests on the former place. The queue brings all events in
 * order of time.
 */
#ifndef ACCPERF_RECORD_LOCATED_CODE_H
#define ACCPERF_RECORD_LOCATED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/block.h"
#include "record/session.h"

/* Nominal speed where nothing counts instructions: what turns time into a number of executions.
 * The profile says so; shares do not depend on it, totals do. */
#define NOMINAL_NS_PER_INSN 0.12

struct located_code;
struct module;

/* Of a timer sample in user mode; of others the stack at most. */
struct located {
	uint32_t stack;        /* id; 0: none */
	bool looked;           /* for the next two */
	struct module *module; /* NULL: none is known */
	uint64_t vaddr;        /* in the module */
	/* found when first asked for; 0: not yet */
	uint64_t function; /* located_code_function_at() */
	uint32_t id;       /* of the module in the profile */
};

struct located_code *located_code_new(struct session *s); /* NULL: no memory */
void located_code_free(struct located_code *c);
/* For what reads code itself: code/watch_direction.h; and for its counters. */
struct block_cache *located_code_blocks(struct located_code *c);
/* Of the target now: how much could be read. */
size_t located_code_memory(uint32_t pid, uint64_t addr, void *buf, size_t len);
/* The module that runs at ip, and where in it; NULL: none is known. Valid until the next call. */
const struct block_code *located_code_at(struct located_code *c, uint32_t pid, uint64_t ip, uint64_t *code_ip);
/* The same for all instructions of a function, where its bounds are known. */
uint64_t located_code_function(struct located_code *c, uint32_t pid, uint64_t ip);
/* Where a timer sample is whose stack attr_stack() just found. */
void located_code_of_stack(struct located_code *c, uint32_t stack, struct located *at);
/* Where a sample is of which no stack was taken; when it is asked for again, nothing is done. */
void located_code_find(struct located_code *c, const struct sample *m, struct located *at);
/* The code there; NULL: none is known. Valid until the next call. */
const struct block_code *located_code_there(struct located_code *c, const struct sample *m, const struct located *at);
/* The function that it is in, as located_code_function(). */
uint64_t located_code_function_at(struct located_code *c, const struct sample *m, struct located *at);
/* Where the stack ends that a timer sample with registers is on: 0 unknown. Of one that is fresh by what was known of
 * its thread before. */
uint64_t located_code_stack_end(struct located_code *c, const struct sample *s);
/* What the block of a timer sample with registers accesses; NULL where its code cannot be decoded. Valid until the
 * next call. */
const struct block_result *located_code_evaluate(struct located_code *c, const struct sample *s,
						 const struct located *at);
/* How often such a block ran for this sample's period, by nominal speed. */
double located_code_executions(const struct block_result *r, double period);
/* Record form of one of its accesses; false: its instruction lies nowhere. */
bool located_code_record(struct located_code *c, const struct sample *s, struct located *at,
			 const struct block_access *a, double weight, struct fmt_access *out);

#endif

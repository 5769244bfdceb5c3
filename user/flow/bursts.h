/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who wrote what a load reads, as far as bursts tell: of each load instruction the part of its bytes that was written
 * within the last so many instructions, by what, and what was written before. A read early in a burst cannot see far
 * back: so the parts come from how many of those that could have seen a write so long ago did (competing risks,
 * life-table estimate). The arithmetic, without I/O. Included by user/flow and tests.
 */
#ifndef ACCPERF_FLOW_BURSTS_H
#define ACCPERF_FLOW_BURSTS_H

#include "flow/input.h"

struct burst_writer {
	uint32_t site; /* of the load */
	uint32_t func; /* that wrote */
	double part;   /* of the load's bytes */
	double far;    /* of that, written nearly as long ago as bursts see */
	double then;   /* of `part`, what earlier recordings saw */
};

struct burst_pair {
	uint32_t site, bin, writer; /* writer: index into bursts.writer; FLOW_NONE */
	double bytes, then;         /* then: of that, of earlier recordings */
};

struct bursts {
	struct burst_writer *writer; /* by site */
	size_t count;
	double *older; /* by site: part of its bytes that was written before all that bursts see; 1: nothing is known */
	uint32_t sites;
	/* what it is made of */
	struct burst_pair *pair; /* by reader and bin */
	size_t pairs;
	uint32_t *pair_at; /* by in->burst_pair, then in->earlier_pair: index into pair */
	double *worth;     /* by function: of earlier recordings (earlier_worth.h) */
	double *drawn;     /* by in->earlier_pair: how often it counts */
	uint32_t compared,
		dropped;      /* functions that they and this one met, and those of them that they are nothing for */
	double *met, *volume; /* by site: bursts that met it; see bursts_again() */
	double *runs, *work;  /* by in->parts.block: executions; by function: instructions */
};

/* producers: else only how often blocks ran. 0; -ENOMEM. */
int bursts_learn(struct bursts *b, const struct flow_input *in, bool producers);
/*
 * The same, with the same writers in the same order, where each part of the bursts (in->parts) counts so many times;
 * NULL: as bursts_learn(). Then volume[site] says how many times as much a site reads, as far as bursts tell.
 */
void bursts_again(struct bursts *b, const struct flow_input *in, const uint8_t *times);
/* From now on bursts_again() takes earlier recordings as others of as many bursts could have been. */
void bursts_draw_earlier(struct bursts *b, const struct flow_input *in, uint64_t *state);
void bursts_release(struct bursts *b);

#endif

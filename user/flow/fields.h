/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of structures as evidence. Code reads and writes a field at the same distance from a pointer. So who writes
 * what an instruction reads can be told, to some extent, from the code (input_fields.c lists who could), and a record
 * of a store at another distance from its pointer is one of another object, which lay there before. How far that
 * holds is checked by what watch windows saw. Included by user/flow only. To check something else: a tally in
 * fields_learn(), a figure here, used in fused.c.
 */
#ifndef ACCPERF_FLOW_FIELDS_H
#define ACCPERF_FLOW_FIELDS_H

#include "estimate.h"
#include "flow/last_writer.h"
#include "flow/input.h"

struct fields {
	const struct flow_input *in;
	double *weight; /* by in->writer: of a field's writers, that it was this one; 0: too unlikely to matter */
	/* those with a weight, into in->writer; by site, where its own begin and how many they are */
	uint32_t *likely, *likely_first, *likely_count;
	uint32_t likelies;
	size_t likely_cap;
	/* of what windows saw written and read: how much by a function that does not store to such a field */
	double others;
	double apart; /* ... and where both distances are known: how often they differ */
};

int fields_learn(struct fields *x, const struct flow_input *in, const struct est_opts *o);
void fields_release(struct fields *x);
/* Where somebody has written what this site reads: probability that it was one of the field's writers; 0: it reads
 * none. */
double fields_could(const struct fields *x, uint32_t site);
/* Probability that nobody writes there, which was `stays` before a look at who could. */
double fields_stays(const struct fields *x, uint32_t site, double stays);
/* What a record that was right with this probability is worth after a look at the code. */
double fields_judge(const struct fields *x, uint32_t site, uint64_t addr, const struct answer *a, double right);

#endif

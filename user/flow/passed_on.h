/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * To whom a function's stores go: of what bursts saw written and then read, how much each function wrote for each
 * other. Many stores are overwritten before anybody reads them (the links of free blocks in a heap), or are read by
 * their writer alone: such a writer is often seen at a word, and seldom wrote what another function reads there.
 * Included by user/flow and tests.
 */
#ifndef ACCPERF_FLOW_PASSED_ON_H
#define ACCPERF_FLOW_PASSED_ON_H

#include <stddef.h>
#include <stdint.h>

#include "flow/input.h"
#include "util/map.h"

struct passed_on {
	struct map at; /* writer << 32 | reader -> index into pair + 1 */
	double *pair;  /* bytes */
	double *writer, *reader, all;
	size_t pairs, cap;
	uint32_t funcs;
};

/* 0; -ENOMEM. Without bursts every factor is 1. */
int passed_on_learn(struct passed_on *p, const struct flow_input *in);
void passed_on_release(struct passed_on *p);
/* How much likelier it is that this reader takes what this writer wrote than what any function wrote. */
double passed_on_factor(const struct passed_on *p, uint32_t writer, uint32_t reader);

#endif

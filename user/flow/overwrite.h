/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overwrite test: which store instruction has, most likely, gone over an address since its last
 * recorded writer, judged by how much each instruction stored since and how large the set of words is
 * that it stores to. Included by this room and tests.
 */
#ifndef ACCPERF_FLOW_OVERWRITE_H
#define ACCPERF_FLOW_OVERWRITE_H

#include "estimate.h"
#include "flow/input.h"

struct overwrite;

/* Learns from all sampled stores, and from the census where wanted. NULL: out of memory. */
struct overwrite *overwrite_new(const struct flow_input *in, bool stack, bool census, const bool *complete);
void overwrite_free(struct overwrite *ow);
/* Tells that access `i` (a sampled store) has happened: time moves on. */
void overwrite_store(struct overwrite *ow, const struct in_access *a);
/* The site most likely to have overwritten [addr] since t0 (whose writer was site s0), or FLOW_NONE; *pass: when, as
 * far as its stores tell, 0: unknown. */
uint32_t overwrite_test(struct overwrite *ow, uint32_t pid, uint64_t addr, uint64_t t0, uint32_t s0, uint64_t *pass);

/* Could this store instruction have written this address, though no sample shows it: the address lies
 * among those it was seen to write, or it writes so many that most were not seen. */
bool overwrite_plausible(const struct overwrite *ow, uint32_t site, uint32_t pid, uint64_t addr);

/* Chao1's lower bound of the number of classes: seen, seen once, seen twice. */
double chao1(double seen, double once, double twice);

#endif

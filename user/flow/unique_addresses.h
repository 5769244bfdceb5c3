/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Distinct addresses behind a few sampled ones: extent times density, object by object. Where no
 * object is known, runs of addresses without a wide gap stand for one. Included by user/flow only.
 */
#ifndef ACCPERF_FLOW_UNIQUE_ADDRESSES_H
#define ACCPERF_FLOW_UNIQUE_ADDRESSES_H

#include "flow/input.h"

struct unique_addresses_item {
	uint64_t key; /* what the result is wanted for: a function, an edge */
	uint64_t addr;
	uint32_t object; /* index of in->object, or FLOW_NONE */
	uint32_t size;
	double bytes; /* read or written, that this sample stands for; 0: not drawn by count, or not known */
};

struct unique_addresses_result {
	uint64_t key;
	double bytes;
	double seen; /* distinct bytes among the samples: certain */
	bool bound;  /* many small pieces: a lower bound */
};

/* Sorts the items; calls back once per key. */
void unique_addresses_run(const struct flow_input *in, struct unique_addresses_item *items, size_t n,
			  void (*fn)(void *ctx, const struct unique_addresses_result *r), void *ctx);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Distinct addresses behind a few sampled ones: extent times density, object by object. Where no
 * object is known, runs of addresses without a wide gap stand for one. Included by this room and tests.
 */
#ifndef ACCPERF_FLOW_UNIQUE_ADDRESSES_H
#define ACCPERF_FLOW_UNIQUE_ADDRESSES_H

#include "flow/input.h"

struct unique_addresses_item {
	uint64_t addr;
	uint32_t object; /* index of in->object, or FLOW_NONE */
	uint32_t size;
	double bytes; /* read or written, that this sample stands for; 0: not drawn by count, or not known */
};

struct unique_addresses_result {
	double bytes;
	double seen; /* distinct bytes among the samples: certain */
	bool bound;  /* many small pieces: a lower bound */
};

/* What results are wanted for, as functions or edges: keys below `keys`. Asked twice for each key, once for an item,
 * so that items are never there twice. */
struct unique_addresses_by {
	size_t count;
	uint32_t keys;
	uint32_t (*key)(const void *ctx, size_t i); /* FLOW_NONE: the i-th does not count */
	struct unique_addresses_item (*item)(const void *ctx, size_t i);
	void (*take)(const void *ctx, uint32_t key, const struct unique_addresses_result *r); /* where it has items */
	const void *ctx;
};

int unique_addresses_each(const struct flow_input *in, const struct unique_addresses_by *by);

#endif

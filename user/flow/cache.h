/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow results as records (sections 64..66 of include/format.h): written into a profile by merge and
 * by tests that plant truth, found again by the loader. Included by this room and tests.
 */
#ifndef ACCPERF_FLOW_CACHE_H
#define ACCPERF_FLOW_CACHE_H

#include "flow/flow.h"
#include "profile/walk.h"
#include "store/write.h"

int flow_put(struct store_writer *w, const struct flow *f, struct err *e);

/* Collects results while a profile is walked. Zero-initialise. */
struct flow_cache {
	struct flow *results; /* finished by flow_cache_end() */
	uint32_t count;
	struct map ids;                    /* of the result being read: fmt id -> function index */
	const struct store_reader *reader; /* as long as results are read, as the next */
	struct err *e;
};

/* Its rows of a walk over r; both e and r until the walk has ended. */
struct section_reader flow_cache_reader(struct flow_cache *c, const struct store_reader *r, struct err *e);
void flow_cache_end(struct flow_cache *c);
void flow_cache_release(struct flow_cache *c);
/* The result for these options, or NULL. */
const struct flow *flow_cache_get(const struct flow_cache *c, enum flow_semantics sem, enum flow_stack stack,
				  bool main_image);

#endif

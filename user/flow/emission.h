/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who writes such values: of each function, how often what it was seen to write had a mark, a kind of mark, and a
 * distance from the pointer to a structure (fmt_burst_item.mark, fmt_burst_site.field). Memory of a heap is used
 * again and again for other things, so that who was seen to write at an address is often not who wrote what is read
 * there; but the last writer wrote the very value. Learned from what bursts left written. Included by user/flow only.
 *
 * To use another property of a store: a factor of emission_of(), with the part of the time that it holds.
 */
#ifndef ACCPERF_FLOW_EMISSION_H
#define ACCPERF_FLOW_EMISSION_H

#include <stddef.h>
#include <stdint.h>

#include "flow/input.h"
#include "format.h"
#include "util/map.h"

#define EMISSION_LISTED 16 /* writers of one mark that are asked for, those who write it most; by hand */

struct emission_writer {
	uint64_t key; /* mark, or kind and field */
	uint32_t func;
	uint32_t count;
};

struct emission_list {
	struct emission_writer *writer; /* by key, then those of most first */
	size_t count, cap;
};

struct emission {
	const struct flow_input *in;
	struct emission_list marks, fields;
	struct map at;       /* function and mark -> how often */
	struct map field_at; /* function, kind and field -> how often */
	double *of_kind;     /* FMT_MARK_KINDS by function: stores, [0]: of all kinds */
	double *once;        /* the same: marks that it was seen to write once */
	double *mark;        /* by mark: of all functions */
	double kind[FMT_MARK_KINDS];
	double differ; /* part of what bursts saw read and written whose writer has another field */
};

/* 0; -ENOMEM. Without bursts, or with those of older files, nothing is known: then no read has a mark. */
int emission_learn(struct emission *e, const struct flow_input *in);
void emission_release(struct emission *e);
/* The field that an access at addr by this instruction has at a word of memory; 0 unknown. */
int32_t emission_field(const struct flow_input *in, uint32_t site, uint64_t addr, uint64_t word);
/* How likely it is that what a function writes has this mark, and stands there. */
double emission_of(const struct emission *e, uint32_t func, uint16_t mark, int32_t field);
/* The same of what a system call fills. */
double emission_of_call(const struct emission *e, uint16_t mark, int32_t field);
/* Its part of all stores with marks. */
double emission_part(const struct emission *e, uint32_t func);
/* Functions that were seen to write this mark (by_field: of its kind at this field): so many of *out. */
size_t emission_writers(const struct emission *e, uint16_t mark, int32_t field, bool by_field,
			const struct emission_writer **out);

#endif

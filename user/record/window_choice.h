/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which access a watch window is spent on. Windows are few (some ten a second), and what they tell is
 * pooled by instruction: the next one goes where the most bytes rest on the least evidence, not once
 * more to the hottest loop. Within one instruction the choice is left to the sampling, so that the
 * shares it sees stay unbiased. Used by cli and daemon.
 */
#ifndef ACCPERF_INGEST_DRAW_H
#define ACCPERF_INGEST_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "util/map.h"

/* One instruction, or all of a group. */
struct draw_site {
	double bytes;	 /* sampled at it */
	double evidence; /* windows that told whose bytes it reads */
	double told, leads; /* of that: where a writer was seen; how much the commonest is ahead of all others */
	uint64_t writer;    /* the commonest */
	uint32_t group;	    /* index into group + 1; 0 none */
};

struct draws {
	struct map at; /* (module, ip) -> index into site */
	struct map group_at; /* what the caller calls a group -> index into group */
	struct draw_site *group;
	uint32_t group_count, group_cap;
	struct map misses; /* page of memory -> windows there that saw reads and no write until they ended */
	struct draw_site *site;
	uint32_t count, cap;
	uint64_t past; /* accesses of instructions for which the table had no room: never drawn */
	unsigned waited; /* samples passed over since the last window */
};

/* A sampled access that a window could watch. group: any number that instructions alike have in common, 0 if none:
 * what is known of one helps with the others, so a group of which nothing is known is worth a window most. */
void draws_sampled(struct draws *d, uint32_t module, uint64_t ip, uint64_t group, double bytes);
/* A window told whose bytes this instruction reads: by so much of it, less if that is a guess. writer: any number
 * that is the same for the same writer, 0 if it was not seen. Where it is always the same one, little is left to learn. */
void draws_seen(struct draws *d, uint32_t module, uint64_t ip, double part, uint64_t writer);
/* A window on this address ended by time, and nobody had written. What lies close by is mostly written as
 * often: fields of one structure, elements of one array. */
void draws_missed(struct draws *d, uint64_t addr);
/* For how many times the shortest useful time the next window there should stay open. */
double draws_patience(const struct draws *d, uint64_t addr);
/* How much one more window is worth there; 0 for what was never sampled. */
double draws_worth(const struct draws *d, uint32_t module, uint64_t ip);
/* Whether to take an access of this worth now, or wait for a better sample. */
bool draws_take(struct draws *d, double worth);
void draws_release(struct draws *d);

#endif

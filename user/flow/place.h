/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who wrote what is read at an address, told from all stores that were seen near it: a hierarchy of places, from a line
 * of the cache to the mapping, each of which has its own writers, as far as it has stores, and for the rest those of
 * the next wider one. Where the value is known, those who write such values are the likelier ones (emission.h). And how
 * likely it is that anybody did: an instruction whose addresses were seen written as often as stores to such places are
 * seen at all reads what moves. Processes count as one: an address means the same in those that were forked from one
 * another, and nothing in others. Included by this room and tests. To use evidence of another kind of nearness: one
 * more of the levels in place.c.
 */
#ifndef ACCPERF_FLOW_PLACE_H
#define ACCPERF_FLOW_PLACE_H

#include "flow/emission.h"
#include "flow/last_writer.h"
#include "flow/passed_on.h"
#include "flow/rewrite_rate.h"
#include "util/map.h"

#define PLACE_PARTS 16 /* writers of one place that are told apart, those of the most stores */

/* Parts of one read: those of its word, those near, those who write such values, nobody or a call, and a call. */
#define PLACE_ROOM (2 * PLACE_PARTS + 2 * EMISSION_LISTED + 2)

struct place_part {
	uint32_t producer;
	float part;
};

struct place_tally {    /* of what was read, each line counted once */
	float written;  /* reads of what was seen to be written */
	float expected; /* and how many those were, were all of it written */
};

/* Who is known to have written what readers read: functions, then instructions. */
struct place_known {
	struct map at; /* reader << 32 | writer -> index into part + 1 */
	double *part;  /* lines of a reader's that a writer wrote */
	double *lines; /* ... that anybody did; by reader */
	size_t parts, cap;
};

struct store_places {
	const struct flow_input *in;
	struct emission emission;
	struct passed_on passed_on;
	const struct rewrite_rate *still;
	struct place_seen *seen; /* stores, by address */
	size_t count, cap;
	struct place_node *node; /* [0]: a place of which nothing is known */
	uint32_t nodes, node_cap;
	struct map node_at;
	struct place_part *part; /* of the nodes */
	size_t parts, part_cap;
	double *work; /* by function */
	struct place_known known;
	double calls_seen; /* the part of the time in which calls were observed */
	struct place_tally *site, *func;
	struct place_tally all;
	bool no_memory;
};

int place_learn(struct store_places *p, const struct flow_input *in, const struct last_writer *c,
		const struct rewrite_rate *still, bool stack);
/* Who wrote what it read; their parts add up to 1. 0: nobody knows. */
unsigned place_writers(struct store_places *p, const struct read_answer *r, struct place_part out[PLACE_ROOM]);
void place_release(struct store_places *p);

#endif

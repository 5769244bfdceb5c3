/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which access a watch window is spent on. Windows are few (some ten a second), and what they tell is
 * pooled by instruction: the next one goes where the most bytes rest on the least evidence, not once
 * more to the hottest loop. Within one instruction the choice is left to the sampling, so that the
 * shares it sees stay unbiased. Included by this room and tests.
 */
#ifndef ACCPERF_RECORD_WINDOW_CHOICE_H
#define ACCPERF_RECORD_WINDOW_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/map.h"

/* One instruction, or all of a group. */
struct window_site {
	double bytes;       /* sampled at it */
	double evidence;    /* windows that told whose bytes it reads */
	double told, leads; /* of that: where a writer was seen; how much the commonest is ahead of all others */
	uint64_t writer;    /* the commonest */
	uint32_t group;     /* index into group + 1; 0 none */
};

struct window_choice {
	struct map at;       /* (module, ip) -> index into site */
	struct map group_at; /* what the caller calls a group -> index into group */
	struct window_site *group;
	uint32_t group_count, group_cap;
	struct map misses; /* page of memory -> windows there that saw reads and no write until they ended */
	struct window_site *site;
	uint32_t count, cap;
	uint64_t past;   /* accesses of instructions for which the table had no room: never drawn */
	unsigned waited; /* samples passed over since the last window */
};

/* A sampled access that a window could watch. group: any number that instructions alike have in common, 0 if none:
 * what is known of one helps with the others, so a group of which nothing is known is worth a window most. */
void window_choice_sampled(struct window_choice *d, uint32_t module, uint64_t ip, uint64_t group, double bytes);
/* A window told whose bytes this instruction reads: by so much of it, less if that is a guess. writer: any number
 * that is the same for the same writer, 0 if it was not seen. Where it is always the same one, little is left to
 * learn. */
void window_choice_seen(struct window_choice *d, uint32_t module, uint64_t ip, double part, uint64_t writer);
/* A window on this address ended by time, and nobody had written. What lies close by is mostly written as
 * often: fields of one structure, elements of one array. */
void window_choice_missed(struct window_choice *d, uint64_t addr);
/* For how many times the shortest useful time the next window there should stay open. */
double window_choice_patience(const struct window_choice *d, uint64_t addr);
/* How much one more window is worth there; 0 for what was never sampled. */
double window_choice_worth(const struct window_choice *d, uint32_t module, uint64_t ip);
/* Whether to take an access of this worth now, or wait for a better sample. */
bool window_choice_take(struct window_choice *d, double worth);
void window_choice_release(struct window_choice *d);

#endif

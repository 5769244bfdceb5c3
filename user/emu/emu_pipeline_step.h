/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step of the model of emu_pipeline.h, for the loop that takes it with each instruction: emu.c, and
 * emu_pipeline.c for callers that take it seldom. Included by these only.
 */
#ifndef ACCPERF_EMU_EMU_PIPELINE_STEP_H
#define ACCPERF_EMU_EMU_PIPELINE_STEP_H

#include "emu/emu_pipeline.h"

#define CYCLES(n) ((n)*EMU_CYCLE)
#define REPEAT_START CYCLES(20) /* a repeated string instruction, before it moves EMU_REPEAT_BYTES a cycle */
#define NEAR CYCLES(4)          /* a load: level 1 */
#define MIDDLE CYCLES(14)       /* level 2 */
#define FAR CYCLES(80)          /* what lies further: between a shared cache and memory */
#define MISSED CYCLES(14)       /* from the end of a branch that was not foreseen until what follows is issued */
#define WINDOW 256              /* instructions under way: 224 to 512 of these processors; a power of two */

#define LINE_BITS 6      /* of an address: bytes within a line of 64 */
#define NEAR_SETS 64     /* 32 KB in 8 ways */
#define NEAR_WAYS 8      /* lines of a set */
#define MIDDLE_SETS 1024 /* 1 MB in 16 ways */
#define MIDDLE_WAYS 16   /* lines of a set */
#define WORDS 1024       /* that stores wrote last, by address; a power of two */
#define WAYS_BITS 14     /* of the tables of branches: 16,384 counters, as many as a few kilobytes hold */
#define TARGETS 1024     /* of indirect branches; a power of two */
#define HISTORY 12       /* branches that tell the next one's way, beside its own past */

#define REGISTERS 59     /* bits of emu_pipeline.c, and two that stand for none */
#define NEVER_WRITTEN 57 /* fills lists of what is needed */
#define NEVER_READ 58    /* fills lists of what is given */

/* Which way a branch goes must be foreseen: of most it is known. */
enum { WAY_KNOWN, WAY_OF_TWO, WAY_ANYWHERE };

struct emu_pipeline {
	uint64_t ready[REGISTERS];
	uint64_t ends[WINDOW];
	uint64_t issue, end, divider;
	uint64_t count;
	uint64_t history, path;
	struct {
		uint64_t word, end;
	} stored[WORDS];
	/* lines, 0: none; of a set the one that was used last is first */
	uint32_t near[NEAR_SETS * NEAR_WAYS], middle[MIDDLE_SETS * MIDDLE_WAYS];
	uint8_t alone[1u << WAYS_BITS], together[1u << WAYS_BITS], better[1u << WAYS_BITS]; /* counters of two bits */
	uint64_t target[TARGETS];
};

/* ---- caches and branches ---- */

/* True: the set has the line; it has from now on, as its first. */
static inline bool has_line(uint32_t *set, unsigned ways, uint32_t tag)
{
	uint32_t before = tag;

	for (unsigned at = 0; at < ways; at++) {
		uint32_t old = set[at];

		set[at] = before;
		if (old == tag)
			return true;
		before = old;
	}
	return false;
}

static inline uint32_t line_time(struct emu_pipeline *p, uint64_t addr)
{
	uint64_t line = addr >> LINE_BITS;

	if (has_line(p->near + line % NEAR_SETS * NEAR_WAYS, NEAR_WAYS, (uint32_t)(line / NEAR_SETS) + 1))
		return NEAR;
	return has_line(p->middle + line % MIDDLE_SETS * MIDDLE_WAYS, MIDDLE_WAYS, (uint32_t)(line / MIDDLE_SETS) + 1)
		       ? MIDDLE
		       : FAR;
}

static inline void learn(uint8_t *counter, bool up)
{
	*counter = (uint8_t)(*counter + (up & (*counter < 3)) - (!up & (*counter > 0)));
}

static inline uint32_t spread_of(uint64_t v)
{
	return (uint32_t)((v * 0x9e3779b97f4a7c15ull) >> 40);
}

/* Two tables, by the branch alone and with those before it; a third tells which of them is right of this branch. */
static inline bool foreseen(struct emu_pipeline *p, uint64_t ip, bool taken)
{
	uint32_t by = spread_of(ip) & ((1u << WAYS_BITS) - 1);
	uint32_t with = (by ^ (uint32_t)(p->history & ((1u << HISTORY) - 1))) & ((1u << WAYS_BITS) - 1);
	bool one = p->alone[by] >= 2, two = p->together[with] >= 2;
	bool right = (p->better[by] >= 2 ? two : one) == taken;

	if (one != two)
		learn(&p->better[by], two == taken);
	learn(&p->alone[by], taken);
	learn(&p->together[with], taken);
	p->history = p->history << 1 | taken;
	return right;
}

static inline bool target_foreseen(struct emu_pipeline *p, uint64_t ip, uint64_t to)
{
	uint64_t *target = &p->target[spread_of(ip ^ p->path << 20) & (TARGETS - 1)];
	bool right = *target == to;

	*target = to;
	p->path = p->path << 5 ^ to;
	return right;
}

static inline bool way_foreseen(struct emu_pipeline *p, const struct emu_listed *n, const struct emu_step *s)
{
	switch (n->way) {
	case WAY_OF_TWO: return foreseen(p, s->ip, s->to != s->ip + n->len);
	case WAY_ANYWHERE: return target_foreseen(p, s->ip, s->to);
	default: return true;
	}
}

/* ---- what is under way ---- */

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* When a load is over that began then. */
static inline uint64_t load_end(struct emu_pipeline *p, uint64_t addr, uint64_t begin)
{
	uint64_t word = addr / 8, end = begin + line_time(p, addr);
	uint32_t at = spread_of(word) & (WORDS - 1);

	return p->stored[at].word == word ? later(end, p->stored[at].end + NEAR) : end;
}

static inline void store_end(struct emu_pipeline *p, uint64_t addr, uint64_t end)
{
	uint64_t word = addr / 8;
	uint32_t at = spread_of(word) & (WORDS - 1);

	line_time(p, addr);
	p->stored[at].word = word;
	p->stored[at].end = end;
}

/* emu_pipeline_step(), with short lists for most instructions. */
static inline __attribute__((always_inline)) uint32_t pipeline_step(struct emu_pipeline *p, const struct emu_listed *n,
								    const struct emu_step *s)
{
	const struct emu_place *at = s->place, *last = at + s->places;
	uint64_t *ready = p->ready, *slot, before = p->end, issue, begin, end, load;

	if (!n->all)
		return emu_pipeline_any_step(p, &(struct emu_step){ s->insn, s->needs, s->ip, s->to, s->place,
								    s->places, s->repeats });
	slot = &p->ends[p->count++ & (WINDOW - 1)];
	p->issue = issue = later(p->issue + 1, *slot);
	begin = later(issue, later(ready[n->from[0]], ready[n->from[1]]));
	if (n->loads) {
		load = later(issue, later(ready[n->address[0]], ready[n->address[1]]));
		end = load + NEAR;
		for (; at != last && !at->store; at++)
			end = later(end, load_end(p, at->addr, load));
		for (const struct emu_place *more = at; more != last; more++)
			if (!more->store)
				end = later(end, load_end(p, more->addr, load));
		begin = later(begin, end);
	}
	end = begin + n->latency;
	ready[n->to[0]] = end;
	ready[n->to[1]] = end;
	for (; at != last; at++)
		if (at->store)
			store_end(p, at->addr, end);
	p->end = *slot = later(before, end);
	if (n->way != WAY_KNOWN && !way_foreseen(p, n, s))
		p->issue = later(issue, end + MISSED);
	return (uint32_t)(p->end - before);
}

#endif

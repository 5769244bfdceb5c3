/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long what ran would have taken: a model of a processor that carries out instructions out of order, fed with the
 * instructions of a burst one after another, with the addresses that they touched and the ways that branches went. It
 * tells how one function's instructions compare with another's, which time alone cannot (counts/counts_pace.h), and,
 * with a wide error, how many go through in a cycle of this machine (counts/model_rate.h).
 *
 * The model, as of dataflow with few limits: an instruction is issued a quarter of a cycle after the one before it, and
 * not before the one WINDOW before it has ended; it begins when its operands are there, and ends after its latency, in
 * order. A load takes as long as the nearest cache that has its line; a branch that was not foreseen holds up what
 * follows until it has ended. Caches and branches are remembered from burst to burst, as in between the program went on
 * with the same code and data.
 *
 * Latencies are those of processors of the last ten years (emu_pipeline.c). Nothing is fitted to a machine: of ten real
 * programs on one of AMD, log times of functions' instructions correlate with the model by .7, at a slope of .8 to 1;
 * caches of half the size, a wider issue or a larger window change that by .02.
 *
 * Included by emu.c and tests. Addresses are of no meaning here but as names.
 */
#ifndef ACCPERF_EMU_EMU_PIPELINE_H
#define ACCPERF_EMU_EMU_PIPELINE_H

#include "emu/emu_priv.h"

/* What an instruction needs and gives: registers by number, as far as the lists reach. */
#define EMU_LIST 2
struct emu_listed {
	uint8_t from[EMU_LIST], address[EMU_LIST], to[EMU_LIST];
	bool all; /* they do, and nothing else is special about it */
	bool loads;
	uint8_t way;      /* see emu_pipeline_step.h */
	uint8_t len;      /* bytes */
	uint16_t latency; /* units */
};

struct emu_needs {
	struct emu_listed listed;
	uint64_t from, address_from, to; /* a bit per register, see emu_pipeline.c */
	uint16_t latency, busy;          /* units; busy: of the divider, which does one thing at a time */
	bool alone;                      /* waits for all before it, and all behind wait for it */
};
void emu_needs_of(const struct emu_insn *i, struct emu_needs *out);

struct emu_step {
	const struct emu_insn *insn;
	const struct emu_needs *needs;
	uint64_t ip, to;               /* to: what ran next */
	const struct emu_place *place; /* that it touched, as far as it is known */
	unsigned places;
	uint64_t repeats; /* of a repeated string instruction: beyond the first */
};

struct emu_pipeline;
struct emu_pipeline *emu_pipeline_new(void);
void emu_pipeline_free(struct emu_pipeline *p);
/* A burst begins: nothing is under way. */
void emu_pipeline_begin(struct emu_pipeline *p);
/* Units by which the end of all so far moved on; for tests: the emulator has it inline (emu_pipeline_step.h). */
uint32_t emu_pipeline_step(struct emu_pipeline *p, const struct emu_step *s);
/* The same, by bits instead of lists: what an instruction needs and gives may be anything. */
uint32_t emu_pipeline_any_step(struct emu_pipeline *p, const struct emu_step *s);

#endif

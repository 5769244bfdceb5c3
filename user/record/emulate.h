/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bursts: from a fresh sample on, a thread's code is carried out in the recorder (emu/emu.h), and what ran is handed
 * to the plan. Nothing is armed in the target: its memory is read, some of it by the kernel on the sampled thread.
 * When: see emulate_when.h. Included by part_counts.c.
 *
 * To feed bursts to a further consumer: beside plan_replayed() in burst().
 */
#ifndef ACCPERF_RECORD_EMULATE_H
#define ACCPERF_RECORD_EMULATE_H

#include "record/counts_plan.h"
#include "record/session.h"

struct emulate;

/* part: of one CPU's time, of ours; what of the target's, the ledger says. NULL: no memory. */
struct emulate *emulate_new(struct session *s, struct plan *plan, double part);
void emulate_free(struct emulate *r);
/* Every fresh sample, of whatever kind, after others had it. */
int emulate_fresh(struct emulate *r, const struct sample *m);
/* What is carried on at m by another part, a segment, tells of data, too: what emulate_data_access() wants for it.
 * NULL: not now. */
struct emulate_data *emulate_segment(struct emulate *r, const struct sample *m);
/* In order: the address space may change. */
int emulate_event(struct emulate *r, const struct sample *m);
int emulate_poll(struct emulate *r, uint64_t now);
/* part: of one CPU's time, of ours, besides what it was made with, from now on. */
void emulate_lend(struct emulate *r, double part);
void emulate_second(struct emulate *r, uint64_t now);
/* All records whose last one wins. */
int emulate_write(struct emulate *r);
/* The same, and what is under way: nothing comes any more. */
int emulate_end(struct emulate *r);
void emulate_report(struct emulate *r);

#endif

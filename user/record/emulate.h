/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bursts: from a fresh sample on, a thread's code is carried out in the recorder (attr/emu.h), and what ran is handed to
 * the plan. Nothing is armed in the target: its memory is read, some of it by the kernel on the sampled thread. When: see
 * replay_when.h. Included by part_counts.c.
 *
 * To feed bursts to somebody else: beside plan_replayed() in burst().
 */
#ifndef ACCPERF_CLI_PART_REPLAY_H
#define ACCPERF_CLI_PART_REPLAY_H

#include "record/counts_plan.h"
#include "record/session.h"

struct replay;

/* part: of one CPU's time, of ours; target_part: of the target's. NULL: no memory. */
struct replay *replay_new(struct session *s, struct plan *plan, double part, double target_part);
void replay_free(struct replay *r);
/* Every fresh sample, of whatever kind, after others had it. */
int replay_fresh(struct replay *r, const struct sample *m);
/* ns that bursts took from the target since this was last asked: the caller's to account for. */
double replay_taken(struct replay *r);
/* In order: the address space may change. */
void replay_event(struct replay *r, const struct sample *m);
void replay_poll(struct replay *r, uint64_t now);
void replay_second(struct replay *r, uint64_t now);
/* All records whose last one wins. */
int replay_write(struct replay *r);
void replay_report(struct replay *r);

#endif

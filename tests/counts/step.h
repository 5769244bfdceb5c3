/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A running program, one thread of it single-stepped for a stretch now and then; the others run on.
 * The order of things is the processor's, so that what was executed is known beyond doubt.
 * Included by tests only.
 */
#ifndef ACCPERF_TESTS_COUNTS_STEP_H
#define ACCPERF_TESTS_COUNTS_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct step {
	pid_t pid, tid; /* tid: the thread that is stopped; 0: none */
	uint64_t random;
};

/* 0; -1: it cannot be begun. Its output goes nowhere. */
int step_start(struct step *s, char **argv);
/* Lets all run for so long. false: it has ended. */
bool step_run(struct step *s, unsigned ms);
/* Stops a thread that is at work. false: there is none. */
bool step_stop(struct step *s);
/* One instruction (of a rep: one turn), and what the registers hold behind it. false: the thread has ended, or waits
 * for too long; it is let go then. */
bool step_one(struct step *s, struct user_regs_struct *regs);
bool step_regs(struct step *s, struct user_regs_struct *regs);
/* Lets the thread run to one of up to four addresses, at most so long. */
bool step_to(struct step *s, const uint64_t *addr, unsigned addrs, unsigned ms, struct user_regs_struct *regs);
void step_go(struct step *s);
void step_end(struct step *s);
bool step_read(struct step *s, uint64_t addr, void *out, size_t size);

#endif

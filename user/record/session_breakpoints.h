/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session knows of hardware breakpoints: how many are free, who wants them, and what it costs that they are
 * there. Included by the parts that open windows (part_windows.c, part_counts.c) alone, tests.
 */
#ifndef ACCPERF_RECORD_SESSION_BREAKPOINTS_H
#define ACCPERF_RECORD_SESSION_BREAKPOINTS_H

#include <stdbool.h>

#include "sample.h"

#define BREAKPOINTS_TRIES 10     /* at the start, of those that another recorder has for a moment; by hand */
#define BREAKPOINTS_TRY_US 50000 /* between two of them; by hand */

struct session;

/* Hardware breakpoints, of which a thread has four: a part takes what its window needs and gives them
 * back at its end. While one part wants them (or will, in a moment), others begin no new window. */
unsigned session_breakpoints_free(const struct session *s);
void session_breakpoints_take(struct session *s, unsigned n);
void session_breakpoints_give(struct session *s, unsigned n);
/* As above, for breakpoints armed on CPUs: they cost nothing at context switches. */
void session_breakpoints_take_apart(struct session *s, unsigned n);
void session_breakpoints_give_apart(struct session *s, unsigned n);
void session_breakpoints_want(struct session *s, bool want);
bool session_breakpoints_wanted(const struct session *s);
/* Each part that opens windows says so, before the start, and pays what it costs that events are attached at all
 * (measure/cost_attached.h): at each tick, and it opens none unless it can afford what that would begin. */
void session_breakpoints_user(struct session *s);
double session_attached_cost(const struct session *s, const struct sample *tick);
double session_attached_entry(const struct session *s, double running);
/* Where that is dear nobody opens windows all the time: not now. */
bool session_breakpoints_rest(const struct session *s);
/* ns that one breakpoint on a thread adds to each of its switches; measured when first asked for. */
double session_switch_cost(struct session *s);
/* Whether hardware breakpoints may be used now (breakpoint_gate.h): no window is to be opened otherwise. */
bool session_breakpoints_open(const struct session *s);
/* Whether the timers belong to threads, and putting a breakpoint on one would make each of its switches
 * dearer than the budget allows, for good: none may be put, nor may it before the rate is known. */
bool session_breakpoints_forbidden(struct session *s);

#endif

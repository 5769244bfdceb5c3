/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steers a service to a number of samples an hour: samples that it may have come with time and go with recording, so
 * that a busy service is recorded by turns and an idle one always. Pure. Included by user/daemon and tests.
 */
#ifndef ACCPERF_DAEMON_PACE_H
#define ACCPERF_DAEMON_PACE_H

#include <stdbool.h>

struct pace {
	double rate;   /* samples a second while it is recorded, as its profiles told; 0: not known yet */
	double credit; /* samples that may be taken; negative: more were */
	double turn_s; /* how long this turn has lasted */
	bool resting;
	double recorded, passed; /* seconds, of all */
};

/* Time goes by in which its processes run. target: samples an hour; 0: no target, it is always recorded. */
void pace_pass(struct pace *p, double target, double seconds);
void pace_begin(struct pace *p);
/* It was recorded for so long; guess: samples a second where no profile has told yet. */
void pace_record(struct pace *p, double seconds, double guess);
/* What a profile told. */
void pace_learn(struct pace *p, double samples, double seconds);
bool pace_may(struct pace *p, double target);
/* The part of its processes' time that is recorded; NaN: none has passed. */
double pace_duty(const struct pace *p);

#endif

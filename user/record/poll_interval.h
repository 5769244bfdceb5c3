/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a recorder sleeps between two looks at its rings. The kernel could wake it, but from within the target's
 * interrupt, at some 20 us of the target's time; looking costs the recorder alone. So it looks often while a part
 * waits for a window's hits, or for a sample that cannot be foreseen (tick_forecast.h), and less often the longer no
 * sample comes: a target that sleeps gives none. And which samples are worth acting on. Pure logic, no clock.
 * Included by this room and tests.
 */
#ifndef ACCPERF_RECORD_POLL_INTERVAL_H
#define ACCPERF_RECORD_POLL_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_IDLE_MS 40 /* a record may be under way on another CPU while the rings are drained */
#define PACE_LATER 4    /* times as long */
#define PACE_SOME 20    /* looks without a sample */
#define PACE_MANY 60    /* looks in vain, after which it looks as rarely as may be; by hand */

/* ms; soon_ms: what a part waits for is no good after so long; 0: none does. idle: looks since the last sample. */
int poll_interval_ms(unsigned soon_ms, unsigned idle);

#define PACE_PROMPT_NS 400000 /* as soon as a recorder can see a sample that it slept for, and more */
#define PACE_PASSED 8         /* samples */

/* Whether to act on a sample of this age now: at once, if it has just come. An older one's thread is somewhere else
 * by now, and the next tick brings a better one, unless all recent ones were old (the recorder does not get a CPU in
 * time): then every so many, if it is not older than `most`. *passed: the caller's, 0 at first. */
bool poll_interval_prompt(unsigned *passed, uint64_t age_ns, uint64_t most_ns);

#endif

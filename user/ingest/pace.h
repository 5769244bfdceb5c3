/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a recorder sleeps between two looks at its rings. The kernel could wake it, but from within the target's
 * interrupt, at some 20 us of the target's time; looking costs the recorder alone. So it looks often while somebody
 * waits for a fresh sample or for a window's hits, and less often the longer no sample comes: a target that sleeps
 * gives none. Pure logic, no clock. Included by cli and tests.
 */
#ifndef ACCPERF_INGEST_PACE_H
#define ACCPERF_INGEST_PACE_H

#define PACE_IDLE_MS 40 /* a record may be under way on another CPU while the rings are drained */
#define PACE_LATER 4 /* times as long */
#define PACE_SOME 20 /* looks without a sample */
#define PACE_MANY 60

/* ms; soon_ms: what somebody waits for is no good after so long; 0: nobody does. idle: looks since the last sample. */
int pace_wait_ms(unsigned soon_ms, unsigned idle);

#endif

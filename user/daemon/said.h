/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a log was told within the last hour, so that what stays true is not said again and again. Pure. Included by
 * user/daemon and tests.
 */
#ifndef ACCPERF_DAEMON_SAID_H
#define ACCPERF_DAEMON_SAID_H

#include <stdbool.h>
#include <stdint.h>

#include "util/clock.h"

#define SAID_SLOTS 32u             /* kinds of message that may be quiet at once; by hand */
#define SAID_AGAIN (3600 * SECOND) /* a sentence that stays true: an hour, chosen by hand */

struct said {
	uint64_t hash, at; /* at 0: nothing was */
};

/* Of a sentence; numbers: else all of them are alike. */
uint64_t said_hash(const char *text, bool numbers);
/* Whether it was said within SAID_AGAIN; if not it is now, in place of what was said longest ago. */
bool said_lately(struct said slots[SAID_SLOTS], uint64_t hash, uint64_t now);
/* Each place was taken within SAID_AGAIN. */
bool said_enough(const struct said slots[SAID_SLOTS], uint64_t now);

#endif

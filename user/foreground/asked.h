/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What signals ask of a recording, also in the midst of one, while names are sought: then the first Ctrl-C ends it as
 * soon as those are there. Included by this room alone.
 */
#ifndef ACCPERF_FOREGROUND_ASKED_H
#define ACCPERF_FOREGROUND_ASKED_H

#include <stdbool.h>
#include <stdint.h>

#include "record/rotation.h"
#include "record/session.h"

/* True when a signal asks us to stop. With a command, Ctrl-C reaches it as well: it decides. */
bool record_asked_to_stop(int fd);
/* One asked while names were sought in between. */
bool record_asked_between(void);
/* One asked for the next of --rotate's profiles. */
bool record_asked_next(void);
/* From now on: names are sought when all is recorded, and a second Ctrl-C ends that. */
void record_hurry_when_asked(int fd);
/* The profile ends, and the next one begins. */
int record_next(struct session *s, struct rotation *r, struct err *e);
/* Names in between, so that a recorder that is killed leaves some. until: when the recording ends, whatever is named
 * by then. *next: when to look again. */
int record_name_now(struct session *s, uint64_t until, uint64_t *next, struct err *e);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes into the profile what earlier recordings of the same files saw (flow/earlier_kept.h), once for each module
 * that the profile tells of: so the profile alone says all that an estimate rests on, and a reader needs no cache.
 * Measures nothing. Included by foreground.
 */
#ifndef ACCPERF_RECORD_PART_EARLIER_H
#define ACCPERF_RECORD_PART_EARLIER_H

#include "record/session.h"

/* dir: an open folder of the cache, the part's from here on, in vain, too. */
int earlier_part_add(struct session *s, int dir, struct err *e);

#endif

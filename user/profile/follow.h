/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording as it goes, read on: only what was written since is unpacked, so that a look a second costs the same
 * after ten minutes as after one. Included by top/reading.c, tests.
 */
#ifndef ACCPERF_PROFILE_FOLLOW_H
#define ACCPERF_PROFILE_FOLLOW_H

#include "profile/profile.h"

/* From profile_open(): the first time all there is, then what came since. The profile is then as profile_read() of the
 * whole file makes it, and its pointers of before are no more. Groups as of profile_read(), the same each time, but
 * that MISSING and KEPT may take turns. After an error: profile_free(). */
int profile_read_on(struct profile *p, unsigned groups, struct err *e);

#endif

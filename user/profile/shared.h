/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One reading of a profile for several processes: what is shared before they are forked, each of them has that opens
 * its file, as it was then. Their readers still walk the file (profile_read()), the profile itself is not read again.
 * Included by flow, top and tests.
 */
#ifndef ACCPERF_PROFILE_SHARED_H
#define ACCPERF_PROFILE_SHARED_H

#include "profile/profile.h"
#include "util/err.h"

/* Takes p over, which is open and read as far as the readers will ask. */
int profile_share_open(const char *path, struct profile *p, struct err *e);
/* Frees what nobody opened. In a child of fork() too: what it opened is its own. */
void profile_share_end(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Room in the set of those who are observed (bpf/follow.bpf.h). What ended leaves it when the kernel frees it, which a
 * busy machine puts off, or never where the table's lock was not to be had in time. Included by sampler.c and sysio.c.
 */
#ifndef ACCPERF_KMOD_FREE_FOLLOWED_H
#define ACCPERF_KMOD_FREE_FOLLOWED_H

#include <stdint.h>

#include "counters.h"

struct followed_room {
	uint64_t seen; /* refused or not taken out, so far */
	uint64_t rest; /* until then, ns: a set that stays full is not looked through all the time */
};

/* If some more were refused or could not be taken out, those that exist no more are. */
void followed_if_short(int targets_fd, const struct counter_row *rows, struct followed_room *r);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Room in the set of those who are observed (bpf/follow.bpf.h). What ended leaves it when the kernel frees it, which a
 * busy machine puts off, or never where the table's lock was not to be had in time. Included by sampler.c and sysio.c.
 */
#ifndef ACCPERF_KMOD_FREE_FOLLOWED_H
#define ACCPERF_KMOD_FREE_FOLLOWED_H

#include <stdint.h>

#include "counters.h"

/* If some were refused or could not be taken out since `*seen`, those that exist no more are taken out; how many. */
unsigned followed_if_short(int targets_fd, const struct counter_row *rows, uint64_t *seen);

#endif

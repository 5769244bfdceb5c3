/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording that goes on has its names at its end only. Who reads it again and again looks for each function once, in
 * files that may be large. Included by top/reading.c and tests.
 */
#ifndef ACCPERF_PROFILE_NAMES_KEPT_H
#define ACCPERF_PROFILE_NAMES_KEPT_H

#include <stdbool.h>

/* A function that this process has found for one profile is known for the next one's, by build-id and its bounds; what
 * is inlined into it, and its lines, are known for the first place in it only. Off, and each time that it is told:
 * nothing is known. Bounded. */
void profile_keep_names(bool on);

#endif

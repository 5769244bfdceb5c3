/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Phases: stretches of a recording whose samples fall on other functions than those before, by more than chance.
 * Chance is what the order of the same stretches, shuffled, shows: so samples that come in runs raise no alarm.
 * Arithmetic; no I/O. Included by this room alone.
 */
#ifndef ACCPERF_FLOW_PHASES_H
#define ACCPERF_FLOW_PHASES_H

#include <stdint.h>

#define PHASES_BINS 90 /* equal parts of the time that phases are looked for in */
#define PHASES_MOST 26 /* as many as there are letters to call them */

/* counts[row * PHASES_BINS + bin]: samples of a function. Fills phase by bin, and how many there are: at least one. Of
 * 100 recordings of a steady program 95 at least have one (u-timeline). 0 or -ENOMEM. */
int phases_find(const uint32_t *counts, uint32_t rows, uint8_t phase[PHASES_BINS], uint32_t *phases);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pages the next run of emu.h is likely to touch, by those that recent runs touched. Of one process. No I/O.
 * Included by record and tests. Sampling must not depend on where a thread is: neither does this, it is asked before
 * the sample.
 */
#ifndef ACCPERF_EMU_EMU_PAGES_H
#define ACCPERF_EMU_EMU_PAGES_H

#include "emu/emu.h"

struct emu_pages;

struct emu_pages *emu_pages_new(void);
void emu_pages_free(struct emu_pages *p);
/* Another process. */
void emu_pages_forget(struct emu_pages *p);
/* A run is over, which began with these pages: where in them pointers lie into those that it lacked is kept, too. */
void emu_pages_run(struct emu_pages *p, const struct emu *e, const struct sample_page *given, uint32_t count);
#define EMU_PAGES_LEAST 0.033 /* one that fewer runs touch is not worth remembering */

/* The likeliest first, at most `max`; none that is touched by less than this part of the runs, or EMU_PAGES_LEAST. */
uint32_t emu_pages_likely(struct emu_pages *p, double least, uint64_t *addr, uint32_t max);
/* Such pointers: an allocator's lists of what is free point to where the next object will be. */
uint32_t emu_pages_slots(struct emu_pages *p, uint64_t *addr, uint32_t max);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an event's limit (PERF_EVENT_IOC_REFRESH) counts when a BPF program takes its overflows. Newer
 * kernels ask the program first and count an overflow only where it returns 1, so that the program
 * decides when the event stops; older ones (Debian 12's 6.1) count every overflow. Found out by trying
 * once in a process. Included by the sources in kmod-free/ that let events stop themselves and tests.
 */
#ifndef ACCPERF_KMOD_FREE_REFRESH_QUIRK_H
#define ACCPERF_KMOD_FREE_REFRESH_QUIRK_H

#include <stdbool.h>
#include <stdint.h>

#define BACK_OFF_NS 1000000000ull /* before breakpoints that others have are asked for again; by hand */
#define MOST_CROWDED 4            /* windows that others on a CPU ended, and they are opened there no more */

/* For PERF_EVENT_IOC_REFRESH: what makes an event stop at the latest after `hits`, or before as its
 * program says where the kernel asks it. */
unsigned long refresh_quirk_refresh(uint64_t hits);
/* Older kernels: after a window's end its events go on to their own limits, until user space wakes. */
bool refresh_quirk_counts_all(void);

#endif

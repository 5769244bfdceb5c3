/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel takes for a page fault here: a first touch of a page of memory, which it clears. Faults that bring
 * in a page of a file from its cache take less, those that read a disk are waits. Included by offload.
 */
#ifndef ACCPERF_KMOD_FREE_FAULT_PRICE_H
#define ACCPERF_KMOD_FREE_FAULT_PRICE_H

/* ns of CPU time, on pages of our own; 0: cannot be measured. Takes some milliseconds. */
double fault_price(void);

#endif

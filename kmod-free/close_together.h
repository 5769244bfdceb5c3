/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors of links and events, each of which the kernel closes only after grace periods: all at once. Included by
 * kmod-free.
 */
#ifndef ACCPERF_KMOD_FREE_CLOSE_TOGETHER_H
#define ACCPERF_KMOD_FREE_CLOSE_TOGETHER_H

/* In threads of its own; when it returns all are closed. */
void close_together(const int *fds, unsigned cnt);

#endif

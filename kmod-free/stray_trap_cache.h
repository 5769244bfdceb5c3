/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two numbers that are kept of stray signals, and who holds the right to try. Included by stray*.c alone. */
#ifndef ACCPERF_KMOD_FREE_STRAY_TRAP_CACHE_H
#define ACCPERF_KMOD_FREE_STRAY_TRAP_CACHE_H

#include <stdint.h>

#define STRAY_CACHE "breakpoints"
/* Two files: the trial writes the first, a recording that meets a stray trap the other. */
#define STRAY_HITS "hits"
#define STRAY_SIGNALS "signals"

void stray_cache_put(const char *name, uint64_t n);

#endif

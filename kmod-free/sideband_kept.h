/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What came through rings of process life while nobody had time to read them: what followed processes did is kept, in
 * order of time, and that of all others goes. A thread of ours empties the rings meanwhile. Included by kmod-free and
 * tests.
 */
#ifndef ACCPERF_KMOD_FREE_SIDEBAND_KEPT_H
#define ACCPERF_KMOD_FREE_SIDEBAND_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample.h"

struct kept;

/* Empties all rings once: into fn. */
typedef int (*kept_empty_fn)(void *rings, sample_fn fn, void *ctx);

/* NULL: out of memory, or no thread can be had. */
struct kept *kept_begin(kept_empty_fn empty, void *rings);
/* Follows one more process, and what it forks from now on. Before any was named, all are followed. 0 or -ENOMEM. */
int kept_follow(struct kept *k, uint32_t pid);
/* The thread ends; what was kept is delivered and what it was kept in is freed. */
int kept_end(struct kept *k, sample_fn fn, void *ctx);

#endif

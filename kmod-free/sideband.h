/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Process life: exec, fork, exit and mappings of code, from one dummy event per CPU. System-wide on
 * purpose: an event per thread would miss threads born meanwhile and cost threads x CPUs descriptors;
 * the consumer of the samples drops processes it does not know. Included by record and tests.
 */
#ifndef ACCPERF_KMOD_FREE_SIDEBAND_H
#define ACCPERF_KMOD_FREE_SIDEBAND_H

#include <stdint.h>

#include "kmod-free/targets.h"
#include "sample.h"
#include "util/err.h"

struct sideband;

/* Until the first sideband_read() a thread keeps in memory what these processes and their children do, and that of
 * others goes: rings hold a tenth of a second of a busy machine, and a recording begins for a second and longer. */
struct sideband *sideband_new(const struct targets *t, struct err *e);
/* More targets, before their maps are read. 0 or -ENOMEM. */
int sideband_follow(struct sideband *s, const struct targets *t);
/* Delivers SAMPLE_MMAP, _COMM, _FORK and _EXIT. */
int sideband_read(struct sideband *s, sample_fn fn, void *ctx);
/* Each second, after a read: CPUs that came on are heard, too. */
void sideband_second(struct sideband *s);
/* How many came on so far: what began on them in the second before was not heard. */
uint64_t sideband_returned(const struct sideband *s);
/* Nothing more is written: what follows takes long, and nobody reads meanwhile. What is there can still be read. */
void sideband_stop(struct sideband *s);
uint64_t sideband_lost(const struct sideband *s);
void sideband_free(struct sideband *s);

#endif

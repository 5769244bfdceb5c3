/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Process life: exec, fork, exit and mappings of code, from one dummy event per CPU. System-wide on
 * purpose: an event per thread would miss threads born meanwhile and cost threads x CPUs descriptors;
 * the consumer of the samples drops processes it does not know. Included by cli and daemon.
 */
#ifndef ACCPERF_KMOD_FREE_SIDEBAND_H
#define ACCPERF_KMOD_FREE_SIDEBAND_H

#include <stdint.h>

#include "sample.h"
#include "util/err.h"

struct sideband;

struct sideband *sideband_new(struct err *e);
/* Delivers SAMPLE_MMAP, _COMM, _FORK and _EXIT. */
int sideband_read(struct sideband *s, sample_fn fn, void *ctx);
/* Each second, after a read: CPUs that came on are heard, too. */
void sideband_second(struct sideband *s);
/* How many came on so far: what began on them in the second before was not heard. */
uint64_t sideband_returned(const struct sideband *s);
uint64_t sideband_lost(const struct sideband *s);
void sideband_free(struct sideband *s);

#endif

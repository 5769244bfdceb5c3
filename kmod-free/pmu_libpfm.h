/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libpfm4, loaded if it is installed. A file of its own because its header declares perf's types a
 * second time. Included by pmu.c only.
 */
#ifndef ACCPERF_KMOD_FREE_PMU_LIBPFM_H
#define ACCPERF_KMOD_FREE_PMU_LIBPFM_H

#include "util/err.h"

/* attr: struct perf_event_attr *. 0; -ENOSYS: not installed; -EINVAL: it does not know the event. */
int pmu_libpfm_encode(const char *event, void *attr, struct err *e);

#endif

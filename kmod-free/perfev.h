/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_event_open with the sentence the user needs when it is refused. Included by record. Owns nothing.
 */
#ifndef ACCPERF_KMOD_FREE_PERFEV_H
#define ACCPERF_KMOD_FREE_PERFEV_H

#include <linux/perf_event.h>

#include "util/err.h"

/* fd, or -errno with a sentence. `what` names the event for it. */
int perfev_open(struct perf_event_attr *attr, int pid, int cpu, int group, unsigned long flags, const char *what,
		struct err *e);
/* Whether this process has the capability (CAP_* number) in its effective set. */
int have_capability(int cap);
/* Raises the soft limit of open files to the hard one; many threads need many events. */
void raise_file_limit(void);
#define CPUS_MOST 1024 /* of a machine; by hand */
int online_cpus(int *cpus, int max);

#endif

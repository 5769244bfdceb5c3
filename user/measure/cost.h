/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What profiling costs: our own CPU time and memory, the target's CPU time, and what one timer tick
 * takes from it, measured on ourselves at start. Included by cli and daemon.
 */
#ifndef ACCPERF_MEASURE_COST_H
#define ACCPERF_MEASURE_COST_H

#include <stdint.h>

#include "kmod-free/sampler.h"

uint64_t own_cpu_ns(void);   /* all our threads, user and system */
uint64_t own_peak_rss(void); /* bytes */
/* CPU time of a process so far, or 0 when it cannot be read. */
uint64_t process_cpu_ns(int pid);
/* Time one tick takes from the thread it hits, in ns, with our program attached: of a piece of work that ticks come
 * into as seldom as in a recording (user/measure/price.h). NaN when the machine was too noisy to tell. The sampler must
 * not be attached yet; it is left as it was. */
double measure_tick_ns(struct sampler *s);
/* then; as on a virtual machine */
#define COST_ASSUMED_TICK_NS 30000

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the kernel's own timer tick can be taken along (bpf/kernel_tick.bpf.h), and what must be known for it.
 * Included by the sampler and tests (record).
 */
#ifndef ACCPERF_KMOD_FREE_KERNEL_TICK_H
#define ACCPERF_KMOD_FREE_KERNEL_TICK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <linux/types.h>

#include "control.h"

/* Between two ticks; 0: no telling. */
uint64_t kernel_tick_ns(void);
/* False, *why: a CPU may do without ticks while it works, or the addresses are not to be had (CAP_SYSLOG). */
bool kernel_tick_find(struct kernel_tick_code *code, const char **why);
/* Of a file like /proc/kallsyms. */
bool kernel_tick_read(FILE *symbols, struct kernel_tick_code *code);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of BPF programs, read where the programs count: in memory that both map, so that reading is a few loads.
 * `rows` is the global of that name in a program's skeleton. Included by what loads programs, and by what writes their
 * counters down (record and tests).
 */
#ifndef ACCPERF_KMOD_FREE_BPF_COUNTERS_H
#define ACCPERF_KMOD_FREE_BPF_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"

struct counter_words {
	const char *text; /* NULL: not for users */
	bool loss;
};

const struct counter_words *counter_words(enum bpf_counter which);
/* Before programs are loaded: what reads counters later makes no system call, which might be under observation. */
void counters_prepare(void);
/* Sum over all CPUs, as of now. */
uint64_t counter_read(const struct counter_row *rows, enum bpf_counter which);
/* All begin at 0 again; what is counted meanwhile may be lost. */
void counters_forget(struct counter_row *rows);

#endif

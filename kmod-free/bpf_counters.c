// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/bpf_counters.h"

#include <bpf/libbpf.h>
#include <string.h>

const struct counter_words *counter_words(enum bpf_counter which)
{
#define WORDS(id, text, loss) [id] = { text, loss },
	static const struct counter_words words[HC_END + 1] = { SAMPLER_COUNTERS(WORDS) OFFLOAD_COUNTERS(
		WORDS) WATCH_COUNTERS(WORDS) SYSIO_COUNTERS(WORDS) SEGMENT_COUNTERS(WORDS) HEAP_COUNTERS(WORDS) };

	return &words[which];
}

/* Rows of CPUs that this machine cannot have stay 0: they are not worth a cache miss each. Possible CPUs are numbered
 * from 0 on; libbpf looks once. */
static int rows_used(void)
{
	int cpus = libbpf_num_possible_cpus();

	return cpus > 0 && cpus < COUNTER_ROWS ? cpus : COUNTER_ROWS;
}

void counters_prepare(void)
{
	rows_used();
}

uint64_t counter_read(const struct counter_row *rows, enum bpf_counter which)
{
	uint64_t sum = 0;

	for (int i = 0, n = rows_used(); i < n; i++)
		sum += __atomic_load_n(&rows[i].n[which], __ATOMIC_RELAXED);
	return sum;
}

void counters_forget(struct counter_row *rows)
{
	memset(rows, 0, COUNTER_ROWS * sizeof(*rows));
}

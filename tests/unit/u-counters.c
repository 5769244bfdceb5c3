// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters of BPF programs: what the reader makes of their rows, and the words of the lists. */
#include <bpf/libbpf.h>
#include <string.h>

#include "kmod-free/bpf_counters.h"
#include "unit/unit.h"

static struct counter_row rows[COUNTER_ROWS];

TEST(all_cpus_are_summed)
{
	int cpus = libbpf_num_possible_cpus(), last = (cpus < COUNTER_ROWS ? cpus : COUNTER_ROWS) - 1;

	assert_true(cpus > 0);
	rows[0].n[CTR_SENT] = 3;
	rows[last].n[CTR_SENT] += 1ull << 40;
	rows[last].n[CTR_SENT + 1] = 7; /* the next is another */
	assert_int_equal(counter_read(rows, CTR_SENT), (1ull << 40) + 3);
	assert_int_equal(counter_read(rows, CTR_TICKS), 0);
	counters_forget(rows);
	assert_int_equal(counter_read(rows, CTR_SENT), 0);
	assert_int_equal(counter_read(rows, CTR_SENT + 1), 0);
}

/* A loss without words would be counted and not told; two of one name would be one in a profile. */
TEST(losses_have_words)
{
	unsigned losses = 0;

	for (enum bpf_counter i = 0; i <= SC_END; i++) {
		const struct counter_words *w = counter_words(i);

		assert_true(!w->loss || w->text);
		losses += w->loss;
		for (enum bpf_counter k = 0; k < i && w->text; k++)
			assert_true(!counter_words(k)->text || strcmp(counter_words(k)->text, w->text) != 0);
	}
	assert_true(losses >= 10);
	/* ends of lists, which nothing counts */
	assert_null(counter_words(CTR_END)->text);
	assert_null(counter_words(SC_END)->text);
}

/* A row is a CPU's alone. */
TEST(rows_share_no_cache_line)
{
	assert_int_equal(sizeof(rows[0]) % 64, 0);
	assert_int_equal((uintptr_t)rows % 64, 0);
}

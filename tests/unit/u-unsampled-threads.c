// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/unsampled_threads.h"
#include "unit/unit.h"

static void event(struct unsampled_threads *l, enum sample_kind kind, uint32_t pid, uint32_t tid, uint32_t ppid)
{
	struct sample m = { .kind = kind, .pid = pid, .tid = tid, .ppid = ppid };

	assert_int_equal(unsampled_threads_event(l, &m), 0);
}

TEST(threads)
{
	struct unsampled_threads l = { 0 };

	assert_int_equal(unsampled_threads_target(&l, 10), 0);
	event(&l, SAMPLE_FORK, 10, 11, 10);
	event(&l, SAMPLE_FORK, 10, 12, 10);
	event(&l, SAMPLE_FORK, 20, 21, 20); /* somebody else's */
	event(&l, SAMPLE_TICK, 10, 11, 0);
	event(&l, SAMPLE_TICK, 10, 10, 0); /* was there before */
	event(&l, SAMPLE_EXIT, 10, 11, 10);
	event(&l, SAMPLE_EXIT, 20, 21, 20);
	assert_int_equal(l.born, 2);
	assert_int_equal(l.unsampled, 0);
	event(&l, SAMPLE_EXIT, 10, 12, 10);
	assert_int_equal(l.unsampled, 1);
	/* the same number again, of one that did get a sample, whose end was missed */
	event(&l, SAMPLE_FORK, 10, 11, 10);
	event(&l, SAMPLE_TICK, 10, 11, 0);
	event(&l, SAMPLE_FORK, 10, 11, 10);
	event(&l, SAMPLE_EXIT, 10, 11, 10);
	assert_int_equal(l.unsampled, 2);
	event(&l, SAMPLE_EXIT, 10, 10, 1); /* was there before: nothing is known of it */
	assert_int_equal(l.unsampled, 2);
	event(&l, SAMPLE_FORK, 10, 13, 10); /* that process has ended: another of its number */
	assert_int_equal(l.born, 4);
	unsampled_threads_release(&l);
}

TEST(children)
{
	for (int follow = 0; follow < 2; follow++) {
		struct unsampled_threads l = { .children = follow };

		assert_int_equal(unsampled_threads_target(&l, 10), 0);
		event(&l, SAMPLE_FORK, 30, 30, 10);
		event(&l, SAMPLE_FORK, 30, 31, 30); /* a thread of the child */
		event(&l, SAMPLE_EXIT, 30, 31, 30);
		event(&l, SAMPLE_EXIT, 30, 30, 10);
		assert_int_equal(l.born, follow ? 2 : 0);
		assert_int_equal(l.unsampled, follow ? 2 : 0);
		unsampled_threads_release(&l);
	}
}

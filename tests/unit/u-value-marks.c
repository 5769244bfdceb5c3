// SPDX-License-Identifier: GPL-2.0-or-later
/* Marks tell whether two values are alike, and nothing else of them. */
#include "format.h"
#include "record/value_marks.h"
#include "unit/unit.h"

#define HEAP 0x555500000000ull

static uint16_t mark(struct value_marks *v, uint64_t value, unsigned valued, uint32_t size)
{
	return value_marks_of(v, &(struct emu_access){ .value = value, .valued = (uint8_t)valued, .size = size });
}

static void begin(struct value_marks *v)
{
	static const struct emulate_env sees;

	value_marks_begin(v, &sees);
	v->range[HEAP >> 21 & (VALUE_RANGES - 1)] = (struct value_range){ HEAP, HEAP + 0x1000, FMT_MARK_MEMORY };
}

TEST(the_same_value_has_the_same_mark)
{
	struct value_marks v;
	unsigned same = 0;

	begin(&v);
	assert_int_equal(mark(&v, 77777, 4, 4), mark(&v, 77777, 4, 4));
	/* the upper half of a word of eight bytes is another granule's where four are read */
	assert_int_equal(mark(&v, 77777, 4, 4), mark(&v, 77777 | 5ull << 32, 8, 4));
	for (uint64_t i = 0; i < 1000; i++)
		same += mark(&v, 100000 + i, 4, 4) == mark(&v, 200000 + i, 4, 4);
	assert_true(same < 5);
	assert_int_equal(mark(&v, 5, 0, 4), 0);
}

TEST(kinds)
{
	struct value_marks v;

	begin(&v);
	assert_int_equal(mark(&v, 0, 8, 8), FMT_MARK_ZERO << FMT_MARK_BITS);
	assert_int_equal(mark(&v, 4095, 8, 8) >> FMT_MARK_BITS, FMT_MARK_SMALL);
	assert_int_equal(mark(&v, 4096, 8, 8) >> FMT_MARK_BITS, FMT_MARK_OTHER);
	assert_int_equal(mark(&v, HEAP + 16, 8, 8) >> FMT_MARK_BITS, FMT_MARK_MEMORY);
	assert_int_equal(mark(&v, HEAP + 16, 8, 4) >> FMT_MARK_BITS, FMT_MARK_SMALL);
	assert_int_equal(mark(&v, HEAP + 16, 4, 8) >> FMT_MARK_BITS, FMT_MARK_SMALL);
}

/* Two recorders mark the same values in other ways: nobody can tell the value from a mark. */
TEST(no_two_recordings_mark_alike)
{
	struct value_marks a, b;
	unsigned same = 0;

	begin(&a);
	begin(&b);
	assert_true(a.salt != b.salt);
	for (uint64_t i = 1; i <= 1000; i++)
		same += mark(&a, 100000 + i, 4, 4) == mark(&b, 100000 + i, 4, 4);
	assert_true(same < 5);
}

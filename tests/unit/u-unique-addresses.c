// SPDX-License-Identifier: GPL-2.0-or-later
/* Distinct addresses behind a few samples: of arrays, of blocks that lie apart, of several keys. */
#include <stdlib.h>

#include "flow/flow.h"
#include "flow/unique_addresses.h"
#include "unit/unit.h"

static uint32_t all_of_one(const void *ctx, size_t i)
{
	return 0;
}

struct one {
	const struct unique_addresses_item *items;
	struct unique_addresses_result *result;
};

static struct unique_addresses_item as_given(const void *ctx, size_t i)
{
	return ((const struct one *)ctx)->items[i];
}

static void keep_result(const void *ctx, uint32_t key, const struct unique_addresses_result *r)
{
	assert_int_equal(key, 0);
	*((const struct one *)ctx)->result = *r;
}

/* 400 items of one key. */
static struct unique_addresses_result measured(const struct unique_addresses_item *items)
{
	const struct flow_input in = { 0 };
	struct unique_addresses_result r = { 0 };
	const struct one one = { items, &r };
	const struct unique_addresses_by by = { 400, 1, all_of_one, as_given, keep_result, &one };

	assert_int_equal(unique_addresses_each(&in, &by), 0);
	return r;
}

TEST(extents_find_arrays)
{
	struct unique_addresses_item it[400];
	struct unique_addresses_result r;
	uint64_t x = 42;

	for (int stride = 4; stride <= 16; stride *= 2) {
		/* 4 bytes at every stride of an array of 1 MiB */
		for (size_t i = 0; i < 400; i++) {
			x = x * 6364136223846793005ull + 1442695040888963407ull;
			it[i] = (struct unique_addresses_item){
				.object = FLOW_NONE,
				.size = 4,
				.addr = 0x100000 + (x >> 33) % (1048576 / (unsigned)stride) * (unsigned)stride
			};
		}
		r = measured(it);
		assert_true(r.bytes > 0.9 * 1048576 * 4 / stride && r.bytes < 1.1 * 1048576 * 4 / stride);
		assert_false(r.bound);
	}
	/* small blocks far apart, each met again and again: not the memory between them */
	for (size_t i = 0; i < 400; i++)
		it[i] = (struct unique_addresses_item){ .object = FLOW_NONE,
							.size = 8,
							.addr = 0x100000 + i % 40 * 10003 };
	r = measured(it);
	assert_true(r.bytes >= 320 && r.bytes < 640);
	/* one word somewhere in each of 1,500 blocks that lie close together, again and again: pairs tell how few
	 * places there are. The seed is fixed; of 400 draws some 53 pairs meet, so the error is less than a fifth. */
	for (size_t i = 0; i < 400; i++) {
		uint64_t block;

		x = x * 6364136223846793005ull + 1442695040888963407ull;
		block = (x >> 33) % 1500;
		it[i] = (struct unique_addresses_item){ .object = FLOW_NONE,
							.size = 8,
							.bytes = 8000,
							.addr = 0x100000 + block * 112 + block * 7 % 11 * 8 };
	}
	r = measured(it);
	assert_true(r.bytes > 1500 * 8 / 2 && r.bytes < 1500 * 8 * 2);
	/* as many samples of as many places, each standing for one access: nothing is touched less than once */
	for (size_t i = 0; i < 400; i++)
		it[i] = (struct unique_addresses_item){
			.object = FLOW_NONE, .size = 8, .bytes = 80, .addr = 0x100000 + i * 1008 + i * 7 % 11 * 8
		};
	r = measured(it);
	assert_true(r.bytes == 32000);
	/* blocks that lie apart further than anything usual: a lower bound */
	for (size_t i = 0; i < 400; i++)
		it[i] = (struct unique_addresses_item){ .object = FLOW_NONE,
							.size = 8,
							.addr = 0x100000 + i / 2 * 4000037 + i % 2 * 16 };
	r = measured(it);
	assert_true(r.bound && r.bytes >= 3200);
}

/* Items of two keys in turn, and some of none: each key's are measured alone, in the order of keys. */
static uint32_t two_in_turn(const void *ctx, size_t i)
{
	return i % 3 == 2 ? FLOW_NONE : (uint32_t)(i % 3) * 2 + 1;
}

static struct unique_addresses_item word_of(const void *ctx, size_t i)
{
	return (struct unique_addresses_item){ .addr = 0x1000 + i / 3 * 8, .object = FLOW_NONE, .size = i % 3 ? 4 : 8 };
}

static void note_seen(const void *ctx, uint32_t key, const struct unique_addresses_result *r)
{
	double *const *seen = ctx;

	assert_true(key < 5);
	(*seen)[key] = r->seen;
}

TEST(keys_are_measured_apart)
{
	struct flow_input in = { 0 };
	double seen[5] = { 0 }, *at = seen;
	struct unique_addresses_by by = {
		.count = 300, .keys = 5, .key = two_in_turn, .item = word_of, .take = note_seen, .ctx = &at
	};

	assert_int_equal(unique_addresses_each(&in, &by), 0);
	assert_true(seen[1] == 800 && seen[3] == 400);
	assert_true(seen[0] == 0 && seen[2] == 0 && seen[4] == 0);
	by.keys = 0;
	assert_int_equal(unique_addresses_each(&in, &by), 0);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* util/map.h against a list that is looked through: any keys, those that the table keeps apart among them. */
#include <stdlib.h>

#include "unit/unit.h"
#include "unit/xorshift.h"
#include "util/map.h"

#define KEYS 600
#define TURNS 40000

struct known {
	uint64_t key, value;
	bool there;
};

static void same_as_list(const struct map *m, const struct known *k)
{
	size_t pos = 0, met = 0, there = 0;
	uint64_t key, *value;

	for (size_t i = 0; i < KEYS; i++) {
		const uint64_t *v = map_get(m, k[i].key);

		there += k[i].there;
		assert_int_equal(v != NULL, k[i].there);
		assert_true(!v || *v == k[i].value);
	}
	while (map_next(m, &pos, &key, &value)) {
		size_t i = 0;

		while (i < KEYS && k[i].key != key)
			i++;
		assert_true(i < KEYS && k[i].there && k[i].value == *value);
		met++;
	}
	assert_int_equal(met, there);
	assert_int_equal(m->used, there);
}

TEST(any_order)
{
	static struct known k[KEYS];
	struct map m = { 0 };
	uint64_t seed = 7;

	/* neighbours of zero, of all bits and of what keys are turned by: whatever the table holds for free or dead */
	for (size_t i = 0; i < KEYS; i++)
		k[i].key = i < 16         ? i
			   : i < 32       ? UINT64_MAX - (i - 16)
			   : i < 48       ? 0x5bd1e9955bd1e995ull ^ (i - 32)
			   : i < KEYS / 2 ? i << 12
					  : xorshift(&seed) | 1ull << 62;
	for (size_t turn = 0; turn < TURNS; turn++) {
		struct known *one = &k[xorshift(&seed) % KEYS];
		bool added, add = xorshift(&seed) % 5 < 3;

		if (add) {
			uint64_t *v = map_put(&m, one->key, &added);

			assert_non_null(v);
			assert_int_equal(added, !one->there);
			assert_true(*v == (one->there ? one->value : 0));
			one->there = true;
			*v = one->value = xorshift(&seed);
		} else {
			assert_int_equal(map_del(&m, one->key), one->there);
			one->there = false;
		}
		if (turn % 500 == 0)
			same_as_list(&m, k);
	}
	same_as_list(&m, k);
	map_release(&m);
	assert_null(map_get(&m, k[0].key));
}

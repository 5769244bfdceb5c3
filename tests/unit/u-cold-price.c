// SPDX-License-Identifier: GPL-2.0-or-later
/* What memory takes here that a hit of a probe displaced (kmod-free/cold_price.c). */

#include "kmod-free/cold_price.h"
#include "unit/unit.h"

/* Any memory behind caches answers between a cycle and some microseconds; a line that is waited for takes longer than
 * its bytes do where they are fetched ahead. */
TEST(test_price)
{
	struct cold_price c = cold_price();

	for (int i = 0; i < 5 && !(c.line_ns > 0 && c.byte_ns > 0); i++) /* others may have had the caches meanwhile */
		c = cold_price();
	assert_true(c.line_ns > 0 && c.line_ns < 20000);
	assert_true(c.byte_ns > 0 && 64 * c.byte_ns < 20000);
	assert_true(c.line_ns > 4 * c.byte_ns);
	/* behind the second cache, where nothing fetches ahead, a byte takes more */
	for (int i = 0; i < 5 && !(c.far_byte_ns > c.byte_ns); i++)
		c = cold_price();
	assert_true(c.far_byte_ns > c.byte_ns && 64 * c.far_byte_ns < 20000);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What calibration hands to an accelerator: sizes and places as a service's calls have them. */
#include <stdlib.h>
#include <string.h>

#include "offload/calib.h"
#include "unit/unit.h"

#define MOST 200000

/* Calls of an accelerator that does nothing. */
static struct {
	/* next_to: begins where the last one ended, or nearly; across: within a line of the cache; unlike: as
	 * malloc() never does */
	size_t calls, bytes, odd, least, largest, next_to, across, unlike;
	const uint8_t *end;
} met;

static int nothing_to_open(struct calib_session *s, struct err *e)
{
	return 0;
}

static int note_call(struct calib_session *s, enum run_kind k, const uint8_t *in, size_t g)
{
	met.calls++;
	met.bytes += g;
	met.odd += g % 16 != 0;
	met.least = g < met.least || !met.least ? g : met.least;
	met.largest = g > met.largest ? g : met.largest;
	met.next_to += met.end && in >= met.end && in < met.end + 128;
	met.end = in + g;
	met.across += (uintptr_t)in % 64 != 0;
	met.unlike += (uintptr_t)in % 16 != 0;
	assert_true(in >= s->pool && in + g <= s->pool + s->pool_size);
	return met.calls > MOST ? -1 : 0;
}

static void measure(bool any_size, size_t g)
{
	const struct calib_family family = { .open = nothing_to_open, .call = note_call, .any_size = any_size };
	const struct calib_case c = { .family = &family, .runs = 1u << RUN_HOST };
	struct calib_opts opts = { .min = g, .max = g, .calls = 2, .seconds = 1 };
	struct points pts = { 0 };
	struct calib_session s;
	struct err e = { 0 };

	memset(&met, 0, sizeof(met));
	assert_int_equal(calib_measure_runs(&c, &opts, opts.calls ? c.runs : 0, &pts, &s, &e), 0);
	points_release(&pts);
}

TEST(any_size)
{
	measure(true, 4096);
	assert_true(met.calls > 100);
	assert_true(met.least >= 4096 - 512 && met.least < 4096 - 400);
	assert_true(met.largest <= 4096 + 512 && met.largest > 4096 + 400);
	assert_true(met.odd > met.calls / 2);
	assert_true(met.bytes / met.calls >= 4095 && met.bytes / met.calls <= 4097);
	assert_true(met.next_to < met.calls / 20);
	assert_true(met.across > met.calls / 2 && met.across < met.calls);
	assert_int_equal(met.unlike, 0);
}

TEST(one_size)
{
	measure(false, 4096);
	assert_true(met.least == 4096 && met.largest == 4096);
	assert_true(met.next_to < met.calls / 20);
	measure(true, 3u << 20); /* larger than where inputs lie else */
	assert_true(met.largest > 3u << 20);
}

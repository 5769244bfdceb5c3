// SPDX-License-Identifier: GPL-2.0-or-later
/* Ticks of the kernel beside those of timers: alike where nothing is in step, given up where something is. */
#include <stdlib.h>

#include "record/tick_agreement.h"
#include "unit/unit.h"

#define MORE 3.0

static double draw(uint64_t *chance)
{
	*chance = *chance * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(*chance >> 11) / 9007199254740992.0;
}

static void seen(struct tick_agreement *a, uint64_t ip, uint32_t flags)
{
	struct sample m = { .kind = SAMPLE_TICK, .ip = ip, .flags = flags };

	tick_agreement_seen(a, &m, MORE);
}

/* A hundred functions, of which the first have most of the time; a tenth of it is the kernel's. */
static void tick(struct tick_agreement *a, uint64_t *chance, bool kernel_tick)
{
	double x = draw(chance);

	uint64_t ip = 0x400000 + ((uint64_t)(x * x * 100) << 9);
	bool in_kernel = draw(chance) < .1;

	seen(a, ip, (in_kernel ? SF_KERNEL : 0) | (kernel_tick ? SF_KERNEL_TICK : 0));
}

/* Looked at each second, for half an hour, many times over. */
TEST(chance_alone_is_no_reason)
{
	uint64_t chance = 1;

	for (unsigned run = 0; run < 200; run++) {
		struct tick_agreement a = { 0 };

		for (unsigned second = 0; second < 300; second++) {
			for (unsigned i = 0; i < 40; i++)
				tick(&a, &chance, draw(&chance) < MORE / (MORE + 1));
			assert_true(tick_agreement_holds(&a));
		}
	}
}

/* As soon as there are enough. */
TEST(never_met)
{
	struct tick_agreement a = { 0 };
	uint64_t chance = 2;
	unsigned seen = 0;

	while (tick_agreement_holds(&a) && seen < 1000) {
		tick(&a, &chance, false);
		seen++;
	}
	assert_in_range(seen, 50, 200);
}

TEST(met_too_often)
{
	struct tick_agreement a = { 0 };
	uint64_t chance = 3;

	for (unsigned i = 0; i < 4000; i++)
		tick(&a, &chance, i % 11);
	assert_false(tick_agreement_holds(&a));
	/* as many as that may be expected */
	a.expected *= 10 / MORE;
	assert_true(tick_agreement_holds(&a));
}

/* As often as expected, but a third of them at one place. */
TEST(met_at_one_place)
{
	struct tick_agreement a = { 0 };
	uint64_t chance = 4;

	for (unsigned i = 0; i < 4000; i++) {
		bool kernel_tick = draw(&chance) < MORE / (MORE + 1);

		if (kernel_tick && draw(&chance) < .33)
			seen(&a, 0x400000, SF_KERNEL_TICK);
		else
			tick(&a, &chance, kernel_tick);
	}
	assert_false(tick_agreement_holds(&a));
}

/* For days: the kernel's meet one place by a fiftieth more often, which no figure would show. */
TEST(a_little_off_for_long)
{
	struct tick_agreement a = { 0 };
	uint64_t chance = 5;

	for (unsigned i = 0; i < 2000000; i++) {
		bool kernel_tick = draw(&chance) < MORE / (MORE + 1);

		if (kernel_tick && draw(&chance) < .02)
			seen(&a, 0x400000, SF_KERNEL_TICK);
		else
			tick(&a, &chance, kernel_tick);
		if (!(i % 1000))
			assert_true(tick_agreement_holds(&a));
	}
}

TEST(too_few_tell_nothing)
{
	struct tick_agreement a = { 0 };

	assert_true(tick_agreement_holds(&a));
	for (unsigned i = 0; i < 50; i++)
		seen(&a, 0x400000, 0);
	assert_true(tick_agreement_holds(&a));
}

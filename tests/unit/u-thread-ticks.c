// SPDX-License-Identifier: GPL-2.0-or-later
/* What samples stand for by their thread's clock: ordinary threads as before, threads in step by timers alone. */
#include <math.h>
#include <stdlib.h>

#include "record/thread_ticks.h"
#include "unit/unit.h"

#define US 1000ull
#define MS (1000 * US)
#define KERNEL (4 * MS)
#define TIMER 20300000ull /* in step with nothing */
#define BOTH (1 / (1.0 / KERNEL + 1.0 / TIMER))

struct world {
	struct thread_ticks t;
	uint64_t now, ran, next_kernel, next_timer, random;
	double told;
	unsigned samples, in_step;
};

static double draw(struct world *w)
{
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	return ((double)(w->random >> 11) + .5) / 9007199254740992.0;
}

static void seen(struct world *w, uint64_t at, bool running, bool kernel)
{
	struct sample m = { .kind = SAMPLE_TICK,
			    .tid = 1,
			    .valid = SV_RAN,
			    .flags = kernel ? SF_KERNEL_TICK : 0,
			    .period = (uint64_t)BOTH };
	bool in_step;
	uint64_t worth;

	if (!running)
		return;
	m.ran = w->ran + (at - w->now) + 1000 * MS;
	worth = thread_ticks_seen(&w->t, &m, TIMER, &in_step);
	w->in_step += in_step;
	w->samples += worth > 0;
	w->told += (double)worth;
}

/* The thread runs for so long, or waits. */
static void pass(struct world *w, uint64_t ns, bool running)
{
	uint64_t until = w->now + ns;

	while (w->next_kernel < until || w->next_timer < until)
		if (w->next_kernel < w->next_timer) {
			seen(w, w->next_kernel, running, true);
			w->next_kernel += KERNEL;
		} else {
			seen(w, w->next_timer, running, false);
			w->next_timer += TIMER;
		}
	w->ran += running ? ns : 0;
	w->now = until;
}

/* A CPU whose ticks have come for a while. */
static struct world begun(uint64_t seed)
{
	struct world w = { .t.kernel_ns = KERNEL, .random = seed * 0x9e3779b97f4a7c15ull + 1 };

	draw(&w);
	w.next_kernel = (uint64_t)(draw(&w) * KERNEL);
	w.next_timer = (uint64_t)(draw(&w) * TIMER);
	return w;
}

static void by_chance(struct world *w, uint64_t until, double on, double off)
{
	while (w->now < until) {
		pass(w, (uint64_t)(-log(draw(w)) * on), true);
		if (off > 0)
			pass(w, (uint64_t)(-log(draw(w)) * off), false);
	}
}

/* Of all there is, as much is told as there was, and of each for a sample or three less or more. */
TEST(ordinary_threads_keep_their_samples)
{
	static const struct {
		double on, off;
	} kinds[] = { { 100e3, 9.9e6 }, { 300e3, 3e6 }, { 2e6, 8e6 }, { 5e6, 5e6 }, { 50e6, 10e6 }, { 1e9, 0 } };

	for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		double told = 0, ran = 0, samples = 0, refused = 0;

		for (unsigned i = 0; i < 300; i++) {
			struct world w = begun(i * 7 + k);

			by_chance(&w, 10000 * MS, kinds[k].on, kinds[k].off);
			assert_int_equal(w.in_step, 0);
			told += w.told;
			ran += (double)w.ran;
			samples += w.samples;
			refused += (double)w.t.refused;
			thread_ticks_release(&w.t);
		}
		print_message("on %.1f ms off %.1f: told %.4f refused %.4f\n", kinds[k].on / 1e6, kinds[k].off / 1e6,
			      told / ran, refused / samples);
		assert_true(fabs(told / ran - 1) < .03);
		assert_true(refused < .01 * samples);
	}
}

/* Their first and last samples are most of what there is: none of them is weighed by what is not known. */
TEST(short_threads_are_told_in_full)
{
	double told = 0, ran = 0;

	for (unsigned i = 0; i < 20000; i++) {
		struct world w = begun(i);

		pass(&w, (uint64_t)(draw(&w) * 60e6), true);
		told += w.told;
		ran += (double)w.ran;
		thread_ticks_release(&w.t);
	}
	print_message("short: %.4f\n", told / ran);
	assert_true(fabs(told / ran - 1) < .02);
}

/* A tenth of a millisecond around each beat. */
static struct world in_step(uint64_t beat, uint64_t phase, unsigned seed)
{
	struct world w = begun(seed);

	w.next_kernel = 50 * US + phase;
	for (unsigned i = 0; w.now < 10000 * MS; i++) {
		pass(&w, 100 * US, true);
		pass(&w, beat - 100 * US, false);
	}
	return w;
}

TEST(threads_in_step_have_timers_alone)
{
	static const uint64_t beats[] = { 4 * MS, 10 * MS, 20 * MS };

	for (unsigned k = 0; k < 3; k++)
		for (unsigned i = 0; i < 50; i++) {
			struct world w = in_step(beats[k], 0, i);

			assert_int_equal(w.t.threads, 1);
			assert_true(w.told < (double)w.ran + 20e6);
			assert_true(w.samples < 25);
			thread_ticks_release(&w.t);
		}
}

/* Timers, as far as they meet it, have the time that the kernel's ticks do not see. */
TEST(threads_never_met_are_not_told_less)
{
	double told = 0, ran = 0;

	for (unsigned i = 0; i < 50; i++) {
		struct world w = in_step(4 * MS, 1 * MS, i);

		told += w.told;
		ran += (double)w.ran;
		thread_ticks_release(&w.t);
	}
	print_message("never: %.4f\n", told / ran);
	assert_true(told > .8 * ran && told < 1.02 * ran);
}

/* They come again to one that works. */
TEST(a_thread_in_step_no_more_has_them_again)
{
	struct world w = in_step(4 * MS, 0, 1);
	unsigned before = w.samples;
	double told = w.told, ran = (double)w.ran;

	assert_int_equal(w.t.threads, 1);
	pass(&w, 20000 * MS, true);
	assert_in_range(w.samples - before, 2000, 6000);
	assert_true(fabs((w.told - told) / ((double)w.ran - ran) - 1) < .05);
	thread_ticks_release(&w.t);
}

/* Where both are lost alike, the CPU was not the thread's. */
TEST(a_machine_that_loses_ticks_is_not_in_step)
{
	struct world w = begun(3);

	for (unsigned i = 0; i < 2000; i++) {
		pass(&w, 5 * MS, true);
		w.ran += 5 * MS; /* by its clock only */
	}
	assert_int_equal(w.t.threads, 0);
	thread_ticks_release(&w.t);
}

TEST(another_thread_of_that_number_begins_afresh)
{
	struct world w = begun(4);

	pass(&w, 1000 * MS, true);
	w.ran = 0;
	w.told = 0;
	pass(&w, 1000 * MS, true);
	assert_true(fabs(w.told / 1e9 - 1) < .02);
	thread_ticks_exit(&w.t, 1);
	thread_ticks_exit(&w.t, 1);
	assert_int_equal(w.t.of.used, 0);
	thread_ticks_release(&w.t);
}

TEST(without_a_clock_all_is_as_it_comes)
{
	struct thread_ticks t = { .kernel_ns = KERNEL };
	struct sample m = { .kind = SAMPLE_TICK, .tid = 1, .flags = SF_KERNEL_TICK, .period = 7 };
	bool in_step;

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(thread_ticks_seen(&t, &m, TIMER, &in_step), 7);
	assert_false(in_step);
	thread_ticks_release(&t);
}

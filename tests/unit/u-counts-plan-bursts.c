// SPDX-License-Identifier: GPL-2.0-or-later
/* What the planner of execution counts makes of bursts and segments. */
#include "unit/planned_world.h"

static bool runtime_place(void *ctx, uint64_t runtime, struct module **m, uint64_t *at)
{
	const struct world *w = ctx;

	*m = w->self;
	*at = vaddr(w, (const char *)(uintptr_t)runtime);
	return runtime >= (uintptr_t)walk && runtime < (uintptr_t)again_site + 16;
}

static struct emu_count met(uint64_t ip, uint64_t runs)
{
	return (struct emu_count){ .ip = ip, .runs = runs };
}

/* `calls` of walk, each going round `turns` times, one in four of these is a rare one; and half as many of something
 * else. */
static void burst(const struct world *w, uint64_t time, uint64_t calls, uint64_t turns, bool cut)
{
	const struct emu_cut where = { .ip = (uintptr_t)walk_rare, .times = 1 };
	const struct emu_count ran[] = {
		met((uintptr_t)caller, 2 * calls),
		met((uintptr_t)walk, calls),
		met((uintptr_t)walk_loop, calls * turns),
		met((uintptr_t)walk_loop + 3, calls * turns),
		met((uintptr_t)walk_rare, calls * turns / 4),
		met(16, 1000),
	};
	const struct emu_call call[] = { { (uintptr_t)caller_site, (uintptr_t)walk, calls },
					 { 99, (uintptr_t)walk, 1 },
					 { 5, 16, 3 } };
	struct plan_burst b = { .time = time,
				.ended = time + 1,
				.ip = (uintptr_t)walk_loop,
				.pid = 1,
				.tid = 1,
				.count = ran,
				.counts = 6,
				.call = call,
				.calls = 3,
				.cut = &where,
				.cuts = cut,
				.result = { .insns = 20000, .end_ip = (uintptr_t)walk_rare } };

	assert_int_equal(plan_replayed(w->plan, &b, runtime_place, (void *)w), 0);
}

/* The part of the caller in such a burst: 2 of its own, and what burst() lists. */
static double part_of_caller(double calls, double turns)
{
	return 2 * calls / (2 * calls + calls + 2.25 * calls * turns + 1000);
}

/* Two stretches: sums of what functions ran in each, weighted, and of their products. */
TEST_WITH(segments_add_up, begin, end)
{
	struct world *w = *state;
	const struct emu_count once[] = { met((uintptr_t)caller, 2), met((uintptr_t)walk, 3), met(16, 5) };
	/* into the beginning of one, and into the middle, which is no call of it */
	const struct emu_call call[] = { { .target = (uintptr_t)caller, .runs = 3 },
					 { .target = (uintptr_t)walk + 1, .runs = 7 } };
	const struct plan_carried first = { 1, once, call, 3, 2 }, second = { 1, once, NULL, 2, 0 },
				  third = { 2, once, call, 1, 1 };
	struct counts_record r;
	double all = 0, square = 0;
	struct err e;

	plan_segment(w->plan, &first, runtime_place, w);
	plan_segment(w->plan, &second, runtime_place, w);
	plan_stretch(w->plan, 10);
	plan_segment(w->plan, &third, runtime_place, w);
	plan_stretch(w->plan, 50);
	plan_stretch(w->plan, 7);
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(r.dropped, 0);
	assert_int_equal(r.drawns, 3);
	for (size_t i = 0; i < r.drawns; i++) {
		const struct fmt_counts_drawn *d = &r.drawn[i];
		bool of_caller = d->function != UINT32_MAX && r.func[d->function].start == vaddr(w, caller);

		all += d->instructions;
		square += d->with_all;
		/* 150 in the first, of which 40 in caller; 200 in the second, all of them */
		assert_true(d->function != UINT32_MAX || (d->instructions == 50 && d->square == 2500));
		assert_true(!of_caller || (d->instructions == 240 && d->square == 41600 && d->with_all == 46000));
		assert_int_equal(d->stretches, of_caller ? 2 : 1);
		/* 30 calls in the first, 300 in the second */
		assert_true(d->calls == (of_caller ? 330 : 0) && d->called == (of_caller ? 2 : 0));
		assert_true(d->calls_square == (of_caller ? 90900 : 0));
		assert_true(d->calls_with_all == (of_caller ? 30 * 150 + 300 * 200 : 0));
	}
	assert_true(all == 350 && square == 150.0 * 150 + 200.0 * 200);
	counts_record_release(&r);
}

/* Bursts and stretches of segments are pieces alike; who repeated nothing has no record. */
TEST_WITH(repeats_add_up, begin, end)
{
	struct world *w = *state;
	struct emu_count in_burst[] = { met((uintptr_t)caller, 2), met((uintptr_t)walk, 30) };
	struct emu_count in_segment[] = { met((uintptr_t)walk, 5), met((uintptr_t)walk, 5) };
	struct plan_burst b = { .time = 2, .ip = (uintptr_t)walk, .count = in_burst, .counts = 2 };
	struct counts_record r;
	struct counts_repeats of;
	struct err e;

	in_burst[1].repeats = 90;
	in_segment[0].repeats = 20;
	in_burst[1].took = 36 * EMU_CYCLE;
	in_segment[0].took = 4 * EMU_CYCLE;
	in_burst[1].loads = in_burst[1].stores = in_segment[0].loads = in_segment[0].stores = 1;
	in_burst[1].bytes = in_segment[0].bytes = 8;
	assert_int_equal(plan_replayed(w->plan, &b, runtime_place, w), 0);
	plan_segment(w->plan, &(struct plan_carried){ .stands_for = 1000, .count = in_segment, .counts = 2 },
		     runtime_place, w);
	plan_segment(w->plan, &(struct plan_carried){ .stands_for = 1000, .count = in_segment + 1, .counts = 1 },
		     runtime_place, w);
	plan_stretch(w->plan, 10);
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(r.dropped, 0);
	assert_int_equal(r.repeated, 1);
	assert_int_equal(r.func[r.repeats[0].function].start, vaddr(w, walk));
	assert_int_equal(r.repeats[0].seen, 2);
	/* the model's cycles are those of both, too */
	assert_true(r.func[r.repeats[0].function].timed == 45 && r.func[r.repeats[0].function].cycles == 40);
	assert_true(r.repeats[0].instructions2 == 30 * 30 + 15 * 15 && r.repeats[0].both == 30 * 90 + 15 * 20 &&
		    r.repeats[0].repeats2 == 90 * 90 + 20 * 20);
	of = counts_repeats_of(&r.repeats[0]);
	assert_true(fabs(of.times - (1 + 110.0 / 45)) < 1e-9);
	assert_true(fabs(of.loads - 110.0 / 45) < 1e-9 && fabs(of.store_bytes - 880.0 / 45) < 1e-9);
	/* pieces of 30 and 15 that are off by 16.7 either way, twice as there are but two, over 45 and what it is */
	assert_true(fabs(of.log_var - 4 * (50.0 / 3) * (50.0 / 3) / 45 / 45 / of.times / of.times) < 1e-9);
	counts_record_release(&r);
}

static struct counts_ratio said(const struct world *w, const struct counts_record *r, const struct counts_built *b,
				const char *from, const char *to, uint32_t kind)
{
	for (size_t i = 0; i < b->tree.links; i++)
		if (r->node[b->tree.link[i].parent].addr == vaddr(w, from) &&
		    r->node[b->tree.link[i].child].addr == vaddr(w, to) && r->node[b->tree.link[i].child].kind == kind)
			return b->tree.link[i].ratio;
	return counts_ratio_unknown();
}

/* Carried out by the recorder itself: ratios of all that it passed, without one breakpoint, and a small file. */
TEST_WITH(bursts_tell_ratios, begin, end)
{
	struct world *w = *state;
	struct counts_ratio ratio;
	struct counts_record r;
	struct counts_built b;
	struct err e;
	unsigned known = 0, unknown = 0, seen = 0;
	double parts = 0;
	struct plan_job job;

	burst(w, 1, 5, 40, false); /* nothing is known of the code yet */
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_REPLAY], 0);
	spend_time(w, walk_loop, 100);
	spend_time(w, count_loop, 100);
	second(w);
	for (uint64_t i = 0; i < 3000; i++)
		burst(w, 2 + i, i % 3 ? 4 : 7, i % 3 ? 40 : 60, false);
	/* hits are for what bursts do not tell */
	plan_plenty(w->plan, false);
	for (int i = 0; i < 500; i++) {
		unknown += choose(w, count_loop, 4, false, &job);
		known += choose(w, walk_loop, 4, false, &job);
	}
	print_message("windows where bursts told all %u, where they did not come by %u\n", known, unknown);
	assert_true(unknown > 0 && known < unknown / 4);
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(r.dropped, 0);
	assert_int_equal(r.bursts, 3001);
	/* all began in the one and had a part of the other; each is parted whole */
	for (size_t i = 0; i < r.wents; i++) {
		assert_true(r.func[r.went[i].from].start == vaddr(w, walk));
		parts += r.went[i].part;
		if (r.went[i].function == UINT32_MAX)
			continue;
		seen |= r.func[r.went[i].function].start == vaddr(w, walk) ? 1 : 2;
		if (r.func[r.went[i].function].start == vaddr(w, caller))
			assert_true(fabs(r.went[i].part - part_of_caller(5, 40) - 2000 * part_of_caller(4, 40) -
					 1000 * part_of_caller(7, 60)) < 0.01);
	}
	assert_int_equal(seen, 3);
	assert_true(fabs(parts - 3001) < 0.01);
	/* of many bursts of one link several are one window */
	assert_in_range(r.windows, 3 * 40, 3 * 150);
	assert_int_equal(counts_record_tree(&r, &b, &e), 0);
	ratio = said(w, &r, &b, walk, walk_loop, FMT_CN_LOOP);
	assert_int_equal(ratio.how, COUNTS_REPLAY);
	/* all turns of all calls, never a mean of means: (2 * 160 + 420) / 15 */
	assert_true(fabs(ratio.ratio - 740.0 / 15) < 0.01 && ratio.low > 30 && ratio.high < 80);
	ratio = said(w, &r, &b, walk_loop, walk_rare, FMT_CN_BLOCK);
	assert_int_equal(ratio.how, COUNTS_REPLAY);
	assert_true(fabs(ratio.ratio - 0.25) < 0.001);
	/* each second call through the pointer enters it */
	ratio = said(w, &r, &b, caller, walk, FMT_CN_ENTRY);
	assert_int_equal(ratio.how, COUNTS_REPLAY);
	assert_true(fabs(ratio.ratio - 0.5) < 0.001);
	counts_built_release(&b);
	counts_record_release(&r);
}

/* What hangs on a place that never runs is measured by one that does. */
TEST_WITH(knots_hang_on_what_runs, begin, end)
{
	struct world *w = *state;
	const struct emu_count ran[] = { met((uintptr_t)knot, 10), met((uintptr_t)knot_busy, 400),
					 met((uintptr_t)knot_on, 390) };
	struct plan_burst b = { .ended = 1,
				.ip = (uintptr_t)knot_busy,
				.pid = 1,
				.tid = 1,
				.count = ran,
				.counts = 3,
				.result = { .insns = 20000, .end_ip = (uintptr_t)knot_on } };
	struct counts_ratio ratio;
	struct counts_record r;
	struct counts_built built;
	struct err e;

	spend_time(w, knot_busy, 100);
	second(w);
	for (b.time = 1; b.time < 100; b.time++)
		assert_int_equal(plan_replayed(w->plan, &b, runtime_place, w), 0);
	assert_int_equal(plan_stats(w->plan)->hung_anew, 1);
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(r.dropped, 0);
	assert_int_equal(counts_record_tree(&r, &built, &e), 0);
	ratio = said(w, &r, &built, knot, knot_busy, FMT_CN_LOOP);
	assert_int_equal(ratio.how, COUNTS_REPLAY);
	assert_true(fabs(ratio.ratio - 40) < 0.01);
	/* and what hung on it hangs on it still: no link of before is left */
	ratio = said(w, &r, &built, knot_first, knot_busy, FMT_CN_LOOP);
	assert_int_equal(ratio.how, COUNTS_UNKNOWN);
	ratio = said(w, &r, &built, knot_busy, knot_first, FMT_CN_BLOCK);
	assert_int_equal(ratio.how, COUNTS_REPLAY);
	assert_true(ratio.ratio < 0.01);
	counts_built_release(&built);
	counts_record_release(&r);
}

/* One in five calls was seen to begin, and not how it went on. */
TEST_WITH(what_was_cut_is_doubted, begin, end)
{
	struct world *w = *state;
	struct counts_ratio entered, turned;
	struct counts_record r;
	struct counts_built b;
	struct err e;

	spend_time(w, walk_loop, 100);
	second(w);
	for (uint64_t i = 0; i < 300; i++)
		burst(w, 1 + i, 5, 40, true);
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(counts_record_tree(&r, &b, &e), 0);
	entered = said(w, &r, &b, walk, walk_loop, FMT_CN_LOOP);
	turned = said(w, &r, &b, walk_loop, walk_rare, FMT_CN_BLOCK);
	assert_true(entered.how == COUNTS_REPLAY && turned.how == COUNTS_REPLAY);
	/* what is lost of one call is one turn of a loop that turns 40 times */
	assert_true(entered.high / entered.ratio > 1.4 && turned.high / turned.ratio < 1.1);
	counts_built_release(&b);
	counts_record_release(&r);
}

/* Entries by bursts are fractions where there are many; a window whose hits all come from the function itself has
 * none from outside, exactly. */
TEST_WITH(what_calls_itself, begin, end)
{
	struct world *w = *state;
	const struct emu_call call[] = { { (uintptr_t)caller_site, (uintptr_t)again, 7 },
					 { (uintptr_t)again_site, (uintptr_t)again, 300 } };
	const struct emu_count ran[] = { met((uintptr_t)again, 307), met((uintptr_t)caller, 7) };
	struct plan_burst b = { .ended = 1,
				.ip = (uintptr_t)again,
				.pid = 1,
				.tid = 1,
				.count = ran,
				.counts = 2,
				.call = call,
				.calls = 2,
				.result = { .insns = 3000, .end_ip = (uintptr_t)again } };
	struct execwin_hit hit[16];
	struct exec_window win = { .req = { .pid = 1, .tid = 1 },
				   .armed = 1000,
				   .ended = 1000000,
				   .cpu_ns = 999000,
				   .end = EXEC_HITS,
				   .hit = hit,
				   .count = 16 };
	struct counts_record r;
	struct plan_job job;
	uint32_t k = 4;
	struct err e;

	spend_time(w, again, 50);
	spend_time(w, caller_site, 50);
	second(w);
	/* however many a burst sees, they are from one place and count as eight, of all its calls together */
	for (unsigned i = 1; i < 4; i++) {
		assert_int_equal(plan_replayed(w->plan, &b, runtime_place, w), 0);
		assert_float_equal(w->plan->func[plan_func_at(w->plan, w->self, vaddr(w, again))].entries, 8 * i, 1e-9);
	}
	for (unsigned i = 0; i < TRIES && k == 4; i++) {
		plan_plenty(w->plan, true);
		if (!choose(w, again, 4, true, &job) || job.how == FMT_CL_TRIPS)
			continue;
		for (k = 0;
		     k < job.slots && (job.slot[k].entry_of == PLAN_NONE || job.slot[k].vaddr != vaddr(w, again));)
			k++;
		k = k < job.slots ? k : 4;
	}
	assert_true(k < 4);
	win.req.slots = job.slots;
	for (uint32_t n = 0; n < win.count; n++)
		hit[n] = (struct execwin_hit){
			.time = 1000 + 20000 * n, .cpu_ns = 20000 * n, .slot = k, .on_stack = (uintptr_t)again_site
		};
	win.hits[k] = win.traps = win.count;
	for (b.time = 2; b.time < 30; b.time++) {
		assert_int_equal(plan_replayed(w->plan, &b, runtime_place, w), 0);
		assert_int_equal(plan_result(w->plan, &job, &win, runtime_place, NULL, w), 0);
	}
	assert_int_equal(plan_write(w->plan), 0);
	assert_int_equal(store_close(w->store, &e), 0);
	w->store = NULL;
	assert_int_equal(counts_record_load(&r, w->path, &e), 0);
	assert_int_equal(r.dropped, 0);
	counts_record_release(&r);
}

/* A linkage table is no function: neither time nor bursts make it one. */
TEST_WITH(stubs_are_no_functions, begin, end)
{
	struct world *w = *state;
	struct emu_count ran[] = { met((uintptr_t)walk, 1), met((uintptr_t)lazy_stub, 1),
				   met((uintptr_t)bound_stub, 1) };
	struct plan_burst b = { .time = 2, .ip = (uintptr_t)walk, .count = ran, .counts = 3 };

	assert_false(plan_sample(w->plan, w->self, vaddr(w, lazy_stub), 1e6));
	assert_false(plan_sample(w->plan, w->self, vaddr(w, bound_stub), 1e6));
	assert_int_equal(plan_stats(w->plan)->functions, 0);
	assert_int_equal(plan_replayed(w->plan, &b, runtime_place, w), 0);
	assert_int_equal(plan_stats(w->plan)->functions, 1);
	assert_true(plan_sample(w->plan, w->self, vaddr(w, walk), 1e6));
	assert_true(plan_sample(w->plan, w->self, vaddr(w, caller), 1e6));
	assert_int_equal(plan_stats(w->plan)->functions, 2);
}

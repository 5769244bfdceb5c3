// SPDX-License-Identifier: GPL-2.0-or-later
/* What execution counts are measured by, and what the planner makes of windows. */
#include "unit/planned_world.h"

TEST_WITH(jobs_keep_to_the_code, begin, end)
{
	const struct world *w = *state;
	unsigned ratios = 0, rates = 0;
	struct plan_job job;

	/* nothing is known of the time yet, and no graph built */
	assert_false(choose(w, walk_loop, 4, true, &job));
	spend_time(w, walk_loop, 100);
	second(w);
	assert_false(choose(w, walk_loop, 0, true, &job));
	for (unsigned slots = 1; slots <= 4; slots++) {
		for (int i = 0; i < 300; i++) {
			if (!choose(w, walk_loop, slots, true, &job))
				continue;
			assert_in_range(job.slots, 1, slots);
			assert_in_range(job.links, 1, job.slots);
			assert_in_range(job.hit_limit, 1, EXECWIN_LOG);
			assert_true(job.time_ns > 0);
			for (unsigned k = 0; k < job.slots; k++) {
				assert_ptr_equal(job.slot[k].module, w->self);
				assert_in_range(job.slot[k].vaddr, vaddr(w, walk), vaddr(w, walk_end) - 1);
				assert_in_range(job.slot[k].limit, 1, EXECWIN_LOG);
			}
			assert_int_not_equal(job.how, FMT_CL_TRIPS);
			ratios += job.how == FMT_CL_RATIO;
			rates += job.how == FMT_CL_RATE;
			/* hits of one for hits of another, and soon */
			if (job.how == FMT_CL_RATIO)
				assert_true(job.slots > 1 && job.within_ns > 0 && job.within_ns < job.time_ns);
		}
	}
	assert_true(ratios > 100 && rates > 10);
	/* what is not there in this process is not timed */
	for (int i = 0; i < 300; i++)
		assert_true(!choose(w, walk_loop, 4, false, &job) || job.how == FMT_CL_RATIO);
}

/* No hit in time: next time it is waited for longer, and in the end however long; and less so where hits come. */
TEST_WITH(late_windows_wait_longer, begin, end)
{
	const struct world *w = *state;
	struct plan_job job;
	uint64_t within, empty = plan_stats(w->plan)->empty;
	uint32_t link;

	spend_time(w, walk_loop, 100);
	second(w);
	assert_true(next_of(w, walk_loop, FMT_CL_RATIO, NULL, &job));
	link = job.link[0];
	within = job.within_ns;
	saw(w, &job, EXEC_LATE, "", 0);
	assert_int_equal(plan_stats(w->plan)->empty, empty + 1);
	assert_true(next_of(w, walk_loop, FMT_CL_RATIO, &link, &job));
	assert_int_equal(job.within_ns, 2 * within);
	saw(w, &job, EXEC_HITS, "abababab", 0);
	assert_true(next_of(w, walk_loop, FMT_CL_RATIO, &link, &job));
	assert_in_range(job.within_ns, within, 2 * within - 1);
	for (int i = 0; i < 20 && job.within_ns; i++) {
		saw(w, &job, EXEC_LATE, "", 0);
		assert_true(next_of(w, walk_loop, FMT_CL_RATIO, &link, &job));
	}
	assert_int_equal(job.within_ns, 0);
}

static unsigned accepted(const struct world *w, const char *code)
{
	struct plan_job job;
	unsigned n = 0;

	plan_plenty(w->plan, false);
	for (int i = 0; i < 500; i++)
		n += choose(w, code, 4, false, &job);
	return n;
}

/* Hits are scarce: they go to the code of which less is known. */
TEST_WITH(what_is_known_gives_way, begin, end)
{
	const struct world *w = *state;
	struct plan_job job;
	unsigned known, unknown;

	spend_time(w, walk_loop, 100);
	spend_time(w, count_loop, 100);
	second(w);
	for (int i = 0; i < 300; i++) {
		if (!choose(w, walk_loop, 4, false, &job))
			continue;
		saw(w, &job, EXEC_HITS,
		    job.slots > 3   ? "abcdabcdabcdabcdabcdabcdabcdabcd"
		    : job.slots > 2 ? "abcabcabcabcabcabcabcabcabc"
				    : "abababababababababababababababab",
		    0);
	}
	unknown = accepted(w, count_loop);
	known = accepted(w, walk_loop);
	assert_true(unknown > 0);
	assert_true(known < unknown / 2);
}

/* What all that runs depends on changes no function's share, however little is known of it. */
TEST_WITH(parts_come_before_the_whole, begin, end)
{
	const struct world *w = *state;
	unsigned whole = 0, part = 0;
	struct plan_job job;

	spend_time(w, walk_loop, 10);
	second(w);
	spend_time(w, walk_loop, 600);
	spend_time(w, walk_rare, 400);
	second(w);
	plan_plenty(w->plan, true);
	for (int i = 0; i < 400; i++) {
		if (!choose(w, walk_loop, 2, false, &job) || job.how != FMT_CL_RATIO)
			continue;
		whole += job.slot[1].vaddr == vaddr(w, walk_loop);
		part += job.slot[1].vaddr == vaddr(w, walk_rare);
	}
	assert_true(part > 50);
	assert_true(whole < part / 4);
}

/* Two hits tell how often such a loop turns; that it always turns as often is soon known. */
TEST_WITH(trip_counts, begin, end)
{
	const struct world *w = *state;
	unsigned before = 0, after = 0;
	struct plan_job job, other;

	spend_time(w, count_loop, 100);
	second(w);
	assert_true(next_of(w, count_loop, FMT_CL_TRIPS, NULL, &job));
	assert_int_equal(job.slots, 2);
	assert_in_range(job.slot[0].vaddr, vaddr(w, count), vaddr(w, count_loop) - 1);
	assert_in_range(job.slot[1].vaddr, vaddr(w, count_loop) + 1, vaddr(w, count_end) - 1);
	assert_int_not_equal(job.slot[1].reg, EXECWIN_NO_REG);
	for (int i = 0; i < 300; i++)
		before += choose(w, count_loop, 4, false, &other) && other.how == FMT_CL_TRIPS;
	for (int i = 0; i < 6; i++)
		saw(w, &job, EXEC_HITS, "ababab", TRIPS);
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_TRIPS], 6);
	assert_int_equal(plan_stats(w->plan)->odd, 0);
	spend_time(w, walk_loop, 100);
	second(w);
	for (int i = 0; i < 300; i++)
		choose(w, walk_loop, 4, false, &other);
	for (int i = 0; i < 300; i++)
		after += choose(w, count_loop, 4, false, &other) && other.how == FMT_CL_TRIPS;
	assert_true(before > 10 && after < before / 2);
}

static bool times_loop(const struct world *w)
{
	struct plan_job job;
	bool found = false;

	spend_time(w, count_loop, 100);
	second(w);
	for (int i = 0; i < 20 && !found && next_of(w, count_loop, FMT_CL_RATE, NULL, &job); i++)
		for (unsigned k = 0; k < job.slots; k++)
			found |= job.slot[k].vaddr == vaddr(w, count_loop);
	return found;
}

/* The same when its function was looked at four times, and these hits were all that came. */
static bool times_loop_after(const struct world *w, const char *hits)
{
	struct plan_job job;

	assert_false(times_loop(w));
	for (int i = 0; i < 4; i++) {
		assert_true(next_of(w, count_loop, FMT_CL_RATE, NULL, &job));
		saw(w, &job, EXEC_TIME, hits, 0);
	}
	return times_loop(w);
}

/* Five hits in a window of 999 us of a thread: what they take is no time of the code, nor is what arming takes. */
static double timed_rate(const struct world *w, const struct plan_job *job)
{
	const struct plan_link *l = &w->plan->link[job->link[0]];
	double x = l->sums.x, y = l->sums.y;

	saw(w, job, EXEC_TIME, "aaaaa", 0);
	return (l->sums.y - y) / (l->sums.x - x);
}

TEST_WITH(what_windows_take_is_no_time, begin, end)
{
	struct world *w = *state;
	double bare, all;
	struct plan_job job;

	spend_time(w, walk_loop, 100);
	second(w);
	assert_true(next_of(w, walk_loop, FMT_CL_RATE, NULL, &job));
	plan_prices(w->plan, 1000, 1, 1000, 0);
	bare = timed_rate(w, &job);
	assert_true(bare > 0);
	plan_prices(w->plan, 1000, 1, 2000, 70e3);
	all = timed_rate(w, &job);
	/* two of seven interruptions, and a microsecond more for each hit */
	assert_true(fabs(all / bare - 994 / (994. - 5 - 20)) < 1e-3);
}

/* A loop whose turns could be counted needs no clock, but where nobody ever comes in. */
TEST_WITH(loops_of_what_is_never_entered, begin, end)
{
	assert_true(times_loop_after(*state, ""));
}

TEST_WITH(loops_of_what_is_entered, begin, end)
{
	assert_false(times_loop_after(*state, "aaa"));
}

/* Of hundreds of jobs that time something, the part that begins with this place, in per cent. */
static unsigned timed_there(const struct world *w, uint64_t place)
{
	unsigned rates = 0, there = 0;
	struct plan_job job;

	while (rates < 200) {
		assert_true(next_of(w, walk_loop, FMT_CL_RATE, NULL, &job));
		rates++;
		there += job.slot[0].vaddr == place;
	}
	return there * 100 / rates;
}

/* How fast the code runs is not known before one rate is: a place that was met comes before others, until then. */
TEST_WITH(a_rate_begun_is_measured_first, begin, end)
{
	const struct world *w = *state;
	struct plan_job job, other;
	unsigned begun, measured;

	spend_time(w, walk_loop, 100);
	spend_time(w, count_loop, 100);
	second(w);
	assert_true(next_of(w, walk_loop, FMT_CL_RATE, NULL, &job));
	other = job;
	saw(w, &job, EXEC_TIME, "aa", 0);
	begun = timed_there(w, job.slot[0].vaddr);
	for (int i = 0; i < 2; i++) {
		other = job;
		saw(w, &other, EXEC_TIME, "aaaaaaaa", 0);
	}
	measured = timed_there(w, job.slot[0].vaddr);
	printf("# begun: %u %% of the jobs that time are its; measured: %u %%\n", begun, measured);
	assert_true(begun > 80 && measured < begun);
}

/* What a single sample met may be code that waits, or calls, or what all bursts pass: its graph tells. */
TEST_WITH(one_sample_makes_a_graph, begin, end)
{
	const struct world *w = *state;

	spend_time(w, count_loop, 999);
	second(w);
	assert_int_equal(plan_stats(w->plan)->graphs, 1);
	spend_time(w, walk_loop, 1);
	second(w);
	assert_int_equal(plan_stats(w->plan)->graphs, 2);
}

/* Threads beside each other: of the whole process, whatever begins meanwhile. */
TEST_WITH(windows_of_processes, begin, end)
{
	const struct world *w = *state;
	struct execwin_hit hit[] = {
		{ .time = 2000, .slot = 0, .sp = 1 },
		{ .time = 3000, .slot = 0, .sp = 2 },
		{ .time = 4000, .slot = 1, .sp = 2, .value = TRIPS },
		{ .time = 5000, .slot = 1, .sp = 1, .value = TRIPS },
		{ .time = 6000, .slot = 1, .sp = 3, .value = TRIPS },
	};
	struct exec_window win = { .req = { .pid = 1, .tid = 1, .slots = 2 },
				   .armed = 1000,
				   .ended = 1000000,
				   .cpu_ns = ~0ull,
				   .end = EXEC_TIME,
				   .hit = hit,
				   .count = 5,
				   .traps = 5,
				   .hits = { 2, 3 } };
	uint64_t short_ns, trips, odd;
	struct plan_job job;

	spend_time(w, count_loop, 100);
	spend_time(w, walk_loop, 100);
	second(w);
	plan_whole_process(w->plan, true);
	assert_true(next_of(w, walk_loop, FMT_CL_RATE, NULL, &job));
	assert_true(job.process);
	/* not shorter than it is worth interrupting all CPUs for */
	short_ns = job.time_ns;
	plan_whole_process(w->plan, false);
	assert_true(next_of(w, walk_loop, FMT_CL_RATE, NULL, &job));
	assert_false(job.process);
	assert_true(job.time_ns < short_ns);
	plan_whole_process(w->plan, true);
	/* trips are looked for where the sample was, and when that failed in all threads */
	assert_true(next_of(w, count_loop, FMT_CL_TRIPS, NULL, &job));
	assert_false(job.process);
	saw(w, &job, EXEC_TIME, "", 0);
	assert_true(next_of(w, count_loop, FMT_CL_TRIPS, NULL, &job));
	assert_true(job.process);
	/* two activations at the same time, each with its own stack; of the third its beginning is not known */
	trips = plan_stats(w->plan)->windows[FMT_CL_TRIPS];
	odd = plan_stats(w->plan)->odd;
	assert_int_equal(plan_result(w->plan, &job, &win, nowhere, NULL, NULL), 0);
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_TRIPS], trips + 1);
	assert_int_equal(plan_stats(w->plan)->odd, odd);
}

/* Hits of a list's loop and never one of what leads to it: its elements are counted in memory instead. What lies
 * there is believed only if it ends as the loop did. */
TEST_WITH(lists, begin, end)
{
	struct world *w = *state;
	struct plan_job job;

	spend_time(w, walk_loop, 100);
	second(w);
	assert_true(next_of(w, walk_loop, FMT_CL_RATIO, NULL, &job));
	while (job.slots > 2 || job.slot[1].vaddr != vaddr(w, walk_loop))
		assert_true(choose(w, walk_loop, 2, true, &job));
	for (int i = 0; i < 8; i++)
		saw(w, &job, EXEC_HITS, "bbbbbbbbbbbbbbbb", 0);
	assert_true(next_of(w, walk_loop, FMT_CL_TRIPS, NULL, &job));
	assert_true(job.list);
	assert_in_range(job.slot[0].vaddr, vaddr(w, walk), vaddr(w, walk_loop) - 1);
	w->elements = 3000;
	saw(w, &job, EXEC_HITS, "bab", 0);
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_TRIPS], 1);
	assert_int_equal(plan_stats(w->plan)->odd, 0);
	/* only the last: what came before may lie elsewhere by now */
	saw(w, &job, EXEC_HITS, "abab", 0);
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_TRIPS], 2);
	/* the loop ended with something that is not in the list */
	saw(w, &job, EXEC_HITS, "abab", LIST + 8);
	assert_int_equal(plan_stats(w->plan)->windows[FMT_CL_TRIPS], 2);
	assert_int_equal(plan_stats(w->plan)->odd, 1);
	/* it came too late: nobody looks */
	w->elements = 0;
	saw(w, &job, EXEC_HITS, "bab", 0);
	assert_int_equal(plan_stats(w->plan)->stale, 1);
	assert_int_equal(plan_stats(w->plan)->odd, 1);
	/* a circle */
	w->elements = 1000000;
	saw(w, &job, EXEC_HITS, "bab", 0);
	assert_int_equal(plan_stats(w->plan)->odd, 2);
}

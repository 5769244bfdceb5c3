// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The recorder's loop with a sampler, a side band and parts that are made up: what reaches whom and in which order,
 * what an error does, what is counted, what is booked, what a rotation begins anew. Nothing is attached to anything.
 */
#include "fake_sources.h"
#include "kmod-free/kernel_tick.h"

/* ---- what reaches whom ---- */

TEST(ticks_reach_each_part_in_order_of_time)
{
	struct recording r;
	struct seen p;

	open_recording(&r, NULL, 2);
	start(&r);
	plant(EPOCH + MS + 30, 1);
	plant(EPOCH + MS + 10, 2);
	fake.side[fake.side_count++] =
		(struct sample){ .kind = SAMPLE_COMM, .time = EPOCH + MS + 20, .pid = PID, .tid = 3, .text = "x" };
	poll_at(&r, EPOCH + 10 * MS);
	/* as they come out of the ring, without the side band's; then all, in order, one part after the other */
	assert_string_equal(fake.log, "a~30 b~30 a~10 b~10 a10 b10 a20 b20 a30 b30 ");
	finish(&r);
	read_profile(&p, r.path[0]);
	assert_int_equal(p.samples, 2);
	assert_true(p.times[0] == EPOCH + MS + 10 && p.times[1] == EPOCH + MS + 30);
	assert_true(p.ended && p.end.samples == 2 && p.end.reason == FMT_END_DONE);
	assert_true(p.end.exit_status == ~0u);
	close_recording(&r);
}

TEST(what_may_be_overtaken_waits)
{
	struct recording r;

	open_recording(&r, NULL, 1);
	start(&r);
	plant(EPOCH + 9 * MS + 9, 1);
	poll_at(&r, EPOCH + 10 * MS);
	assert_string_equal(fake.log, "a~9 ");
	plant(EPOCH + 8 * MS + 8, 2); /* was under way on another CPU */
	poll_at(&r, EPOCH + 12 * MS);
	assert_string_equal(fake.log, "a~9 a~8 a8 a9 ");
	/* a read that stopped at its bound: what it has not reached may be older than what it has */
	plant(EPOCH + 13 * MS + 3, 1);
	fake.behind = EPOCH + 14 * MS;
	poll_at(&r, EPOCH + 30 * MS);
	assert_null(strstr(fake.log, "a3 "));
	poll_at(&r, EPOCH + 31 * MS);
	assert_non_null(strstr(fake.log, "a3 "));
	finish(&r);
	close_recording(&r);
}

TEST(the_end_waits_for_nothing)
{
	struct recording r;
	struct seen p;

	open_recording(&r, NULL, 1);
	start(&r);
	plant(EPOCH + 10 * MS, 1);
	the_time = EPOCH + 10 * MS + 1;
	finish(&r);
	read_profile(&p, r.path[0]);
	assert_int_equal(p.samples, 1);
	assert_true(p.end.duration_ns == 10 * MS + 1);
	close_recording(&r);
}

TEST(the_kernels_ticks_are_in_no_code)
{
	struct recording r;
	struct seen p;
	struct sample *m;

	open_recording(&r, NULL, 1);
	start(&r);
	r.part[0].located = true;
	for (unsigned i = 0; i < 3; i++) {
		m = plant(EPOCH + MS + i, 1);
		m->valid |= SV_IP;
		m->ip = CODE + 16;
		m->flags = i == 1 ? SF_KERNEL : i == 2 ? SF_RETURNS : 0;
	}
	fake.side[fake.side_count++] = (struct sample){ .kind = SAMPLE_MMAP,
							.flags = SF_EXEC,
							.time = EPOCH + MS - 1,
							.pid = PID,
							.tid = PID,
							.addr = CODE,
							.size = 0x1000,
							.text = "/nowhere/a" };
	poll_at(&r, EPOCH + 10 * MS);
	assert_string_equal(fake.log, "a:nowhere a:located a:nowhere a:nowhere ");
	/* what is found while it is fresh is not searched again behind the queue */
	m = plant(EPOCH + 11 * MS, 1);
	m->valid |= SV_IP;
	m->ip = CODE + 16;
	poll_at(&r, EPOCH + 20 * MS);
	assert_int_equal(procmap_counters(attr_procmaps(session_attr(r.s)))->kept, 1);
	finish(&r);
	read_profile(&p, r.path[0]);
	assert_true(p.flags[0] == 0 && p.flags[1] == FMT_S_KERNEL && p.flags[2] == 0);
	close_recording(&r);
}

/* Where a fresh sample is, is found once, too: who asks first hands it on. */
TEST(parts_share_where_a_fresh_sample_is)
{
	struct recording r;

	open_recording(&r, NULL, 2);
	start(&r);
	plant(EPOCH + MS, 1);
	poll_at(&r, EPOCH + 10 * MS);
	assert_int_equal(r.part[0].asked, 0);
	assert_int_equal(r.part[1].asked, 1);
	finish(&r);
	close_recording(&r);
}

/* ---- errors ---- */

TEST(parts_stop_in_reverse_order_and_once)
{
	struct recording r;

	open_recording(&r, NULL, 3);
	assert_int_equal(session_start(r.s, &r.e), 0);
	assert_string_equal(fake.log, "attach follow a:start b:start c:start go ");
	fake.log[0] = 0;
	finish(&r);
	assert_string_equal(fake.log, "stop deaf c:stop b:stop a:stop ");
	fake.log[0] = 0;
	close_recording(&r);
	assert_string_equal(fake.log, "a:release b:release c:release ");
}

TEST(a_part_that_cannot_start_says_why)
{
	struct recording r;

	open_recording(&r, NULL, 3);
	r.part[1].fails = START;
	assert_int_equal(session_start(r.s, &r.e), -EXFULL);
	assert_string_equal(r.e.text, "second: part b cannot start");
	close_recording(&r);
	/* what was begun is undone, what was not is left alone */
	assert_string_equal(fake.log,
			    "attach follow a:start b:start go stop deaf b:stop a:stop a:release b:release c:release ");
}

TEST(an_error_ends_the_recording_in_order)
{
	static const struct {
		enum call at;
		const char *log;
	} step[] = { { SAMPLE, "a~7 b~7 c~7 a7 b7 " }, { FRESH, "a~7 b~7 " }, { POLL, "a~7 b~7 c~7 a7 b7 c7 " } };
	struct recording r;
	struct seen p;

	for (unsigned i = 0; i < 3; i++) {
		open_recording(&r, NULL, 3);
		start(&r);
		plant(EPOCH + MS + 7, 1);
		r.part[1].fails = step[i].at;
		the_time = EPOCH + 10 * MS;
		assert_int_equal(session_poll(r.s, &r.e), -EXFULL);
		assert_int_equal(r.e.code, -EXFULL);
		assert_non_null(strstr(r.e.text, strerror(EXFULL)));
		assert_memory_equal(r.e.text, "second: ", 8);
		/* those after it are not asked */
		assert_string_equal(fake.log, step[i].log);
		r.part[1].fails = NONE;
		session_finish(r.s, FMT_END_ERROR, &r.e);
		assert_non_null(strstr(fake.log, "stop deaf c:stop b:stop a:stop "));
		read_profile(&p, r.path[0]);
		assert_true(p.ended && p.end.reason == FMT_END_ERROR);
		close_recording(&r);
	}
	/* once a second, too */
	open_recording(&r, NULL, 3);
	start(&r);
	r.part[1].fails = SECOND_;
	the_time = EPOCH + 2 * SECOND;
	assert_int_equal(session_poll(r.s, &r.e), -EXFULL);
	assert_memory_equal(r.e.text, "second: ", 8);
	close_recording(&r);
}

TEST(no_more_parts_than_there_is_room_for)
{
	struct recording r;
	struct part more = { .name = 'm' };
	int err = 0, n = 0;

	open_recording(&r, NULL, 0);
	while (!err && n++ < 100)
		err = session_add(r.s, &part_ops, &more, &r.e);
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(n, 17);
	close_recording(&r);
}

static int waited_for;

static int fd_of_part(void *part)
{
	return waited_for;
}

TEST(a_part_that_cannot_join_is_released_once)
{
	struct part more = { .name = 'm' };
	struct source source = part_ops;
	struct recording r;

	open_recording(&r, NULL, 1);
	source.fd = fd_of_part;
	waited_for = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(session_add(r.s, &source, &more, &r.e), -EPERM);
	close(waited_for);
	close_recording(&r);
	assert_string_equal(fake.log, "m:release stop deaf a:release ");
}

TEST(what_cannot_begin_leaves_an_older_file_alone)
{
	struct session_opts o = { .budget = 0.01, .period_ns = PERIOD, .output = "/nowhere/at/all" };
	struct recording r;
	struct stat st;
	FILE *f;

	open_recording(&r, NULL, 0);
	session_free(r.s);
	f = fopen(r.path[0], "w");
	assert_non_null(f);
	fputs("older", f);
	fclose(f);
	fake.refuses = true;
	o.output = r.path[0];
	r.s = session_new(&o, &r.t, &r.e);
	assert_null(r.s);
	assert_string_equal(r.e.text, "no sampler today");
	assert_int_equal(stat(r.path[0], &st), 0);
	assert_int_equal(st.st_size, 5);
	fake.refuses = false;
	o.output = "/nowhere/at/all";
	assert_null(session_new(&o, &r.t, &r.e));
	assert_int_equal(r.e.code, -ENOENT);
	close_recording(&r);
}

/* ---- counters ---- */

TEST(what_was_lost_is_counted_as_lost)
{
	struct recording r;
	struct seen p;
	uint32_t flags;

	open_recording(&r, NULL, 2);
	start(&r);
	fake.lost = 5;
	fake.malformed = 2;
	fake.side_lost = 3;
	fake.side_returned = 6;
	r.part[1].lost = 7;
	/* each second anew: totals of totals would be twice as much */
	poll_at(&r, EPOCH + 2 * SECOND);
	poll_at(&r, EPOCH + 4 * SECOND);
	assert_int_equal(session_totals(r.s)->lost, 17);
	finish(&r);
	read_profile(&p, r.path[0]);
	assert_int_equal(p.end.lost, 17);
	assert_int_equal(counter(&p, "samples lost: ring full", &flags), 5);
	assert_int_equal(flags, FMT_C_LOSS);
	assert_int_equal(counter(&p, "samples lost: record cannot be right", &flags), 2);
	assert_int_equal(counter(&p, "side-band records lost", &flags), 3);
	assert_int_equal(flags, FMT_C_LOSS);
	assert_int_equal(counter(&p,
				 "CPUs that came on meanwhile, on which nothing was heard of processes for a second",
				 &flags),
			 6);
	assert_int_equal(flags, FMT_C_IN_PART);
	assert_int_equal(counter(&p, "losses of b", &flags), 7);
	assert_int_equal(flags, FMT_C_LOSS);
	assert_int_equal(counter(&p, "losses of a", NULL), 0);
	close_recording(&r);
}

/* What was flushed survives a kill. */
TEST(counters_are_written_each_second_and_at_the_end)
{
	struct recording r;
	struct seen p;
	uint32_t flags;

	open_recording(&r, NULL, 2);
	start(&r);
	r.part[0].counted = 11;
	r.part[1].counted = 12;
	poll_at(&r, EPOCH + 5 * MS);
	plant(EPOCH + 6 * MS, 1);
	poll_at(&r, EPOCH + 100 * MS);
	read_profile(&p, r.path[0]);
	assert_int_equal(p.samples, 0); /* not yet */
	poll_at(&r, EPOCH + 300 * MS);
	read_profile(&p, r.path[0]);
	assert_int_equal(p.samples, 1); /* four times a second it is, but for counters */
	assert_int_equal(fake.seconds, 0);
	poll_at(&r, EPOCH + SECOND + MS);
	assert_true(fake.seconds == 1 && fake.side_seconds == 1);
	read_profile(&p, r.path[0]);
	assert_false(p.ended);
	assert_int_equal(p.samples, 1);
	assert_int_equal(counter(&p, "events of a", &flags), 11);
	assert_int_equal(flags, 0);
	assert_int_equal(counter(&p, "events of b", NULL), 12);
	assert_int_equal(counter(&p, "ticks", NULL), 1);
	/* within the second nothing more is */
	poll_at(&r, EPOCH + 2 * SECOND);
	assert_int_equal(fake.seconds, 1);
	poll_at(&r, EPOCH + 2 * SECOND + 2 * MS);
	assert_int_equal(fake.seconds, 2);
	r.part[1].counted = 13;
	finish(&r);
	read_profile(&p, r.path[0]);
	assert_int_equal(counter(&p, "events of b", NULL), 13);
	close_recording(&r);
}

/* As many as it reaches. */
static uint64_t profile_bytes(struct session *s)
{
	uint64_t low = 0, high = 1 << 30;

	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;

		*(session_profile_reached(s, middle) ? &low : &high) = middle;
	}
	return low;
}

TEST(while_nothing_happens_only_losses_are_written)
{
	struct recording r;
	uint64_t bytes;
	struct seen p;

	open_recording(&r, NULL, 1);
	start(&r);
	poll_at(&r, EPOCH + SECOND + MS);
	poll_at(&r, EPOCH + 3 * SECOND);
	bytes = profile_bytes(r.s);
	for (unsigned i = 4; i < 20; i++) {
		r.part[0].counted++; /* what only goes by */
		poll_at(&r, EPOCH + i * SECOND + i);
	}
	assert_int_equal(profile_bytes(r.s), bytes);
	r.part[0].lost = 1;
	poll_at(&r, EPOCH + 21 * SECOND + 30);
	assert_true(profile_bytes(r.s) > bytes);
	bytes = profile_bytes(r.s);
	/* now and then it is told all the same */
	poll_at(&r, EPOCH + 60 * SECOND);
	assert_true(profile_bytes(r.s) > bytes);
	finish(&r);
	read_profile(&p, r.path[0]);
	assert_int_equal(counter(&p, "events of a", NULL), 16);
	close_recording(&r);
}

TEST(threads_that_no_timer_saw_are_told_at_the_end)
{
	struct recording r;

	open_recording(&r, NULL, 0);
	start(&r);
	plant(EPOCH + MS, 1);
	poll_at(&r, EPOCH + 10 * MS);
	fake.cpu_ns = 5 * PERIOD;
	assert_int_equal(session_totals(r.s)->unsampled_ns, 0);
	finish(&r);
	assert_int_equal(session_totals(r.s)->unsampled_ns, 4 * PERIOD);
	close_recording(&r);
}

TEST(children_are_followed_unless_they_are_not_to_be)
{
	struct session_opts o = { .budget = 0.01, .period_ns = PERIOD };
	struct target self = { .pid = getpid(), .pidfd = -1 };
	struct recording r;

	for (unsigned alone = 0; alone < 2; alone++) {
		o.no_inherit = alone;
		open_recording(&r, &o, 0);
		r.t = (struct targets){ .procs = &self, .count = 1, .cgroup_fd = -1, .go_fd = -1, .fail_fd = -1 };
		start(&r);
		fake.cpu_ns = PERIOD;
		fake.side[fake.side_count++] = (struct sample){ .kind = SAMPLE_FORK,
								.time = EPOCH + MS,
								.pid = PID,
								.tid = PID,
								.ppid = (uint32_t)self.pid,
								.ptid = (uint32_t)self.pid };
		fake.side[fake.side_count++] =
			(struct sample){ .kind = SAMPLE_EXIT, .time = EPOCH + 2 * MS, .pid = PID, .tid = PID };
		poll_at(&r, EPOCH + 10 * MS);
		finish(&r);
		/* it ended before any timer saw it */
		assert_int_equal(session_totals(r.s)->unsampled_threads, !alone);
		targets_init(&r.t);
		close_recording(&r);
	}
}

/* ---- breakpoints ---- */

TEST(a_thread_has_four_breakpoints)
{
	struct recording r;

	open_recording(&r, NULL, 0);
	start(&r);
	assert_int_equal(session_breakpoints_free(r.s), 4);
	session_breakpoints_take(r.s, 3);
	session_breakpoints_take_apart(r.s, 1);
	assert_int_equal(session_breakpoints_free(r.s), 0);
	session_breakpoints_give_apart(r.s, 1);
	session_breakpoints_give(r.s, 2);
	assert_int_equal(session_breakpoints_free(r.s), 3);
	session_breakpoints_give(r.s, 2); /* more than are taken */
	assert_int_equal(session_breakpoints_free(r.s), 4);
	close_recording(&r);
}

TEST(the_gate_decides_and_hears_what_was_armed)
{
	struct breakpoint_gate *gate = (struct breakpoint_gate *)&fake; /* never looked into */
	struct session_opts o = { .budget = 0.01, .period_ns = PERIOD, .breakpoints = gate };
	struct recording r;
	struct seen p;

	open_recording(&r, NULL, 0);
	fake.open = true;
	start(&r);
	assert_false(session_breakpoints_open(r.s)); /* there is none */
	close_recording(&r);

	open_recording(&r, &o, 0);
	assert_false(fake.gate_started);
	start(&r);
	assert_true(fake.gate_started);
	assert_false(session_breakpoints_open(r.s));
	plant(EPOCH + MS, 1);
	plant(EPOCH + MS, 1)->flags = SF_KERNEL;
	poll_at(&r, EPOCH + SECOND + MS);
	assert_true(fake.gate_seconds == 1 && !fake.armed);
	fake.open = true;
	assert_true(session_breakpoints_open(r.s));
	plant(EPOCH + SECOND, 1);
	/* one that is given back within the second was armed in it */
	session_breakpoints_take(r.s, 1);
	session_breakpoints_give(r.s, 1);
	poll_at(&r, EPOCH + 3 * SECOND);
	assert_true(fake.gate_seconds == 2 && fake.armed);
	poll_at(&r, EPOCH + 5 * SECOND);
	assert_false(fake.armed);
	/* and one that is kept is armed in each */
	session_breakpoints_take(r.s, 1);
	poll_at(&r, EPOCH + 7 * SECOND);
	poll_at(&r, EPOCH + 9 * SECOND);
	assert_true(fake.armed);
	finish(&r);
	assert_true(fake.gate_stopped);
	read_profile(&p, r.path[0]);
	assert_int_equal(counter(&p, "samples without windows, as hardware breakpoints were not to be used", NULL), 1);
	close_recording(&r);
}

TEST(the_ledger_hears_how_many_threads_run)
{
	struct recording r;

	open_recording(&r, NULL, 0);
	start(&r);
	poll_at(&r, EPOCH + SECOND);
	for (unsigned i = 0; i < 40; i++)
		plant(EPOCH + SECOND + i, 1)->period = 100 * SECOND;
	/* thousands, where it had assumed one */
	poll_at(&r, EPOCH + 2 * SECOND);
	assert_true(session_ledger(r.s)->running > 500);
	/* they leave no CPU idle, on which a look at the rings cost them nothing */
	assert_true(ledger_spent(session_ledger(r.s), ACCOUNT_LOOKS) == 0);
	poll_at(&r, EPOCH + 2 * SECOND + MS);
	assert_true(ledger_spent(session_ledger(r.s), ACCOUNT_LOOKS) > 0);
	/* then none does: a fifth less, and nothing of what had run before */
	double before = session_ledger(r.s)->running;
	poll_at(&r, EPOCH + 3 * SECOND);
	assert_true(fabs(session_ledger(r.s)->running / before - 0.8) < 1e-6);
	close_recording(&r);
}

TEST(a_rate_is_written_where_it_is_another)
{
	static const double rates[] = { 100, 110, 130, 120, 90 };
	struct recording r;
	struct seen p;
	double written = 0;

	open_recording(&r, NULL, 0);
	start(&r);
	for (unsigned i = 0; i < 5; i++)
		session_rate(r.s, "made up", the_time, rates[i], 0, &written);
	finish(&r);
	read_profile(&p, r.path[0]);
	assert_int_equal(p.rates, 1 + 3);
	assert_true(p.rate.per_second == 90);
	close_recording(&r);
}

/* ---- when to look ---- */

TEST(looks_come_sooner_for_who_waits)
{
	struct recording r;
	uint64_t idle, soon, tick;

	open_recording(&r, NULL, 0);
	start(&r);
	poll_at(&r, EPOCH + 100 * MS);
	idle = session_wait_ns(r.s);
	session_soon(r.s, 5);
	session_soon(r.s, 9);
	soon = session_wait_ns(r.s);
	assert_true(soon == 5 * MS && idle > soon);
	/* what was wanted is forgotten at each look */
	poll_at(&r, EPOCH + 101 * MS);
	assert_true(session_wait_ns(r.s) == idle);
	/* a target that sleeps is looked at less often, until it is seen again */
	for (unsigned i = 0; i < 30; i++)
		poll_at(&r, EPOCH + 110 * MS + i);
	session_soon(r.s, 5);
	assert_int_equal(session_wait_ns(r.s), 20 * MS);
	plant(EPOCH + 111 * MS, 1);
	poll_at(&r, EPOCH + 112 * MS);
	session_soon(r.s, 5);
	assert_int_equal(session_wait_ns(r.s), 5 * MS);
	/* a fresh sample comes with the next tick: one after it was seen, at 200 ms, 201.5 ms is in between */
	plant(EPOCH + 200 * MS, 1);
	poll_at(&r, EPOCH + 200 * MS + MS);
	session_want_sample(r.s, 0);
	tick = session_wait_ns(r.s);
	assert_true(tick > MS - MS / 10 && tick < MS + MS / 10);
	finish(&r);
	close_recording(&r);
}

/* ---- from one profile to the next ---- */

TEST(a_rotation_begins_all_anew)
{
	struct recording r;
	struct seen one, two;
	double written = 0;

	open_recording(&r, NULL, 2);
	start(&r);
	session_rate(r.s, "made up", the_time, 100, 0, &written);
	plant(EPOCH + MS + 1, 1);
	plant(EPOCH + MS + 2, 1);
	r.part[0].counted = 7;
	r.part[1].lost = 4;
	poll_at(&r, EPOCH + SECOND + 600 * MS);
	plant(EPOCH + SECOND + 700 * MS + 3, 1); /* too young for the last look: in the former all the same */
	plant(EPOCH + SECOND + 705 * MS + 4, 1); /* came while it settles: in the next */
	the_time = EPOCH + SECOND + 701 * MS;
	fake.log[0] = 0;
	assert_int_equal(session_next(r.s, r.path[1], &r.e), 0);
	assert_string_equal(fake.log, "a~3 b~3 a~4 b~4 a3 b3 a:ending b:ending a:begun b:begun ");
	assert_true(slept_us >= 2000); /* what is older than the next was under way */
	assert_false(session_may_next(r.s));
	read_profile(&one, r.path[0]);
	assert_true(one.ended && one.end.reason == FMT_END_NEXT);
	assert_int_equal(one.samples, 3);
	assert_int_equal(one.end.samples, 3);
	assert_int_equal(one.end.lost, 4);
	assert_int_equal(counter(&one, "events of a", NULL), 7);
	assert_int_equal(one.cost.target_cpu_ns, 3 * PERIOD);
	assert_true(fabs((double)one.cost.target_lost_ns - 4 * TICK_NS) < 2);
	assert_string_equal(one.segment, "");

	r.part[0].counted = 10;
	r.part[1].lost = 5;
	poll_at(&r, EPOCH + SECOND + 800 * MS);
	finish(&r);
	read_profile(&two, r.path[1]);
	assert_int_equal(two.samples, 1);
	assert_true(two.times[0] == EPOCH + SECOND + 705 * MS + 4);
	assert_true(two.end.reason == FMT_END_DONE && two.end.samples == 1);
	/* what was lost in this one, not in all */
	assert_int_equal(two.end.lost, 1);
	assert_int_equal(counter(&two, "events of a", NULL), 3);
	assert_int_equal(counter(&two, "losses of b", NULL), 1);
	assert_int_equal(two.cost.target_cpu_ns, PERIOD);
	assert_true(two.cost.target_lost_ns < 2); /* the sampler had counted its tick before: that is in the former */
	assert_true(two.cost.own_cpu_ns < session_totals(r.s)->own_cpu_ns);
	assert_true(two.end.duration_ns == 99 * MS);
	/* told anew: what the first was told at its start */
	assert_string_equal(two.segment, "2");
	assert_string_equal(two.from_start, "0");
	assert_true(two.rate.time == EPOCH + SECOND + 701 * MS);
	assert_true(two.kernel[0] && !strcmp(one.kernel, two.kernel));
	assert_int_equal(two.rates, 2); /* the timer's and the one made up */
	/* and the whole is still known */
	assert_int_equal(session_totals(r.s)->samples, 4);
	assert_int_equal(session_totals(r.s)->target_ns, 4 * PERIOD);
	close_recording(&r);
}

TEST(a_profile_that_cannot_begin_leaves_the_former)
{
	struct recording r;
	struct seen p;

	open_recording(&r, NULL, 1);
	start(&r);
	assert_int_equal(session_next(r.s, "/nowhere/at/all", &r.e), -ENOENT);
	assert_string_equal(fake.log, "");
	plant(EPOCH + MS, 1);
	poll_at(&r, EPOCH + 100 * MS);
	finish(&r);
	read_profile(&p, r.path[0]);
	assert_true(p.ended && p.samples == 1);
	close_recording(&r);
	/* a part that cannot go on says so */
	open_recording(&r, NULL, 2);
	start(&r);
	r.part[0].fails = BEGUN;
	assert_int_equal(session_next(r.s, r.path[1], &r.e), -EXFULL);
	assert_string_equal(r.e.text, "first: part a cannot go on");
	assert_null(strstr(fake.log, "b:begun"));
	close_recording(&r);
	open_recording(&r, NULL, 2);
	start(&r);
	r.part[0].fails = ENDING;
	assert_int_equal(session_next(r.s, r.path[1], &r.e), -EXFULL);
	assert_memory_equal(r.e.text, "first: the next profile cannot begin: ", 38);
	assert_null(strstr(fake.log, "b:ending"));
	close_recording(&r);
}

TEST(bytes_are_those_of_all_profiles)
{
	struct recording r;
	uint64_t bytes = 0;
	struct stat st;

	open_recording(&r, NULL, 1);
	start(&r);
	for (unsigned i = 1; i < 3; i++) {
		plant(the_time + MS, 1);
		poll_at(&r, the_time + 600 * MS);
		assert_true(session_may_next(r.s));
		assert_int_equal(session_next(r.s, r.path[i], &r.e), 0);
		assert_false(session_may_next(r.s)); /* its first second has just begun */
	}
	plant(the_time + MS, 1);
	poll_at(&r, the_time + SECOND + MS);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(stat(r.path[i], &st), 0);
		bytes += (uint64_t)st.st_size;
	}
	assert_true(session_totals(r.s)->bytes >= bytes);
	bytes = 0;
	finish(&r);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(stat(r.path[i], &st), 0);
		bytes += (uint64_t)st.st_size;
	}
	assert_int_equal(session_totals(r.s)->bytes, bytes);
	close_recording(&r);
}

/* Records of their ends may be lost; their numbers are others' some day. */
TEST(threads_that_have_ended_are_forgotten)
{
	struct recording r;
	struct seen p;
	uint32_t flags;
	double rate;

	open_recording(&r, NULL, 0);
	start(&r);
	for (unsigned i = 0; i < 20; i++) {
		struct sample *m = plant(EPOCH + MS + i, PID + 1); /* there is none of that number */

		m->valid |= SV_SWITCHES;
		m->switches = i;
	}
	poll_at(&r, EPOCH + 600 * MS);
	rate = session_switch_rate(r.s);
	assert_true(rate > 0);
	assert_int_equal(session_next(r.s, r.path[1], &r.e), 0);
	plant(the_time, PID + 1)->valid |= SV_SWITCHES;
	fake.ring[0].switches = 1000000;
	poll_at(&r, the_time + 10 * MS);
	assert_true(session_switch_rate(r.s) == rate);
	finish(&r);
	read_profile(&p, r.path[1]);
	assert_int_equal(counter(&p, "context switches per second of CPU time", &flags), (uint64_t)(rate * 1e9));
	assert_int_equal(flags, FMT_C_LEVEL);
	close_recording(&r);
}

TEST(half_of_each_second_is_no_time_to_rotate)
{
	struct recording r;

	open_recording(&r, NULL, 0);
	start(&r);
	the_time = EPOCH + 400 * MS;
	assert_false(session_may_next(r.s));
	the_time = EPOCH + 600 * MS;
	assert_true(session_may_next(r.s));
	close_recording(&r);
}

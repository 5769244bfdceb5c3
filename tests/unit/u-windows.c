// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Watch windows on a device that is made up: which address is chosen, when a window is opened and when it is not, what
 * is written of it, and what it is paid with. The session around them is made up, too; code is not decoded, a sample's
 * accesses are what the test says. What this processor's breakpoints see, u-watch tells.
 */
#include "fake_windows.h"

/* ---- whether ---- */

TEST(nothing_is_opened_without_permission)
{
	struct bench b;

	begin(&b, NULL);
	load(HOT, DATA);
	b.s.open = false; /* the gate */
	assert_false(tick(&b));
	source_watch.poll(b.w, &b.s, the_time);
	assert_false(b.s.wants_sample);
	b.s.forbidden = true;
	assert_false(tick(&b));
	assert_int_equal(counter(&b, COUNTER_FORBIDDEN_WINDOWS, NULL), 0); /* the gate was asked first */
	b.s.open = true;                                                   /* what they would make of switches */
	assert_false(tick(&b));
	b.s.forbidden = false;
	b.s.rest = true; /* what it costs that events are attached */
	assert_false(tick(&b));
	b.s.rest = false;
	b.s.free = 0; /* other windows have the breakpoints */
	assert_false(tick(&b));
	source_watch.poll(b.w, &b.s, the_time);
	assert_false(b.s.wants_sample);
	b.s.free = 4;
	source_watch.poll(b.w, &b.s, the_time);
	assert_true(b.s.wants_sample);
	assert_true(tick(&b));
	assert_int_equal(b.s.taken, 1);
	assert_int_equal(counter(&b, COUNTER_FORBIDDEN_WINDOWS, NULL), 1);
	end(&b);
}

TEST(it_takes_turns_with_who_wants_them_too)
{
	struct bench b;

	begin(&b, NULL);
	load(HOT, DATA);
	assert_true(tick(&b));
	watch_end(&fake.device, 0, FMT_W_HITS, the_time);
	b.s.wanted = true;
	assert_false(tick(&b));
	the_time += 20 * MS;
	assert_true(tick(&b));
	end(&b);
}

TEST(little_is_known_of_the_target_at_first)
{
	struct bench b;

	begin(&b, NULL);
	end(&b);
	prepare(&b);
	assert_int_equal(join(&b, NULL), 0);
	ledger_earn(&b.s.ledger, (double)SECOND);
	load(HOT, DATA);
	for (unsigned i = 0; i < 40; i++) {
		assert_false(tick(&b));
		windows_tick(b.w, false, false);
	}
	for (unsigned i = 0; i < 40; i++)
		windows_tick(b.w, false, false);
	ledger_earn(&b.s.ledger, (double)SECOND);
	assert_true(tick(&b));
	end(&b);
}

TEST(only_what_has_just_come_is_acted_on)
{
	struct bench b;
	struct sample m;

	begin(&b, NULL);
	load(HOT, DATA);
	the_time += 100 * MS;
	m = fresh();
	m.flags = SF_KERNEL;
	assert_false(tick_of(&b, m));
	m = fresh();
	m.valid = 0; /* no registers */
	assert_false(tick_of(&b, m));
	m = fresh();
	m.kind = SAMPLE_EXIT;
	assert_false(tick_of(&b, m));
	/* late ones, unless all are; too late ones never */
	for (unsigned i = 0; i < 8; i++) {
		m = fresh();
		m.time -= MS;
		assert_false(tick_of(&b, m));
	}
	m.time = the_time - 10 * MS;
	assert_false(tick_of(&b, m));
	m.time = the_time - MS;
	assert_true(tick_of(&b, m));
	assert_int_equal(counter(&b, "watch windows begun within 0.4 ms of their sample", NULL), 0);
	assert_true(tick(&b));
	assert_int_equal(counter(&b, "watch windows begun within 0.4 ms of their sample", NULL), 1);
	end(&b);
}

TEST(the_budget_refuses)
{
	static const enum account accounts[] = { ACCOUNT_WATCH, ACCOUNT_ARMED };
	struct bench b;

	for (unsigned i = 0; i < 2; i++) {
		double *balance;

		begin(&b, NULL);
		load(HOT, DATA);
		balance = &b.s.ledger.of[accounts[i]].balance;
		*balance = -1;
		assert_false(tick(&b));
		source_watch.poll(b.w, &b.s, the_time);
		assert_false(b.s.wants_sample);
		assert_int_equal(counter(&b, "watch: samples while the budget was spent", NULL), 1);
		*balance = 5e6;
		assert_true(tick(&b));
		assert_int_equal(counter(&b, "watch: samples while the budget was spent", NULL), 1);
		end(&b);
	}
	/* what is open may still spend: enough for two windows is not enough for three */
	begin(&b, NULL);
	load(HOT, DATA);
	b.s.ledger.of[ACCOUNT_WATCH].balance = 2.5 * (16 * HIT_NS + ARM_NS + WAKE_NS);
	assert_true(tick(&b));
	assert_true(tick(&b));
	assert_false(tick(&b));
	end(&b);
	/* nor for what being attached costs */
	begin(&b, NULL);
	load(HOT, DATA);
	b.s.ledger.of[ACCOUNT_WATCH].balance = 1e6;
	b.s.entry = 2e6;
	assert_false(tick(&b));
	b.s.entry = 0.5e6;
	assert_true(tick(&b));
	end(&b);
}

/* ---- which ---- */

TEST(what_is_worth_most_is_watched)
{
	struct bench b;

	begin(&b, NULL);
	sampled(&b, load(WARM, DATA + 0x100), 200);
	sampled(&b, load(HOT, DATA + 0x200), 600);
	sampled(&b, load(COLD, DATA + 0x300), 100);
	assert_true(tick(&b));
	assert_int_equal(fake.last.addr & ~7ull, DATA + 0x200);
	assert_int_equal(fake.last.pid, PID);
	assert_int_equal(fake.last.len, 1);
	/* one that was tried is worth less: a quarter of a window's evidence, then all of it */
	watch_end(&fake.device, 0, FMT_W_HITS, the_time);
	for (unsigned i = 0; i < 8 && (fake.last.addr & ~7ull) == DATA + 0x200; i++) {
		assert_true(tick(&b));
		watch_end(&fake.device, 0, FMT_W_HITS, the_time);
	}
	assert_int_equal(fake.last.addr & ~7ull, DATA + 0x100);
	end(&b);
}

TEST(only_what_can_be_watched_is_drawn)
{
	struct access_opts with_stack = { .windows = true, .stack = true };
	struct bench b;

	for (unsigned i = 0; i < 8; i++) {
		struct block_access *a;

		begin(&b, i == 7 ? &with_stack : NULL);
		a = load(HOT, DATA);
		switch (i) {
		case 0: a->known = false; break;
		case 1: a->in_block = false; break;
		case 2: a->size = 0; break;
		case 3: a->size = 65; break;
		case 4: a->addr = 1ull << 47; break;
		case 5: a->addr = CONSTANTS; break; /* nobody will write there */
		default: a->flags |= FMT_A_STACK; break;
		}
		assert_true(tick(&b) == (i == 7));
		assert_int_equal(counter(&b, "watch draws without a candidate", NULL), i == 7 ? 0 : 1);
		a->flags |= FMT_A_REP;
		if (i == 3)
			assert_true(tick(&b)); /* a copy is as long as it is */
		end(&b);
	}
	/* nor is it counted as what a window might be worth */
	begin(&b, NULL);
	sampled(&b, access_at(HOT, DATA, 8, FMT_A_LOAD | FMT_A_STACK), 1e6);
	fake.accesses.count = 0;
	sampled(&b, load(WARM, DATA + 0x100), 10);
	access_at(HOT, DATA, 8, FMT_A_LOAD);
	assert_true(tick(&b));
	assert_int_equal(fake.last.addr & ~7ull, DATA + 0x100);
	end(&b);
}

TEST(each_place_of_an_access_is_as_likely)
{
	struct access_opts four = { .windows = true, .watch_len = 4 };
	unsigned seen[64] = { 0 }, places = 0;
	struct bench b;

	begin(&b, NULL);
	access_at(HOT, DATA + 3, 64, FMT_A_LOAD);
	for (unsigned i = 0; i < 1000; i++) {
		b.s.ledger.of[ACCOUNT_WATCH].balance = 5e7;
		assert_true(tick(&b));
		assert_in_range(fake.last.addr, DATA + 3, DATA + 3 + 63);
		seen[fake.last.addr - DATA - 3]++;
		watch_end(&fake.device, 0, FMT_W_HITS, the_time);
	}
	for (unsigned i = 0; i < 64; i++)
		places += seen[i] > 0;
	assert_true(places > 48);
	end(&b);
	begin(&b, &four);
	access_at(HOT, DATA + 8, 64, FMT_A_LOAD);
	for (unsigned i = 0; i < 20; i++) {
		assert_true(tick(&b));
		assert_int_equal(fake.last.len, 4);
		assert_int_equal(fake.last.addr % 4, 0);
		watch_end(&fake.device, 0, FMT_W_HITS, the_time);
	}
	end(&b);
}

TEST(a_processor_that_samples_in_time_chooses_instead)
{
	static const struct source_driver prompt = { .gives = SOURCE_LOADS | SOURCE_PROMPT },
					  slow = { .gives = SOURCE_LOADS };
	struct source hardware = { .name = "made up", .driver = &prompt };
	struct access_opts o = { .windows = true, .hardware = &hardware };
	struct fmt_access a = { .module = MODULE, .ip = HOT, .addr = DATA + 16, .size = 8, .weight = 1, .pid = PID };
	struct located at = { 0 };
	struct sample m;
	struct bench b;

	begin(&b, &o);
	load(WARM, DATA);
	assert_false(tick(&b)); /* the timer does not */
	the_time += 100 * MS;
	m = fresh();
	m.time = a.time = the_time - 20 * MS;
	windows_from_hardware(b.w, &m, &at, &a); /* too old */
	assert_int_equal(fake.armed, 0);
	m.time = a.time = the_time;
	a.addr = CONSTANTS;
	windows_from_hardware(b.w, &m, &at, &a);
	assert_int_equal(fake.armed, 0);
	a.addr = DATA + 16;
	b.s.open = false;
	windows_from_hardware(b.w, &m, &at, &a);
	assert_int_equal(fake.armed, 0);
	b.s.open = true;
	windows_from_hardware(b.w, &m, &at, &a);
	assert_int_equal(fake.armed, 1);
	assert_in_range(fake.last.addr, DATA + 16, DATA + 23);
	end(&b);
	hardware.driver = &slow;
	begin(&b, &o);
	load(WARM, DATA);
	assert_true(tick(&b));
	end(&b);
}

/* ---- opened ---- */

TEST(a_window_reads_and_then_waits_for_a_write)
{
	struct bench b;

	begin(&b, NULL);
	load(HOT, DATA);
	assert_true(tick(&b));
	assert_int_equal(fake.last.time_limit_ns, 20 * MS);
	assert_int_equal(fake.last.write_time_ns, 100 * MS);
	assert_false(fake.last.on_cpus || fake.last.execute);
	assert_int_equal(fake.device.o.hit_limit, 16);
	assert_int_equal(fake.device.o.switch_after, 8);
	assert_int_equal(fake.device.slot[0].threads, 3);
	end(&b);
	/* with little left it is as long as that lasts: a third of it for reading */
	begin(&b, NULL);
	load(HOT, DATA);
	b.s.ledger.of[ACCOUNT_ARMED].balance = 0.1e6;
	assert_true(tick(&b));
	assert_in_range(fake.last.time_limit_ns, MS / 2, 5 * MS);
	assert_in_range(fake.last.write_time_ns, 2 * fake.last.time_limit_ns - 2, 2 * fake.last.time_limit_ns + 2);
	/* while one is open, the time of another costs nothing more */
	b.s.ledger.of[ACCOUNT_ARMED].balance = -1e6;
	fake.device.deadline[0] = the_time + 30 * MS;
	assert_true(tick(&b));
	assert_int_equal(fake.last.time_limit_ns + fake.last.write_time_ns, 29 * MS);
	end(&b);
}

TEST(who_has_ended_is_not_watched)
{
	static const struct {
		int threads, arm;
	} step[] = { { 0, 0 }, { -ENOENT, 0 }, { 3, -ESRCH }, { 3, -ENOSPC }, { 3, -EAGAIN } };
	struct bench b;

	begin(&b, NULL);
	load(HOT, DATA);
	for (unsigned i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		fake.threads = step[i].threads;
		fake.arm = step[i].arm;
		assert_false(tick(&b));
		assert_true(b.s.taken == 0 && b.s.apart == 0);
	}
	fake.threads = 1;
	fake.arm = 0;
	assert_true(tick(&b));
	/* its memory is gone, and something that cannot be written is there instead */
	watch_end(&fake.device, 0, FMT_W_EXIT, the_time);
	map_memory(&b, DATA, true);
	assert_false(tick(&b));
	end(&b);
}

TEST(where_switches_are_dear_it_is_armed_on_cpus)
{
	struct bench b;
	struct sample fork = { .kind = SAMPLE_FORK, .pid = PID, .ppid = PID, .tid = PID + 1 };
	struct located at = { 0 };

	begin(&b, NULL);
	load(HOT, DATA);
	fake.cpus = 2;
	b.s.switch_rate = 0.005 / SWITCH_BREAKPOINT_NS;
	assert_true(tick(&b));
	assert_false(fake.last.on_cpus);
	b.s.switch_rate = 0.02 / SWITCH_BREAKPOINT_NS;
	b.s.rest = true; /* of no concern then, nor what being attached costs */
	b.s.entry = 1e9;
	b.s.ledger.of[ACCOUNT_WATCH].balance = 5e6;
	assert_true(tick(&b));
	assert_true(fake.last.on_cpus);
	assert_true(b.s.taken == 1 && b.s.apart == 1);
	watch_end(&fake.device, 1, FMT_W_TIME, the_time);
	assert_true(b.s.taken == 1 && b.s.apart == 0);
	assert_int_equal(counter(&b, "watch windows on CPUs instead of threads", NULL), 1);
	fake.cpus = 0; /* not possible */
	b.s.rest = false;
	b.s.entry = 0;
	assert_true(tick(&b));
	assert_false(fake.last.on_cpus);
	watch_end(&fake.device, 0, FMT_W_TIME, the_time);
	watch_end(&fake.device, 1, FMT_W_TIME, the_time);
	/* threads that begin often: each joins what is open, milliseconds later */
	fake.cpus = 2;
	b.s.switch_rate = 0;
	for (unsigned i = 0; i < 10; i++)
		source_watch.sample(b.w, &b.s, &fork, &at);
	assert_int_equal(fake.added, 10);
	source_watch.second(b.w, &b.s, the_time);
	assert_true(tick(&b));
	assert_true(fake.last.on_cpus);
	watch_end(&fake.device, 0, FMT_W_TIME, the_time);
	/* not in this second; and processes are no threads */
	fork.ppid = PID - 1;
	for (unsigned i = 0; i < 10; i++)
		source_watch.sample(b.w, &b.s, &fork, &at);
	assert_int_equal(fake.added, 10);
	source_watch.second(b.w, &b.s, the_time + SECOND);
	assert_true(tick(&b));
	assert_false(fake.last.on_cpus);
	end(&b);
}

TEST(a_window_may_yield_to_a_newer_one)
{
	struct bench b;
	struct seen p;

	begin(&b, NULL);
	load(HOT, DATA);
	for (unsigned i = 0; i < 4; i++)
		assert_true(tick(&b));
	assert_int_equal(session_breakpoints_free(&b.s), 0);
	assert_false(tick(&b)); /* none yields */
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(fake.since[i], 4 - i);
	assert_int_equal(b.s.taken, 4);
	fake.victim = 2;
	assert_true(tick(&b));
	assert_int_equal(b.s.taken, 4);
	assert_int_equal(counter(&b, "watch windows replaced by newer ones", NULL), 1);
	read_windows(&b, &p);
	assert_int_equal(p.windows, 1);
	assert_int_equal(p.window[0].end_reason, FMT_W_REPLACED);
	b.s.store = store_create(b.path, 0, &b.e);
	end(&b);
}

/* In a target full of copies armed time is what runs short, and one stretch of it serves several windows. */
static void begin_dear(struct bench *b)
{
	begin(b, NULL);
	for (unsigned i = 0; i < 2000; i++)
		windows_tick(b->w, i % 5 == 0, false);
}

/* Accesses of samples too late to be acted on, soon enough to be remembered: two instructions, one of them twice. */
static void remember_two(struct bench *b)
{
	for (unsigned i = 0; i < 3; i++) {
		struct sample m;

		fake.accesses.count = 0;
		load(WARM + i % 2, DATA + 0x100 + 0x100 * (i % 2));
		the_time += 10 * MS;
		m = fresh();
		m.time -= MS;
		assert_false(tick_of(b, m));
	}
	fake.accesses.count = 0;
}

TEST(dear_time_is_shared)
{
	struct bench b;

	begin_dear(&b);
	remember_two(&b);
	load(HOT, DATA);
	assert_true(tick(&b));
	/* its own and the two before: not the same instruction twice */
	assert_int_equal(fake.armed, 3);
	assert_true(fake.device.open[0] && fake.device.open[1] && fake.device.open[2] && !fake.device.open[3]);
	assert_int_equal(fake.device.slot[0].req.addr & ~7ull, DATA);
	/* what is watched is not watched again while this lasts; another is */
	assert_false(tick(&b));
	fake.accesses.count = 0;
	load(COLD, DATA + 0x500);
	assert_true(tick(&b));
	end(&b);
	/* what it was remembered for is gone after a while, and another profile knows nothing of it */
	for (unsigned i = 0; i < 2; i++) {
		begin_dear(&b);
		remember_two(&b);
		if (i)
			source_watch.begun(b.w, &b.s, &b.e);
		else
			the_time += 200 * MS;
		load(HOT, DATA);
		assert_true(tick(&b));
		assert_int_equal(fake.armed, 1);
		end(&b);
	}
}

/* ---- ended ---- */

TEST(hits_are_written_with_their_window)
{
	struct bench b;
	struct seen p;
	struct watch_window *win = &fake.device.slot[0];
	struct wire_watch raw = { .h = { .pid = PID }, .addr = DATA };
	uint64_t addr, armed, spent;

	begin(&b, NULL);
	load(HOT, DATA);
	fake.device.stats.lost = 2;
	assert_true(tick(&b));
	armed = the_time;
	addr = fake.last.addr;
	for (unsigned i = 0; i < 3; i++) {
		struct watch_hit *h = &win->hits[win->count++];

		*h = (struct watch_hit){ .time = armed + 1 + i, .pid = PID, .tid = PID + i, .syscall = -1, .ip = 1 };
		raw.regs[0] = i == 0 ? FMT_A_LOAD : i == 1 ? FMT_A_STORE : 0; /* the third's is not known */
		raw.regs[1] = WARM;
		fake.device.decide(fake.device.ctx, &raw, h);
		assert_int_equal(h->ip, WARM);
	}
	win->write_only_after = 2;
	spent = (uint64_t)ledger_spent(&b.s.ledger, ACCOUNT_WATCH);
	the_time += 7 * MS;
	watch_end(&fake.device, 0, FMT_W_HITS, the_time);
	assert_int_equal(b.s.taken, 0);
	assert_true(fabs(ledger_spent(&b.s.ledger, ACCOUNT_WATCH) - (double)spent - 3 * HIT_NS - WAKE_NS - ARM_NS) < 1);
	assert_int_equal(counter(&b, "watch windows", NULL), 1);
	assert_int_equal(counter(&b, "watch hits", NULL), 3);
	assert_int_equal(counter(&b, "watch hits of unknown direction", NULL), 1);
	read_windows(&b, &p);
	assert_int_equal(p.windows, 1);
	assert_true(p.window[0].armed == armed && p.window[0].ended == armed + 7 * MS);
	assert_true(p.window[0].addr == addr && p.window[0].len == 1 && p.window[0].count == 3);
	assert_true(p.window[0].end_reason == FMT_W_HITS && p.window[0].write_only_after == 2);
	assert_true(p.window[0].arm.ip == HOT - CONSTANTS && p.window[0].arm.module && p.window[0].arm.pid == PID);
	assert_true(p.window[0].arm.time == armed && p.window[0].arm.size == 8 && p.window[0].arm.flags == FMT_A_LOAD);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(p.hit[i].time, armed + 1 + i);
		assert_int_equal(p.hit[i].tid, PID + i);
		assert_int_equal(p.hit[i].syscall, -1);
	}
	assert_true(p.hit[0].flags == FMT_A_LOAD && p.hit[1].flags == FMT_A_STORE && p.hit[2].flags == 0);
	b.s.store = store_create(b.path, 0, &b.e);
	end(&b);
}

TEST(a_window_that_is_given_up_says_so)
{
	struct bench b;
	struct seen p;
	bool loss;

	begin(&b, NULL);
	load(HOT, DATA);
	assert_true(tick(&b));
	assert_true(tick(&b));
	fake.device.stats.stolen = 1;
	fake.device.stats.crowded = 3;
	fake.device.stats.lost = 4;
	watch_end(&fake.device, 1, FMT_W_STOLEN, the_time);
	assert_int_equal(b.s.taken, 1);
	the_time += 5 * MS;
	source_watch.stop(b.w, &b.s);
	assert_int_equal(b.s.taken, 0);
	assert_int_equal(fake.freed, 1);
	/* they outlive the device, which is asked for nothing any more */
	memset(&fake.device, 0xff, sizeof(fake.device));
	assert_int_equal(counter(&b, "watch windows given up for another debugger", &loss), 1);
	assert_false(loss);
	assert_int_equal(counter(&b, "watch windows given up as other processes use their addresses", NULL), 3);
	assert_int_equal(counter(&b, "watch hits lost: ring full", &loss), 4);
	assert_true(loss);
	assert_int_equal(counter(&b, "watch windows", NULL), 2);
	assert_false(tick(&b));
	source_watch.poll(b.w, &b.s, the_time);
	read_windows(&b, &p);
	assert_int_equal(p.windows, 2);
	assert_true(p.window[0].end_reason == FMT_W_STOLEN && p.window[1].end_reason == FMT_W_EXIT);
	b.s.store = store_create(b.path, 0, &b.e);
	end(&b);
	assert_int_equal(fake.freed, 1);
}

static void hit(unsigned slot, uint64_t ip, uint32_t flags)
{
	struct watch_window *win = &fake.device.slot[slot];

	win->hits[win->count++] = (struct watch_hit){ .pid = PID, .tid = PID, .syscall = -1, .ip = ip, .flags = flags };
}

TEST(what_a_window_taught_decides_the_next)
{
	struct bench b;

	/* tried once, the other is worth more; unless it was met there, reading what somebody had written */
	for (unsigned met = 0; met < 2; met++) {
		begin(&b, NULL);
		sampled(&b, load(HOT, DATA), 300);
		sampled(&b, load(WARM, DATA + 0x100), 290);
		assert_true(tick(&b));
		assert_int_equal(fake.last.addr & ~7ull, DATA);
		hit(0, MISSING, FMT_A_STORE);
		hit(0, met ? WARM : MISSING, FMT_A_LOAD);
		watch_end(&fake.device, 0, FMT_W_HITS, the_time);
		assert_true(tick(&b));
		assert_int_equal(fake.last.addr & ~7ull, met ? DATA : DATA + 0x100);
		end(&b);
	}
	/* who reads what an instruction writes is known once somebody did */
	for (unsigned read = 0; read < 2; read++) {
		begin(&b, NULL);
		sampled(&b, access_at(HOT, DATA, 8, FMT_A_STORE), 300);
		sampled(&b, access_at(WARM, DATA + 0x100, 8, FMT_A_STORE), 150);
		assert_true(tick(&b));
		if (read)
			hit(0, MISSING, FMT_A_LOAD);
		watch_end(&fake.device, 0, FMT_W_HITS, the_time);
		assert_true(tick(&b));
		assert_int_equal(fake.last.addr & ~7ull, read ? DATA + 0x100 : DATA);
		end(&b);
	}
}

/* One long window meets who writes rarely, many short ones do not: it saves up for it, but not for ever. */
TEST(where_nobody_wrote_the_next_is_to_be_longer)
{
	struct bench b;

	for (unsigned written = 0; written < 2; written++) {
		begin_dear(&b);
		load(HOT, DATA);
		for (unsigned i = 0; i < 2; i++) {
			assert_true(tick(&b));
			hit(0, MISSING, FMT_A_LOAD);
			if (written)
				hit(0, MISSING, FMT_A_STORE);
			watch_end(&fake.device, 0, FMT_W_TIME, the_time);
		}
		/* for some 5 ms; four times 2 ms are wanted after two misses */
		b.s.ledger.of[ACCOUNT_ARMED].balance = 4.3e6;
		assert_true(tick(&b) == written);
		the_time += 3 * SECOND;
		assert_true(tick(&b) == !written);
		end(&b);
	}
}

TEST(armed_time_is_paid_once)
{
	struct bench b;
	double once;

	begin(&b, NULL);
	for (unsigned i = 0; i < 2000; i++)
		windows_tick(b.w, i % 2, false);
	load(HOT, DATA);
	assert_true(tick(&b));
	source_watch.poll(b.w, &b.s, the_time);
	assert_true(ledger_spent(&b.s.ledger, ACCOUNT_ARMED) == 0);
	the_time += 200 * MS;
	source_watch.poll(b.w, &b.s, the_time); /* by time */
	assert_int_equal(b.s.taken, 0);
	once = ledger_spent(&b.s.ledger, ACCOUNT_ARMED);
	/* half of what ran were strings, which crawl: 200 ms are nearly all lost */
	assert_true(once > 100.0 * MS && once <= 200.0 * MS);
	the_time += 200 * MS;
	source_watch.poll(b.w, &b.s, the_time);
	assert_true(ledger_spent(&b.s.ledger, ACCOUNT_ARMED) == once);
	assert_int_equal(counter(&b, "watch armed us", NULL), 200000);
	end(&b);
}

TEST(ticks_pay_for_being_attached)
{
	struct bench b;
	struct sample m = { .kind = SAMPLE_TICK, .pid = PID, .tid = PID, .period = PERIOD };
	struct located at = { 0 };

	begin(&b, NULL);
	assert_int_equal(b.s.users, 1);
	for (unsigned i = 0; i < 3; i++)
		source_watch.sample(b.w, &b.s, &m, &at);
	m.kind = SAMPLE_COMM;
	source_watch.sample(b.w, &b.s, &m, &at);
	assert_true(fabs(ledger_spent(&b.s.ledger, ACCOUNT_WATCH) - 3 * 123) < 1e-3);
	end(&b);
}

TEST(the_rate_is_of_the_last_second)
{
	struct bench b;

	begin(&b, NULL);
	load(HOT, DATA);
	source_watch.second(b.w, &b.s, the_time);
	for (unsigned i = 0; i < 6; i++) {
		assert_true(tick(&b));
		watch_end(&fake.device, 0, FMT_W_HITS, the_time);
	}
	source_watch.second(b.w, &b.s, EPOCH + 2 * SECOND);
	assert_true(fabs(b.s.rate - 3) < 1e-9);
	source_watch.second(b.w, &b.s, EPOCH + 3 * SECOND);
	assert_true(b.s.rate == 0);
	end(&b);
}

/* ---- the device ---- */

TEST(a_slot_that_a_debugger_took_is_waited_for)
{
	static const struct {
		int err, busy, rc;
		unsigned checks;
	} step[] = { { -ENOSPC, 3, 0, 4 },
		     { -EAGAIN, 10, 0, 11 },
		     { -ENOSPC, 11, -ENOSPC, 11 },
		     { -EOPNOTSUPP, 1, -EOPNOTSUPP, 1 } };
	struct bench b;

	for (unsigned i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		prepare(&b);
		fake.check = step[i].err;
		fake.busy = step[i].busy;
		assert_int_equal(join(&b, NULL), step[i].rc);
		assert_int_equal(fake.checks, step[i].checks);
		assert_int_equal(slept_us, 50000 * (step[i].checks - 1));
		if (step[i].rc) {
			assert_string_equal(b.e.text, "a debugger has them");
			assert_null(b.s.part);
			assert_int_equal(fake.freed, 1);
			assert_true(ledger_rate(&b.s.ledger, ACCOUNT_WATCH) == 0);
			attr_free(b.s.attr);
			store_abandon(b.s.store);
			unlink(b.path);
			continue;
		}
		assert_int_equal(b.e.code, 0); /* the debugger is of no concern any more */
		assert_ptr_equal(b.s.part, b.w);
		assert_true(ledger_rate(&b.s.ledger, ACCOUNT_WATCH) > 0);
		assert_int_equal(source_watch.fd(b.w), 77);
		end(&b);
	}
}

TEST(another_profile_begins_without_what_is_known)
{
	struct bench b;

	begin(&b, NULL);
	sampled(&b, load(HOT, DATA), 1e6);
	sampled(&b, load(WARM, DATA + 0x100), 10);
	assert_int_equal(source_watch.begun(b.w, &b.s, &b.e), 0);
	sampled(&b, &fake.accesses.access[1], 10);
	assert_true(tick(&b));
	assert_int_equal(fake.last.addr & ~7ull, DATA + 0x100);
	end(&b);
}

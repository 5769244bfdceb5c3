// SPDX-License-Identifier: GPL-2.0-or-later
/* Who wrote what a load reads, by store records alone: planted stores, loads, ranges and windows with known writers. */
#include <string.h>

#include "flow/last_writer.h"
#include "unit/unit.h"

enum { OUTSIDE, BEFORE, KERNEL, F, G, H, READER, FUNCS };
enum { PID = 7, OTHER = 8 };
#define BASE 0x10000ull

/* One site a function: site number = function number. */
struct planted {
	struct flow_input in;
	struct in_site site[FUNCS];
	struct in_access access[64];
	struct in_sysio sysio[8];
	struct in_window window[4];
	struct in_hit hit[8];
	struct in_region region[4];
	struct in_object object[4];
	struct in_burst burst[2];
	struct in_burst_item item[8];
	struct est_opts o;
	struct last_writer c;
	struct err e;
};

static void begin(struct planted *p)
{
	*p = (struct planted){ .o = EST_OPTS_DEFAULT };
	for (uint32_t f = 0; f < FUNCS; f++)
		p->site[f] = (struct in_site){ .ip = 0x1000 + f, .func = f };
	p->in.sites = p->site;
	p->in.site_count = FUNCS;
	p->in.func_count = FUNCS;
	p->in.outside = OUTSIDE;
	p->in.before = BEFORE;
	p->in.access = p->access;
	p->in.sysio = p->sysio;
	p->in.window = p->window;
	p->in.hit = p->hit;
	p->in.region = p->region;
	p->in.object = p->object;
	p->in.burst = p->burst;
	p->in.burst_item = p->item;
}

static struct in_access *add(struct planted *p, uint64_t time, uint32_t func, uint32_t flags, uint64_t addr,
			     uint32_t size)
{
	p->access[p->in.access_count] = (struct in_access){ .time = time,
							    .addr = addr,
							    .weight = 1,
							    .site = func,
							    .func = func,
							    .pid = PID,
							    .tid = PID,
							    .size = size,
							    .flags = flags };
	return &p->access[p->in.access_count++];
}

static void store(struct planted *p, uint64_t time, uint32_t func, uint64_t addr)
{
	add(p, time, func, FMT_A_STORE, addr, 8);
}

static void load(struct planted *p, uint64_t time, uint64_t addr)
{
	add(p, time, READER, FMT_A_LOAD, addr, 4);
}

static void object(struct planted *p, uint64_t addr, uint64_t end)
{
	p->object[p->in.object_count++] =
		(struct in_object){ .addr = addr, .end = end, .died = UINT64_MAX, .pid = PID };
	if (end - addr > p->in.object_longest)
		p->in.object_longest = end - addr;
}

static void run(struct planted *p)
{
	assert_int_equal(last_writer_run(&p->in, &p->o, &p->c, &p->e), 0);
}

/* The only read's answer. */
static struct last_written answer(struct planted *p)
{
	struct last_written a;

	run(p);
	assert_int_equal(p->c.read_count, 1);
	a = p->c.reads[0].a;
	last_writer_release(&p->c);
	return a;
}

static void is(struct planted *p, uint32_t producer, enum near near)
{
	struct last_written a = answer(p);

	assert_int_equal(a.producer, producer);
	assert_int_equal(a.near, near);
}

TEST(the_newest_store_of_the_granule_wins)
{
	struct planted p;
	struct last_written a;

	begin(&p);
	store(&p, 10, F, BASE);
	store(&p, 20, G, BASE);
	load(&p, 50, BASE + 4);
	store(&p, 60, H, BASE); /* after the load: not its writer */
	a = answer(&p);
	assert_int_equal(a.producer, G);
	assert_int_equal(a.near, NEAR_GRANULE);
	assert_int_equal(a.age, 30);
	assert_int_equal(a.site, G);
	assert_int_equal(a.addr, BASE);
}

TEST(nearer_evidence_goes_before_newer)
{
	const struct {
		uint64_t at;
		enum near near;
	} step[] = { { 60, NEAR_LINE }, { 200, NEAR_BLOCK }, { 4000, NEAR_PAGE } };
	struct planted p;

	for (unsigned i = 0; i < 3; i++) {
		begin(&p);
		store(&p, 10, F, BASE + step[i].at);
		load(&p, 50, BASE);
		is(&p, F, step[i].near);
	}
	/* all three, the farther the newer */
	begin(&p);
	for (unsigned i = 0; i < 3; i++)
		store(&p, 10 + i, F + i, BASE + step[i].at);
	load(&p, 50, BASE);
	is(&p, F, NEAR_LINE);
}

TEST(neighbours_of_another_object_tell_nothing)
{
	struct planted p;

	begin(&p);
	object(&p, BASE, BASE + 32);
	object(&p, BASE + 32, BASE + 64);
	store(&p, 10, F, BASE + 32);
	load(&p, 50, BASE);
	is(&p, BEFORE, NEAR_NONE);
}

TEST(what_nobody_wrote_was_there_before)
{
	struct planted p;

	begin(&p);
	load(&p, 50, BASE);
	is(&p, BEFORE, NEAR_NONE);
	p.in.from_start = true;
	is(&p, OUTSIDE, NEAR_NONE);
	begin(&p);
	p.region[p.in.region_count++] = (struct in_region){ BASE, BASE + 4096, PID, IN_R_READONLY, false, NULL };
	store(&p, 10, F, BASE); /* a wrong sample: nothing writes there */
	load(&p, 50, BASE);
	is(&p, OUTSIDE, NEAR_CONSTANT);
}

TEST(processes_are_told_apart)
{
	struct planted p;

	begin(&p);
	add(&p, 10, F, FMT_A_STORE, BASE, 8)->pid = OTHER;
	load(&p, 50, BASE);
	is(&p, BEFORE, NEAR_NONE);
}

TEST(a_wide_load_may_have_several_writers)
{
	struct planted p;
	double bytes[FUNCS] = { 0 };

	begin(&p);
	store(&p, 10, F, BASE);
	store(&p, 11, F, BASE + 8);
	store(&p, 12, G, BASE + 16);
	store(&p, 13, G, BASE + 24);
	add(&p, 50, READER, FMT_A_LOAD, BASE, 32)->weight = 10;
	run(&p);
	assert_int_equal(p.c.read_count, 2);
	for (size_t i = 0; i < p.c.read_count; i++)
		bytes[p.c.reads[i].a.producer] += p.c.reads[i].bytes;
	assert_true(bytes[F] == 160 && bytes[G] == 160);
	assert_true(p.c.loads == 1 && p.c.stores == 4);
	last_writer_release(&p.c);
}

static struct in_sysio *sysio(struct planted *p, uint64_t time, uint32_t dir, uint64_t addr, uint64_t len)
{
	p->sysio[p->in.sysio_count] = (struct in_sysio){
		.time = time, .addr = addr, .len = len, .weight = 1, .pid = PID, .tid = PID, .func = KERNEL, .dir = dir
	};
	return &p->sysio[p->in.sysio_count++];
}

TEST(system_calls_fill_ranges)
{
	struct planted p;

	begin(&p);
	store(&p, 10, F, BASE + 100);
	sysio(&p, 20, FMT_IO_KERNEL_WRITES, BASE, 1 << 20);
	load(&p, 50, BASE + 100); /* F's is older */
	is(&p, KERNEL, NEAR_GRANULE);
	begin(&p);
	sysio(&p, 20, FMT_IO_KERNEL_WRITES, BASE, 1 << 20);
	store(&p, 30, F, BASE + 100);
	load(&p, 50, BASE + 100);
	is(&p, F, NEAR_GRANULE);
	/* beyond its end it filled nothing */
	begin(&p);
	sysio(&p, 20, FMT_IO_KERNEL_WRITES, BASE, 4096);
	load(&p, 50, BASE + 4096);
	is(&p, BEFORE, NEAR_NONE);
	begin(&p);
	sysio(&p, 20, FMT_IO_KERNEL_WRITES, BASE, 100);
	load(&p, 50, BASE + 100);
	is(&p, BEFORE, NEAR_NONE);
	/* fresh memory was written by nobody */
	begin(&p);
	store(&p, 10, F, BASE);
	sysio(&p, 20, FMT_IO_MAPS, BASE, 4096);
	load(&p, 50, BASE);
	is(&p, OUTSIDE, NEAR_GRANULE);
}

TEST(what_the_kernel_reads_has_writers_and_a_site)
{
	struct planted p;
	double bytes[FUNCS] = { 0 };

	begin(&p);
	for (unsigned i = 0; i < 32; i++) /* the first half F's, the other G's */
		store(&p, 10 + i, i < 16 ? F : G, BASE + 8 * i);
	sysio(&p, 60, FMT_IO_KERNEL_READS, BASE, 256)->weight = 4;
	run(&p);
	assert_int_equal(p.c.site_count, FUNCS + 1);
	for (size_t i = 0; i < p.c.read_count; i++) {
		assert_int_equal(p.c.reads[i].func, KERNEL);
		assert_int_equal(p.c.reads[i].site, FUNCS);
		bytes[p.c.reads[i].a.producer] += p.c.reads[i].bytes;
	}
	assert_true(bytes[F] == 512 && bytes[G] == 512);
	last_writer_release(&p.c);
}

TEST(ranges_that_are_cut_are_counted)
{
	struct planted p;

	begin(&p);
	sysio(&p, 20, FMT_IO_KERNEL_WRITES, BASE, 1ull << 31);
	run(&p);
	/* 2^18 pages are kept, and the one that it begins in */
	assert_true(p.c.cut_bytes == (double)((1ull << 31) - (((1ull << 18) + 1) << 12)));
	last_writer_release(&p.c);
}

TEST(the_stack_counts_only_if_asked_for)
{
	struct planted p;

	begin(&p);
	add(&p, 10, F, FMT_A_STORE | FMT_A_STACK, BASE, 8);
	add(&p, 50, READER, FMT_A_LOAD | FMT_A_STACK, BASE, 4);
	run(&p);
	assert_int_equal(p.c.read_count, 0);
	last_writer_release(&p.c);
	p.o.stack = true;
	is(&p, F, NEAR_GRANULE);
}

TEST(the_census_counts_only_if_asked_for)
{
	struct planted p;

	begin(&p);
	add(&p, 10, F, FMT_A_STORE | FMT_A_CENSUS, BASE, 8);
	load(&p, 50, BASE);
	is(&p, F, NEAR_GRANULE);
	p.o.use_census = false;
	is(&p, BEFORE, NEAR_NONE);
	/* its loads are no sample of anything */
	begin(&p);
	add(&p, 50, READER, FMT_A_LOAD | FMT_A_CENSUS, BASE, 8);
	run(&p);
	assert_int_equal(p.c.read_count, 0);
	last_writer_release(&p.c);
}

static void plant_window(struct planted *p)
{
	p->hit[0] = (struct in_hit){ .time = 30, .site = G, .func = G, .flags = FMT_A_STORE, .syscall = -1 };
	p->window[0] = (struct in_window){ .armed = 20, .ended = 40, .addr = BASE, .len = 8, .count = 1 };
	p->window[0].arm.pid = PID;
	p->in.window_count = p->in.hit_count = 1;
}

TEST(writes_seen_by_windows_are_stores)
{
	struct planted p;

	begin(&p);
	store(&p, 10, F, BASE);
	plant_window(&p);
	load(&p, 50, BASE);
	run(&p);
	assert_int_equal(p.c.reads[0].a.producer, G);
	/* who had written before the window opened: F */
	assert_int_equal(p.c.window_start[0].producer, F);
	assert_int_equal(p.c.window_start[0].age, 10);
	last_writer_release(&p.c);
	p.o.use_windows = false;
	is(&p, F, NEAR_GRANULE);
}

TEST(a_burst_reads_before_it_writes)
{
	struct planted p;

	begin(&p);
	store(&p, 10, F, BASE);
	p.item[0] = (struct in_burst_item){ .addr = BASE, .site = READER, .size = 4 };
	p.item[1] = (struct in_burst_item){ .addr = BASE, .site = G, .size = 8 };
	p.burst[0] = (struct in_burst){ .time = 20, .pid = PID, .loads = 1, .stores = 1 };
	p.in.burst_count = 1;
	p.in.burst_item_count = 2;
	load(&p, 50, BASE);
	run(&p);
	assert_int_equal(p.c.read_count, 2);
	assert_int_equal(p.c.reads[0].burst, 1);
	assert_true(p.c.reads[0].bytes == 0); /* it tells whose, and stands for nothing */
	assert_int_equal(p.c.reads[0].a.producer, F);
	assert_int_equal(p.c.reads[1].a.producer, G);
	last_writer_release(&p.c);
}

/* F wrote the word once; of G, which goes over all around it since, one store in a hundred was sampled: it is G's. */
TEST(who_passed_since_has_overwritten)
{
	struct planted p;
	struct last_written a;

	begin(&p);
	store(&p, 10, F, BASE + 4 * 8);
	for (unsigned i = 0; i < 32; i++)
		if (i != 4)
			add(&p, 20 + i, G, FMT_A_STORE, BASE + i * 8, 8)->weight = 100;
	load(&p, 100, BASE + 4 * 8);
	a = answer(&p);
	assert_int_equal(a.producer, G);
	assert_true(a.overwritten);
	assert_int_equal(a.site, FLOW_NONE);
	assert_in_range(a.age, 100 - 51, 100 - 20);
}

/* The dynamic linker fills such a region before anything is seen, and the same in the next one, unless it waits for
 * the first call. */
TEST(relocated_regions_have_the_writer_that_was_seen_in_them)
{
	for (unsigned lazy = 0; lazy < 2; lazy++) {
		struct planted p;

		begin(&p);
		for (unsigned i = 0; i < 2; i++)
			p.region[p.in.region_count++] = (struct in_region){ .start = BASE + i * 0x1000,
									    .end = BASE + (i + 1) * 0x1000,
									    .pid = PID,
									    .kind = IN_R_RELRO,
									    .lazy = lazy };
		store(&p, 10, F, BASE);
		load(&p, 50, BASE + 0x800);
		is(&p, F, NEAR_CONSTANT);
		p.access[1].addr = BASE + 0x1800;
		is(&p, lazy ? BEFORE : F, NEAR_CONSTANT);
	}
}

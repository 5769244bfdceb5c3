// SPDX-License-Identifier: GPL-2.0-or-later
/* Who wrote what is read, told from stores that were seen near it. */
#include <math.h>
#include <string.h>

#include "flow/place.h"
#include "format.h"
#include "unit/unit.h"

enum { F, G, READER, BEFORE, OUTSIDE, UNKNOWN, CALL, FUNCS };

#define BASE 0x7f0000000000ull
#define PID 7
#define SITES 4

struct planted {
	struct flow_input in;
	struct in_access access[2048];
	struct read_answer read[256];
	struct last_writer c;
	struct rewrite_rate still;
	struct store_places place;
	double stays[SITES], rate[SITES];
};

static struct in_func func[FUNCS] = {
	{ .name = "f" },         { .name = "g" },         { .name = "reader" },        { .name = "(before attach)" },
	{ .name = "(outside)" }, { .name = "(unknown)" }, { .name = "(kernel:read)" },
};
static struct in_site site[SITES] = { { .func = READER }, { .func = F }, { .func = G }, { .func = READER } };
static struct in_region region = { BASE, BASE + 0x100000, PID, IN_R_OTHER, false, NULL };

static void begin(struct planted *p)
{
	memset(p, 0, sizeof(*p));
	p->in = (struct flow_input){ .funcs = func,
				     .func_count = FUNCS,
				     .sites = site,
				     .site_count = SITES,
				     .before = BEFORE,
				     .outside = OUTSIDE,
				     .unknown = UNKNOWN,
				     .access = p->access,
				     .region = &region,
				     .region_count = 1 };
	for (unsigned i = 0; i < SITES; i++)
		p->stays[i] = 1, p->rate[i] = 1e-9;
	p->still = (struct rewrite_rate){ .site = p->stays, .rate = p->rate, .sites = SITES, .usual = 1 };
	p->c = (struct last_writer){ .reads = p->read, .site_count = SITES };
}

static void store(struct planted *p, uint32_t who, uint64_t addr)
{
	assert_true(p->in.access_count < 2048);
	p->access[p->in.access_count] = (struct in_access){ .time = p->in.access_count + 1,
							    .addr = addr,
							    .size = 4,
							    .pid = PID,
							    .site = who + 1,
							    .func = who,
							    .flags = FMT_A_STORE | FMT_A_TIME };
	p->in.access_count++;
}

static void reads(struct planted *p, uint64_t addr, struct last_written a)
{
	assert_true(p->c.read_count < 256);
	p->read[p->c.read_count++] = (struct read_answer){
		.site = 0, .func = READER, .pid = PID, .addr = addr, .size = 4, .bytes = 1, .a = a
	};
}

/* What of the last read is said to be by whom; all that is said adds up to 1. */
static double part(struct planted *p, uint32_t who)
{
	struct place_part w[PLACE_ROOM];
	double all = 0, his = 0;
	unsigned n;

	assert_int_equal(place_learn(&p->place, &p->in, &p->c, &p->still, false), 0);
	n = place_writers(&p->place, &p->read[p->c.read_count - 1], w);
	for (unsigned i = 0; i < n; i++) {
		all += w[i].part;
		his += w[i].producer == who ? w[i].part : 0;
	}
	assert_true(n <= PLACE_ROOM);
	assert_true(!n || (all > 0.999 && all < 1.001));
	assert_false(p->place.no_memory);
	place_release(&p->place);
	return his;
}

static const struct last_written none = { .near = NEAR_NONE, .producer = BEFORE, .site = FLOW_NONE };

TEST(the_nearer_a_store_the_more_it_tells)
{
	struct planted p;

	begin(&p);
	for (unsigned i = 0; i < 100; i++)
		store(&p, G, BASE + 0x4000 + 64 * i);
	for (unsigned i = 0; i < 8; i++)
		store(&p, F, BASE + 8 * i);
	p.stays[0] = 0; /* whatever it reads changes */
	reads(&p, BASE + 4, none);
	assert_true(part(&p, F) > 0.8); /* between stores of F */
	reads(&p, BASE + 0x4020, none);
	assert_true(part(&p, G) > 0.8);
	reads(&p, BASE + 0x80000, none);
	assert_true(part(&p, G) > 0.8 && part(&p, G) < 0.99); /* as the mapping has it */
	reads(&p, BASE, none);
	assert_true(part(&p, F) > 0.999); /* the very word */
}

/* Headers of G stand between values of F in one page. Who reads values, where a writer was seen, had them of F: so
 * those whose writer was missed are likely to be F's, too, however many stores of G are near. */
TEST(what_an_instruction_reads_is_of_whom_it_reads_elsewhere)
{
	struct planted p;
	double by_place;

	begin(&p);
	p.stays[0] = 0;
	for (unsigned i = 0; i < 200; i++)
		store(&p, G, BASE + 64 * i);
	for (unsigned i = 0; i < 20; i++)
		store(&p, F, BASE + 64 * i + 8);
	reads(&p, BASE + 64 * 60 + 16, none);
	by_place = part(&p, F);
	assert_true(by_place < 0.2 && part(&p, G) > 0.7);
	p.c.read_count = 0;
	for (unsigned i = 0; i < 20; i++)
		reads(&p, BASE + 64 * i + 8, none);
	reads(&p, BASE + 64 * 60 + 16, none);
	assert_true(part(&p, F) > 0.7 && part(&p, G) < 0.3);
	/* an instruction of which nothing is known is taken for one of its function's */
	p.read[p.c.read_count - 1].site = 3;
	assert_true(part(&p, F) > 0.7);
	p.read[p.c.read_count - 1].func = F;
	assert_true(part(&p, F) < 0.2);
}

/* What bursts left written: a word, by whom, and its mark. */
static void leaves(struct planted *p, uint32_t who, uint64_t addr, unsigned kind, unsigned which)
{
	static struct in_burst_item item[512];
	static struct in_burst burst = { .time = 1, .pid = PID };

	if (!p->in.burst_item) {
		burst.stores = 0;
		p->in.burst_item = item;
		p->in.burst = &burst;
		p->in.burst_count = 1;
	}
	assert_true(burst.stores < 512);
	item[burst.stores++] = (struct in_burst_item){
		.addr = addr, .site = who + 1, .size = 8, .mark = (uint16_t)(kind << FMT_MARK_BITS | which)
	};
}

/* A heap's words are used again and again: G's stores at the very word are of another object. What is read there is an
 * address of code, as only F writes. */
TEST(who_writes_such_values_wrote_it)
{
	struct planted p;

	begin(&p);
	for (unsigned i = 0; i < 20; i++)
		leaves(&p, G, BASE, FMT_MARK_OTHER, i);
	for (unsigned i = 0; i < 20; i++)
		leaves(&p, F, BASE + 0x9000 + 64 * i, FMT_MARK_CODE, 7);
	reads(&p, BASE, (struct last_written){ .near = NEAR_GRANULE, .producer = G, .site = G + 1 });
	assert_true(part(&p, G) > 0.99);
	p.read[0].burst = 1;
	p.read[0].mark = FMT_MARK_CODE << FMT_MARK_BITS | 7;
	assert_true(part(&p, F) > 0.9 && part(&p, G) < 0.1);
	/* one that each of them writes anew all the time says nothing */
	p.read[0].mark = FMT_MARK_OTHER << FMT_MARK_BITS | 4711;
	assert_true(part(&p, G) > 0.9);
	/* nor does a file hold addresses of code */
	p.read[0].a = (struct last_written){ .near = NEAR_GRANULE, .producer = CALL, .site = FLOW_NONE };
	p.read[0].addr = BASE + 0x40000;
	p.read[0].mark = FMT_MARK_CODE << FMT_MARK_BITS | 7;
	p.rate[0] = 1;
	p.read[0].a.age = 1;
	assert_true(part(&p, F) > 0.9);
}

TEST(who_writes_that_field_wrote_it)
{
	struct planted p;
	struct in_burst_pair known = { .reader = 0, .writer = 1, .bin = 3, .bytes = 1000 };

	begin(&p);
	p.stays[0] = 0;
	p.in.burst_pair = &known;
	p.in.burst_pair_count = 1;
	for (unsigned i = 0; i < 40; i++) {
		leaves(&p, G, BASE + 64 * i, FMT_MARK_OTHER, i);
		leaves(&p, F, BASE + 64 * i + 16, FMT_MARK_OTHER, 100 + i);
	}
	reads(&p, BASE + 64 * 100 + 16, none);
	p.read[0].burst = 1;
	p.read[0].mark = FMT_MARK_OTHER << FMT_MARK_BITS | 4711;
	assert_true(part(&p, F) > 0.3 && part(&p, F) < 0.7);
	site[0].field = site[1].field = 16 * FMT_FIELD_BYTE + FMT_FIELD_KNOWN;
	site[2].field = FMT_FIELD_KNOWN;
	assert_true(part(&p, F) > 0.9);
	site[0].field = site[1].field = site[2].field = 0;
}

TEST(of_one_word_each_as_often_as_it_was_seen)
{
	struct planted p;

	begin(&p);
	for (unsigned i = 0; i < 3; i++)
		store(&p, F, BASE);
	store(&p, G, BASE);
	reads(&p, BASE, none);
	assert_true(fabs(part(&p, F) - 0.75) < 1e-5);
}

/* 400 words of a page were seen written, three times each; what is read beside them never was. */
TEST(what_is_never_seen_written_where_all_else_is_stays)
{
	struct planted p;

	begin(&p);
	for (unsigned i = 0; i < 1200; i++)
		store(&p, F, BASE + 8 * (i % 400));
	for (unsigned i = 0; i < 40; i++)
		reads(&p, BASE + 4 + 64 * i, none);
	assert_true(part(&p, BEFORE) > 0.95);
}

/* Of so many words that are written only one in ten was seen. */
TEST(what_is_seldom_seen_written_may_have_been_missed)
{
	struct planted p;

	begin(&p);
	for (unsigned i = 0; i < 100; i++)
		store(&p, F, BASE + 32 * i);
	for (unsigned i = 0; i < 50; i++) /* each fifth word that it reads was seen written */
		reads(&p, BASE + 64 * i + (i % 5 ? 4 : 0), none);
	assert_true(part(&p, F) > 0.8);
}

TEST(what_changes_later_is_not_from_before)
{
	struct planted p;

	begin(&p);
	store(&p, F, BASE);
	reads(&p, BASE + 128, none);
	p.stays[0] = 1;
	assert_true(part(&p, BEFORE) > 0);
	p.stays[0] = 0;
	assert_true(part(&p, BEFORE) < 1e-6);
}

TEST(a_call_that_filled_is_one_of_those_who_wrote_since)
{
	struct last_written filled = { .near = NEAR_GRANULE, .producer = CALL, .site = FLOW_NONE, .age = 1 };
	struct call_stretch stretch = { .begin = 1, .end = 1000000 };
	struct planted p;

	begin(&p);
	reads(&p, BASE, filled);
	assert_true(part(&p, CALL) > 0.999);
	filled.age = 3000000000; /* three writes */
	reads(&p, BASE, filled);
	assert_true(part(&p, CALL) > 0.999); /* nobody else is known */
	store(&p, F, BASE + 16);
	reads(&p, BASE, filled);
	assert_true(fabs(part(&p, CALL) - 0.25) < 0.01); /* each fill would be seen */
	assert_true(fabs(part(&p, F) - 0.75) < 0.01);
	p.in.calls = (struct call_stretches){ .stretch = &stretch, .count = 1, .span_ns = 1e9 };
	/* of three changes, half: nearly no fill is seen, and no store */
	assert_true(fabs(part(&p, CALL) - 0.625) < 0.01);
	assert_true(fabs(part(&p, F) - 0.375) < 0.01);
	/* a store in this word would have been seen, as those around it are: it is the call that comes again */
	for (unsigned i = 0; i < 200; i++)
		store(&p, F, BASE + 16 + i % 100 * 4);
	reads(&p, BASE, filled);
	assert_true(part(&p, CALL) > 0.95);
	/* one was seen in it: as often as it changes */
	store(&p, F, BASE);
	reads(&p, BASE, filled);
	assert_true(fabs(part(&p, CALL) - 0.25) < 0.01);
	assert_true(fabs(part(&p, F) - 0.75) < 0.01);
}

/* One word of a line is little beside all that is around it. */
TEST(a_wider_place_has_one_vote)
{
	struct planted p;

	begin(&p);
	store(&p, F, BASE);
	for (unsigned i = 0; i < 48; i++)
		store(&p, G, BASE + 64 + 4 * i);
	p.stays[0] = 0;
	reads(&p, BASE + 32, none);
	assert_true(part(&p, F) > 0.45 && part(&p, F) < 0.6);
	assert_true(part(&p, G) > 0.4);
}

TEST(stores_on_the_stack_are_left_out)
{
	struct planted p;

	begin(&p);
	store(&p, F, BASE);
	store(&p, G, BASE);
	p.access[1].flags |= FMT_A_STACK;
	reads(&p, BASE, none);
	assert_true(part(&p, F) > 0.999);
}

/* A word that is read all the time says no more of what its reader reads than one that is read once. */
TEST(a_line_tells_once)
{
	struct planted p;

	begin(&p);
	for (unsigned i = 0; i < 150; i++) /* half of them twice: two thirds of all writes were seen */
		store(&p, F, BASE + 32 * (i % 100));
	reads(&p, BASE + 64, none);
	reads(&p, BASE + 128, none);
	for (unsigned i = 0; i < 200; i++)
		reads(&p, BASE + 256 + 4, none);
	assert_true(part(&p, F) > 0.8);
}

/* Nobody was seen to write the very words that a program hands to the kernel, and hardly any beside them. */
TEST(what_the_kernel_takes_was_made)
{
	struct planted p;

	begin(&p);
	for (unsigned i = 0; i < 900; i++)
		store(&p, F, BASE + 8 * (i % 300));
	for (unsigned i = 0; i < 30; i++)
		reads(&p, BASE + 4 + 64 * i, none);
	assert_true(part(&p, BEFORE) > 0.9);
	for (unsigned i = 0; i < 30; i++)
		p.read[i].call = 1;
	assert_true(part(&p, F) > 0.999);
}

TEST(constants_and_reads_without_an_address)
{
	struct planted p;

	begin(&p);
	store(&p, F, BASE);
	reads(&p, BASE, (struct last_written){ .near = NEAR_CONSTANT, .producer = OUTSIDE, .site = FLOW_NONE });
	assert_true(part(&p, OUTSIDE) > 0.999);
	reads(&p, 0, (struct last_written){ .near = NEAR_BLIND, .producer = UNKNOWN, .site = FLOW_NONE });
	assert_true(part(&p, UNKNOWN) == 0); /* nothing is said */
}

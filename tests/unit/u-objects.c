// SPDX-License-Identifier: GPL-2.0-or-later
/* Which ranges of nameless memory are one object. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/objects.h"
#include "store/write.h"
#include "unit/unit.h"

#define MB (1ull << 20)
#define AT 0x7f0000000000ull
enum { READER, WRITER, OTHER, FUNCTIONS };

static struct in_func funcs[FUNCTIONS] = {
	{ .name = "reader", .object = "app" },
	{ .name = "writer", .object = "app" },
	{ .name = "other", .object = "app" },
};

struct planted {
	struct flow_input in;
	struct objects o;
	size_t cap;
};

static void touch(struct planted *p, uint32_t pid, uint32_t func, uint64_t addr)
{
	struct in_access a = { .addr = addr,
			       .pid = pid,
			       .func = func,
			       .weight = 1,
			       .size = 8,
			       .flags = func == WRITER ? FMT_A_STORE : FMT_A_LOAD };

	if (p->in.access_count == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 64;
		p->in.access = realloc(p->in.access, p->cap * sizeof(a));
		assert_non_null(p->in.access);
	}
	p->in.access[p->in.access_count++] = a;
}

static void build(struct planted *p)
{
	struct err e = { 0 };

	p->in.funcs = funcs;
	p->in.func_count = FUNCTIONS;
	p->in.times = calloc(FUNCTIONS, sizeof(*p->in.times));
	assert_int_equal(objects_build(&p->in, false, &object_costs_default, 4, &p->o, &e), 0);
}

static void drop(struct planted *p)
{
	objects_release(&p->o);
	free(p->in.times);
	free(p->in.access);
	free(p->in.region);
}

/* Amounts by time rest on a speed, and are no surer than that. */
TEST(amounts_are_as_wide_as_the_speed)
{
	for (int known = 0; known < 2; known++) {
		struct planted p = { 0 };

		p.in.speed = (struct counts_speed){ .known = known, .low = 0.57, .high = 1.77, .seconds = NAN };
		touch(&p, 1, READER, 0x10000);
		p.in.access[0].flags |= FMT_A_TIME;
		build(&p);
		assert_true(known ? p.o.speed_low == 0.57 && p.o.speed_high == 1.77 : isnan(p.o.speed_low));
		drop(&p);
	}
}

/* Some samples far apart, too, as at the edges of what is used. */
static void array(struct planted *p, uint32_t pid, uint64_t at)
{
	for (uint64_t block = 0; block < 16; block++)
		for (uint64_t i = 0; i < 40; i++)
			touch(p, pid, i % 2 ? READER : WRITER, at + block * MB + i * 4096);
	for (uint64_t block = 1; block < 16; block++)
		touch(p, pid, READER, at + block * MB - MB / 2);
}

TEST(use_over_time_adds_up)
{
	struct planted p = { 0 };
	const struct object_row *r;
	double share = 0, samples = 0;

	array(&p, 1, AT);
	for (size_t i = 0; i < p.in.access_count; i++)
		p.in.access[i].time = 100 + i;
	build(&p);
	assert_int_equal(p.o.slices, 4);
	assert_true(p.o.slice_start == 100 && p.o.slice_width == (double)p.in.access_count / 4);
	r = &p.o.rows[0];
	assert_non_null(r->over_time);
	for (unsigned s = 0; s < 4; s++) {
		share += r->over_time[s];
		samples += r->over_time[4 + s];
		assert_true(fabs(r->over_time[4 + s] - p.o.slice_width) <= 1);
	}
	assert_true(samples == r->samples && fabs(share - r->share) < 1e-9);
	drop(&p);
}

TEST(a_sparse_array_is_one)
{
	struct planted p = { 0 };

	array(&p, 1, AT);
	build(&p);
	assert_int_equal(p.o.row_count, 1);
	assert_int_equal(p.o.rows[0].places, 31);
	assert_int_equal(p.o.rows[0].processes, 1);
	assert_true(p.o.rows[0].addr == AT && p.o.rows[0].size == 15 * MB + 39 * 4096 + 8);
	assert_true(p.o.rows[0].reads == 16 * 20 + 15 && p.o.rows[0].writes == 16 * 20);
	drop(&p);
}

/* Their samples lie between each other, which once cut them into as many ranges as there are samples. */
TEST(what_processes_inherit_is_one)
{
	struct planted p = { 0 };

	array(&p, 1, AT);
	array(&p, 2, AT + 8);
	build(&p);
	assert_int_equal(p.o.row_count, 1);
	assert_int_equal(p.o.rows[0].processes, 2);
	assert_int_equal(p.o.rows[0].places, 62);
	assert_true(p.o.rows[0].size == 15 * MB + 39 * 4096 + 8);
	drop(&p);
}

TEST(other_users_are_another_object)
{
	struct planted p = { 0 };

	array(&p, 1, AT);
	for (uint64_t i = 0; i < 40; i++)
		touch(&p, 1, OTHER, AT + 20 * MB + i * 64);
	/* too far for one mapping, as far as nobody knows of any */
	array(&p, 1, AT + 100 * MB);
	build(&p);
	assert_int_equal(p.o.row_count, 3);
	assert_true(p.o.rows[2].addr == AT + 20 * MB && p.o.rows[2].size == 39 * 64 + 8);
	drop(&p);
}

TEST(crumbs_are_the_rest_of_their_mapping)
{
	struct planted p = { 0 };

	for (uint64_t i = 0; i < 40; i++)
		touch(&p, 1, READER, AT + i * 64);
	for (uint64_t i = 0; i < 10; i++)
		touch(&p, 1, OTHER, AT + MB + i * MB);
	touch(&p, 1, READER, AT + 12 * MB);
	build(&p);
	assert_int_equal(p.o.row_count, 2);
	/* a reader's crumb goes to what the reader reads, the nearest or not */
	assert_true(p.o.rows[0].reads == 41 && p.o.rows[0].places == 2);
	assert_true(p.o.rows[1].reads == 10 && p.o.rows[1].places == 10);
	assert_true(p.o.rows[1].size != p.o.rows[1].size); /* unknown */
	assert_string_equal(p.o.rows[1].name, "memory, 10 places");
	drop(&p);
}

TEST(mappings_of_one_name_are_one_in_a_program)
{
	struct planted p = { 0 };
	const char *names[] = { "[heap]", "[heap]", "/var/data" };

	p.in.region = calloc(3, sizeof(*p.in.region));
	p.in.region_count = 3;
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t at = AT + i * 1000 * MB;

		p.in.region[i] = (struct in_region){ .start = at, .end = at + 32 * MB, .pid = i + 1, .name = names[i] };
		array(&p, i + 1, at + i * 4096);
	}
	build(&p);
	assert_int_equal(p.o.row_count, 2);
	assert_true(p.o.rows[0].processes == 2 && p.o.rows[1].processes == 1);
	assert_memory_equal(p.o.rows[0].name, "[heap] 0x", 9);
	drop(&p);
}

/* Too few samples to show its users, of a process whose sibling shows them at the same addresses. */
TEST(a_few_samples_belong_to_the_same_place_elsewhere)
{
	struct planted p = { 0 };

	array(&p, 1, AT);
	for (uint64_t i = 0; i < 6; i++)
		touch(&p, 2, READER, AT + MB + i * 64);
	build(&p);
	assert_int_equal(p.o.row_count, 1);
	assert_int_equal(p.o.rows[0].processes, 2);
	drop(&p);
}

/* A profile that tells what processes 1 to 3 are called. */
static struct profile *named(const char *const comm[3])
{
	char path[] = "/tmp/accperf-u-objects-XXXXXX";
	struct section_reader none = { 0 };
	struct err e = { 0 };
	int fd = mkstemp(path);
	struct store_writer *w = store_create(path, 0, &e);
	struct profile *p;

	assert_true(fd >= 0 && !close(fd));
	assert_non_null(w);
	for (uint32_t i = 0; i < 3; i++) {
		struct fmt_process s = { .pid = i + 1, .comm = store_string(w, comm[i]) };

		assert_int_equal(store_put(w, FMT_PROCESS, &s, sizeof(s)), 0);
	}
	assert_int_equal(store_close(w, &e), 0);
	p = profile_load_with(path, 0, &none, 1, &e);
	assert_non_null(p);
	unlink(path);
	return p;
}

/* Three do the same at the same addresses, and one of them is another program. */
TEST(another_program_has_another_object)
{
	struct planted p = { 0 };
	struct profile *profile = named((const char *const[]){ "server", "client", "server" });

	p.in.profile = profile;
	for (uint32_t pid = 1; pid <= 3; pid++)
		array(&p, pid, AT);
	build(&p);
	assert_int_equal(p.o.row_count, 2);
	assert_true(p.o.rows[0].processes == 2 && p.o.rows[1].processes == 1);
	drop(&p);
	profile_free(profile);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Allocations seen in turns: sites, rates, lives, and how long a block is trusted. */
/* harm: damaged records of allocations | 10 made by hand */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/input.h"
#include "flow/objects.h"
#include "store/write.h"
#include "unit/unit.h"

#define PID 7
#define MS 1000000ull
#define S 1000000000ull
#define AT 0x600000000000ull
#define PERIOD 100.0

enum { MALLOC = 1, NODE_NEW, XMALLOC, TEXT_NEW, MAIN, FUNCTIONS }; /* one address each */

struct made {
	struct store_writer *w;
	char path[64];
	uint32_t turn;
};

static void function(struct made *m, uint32_t id, const char *name)
{
	struct fmt_function f = { .id = id, .name = store_string(m->w, name), .object = store_string(m->w, "app") };
	struct fmt_symbol s = { .addr = 0x1000 * id, .module = 1, .count = 1 };
	struct fmt_inline in = { .function = id };

	store_put(m->w, FMT_FUNCTION, &f, sizeof(f));
	store_put_var(m->w, FMT_SYMBOL, &s, sizeof(s), &in, sizeof(in));
}

/* Leaf first, the functions by number. */
static void stack(struct made *m, uint32_t id, const uint32_t *of, uint16_t count)
{
	struct fmt_stack s = { .id = id, .count = count, .flags = FMT_STACK_COMPLETE };
	struct fmt_frame frames[8] = { { 0 } };

	for (int i = 0; i < count; i++)
		frames[i] = (struct fmt_frame){ .addr = 0x1000 * of[i], .module = 1 };
	store_put_var(m->w, FMT_STACK, &s, sizeof(s), frames, count * sizeof(frames[0]));
}

static void begin(struct made *m)
{
	static const char *const names[FUNCTIONS] = { "", "malloc", "node_new", "xmalloc", "text_new", "main" };
	struct fmt_module mod = { .id = 1, .kind = FMT_MOD_FILE };
	struct err e = { 0 };

	strcpy(m->path, "/tmp/accperf-u-heap-XXXXXX");
	close(mkstemp(m->path));
	m->w = store_create(m->path, 0, &e);
	assert_non_null(m->w);
	store_meta(m->w, "engine", "soft");
	mod.path = store_string(m->w, "app");
	store_put(m->w, FMT_MODULE, &mod, sizeof(mod));
	for (uint32_t f = 1; f < FUNCTIONS; f++)
		function(m, f, names[f]);
	stack(m, 1, (const uint32_t[]){ MALLOC, NODE_NEW, MAIN }, 3);
	stack(m, 2, (const uint32_t[]){ MALLOC, XMALLOC, TEXT_NEW, MAIN }, 4);
	stack(m, 3, (const uint32_t[]){ MALLOC }, 1);
}

static void turn(struct made *m, uint64_t from, uint64_t until, uint64_t allocs, uint64_t bytes)
{
	struct fmt_heap_turn t = { .begin = from,
				   .end = until,
				   .allocs = allocs,
				   .bytes = bytes,
				   .period = PERIOD,
				   .turn = ++m->turn,
				   .pid = PID };

	store_put(m->w, FMT_HEAP_TURN, &t, sizeof(t));
}

static void block(struct made *m, uint32_t of_turn, uint32_t stack_id, uint64_t born, uint64_t addr, uint64_t bytes)
{
	struct fmt_heap_block b = { .born = born,
				    .addr = addr,
				    .bytes = bytes,
				    .period = PERIOD,
				    .turn = of_turn,
				    .pid = PID,
				    .tid = PID,
				    .stack = stack_id,
				    .role = 1 };

	store_put(m->w, FMT_HEAP_BLOCK, &b, sizeof(b));
}

static void freed(struct made *m, uint64_t time, uint64_t addr, uint64_t born)
{
	struct fmt_heap_freed f = { .time = time, .addr = addr, .born = born, .pid = PID };

	store_put(m->w, FMT_HEAP_FREED, &f, sizeof(f));
}

static void end(struct made *m, struct flow_input *in)
{
	struct err e = { 0 };
	struct fmt_end last = { .time = 100 * S, .duration_ns = 100 * S, .reason = FMT_END_DONE };

	store_put(m->w, FMT_END, &last, sizeof(last));
	assert_int_equal(store_close(m->w, &e), 0);
	assert_int_equal(flow_input_load(in, m->path, NULL, &e), 0);
	unlink(m->path);
}

static const struct heap_site *site_named(const struct flow_input *in, const char *name)
{
	for (size_t i = 0; i < in->heap.site_count; i++)
		if (!strcmp(in->object_site[in->heap.site[i].object_site].name, name))
			return &in->heap.site[i];
	return NULL;
}

static const char *owner(const struct flow_input *in, uint64_t addr, uint64_t time)
{
	const struct in_object *o = in_object_at(in, PID, addr, time);

	return o ? in->object_site[o->site].name : NULL;
}

/* A site is the caller that is no wrapper; a stack without one is counted, and no site is made of it. */
TEST(sites_are_callers)
{
	struct made m = { 0 };
	struct flow_input in;

	begin(&m);
	turn(&m, 1 * S, 2 * S, 3, 300);
	block(&m, 1, 1, S + 1, AT, 100);
	block(&m, 1, 2, S + 2, AT + 4096, 100);
	block(&m, 1, 3, S + 3, AT + 8192, 100);
	block(&m, 1, 99, S + 4, AT + 12288, 100);
	end(&m, &in);
	assert_int_equal(in.heap.site_count, 2);
	assert_non_null(site_named(&in, "node_new"));
	assert_non_null(site_named(&in, "text_new"));
	assert_int_equal(in.heap.nowhere, 2);
	flow_input_release(&in);
}

/* A block stands for one over its chance; a rate is the mean of the turns', however long each was. */
TEST(rates_are_means_of_turns)
{
	const double weight = 1 / -expm1(-1.0);
	struct made m = { 0 };
	struct flow_input in;
	const struct heap_site *s;

	begin(&m);
	turn(&m, 1 * S, 2 * S, 2, 200);
	turn(&m, 5 * S, 5 * S + 100 * MS, 1, 100);
	block(&m, 1, 1, S + 1, AT, 100);
	block(&m, 1, 1, S + 2, AT + 4096, 100);
	block(&m, 2, 1, 5 * S + 1, AT + 8192, 100);
	end(&m, &in);
	s = site_named(&in, "node_new");
	assert_non_null(s);
	/* 2 a second, and 10 a second */
	assert_true(fabs(s->allocs - weight * 6) < 1e-9);
	assert_true(fabs(s->bytes - weight * 600) < 1e-6);
	assert_true(fabs(s->size - 100) < 1e-9);
	assert_true(fabs(in.heap.allocs - 6) < 1e-9 && fabs(in.heap.bytes - 600) < 1e-9);
	flow_input_release(&in);
}

/* While it is seen a block is known until its end; unseen, no longer than blocks of its site use to live. */
TEST(unseen_blocks_are_not_trusted)
{
	struct made m = { 0 };
	struct flow_input in;
	const struct heap_site *s;

	begin(&m);
	turn(&m, 1 * S, 2 * S, 20, 2000);
	/* ten live 100 ms each and are seen to end, one goes on */
	for (uint64_t i = 0; i < 10; i++) {
		block(&m, 1, 1, S + i, AT + 4096 * i, 100);
		freed(&m, S + i + 100 * MS, AT + 4096 * i, S + i);
	}
	block(&m, 1, 1, 2 * S - 100 * MS, AT + 4096 * 10, 100);
	/* of the other site none ends */
	for (uint64_t i = 0; i < 10; i++)
		block(&m, 1, 2, S + 1, AT + 4096 * (100 + i), 100);
	end(&m, &in);
	s = site_named(&in, "node_new");
	assert_non_null(s);
	assert_int_equal(s->ended, 10);
	assert_true(fabs(s->life_ns - 110e6) < 1e6);
	assert_true(isnan(site_named(&in, "text_new")->life_ns));
	assert_string_equal(owner(&in, AT + 50, S + 50 * MS), "node_new");
	assert_null(owner(&in, AT + 50, S + 150 * MS));
	assert_null(owner(&in, AT + 50, S - 1));
	/* within the turn, and 20 ms behind it; not 30 */
	assert_string_equal(owner(&in, AT + 4096 * 10 + 99, 2 * S - 1), "node_new");
	assert_string_equal(owner(&in, AT + 4096 * 10 + 99, 2 * S + 20 * MS), "node_new");
	assert_null(owner(&in, AT + 4096 * 10 + 99, 2 * S + 30 * MS));
	/* ten seconds were seen without an end */
	assert_string_equal(owner(&in, AT + 4096 * 100, 4 * S), "text_new");
	assert_null(owner(&in, AT + 4096 * 100, 5 * S));
	flow_input_release(&in);
}

TEST(a_newer_block_ends_an_older_one)
{
	struct made m = { 0 };
	struct flow_input in;

	begin(&m);
	turn(&m, 1 * S, 3 * S, 20, 2000);
	block(&m, 1, 1, S + 1, AT, 1000);
	block(&m, 1, 2, 2 * S, AT + 500, 1000);
	end(&m, &in);
	assert_string_equal(owner(&in, AT + 600, S + 2), "node_new");
	assert_string_equal(owner(&in, AT + 600, 2 * S + 1), "text_new");
	assert_null(owner(&in, AT + 100, 2 * S + 1));
	flow_input_release(&in);
}

/* By who had the address, else by who lies in its page; never for sure, and other processes say nothing. */
TEST(neighbours_speak_for_a_site)
{
	struct made m = { 0 };
	struct heap_guess g;
	struct flow_input in;

	begin(&m);
	turn(&m, 1 * S, 2 * S, 20, 2000);
	for (uint64_t i = 0; i < 4; i++)
		block(&m, 1, 1, S + 1, AT + 256 * i, 100);
	block(&m, 1, 2, S + 1, AT + 2048, 100);
	block(&m, 1, 2, S + 1, AT + 65536 - 50, 100);
	end(&m, &in);
	/* between blocks: five in the page, four of one site */
	assert_true(heap_guess(&in.heap, PID, AT + 128, 50 * S, &g));
	assert_int_equal(g.count, 2);
	assert_string_equal(in.object_site[in.heap.site[g.site[0]].object_site].name, "node_new");
	assert_true(g.part[0] > g.part[1] && fabs(g.part[0] + g.part[1] + g.unknown - 1) < 1e-9);
	assert_true(fabs(g.unknown - 1.0 / 6) < 1e-9);
	/* where a block was more is known; where one comes from the page before, something */
	assert_true(heap_guess(&in.heap, PID, AT + 2050, 50 * S, &g));
	assert_string_equal(in.object_site[in.heap.site[g.site[0]].object_site].name, "text_new");
	assert_true(heap_guess(&in.heap, PID, AT + 65536 + 4000, 50 * S, &g));
	assert_true(g.count == 1 && fabs(g.unknown - 0.5) < 1e-9);
	assert_false(heap_guess(&in.heap, PID, AT + 8192, 50 * S, &g));
	assert_false(heap_guess(&in.heap, PID + 1, AT + 128, 50 * S, &g));
	assert_true(g.count == 0 && g.unknown == 1);
	flow_input_release(&in);
}

/* Known, inferred and unknown are all there is of the heap, and a block's site has its readers. */
TEST(accesses_are_of_sites)
{
	struct made m = { 0 };
	struct flow_input in;
	struct objects o;
	struct err e = { 0 };

	begin(&m);
	turn(&m, 1 * S, 2 * S, 20, 2000);
	block(&m, 1, 1, S + 1, AT, 100);
	for (uint64_t i = 0; i < 30; i++) {
		struct fmt_access a = { .time = S + 10 + i,
					.addr = AT + (i < 10   ? 8
						      : i < 20 ? 1000
							       : 1 << 20),
					.ip = 0x1000 * TEXT_NEW,
					.weight = 1,
					.module = 1,
					.pid = PID,
					.tid = PID,
					.size = 8,
					.flags = FMT_A_LOAD };

		store_put(m.w, FMT_ACCESS, &a, sizeof(a));
	}
	end(&m, &in);
	assert_int_equal(objects_build(&in, false, &object_costs_default, 0, &o, &e), 0);
	assert_true(fabs(o.heap.known - 1.0 / 3) < 1e-9);
	assert_true(fabs(o.heap.inferred - 1.0 / 6) < 1e-9 && fabs(o.heap.unknown - 0.5) < 1e-9);
	assert_string_equal(o.rows[0].name, "node_new");
	assert_string_equal(o.rows[0].kind, "heap");
	assert_true(fabs(o.rows[0].share - 0.5) < 1e-9 && fabs(o.rows[0].inferred - 5) < 1e-9);
	assert_true(o.rows[0].share_error > 0.1 && o.rows[0].share_error < 0.3);
	assert_string_equal(o.rows[0].readers[0].name, "text_new");
	objects_release(&o);
	flow_input_release(&in);
}

/* Whatever the records say: no wrap, no endless search. */
TEST(damaged_records_do_no_harm)
{
	struct made m = { 0 };
	struct flow_input in;

	begin(&m);
	turn(&m, 5 * S, 1 * S, 1, 1);
	turn(&m, 1, UINT64_MAX, 1, 1);
	turn(&m, 1 * S, 3 * S, 1, 1);
	turn(&m, 2 * S, 4 * S, 1, 1);
	block(&m, 99, 1, UINT64_MAX, AT, 100);
	block(&m, 3, 1, S, UINT64_MAX - 5, 100);
	block(&m, 3, 1, S, AT, UINT64_MAX / 2);
	block(&m, 3, 1, 0, AT, 0);
	freed(&m, 0, AT, 0);
	freed(&m, 1, AT, UINT64_MAX);
	end(&m, &in);
	assert_int_equal(in.heap.block_count, 2);
	for (size_t i = 0; i < in.heap.block_count; i++)
		assert_true(in.heap.block[i].end > in.heap.block[i].addr);
	flow_input_release(&in);
}

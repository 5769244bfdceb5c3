// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Flow with callees over random call trees whose truth is known, where writers' stacks are missing or cut: what is
 * read is conserved, whatever is on every stack gets only what came from outside of the program, intervals hold.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/estimators.h"
#include "flow/inclusive.h"
#include "util/random.h"
#include "unit/unit.h"

#define FUNCTIONS 14 /* the first is main */
#define DEPTH 6
#define PATHS 40
#define READS 300

struct path {
	uint32_t func[DEPTH]; /* leaf first */
	uint32_t count;
};

struct world {
	struct flow_input in;
	struct flow f;
	struct last_writer c;
	struct path path[PATHS];
	double truth_in[FUNCTIONS], truth_out[FUNCTIONS], truth_read[FUNCTIONS], all;
	uint64_t chance;
};

static uint32_t below(struct world *w, uint32_t n)
{
	return (uint32_t)(random_unit(&w->chance) * n);
}

static bool on(const struct path *p, uint32_t func)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->func[i] == func)
			return true;
	return false;
}

/* Every function has one or two callers, of lower numbers, so that main is outermost of all. */
static void paths(struct world *w)
{
	uint32_t caller[FUNCTIONS][2];

	for (uint32_t i = 1; i < FUNCTIONS; i++)
		for (int k = 0; k < 2; k++)
			caller[i][k] = below(w, i);
	for (uint32_t i = 0; i < PATHS; i++) {
		struct path *p = &w->path[i];

		for (uint32_t f = 1 + below(w, FUNCTIONS - 1); p->count < DEPTH; f = caller[f][below(w, 2)]) {
			p->func[p->count++] = f;
			if (!f)
				break;
		}
		if (p->func[p->count - 1])
			p->func[p->count - 1] = 0;
	}
}

/* Stack of the input, of which `cut` outer functions are missing; index + 1. */
static uint32_t stack(struct world *w, const struct path *p, uint32_t cut)
{
	struct in_stack s = { .first = w->in.stack_func_count, .count = p->count - cut, .complete = !cut };

	for (uint32_t i = 0; i < s.count; i++)
		w->in.stack_func[w->in.stack_func_count++] = p->func[i];
	w->in.stack[w->in.stack_count++] = s;
	return (uint32_t)w->in.stack_count;
}

static void access_of(struct world *w, const struct path *p, uint32_t st, uint32_t flags)
{
	w->in.access[w->in.access_count++] =
		(struct in_access){ .func = p->func[0], .stack = st, .size = 8, .weight = 10, .flags = flags };
}

/* cut: parts of a hundred of stacks that are; missing: of the writers' that nobody knows; unseen: functions below so
 * many are never sampled as they store. */
static void plant(struct world *w, uint64_t seed, uint32_t cut, uint32_t missing, uint32_t unseen)
{
	char name[16];

	memset(w, 0, sizeof(*w));
	w->chance = seed * 0x9e3779b97f4a7c15ull;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), i ? "f%u" : "main", i);
		assert_int_equal(in_func_add(&w->in, name, "app"), i);
	}
	w->in.outside = in_func_add(&w->in, "(outside)", "");
	w->in.unknown = in_func_add(&w->in, "(unknown)", "");
	w->in.times = calloc(w->in.func_count, sizeof(*w->in.times));
	w->in.stack = calloc(4 * READS, sizeof(*w->in.stack));
	w->in.stack_func = calloc(4 * READS * DEPTH, sizeof(*w->in.stack_func));
	w->in.access = calloc(2 * READS, sizeof(*w->in.access));
	w->c.reads = calloc(READS, sizeof(*w->c.reads));
	flow_init(&w->f);
	paths(w);
	for (uint32_t i = 0; i < READS; i++) {
		const struct path *reader = &w->path[below(w, PATHS)], *writer = &w->path[below(w, PATHS)];
		bool outside = below(w, 10) == 0, is_cut = below(w, 100) < cut && reader->count > 2;
		uint32_t rs = stack(w, reader, is_cut ? 1 : 0), ws = stack(w, writer, 0);
		struct read_answer r = { .func = reader->func[0], .bytes = 1 + below(w, 1000), .stack = rs };

		r.a.producer = outside ? w->in.outside : writer->func[0];
		r.a.stack = outside || below(w, 100) < missing || writer->func[0] < unseen ? 0 : ws;
		access_of(w, reader, rs, FMT_A_LOAD);
		if (!outside && writer->func[0] >= unseen)
			access_of(w, writer, ws, FMT_A_STORE);
		w->c.reads[w->c.read_count++] = r;
		w->all += outside ? r.bytes : 0;
		for (uint32_t f = 0; f < FUNCTIONS; f++) {
			w->truth_read[f] += on(reader, f) ? r.bytes : 0;
			w->truth_in[f] += on(reader, f) && (outside || !on(writer, f)) ? r.bytes : 0;
			w->truth_out[f] += !on(reader, f) && !outside && on(writer, f) ? r.bytes : 0;
		}
	}
	for (size_t i = 0; i < w->c.read_count; i++) {
		const struct read_answer *r = &w->c.reads[i];
		const struct in_func *p = &w->in.funcs[r->a.producer], *c = &w->in.funcs[r->func];
		uint32_t pi = flow_func(&w->f, p->name, p->object), ci = flow_func(&w->f, c->name, c->object);
		struct flow_edge *e = flow_edge(&w->f, pi, ci);

		e->bytes += r->bytes;
		e->low = e->high = e->bytes;
	}
	flow_finish(&w->f);
}

static void unplant(struct world *w)
{
	flow_release(&w->f);
	free(w->c.reads);
	flow_input_release(&w->in);
}

static const struct flow_inclusive *of(const struct world *w, uint32_t func)
{
	uint32_t id = flow_find(&w->f, w->in.funcs[func].name, "app");

	return id == FLOW_NONE ? NULL : &w->f.funcs[id].inc;
}

static void solve(struct world *w)
{
	struct est_opts o = EST_OPTS_DEFAULT;

	assert_int_equal(flow_inclusive(&w->in, &o, &w->c, &w->f), 0);
}

/* Only what came from outside can enter what is on every stack, whoever was sampled. */
TEST(main_gets_what_came_from_outside)
{
	struct world w;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		plant(&w, seed, seed % 3 * 20, seed % 4 * 25, (uint32_t)(seed % 5) * 3);
		solve(&w);
		assert_true(fabs(of(&w, 0)->in - w.all) < 1e-6 * (1 + w.all));
		assert_true(of(&w, 0)->out < 1e-6 * w.truth_read[0]);
		unplant(&w);
	}
}

/* What is read inside was written inside or enters; intervals hold where stacks had to be guessed. */
TEST(reads_are_conserved_and_intervals_hold)
{
	unsigned held = 0, asked = 0;
	struct world w;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		bool cut = seed & 1;

		plant(&w, seed, cut ? 30 : 0, 60, 4);
		solve(&w);
		for (uint32_t f = 0; f < FUNCTIONS; f++) {
			const struct flow_inclusive *n = of(&w, f);

			if (!n || isnan(n->in))
				continue;
			if (!cut)
				assert_true(fabs(n->in + n->local - w.truth_read[f]) < 1e-6 * (1 + w.truth_read[f]));
			assert_true(n->in_low <= n->in && n->in <= n->in_high);
			assert_true(n->out_low <= n->out && n->out <= n->out_high);
			held += n->in_low <= w.truth_in[f] + 1e-6 && w.truth_in[f] <= n->in_high + 1e-6;
			held += n->out_low <= w.truth_out[f] + 1e-6 && w.truth_out[f] <= n->out_high + 1e-6;
			asked += 2;
		}
		unplant(&w);
	}
	printf("# %u of %u intervals hold\n", held, asked);
	assert_true(held >= asked * 0.9);
}

/* copy() stores half of the time within pack() and half of the time beside it; nobody knows on which stack it stored
 * what is read: `inside` by pack()'s own code, else by the kernel. pack() is functions 0 to 2: main, pack, copy. */
static struct flow_inclusive pack_by_guess(bool inside, double high)
{
	static const struct path within = { { 2, 1, 0 }, 3 }, beside = { { 2, 0 }, 2 }, pack = { { 1, 0 }, 2 };
	struct flow_inclusive n;
	struct world w;
	struct read_answer r = { .bytes = 1000, .a.producer = 2 };
	struct flow_edge *e;

	plant(&w, 1, 0, 0, 0);
	w.in.access_count = w.c.read_count = 0;
	flow_release(&w.f);
	flow_init(&w.f);
	access_of(&w, &within, stack(&w, &within, 0), FMT_A_STORE);
	access_of(&w, &beside, stack(&w, &beside, 0), FMT_A_STORE);
	r.func = inside ? 1 : in_func_add(&w.in, "(kernel:write)", "");
	r.stack = inside ? stack(&w, &pack, 0) : 0;
	w.in.times = realloc(w.in.times, w.in.func_count * sizeof(*w.in.times));
	memset(w.in.times, 0, w.in.func_count * sizeof(*w.in.times));
	w.c.reads[w.c.read_count++] = r;
	e = flow_edge(&w.f, flow_func(&w.f, "f2", "app"),
		      inside ? flow_func(&w.f, "f1", "app") : flow_func(&w.f, "(kernel:write)", ""));
	e->bytes = e->low = 1000;
	e->high = high;
	flow_finish(&w.f);
	solve(&w);
	n = *of(&w, 1);
	unplant(&w);
	return n;
}

/* Whoever wrote it, what is read inside does not leave; and what the kernel reads may all have been written inside. */
TEST(what_is_known_of_one_end_bounds_the_guess_of_the_other)
{
	struct flow_inclusive n = pack_by_guess(true, 1000);

	assert_true(n.out == 0 && n.out_low == 0 && n.out_high < 1e-6);
	assert_true(fabs(n.in - 500) < 1e-6 && n.in_low < 1e-6 && n.in_high > 1000 - 1e-6);
	n = pack_by_guess(false, 1000);
	assert_true(n.in == 0 && n.in_high < 1e-6);
	assert_true(fabs(n.out - 500) < 1e-6 && n.out_low < 1e-6 && n.out_high > 1000 - 1e-6);
	/* who wrote it is known to a factor, how much the kernel read was counted */
	n = pack_by_guess(false, 9000);
	assert_true(n.out_high > 1000 - 1e-6 && n.out_high < 1000 + 1e-6);
}

/* release() of the program was never seen; of what serve() reads it wrote, nothing leaves the library's deflate(),
 * though that is on every stack: a library calls no function of a program that is seen beside it. */
TEST(who_was_never_seen_is_called_where_its_object_is)
{
	static const struct path busy = { { 0, 1, 2 }, 3 }, serving = { { 1, 2 }, 2 };
	struct world w = { 0 };
	struct read_answer r = { .func = 1, .bytes = 1000, .a.producer = 3 };
	struct flow_edge *e;

	in_func_add(&w.in, "deflate", "lib");
	in_func_add(&w.in, "serve", "app");
	in_func_add(&w.in, "main", "app");
	in_func_add(&w.in, "release", "app");
	w.in.times = calloc(w.in.func_count, sizeof(*w.in.times));
	w.in.stack = calloc(16, sizeof(*w.in.stack));
	w.in.stack_func = calloc(64, sizeof(*w.in.stack_func));
	w.in.access = calloc(16, sizeof(*w.in.access));
	w.c.reads = calloc(1, sizeof(*w.c.reads));
	flow_init(&w.f);
	for (int i = 0; i < 4; i++)
		access_of(&w, &busy, stack(&w, &busy, 0), FMT_A_LOAD);
	r.stack = stack(&w, &serving, 0);
	w.c.reads[w.c.read_count++] = r;
	e = flow_edge(&w.f, flow_func(&w.f, "release", "app"), flow_func(&w.f, "serve", "app"));
	e->bytes = e->low = e->high = 1000;
	flow_finish(&w.f);
	solve(&w);
	assert_true(w.f.funcs[flow_find(&w.f, "deflate", "lib")].inc.out < 1e-6);
	assert_true(w.f.funcs[flow_find(&w.f, "serve", "app")].inc.local > 1000 - 1e-6);
	unplant(&w);
}

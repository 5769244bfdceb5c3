/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses, windows and ranges of calls that a test plants into a profile, and what an estimator makes of them:
 * plant_begin(), plant()..., plant_estimate(), share(), plant_release(). Included by the tests of flow estimators.
 */
#ifndef TESTS_PLANTED_H
#define TESTS_PLANTED_H

#include <string.h>

#include "flow/estimators.h"
#include "store/write.h"
#include "unit/temp_file.h"
#include "unit/unit.h"

enum { WRITER_A = 1, WRITER_B, READER, TABLE_WRITER, SETTER, FUNCTIONS = SETTER };

struct plant {
	struct store_writer *w;
	uint64_t now, lasted; /* lasted: the recording's length; 0: not told */
	struct est_opts o;
	struct flow_input in; /* since plant_end() */
	struct flow f;        /* as estimated */
};

static inline void plant_begin(struct plant *p, const char *from_start)
{
	static const char *const names[] = { "", "writer_a", "writer_b", "reader", "table_writer", "memset" };
	struct err e = { 0 };
	struct fmt_module m = { .id = 1, .kind = FMT_MOD_FILE };

	p->now = 1000;
	p->lasted = 0;
	p->o = (struct est_opts)EST_OPTS_DEFAULT;
	p->w = store_create(path, 0, &e);
	assert_non_null(p->w);
	store_meta(p->w, "engine", "pmu");
	store_meta(p->w, "from_start", from_start);
	m.path = store_string(p->w, "/nowhere/app");
	store_put(p->w, FMT_MODULE, &m, sizeof(m));
	for (uint32_t i = 1; i <= FUNCTIONS; i++) {
		struct fmt_function f = { .id = i,
					  .name = store_string(p->w, names[i]),
					  .object = store_string(p->w, "/nowhere/app") };

		store_put(p->w, FMT_FUNCTION, &f, sizeof(f));
	}
}

static inline struct fmt_access access_at(struct plant *p, uint32_t function, uint64_t addr, uint32_t flags,
					  double weight)
{
	return (struct fmt_access){ .time = p->now++,
				    .addr = addr,
				    .ip = 0x1000 * function + (flags & 3),
				    .weight = weight,
				    .module = 1,
				    .pid = 1,
				    .tid = 1,
				    .function = function,
				    .size = 4,
				    .flags = flags };
}

static inline void plant(struct plant *p, uint32_t function, uint64_t addr, uint32_t flags, double weight)
{
	struct fmt_access a = access_at(p, function, addr, flags, weight);

	store_put(p->w, FMT_ACCESS, &a, sizeof(a));
}

static inline void plant_end(struct plant *p)
{
	struct err e = { 0 };
	struct fmt_end end = { .time = p->now, .duration_ns = p->lasted, .reason = FMT_END_DONE };
	struct flow_input_opts o = { 0 };

	store_put(p->w, FMT_END, &end, sizeof(end));
	assert_int_equal(store_close(p->w, &e), 0);
	assert_int_equal(flow_input_load(&p->in, path, &o, &e), 0);
}

static inline double share(const struct plant *p, const char *producer, const char *consumer)
{
	const struct flow_edge *e = flow_get(&p->f, flow_find(&p->f, producer, NULL), flow_find(&p->f, consumer, NULL));

	return e ? e->bytes / flow_total(&p->f) : 0;
}

static inline void estimate(struct plant *p, const char *name)
{
	struct err e = { 0 };

	if (flow_estimate(&p->in, name, &p->o, &p->f, &e))
		fail_msg("%s", e.text);
}

static inline void plant_estimate(struct plant *p, const char *name)
{
	plant_end(p);
	estimate(p, name);
}

static inline void plant_release(struct plant *p)
{
	flow_release(&p->f);
	flow_input_release(&p->in);
}

/* A window of `open` time units on a load of fn: WRITER_B writes after `written` of them (0: nobody does)
 * between two reads. */
static inline void plant_window(struct plant *p, uint32_t fn, uint64_t addr, uint64_t open, uint64_t written)
{
	struct fmt_access arm = access_at(p, fn, addr, FMT_A_LOAD, 100);
	struct fmt_window w = { .armed = p->now,
				.ended = p->now + open,
				.addr = addr,
				.len = 4,
				.end_reason = FMT_W_TIME,
				.count = written ? 3 : 2,
				.write_only_after = ~0u };
	struct fmt_hit h[3];

	for (unsigned k = 0; k < w.count; k++) {
		bool store = written && k == 1;
		uint32_t who = store ? WRITER_B : fn;

		h[k] = (struct fmt_hit){ .time = p->now + (k ? k * (written ? written : 1) : 1),
					 .module = 1,
					 .syscall = -1,
					 .function = who,
					 .flags = store ? FMT_A_STORE : FMT_A_LOAD,
					 .ip = 0x1000 * who + (store ? FMT_A_STORE : FMT_A_LOAD) };
	}
	memcpy(&w.arm, &arm, sizeof(w.arm));
	store_put(p->w, FMT_ACCESS, &arm, sizeof(arm));
	store_put_var(p->w, FMT_WINDOW, &w, sizeof(w), h, w.count * (uint32_t)sizeof(h[0]));
	p->now += 2000000;
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* What is shared of a profile's flow is what whoever asks for it would have read and estimated, and is had once. */
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <string.h>

#include "counts/counts_report.h"
#include "counts/counts_windows.h"
#include "flow/estimators.h"
#include "flow/objects.h"
#include "flow/shared.h"
#include "unit/unit.h"
#include "unit/unit.h"

static const double levels[] = { 0.95, 0.9, 0 };

static void same(double a, double b)
{
	assert_true(a == b || (isnan(a) && isnan(b)));
}

static void same_flow(const struct flow *a, const struct flow *b)
{
	assert_int_equal(a->func_count, b->func_count);
	assert_int_equal(a->edge_count, b->edge_count);
	assert_int_equal(a->inclusive, b->inclusive);
	same(a->level, b->level);
	same(a->cut_stacks, b->cut_stacks);
	for (uint32_t i = 0; i < a->func_count; i++) {
		const struct flow_func *x = &a->funcs[i], *y = &b->funcs[i];

		assert_string_equal(x->name, y->name);
		assert_string_equal(x->object, y->object);
		same(x->in, y->in);
		same(x->in_low, y->in_low);
		same(x->out_high, y->out_high);
		same(x->compute, y->compute);
		same(x->inc.in, y->inc.in);
		same(x->inc.in_high, y->inc.in_high);
		same(x->inc.compute, y->inc.compute);
	}
	for (size_t i = 0; i < a->edge_count; i++) {
		const struct flow_edge *x = &a->edges[i], *y = &b->edges[i];

		assert_int_equal(x->producer, y->producer);
		assert_int_equal(x->consumer, y->consumer);
		same(x->bytes, y->bytes);
		same(x->low, y->low);
		same(x->high, y->high);
		same(x->unique, y->unique);
	}
}

/* As a command asks: an input of its own, and an estimate. ready: estimates came with the input. */
static bool estimated(const char *path, const struct flow_input_opts *io, const struct est_opts *o, bool ready,
		      struct flow *f)
{
	struct flow_input in;
	struct err e = { 0 };
	bool ok;

	assert_int_equal(flow_input_load(&in, path, io, &e), 0);
	assert_int_equal(in.ready != NULL, ready);
	ok = !flow_estimate(&in, NULL, o, f, &e);
	flow_input_release(&in);
	return ok;
}

static void compare_one(const char *path, bool inclusive, double level)
{
	struct flow_input_opts io = { .bytes = true, .stacks = inclusive, .compute = true };
	struct est_opts o = EST_OPTS_DEFAULT;
	struct flow own, shared;
	struct err e = { 0 };

	o.inclusive = inclusive;
	o.level = level;
	if (!estimated(path, &io, &o, false, &own))
		return;
	assert_int_equal(flow_share_estimate(path, levels, &e), 0);
	assert_true(estimated(path, &io, &o, true, &shared));
	same_flow(&own, &shared);
	flow_release(&shared);
	/* it has been had: this one is read */
	assert_true(estimated(path, &io, &o, false, &shared));
	same_flow(&own, &shared);
	flow_release(&shared);
	flow_release(&own);
	flow_share_end();
}

TEST(as_it_would_be_read)
{
	glob_t found;

	assert_int_equal(glob("tests/golden/live-*.prof", 0, NULL, &found), 0);
	assert_int_equal(glob("tests/golden/[ekrp]*.prof", GLOB_APPEND, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		compare_one(found.gl_pathv[i], true, levels[i % 2]);
		compare_one(found.gl_pathv[i], false, levels[0]);
	}
	globfree(&found);
}

/* The rows of `objects`, of an input that came with estimates or not. */
static void objects_of(const char *path, bool ready, struct flow_input *in, struct objects *out)
{
	const struct flow_input_opts io = { .bytes = true, .locals = true, .compute = true, .stores_too = true };
	struct err e = { 0 };

	assert_int_equal(flow_input_load(in, path, &io, &e), 0);
	assert_int_equal(in->ready != NULL, ready);
	assert_int_equal(objects_build(in, false, &object_costs_default, 0, out, &e), 0);
}

/* A page reads a profile once, for its objects, too. */
TEST(objects_as_they_would_be_read)
{
	static const char *const paths[] = { "tests/golden/live-pipeline.prof", "tests/golden/live-kv.prof",
					     "tests/golden/live-zlib.prof" };
	struct flow_input in[2];
	struct objects o[2];
	struct err e = { 0 };

	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		objects_of(paths[i], false, &in[0], &o[0]);
		assert_int_equal(flow_share_estimate(paths[i], levels, &e), 0);
		objects_of(paths[i], true, &in[1], &o[1]);
		assert_true(o[0].row_count > 0);
		assert_int_equal(o[0].row_count, o[1].row_count);
		for (size_t k = 0; k < o[0].row_count; k++) {
			assert_string_equal(o[0].rows[k].name, o[1].rows[k].name);
			same(o[0].rows[k].share, o[1].rows[k].share);
		}
		for (int k = 0; k < 2; k++) {
			objects_release(&o[k]);
			flow_input_release(&in[k]);
		}
		flow_share_end();
	}
}

/* The counts' solution that an input holds makes the report that they make by themselves. */
TEST(counts_solved_once)
{
	static const char path[] = "tests/golden/live-counts.prof";
	const struct flow_input_opts io = { .bytes = true };
	struct counts_record rec = { 0 };
	struct counts_report own, known;
	struct flow_input in;
	struct err e = { 0 };
	struct profile *p = counts_record_and_profile(&rec, path, &e);

	assert_non_null(p);
	assert_int_equal(flow_input_load(&in, path, &io, &e), 0);
	assert_non_null(in.solved);
	assert_int_equal(counts_report_make(&rec, p, NULL, 100, &own, &e), 0);
	/* twice: whoever asks leaves it as it was */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(counts_report_make(&rec, p, in.solved, 100, &known, &e), 0);
		assert_int_equal(own.row_count, known.row_count);
		for (size_t k = 0; k < own.row_count; k++) {
			assert_string_equal(own.row[k].name, known.row[k].name);
			same(own.row[k].share.high, known.row[k].share.high);
			same(own.row[k].second.value, known.row[k].second.value);
			same(own.row[k].second.low, known.row[k].second.low);
		}
		counts_report_release(&known);
	}
	counts_report_release(&own);
	flow_input_release(&in);
	counts_record_release(&rec);
	profile_free(p);
}

/* A part of a profile, library code as its callers', another estimator's figures: none of these is what is shared. */
TEST(not_what_was_asked_for)
{
	static const char path[] = "tests/golden/live-threads.prof";
	const struct flow_input_opts others[] = { { .main_image = true }, { .tid = 1 } };
	struct est_opts o = EST_OPTS_DEFAULT;
	struct err e = { 0 };

	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct flow f;

		assert_int_equal(flow_share_estimate(path, levels, &e), 0);
		if (estimated(path, &others[i], &o, false, &f))
			flow_release(&f);
		flow_share_end();
	}
	assert_int_equal(flow_share_estimate("/nowhere", levels, &e), -ENOENT);
	flow_share_end();
}

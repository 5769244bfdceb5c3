// SPDX-License-Identifier: GPL-2.0-or-later
/* What refits take a function to have read scatters as its counts may be off, and who wrote it as little is known. */
#include <math.h>
#include <stdlib.h>

#include "flow/volume_error.h"
#include "flow/writer_error.h"
#include "unit/unit.h"
#include "util/normal.h"

#define ROUNDS 4000
enum { SURE, UNSURE, UNCOUNTED, REST, FUNCTIONS };

TEST(functions_scatter_as_they_were_counted)
{
	struct in_func func[FUNCTIONS] = { { .name = "sure", .executed_sd = 0.05 },
					   { .name = "unsure", .executed_sd = 1 },
					   { .name = "uncounted" },
					   { .name = "rest", .executed_sd = 0.01 } };
	struct in_site site[FUNCTIONS];
	struct flow_input in = { .funcs = func, .func_count = FUNCTIONS, .sites = site, .site_count = FUNCTIONS };
	struct volume_error v;
	double sum[FUNCTIONS] = { 0 }, square[FUNCTIONS] = { 0 };
	uint64_t seed = 7;

	for (uint32_t i = 0; i < FUNCTIONS; i++) /* blocks that bursts parted: hardly any error of their own */
		site[i] = (struct in_site){ .ip = 0x1000 * i, .func = i, .block = i + 1 };
	assert_int_equal(volume_error_new(&v, &in), 0);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		volume_error_add(&v, i, i == REST ? 1e6 : 1); /* which hold the sum */
	for (int round = 0; round < ROUNDS; round++) {
		double all = 0;

		volume_error_draw(&v, &in, &seed);
		for (uint32_t i = 0; i < FUNCTIONS; i++) {
			double x = log(v.reader[i]);

			all += v.bytes[i] * v.factor[i];
			sum[i] += x;
			square[i] += x * x;
		}
		assert_true(fabs(all / (1e6 + REST) - 1) < 1e-9);
	}
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		square[i] = sqrt(square[i] / ROUNDS - pow(sum[i] / ROUNDS, 2));
	assert_true(square[SURE] < 0.25);
	assert_true(square[UNSURE] > 0.9 && square[UNSURE] < 1.1);
	assert_true(square[UNCOUNTED] > 0.6 && square[UNCOUNTED] < 0.8);
	assert_true(square[REST] < 1e-3);
	volume_error_release(&v);
}

/* Two blocks of one function, which nothing parted but time, may be off against each other; one block is one piece. */
TEST(blocks_scatter_where_time_parts_them)
{
	struct in_func func[] = { { .name = "only", .executed_sd = 1 } };
	struct in_site site[] = { { .ip = 0x1000 }, { .ip = 0x1004 }, { .ip = 0x2000 } };
	struct flow_input in = { .funcs = func, .func_count = 1, .sites = site, .site_count = 3 };
	struct volume_error v;
	double apart = 0;
	uint64_t seed = 7;

	assert_int_equal(volume_error_new(&v, &in), 0);
	for (uint32_t i = 0; i < in.site_count; i++)
		volume_error_add(&v, i, 1);
	for (int round = 0; round < ROUNDS; round++) {
		volume_error_draw(&v, &in, &seed);
		assert_true(fabs(v.factor[0] / v.factor[1] - 1) < 1e-9);
		apart += pow(log(v.factor[2] / v.factor[0]), 2);
	}
	assert_true(sqrt(apart / ROUNDS) > 0.3);
	volume_error_release(&v);
}

TEST(proportions_of_few_trials)
{
	struct flow_range r = writer_proportion(1, 2, Z90);

	assert_true(r.high == 1 && fabs(r.low - 2 / (2 + Z90 * Z90)) < 1e-9);
	r = writer_proportion(0, 100, Z90);
	assert_true(r.low == 0 && fabs(r.high - Z90 * Z90 / (100 + Z90 * Z90)) < 1e-9);
	r = writer_proportion(0.5, 1e6, Z90);
	assert_true(r.high - r.low < 0.002 && r.low < 0.5 && r.high > 0.5);
}

enum { READER, WRITER, OTHER, NOBODY, ALL };

TEST(what_nobody_wrote_anybody_may_have)
{
	struct edge_ids ids = { 0 };
	const double trials[ALL] = { 1e6, 1e6, 1e6, 1e6 };
	double edge[3];
	const struct writer_evidence of = { edge, trials, ALL, NOBODY, Z90 };
	struct writer_error w;

	edge[edge_id(&ids, WRITER, READER)] = 60;
	edge[edge_id(&ids, NOBODY, READER)] = 30;
	edge[edge_id(&ids, OTHER, READER)] = 10;
	assert_int_equal(writer_error_of(&w, &ids, &of), 0);
	assert_true(w.less[0] < 1 && w.more[0] >= 30 && w.more[0] < 31);
	assert_true(w.less[1] == 30 && w.more[1] < 1);
	assert_true(w.more[2] >= 30 && w.out_more[OTHER] >= 30);
	assert_true(w.out_less[NOBODY] == 30 && w.out_less[WRITER] < 1);
	writer_error_release(&w);
	edge_ids_release(&ids);
}

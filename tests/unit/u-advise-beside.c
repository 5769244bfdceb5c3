// SPDX-License-Identifier: GPL-2.0-or-later
/* What is told beside a prediction: bytes that a call needs once, page faults that stay, data placed on the device. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/verdict.h"
#include "model/catalogue.h"
#include "view/advise.h"

#include "made_program.h"
#include "unit/unit.h"

/* What one call reads is told by what all of them read only where each reads other bytes, and each once. */
TEST(what_a_call_needs_once)
{
	const double per_s = 1e3, bytes = 32 * KB;
	const struct candidate *c;
	struct advise_view v;
	struct made m;
	AUTO_BUF(text);

	begin(&m);
	device(&m, "board", 500, 0.1, 10);
	function(&m, "streams", 1e5, per_s, bytes, bytes);
	function(&m, "twice", 1e5, per_s, bytes, bytes);
	sizes(function(&m, "told", 1e5, per_s, bytes, bytes), 16 * KB, 1e5, .5, 16 * KB, 1e5);
	for (uint32_t f = 0; f < 3; f++) {
		edge(&m, ADVISE_ELSEWHERE, f, bytes * per_s);
		m.in.edge[f].unique = f == 0 ? bytes * per_s * m.in.seconds : 1024 * KB; /* buffers come again */
	}
	judge(&m);
	c = named(&m, "streams");
	assert_float_equal(c->unique_in.value, bytes, 1);
	assert_true(c->unique_in.low < bytes && c->unique_in.high > bytes);
	c = named(&m, "twice");
	assert_true(isnan(c->unique_in.value));
	assert_true(c->unique_in.low < 1024 * KB / 9e3 && c->unique_in.high >= bytes);
	c = named(&m, "told");
	assert_float_equal(c->unique_in.value, 16 * KB, 1);
	v = (struct advise_view){
		.file = "x", .input = &m.in, .candidates = &m.candidates, .advice = &m.advice, .all = true
	};
	advise_text(&v, &(struct text_style){ .width = 0 }, &text);
	assert_non_null(strstr(text.data, "32 KB [29.8 KB..34.3 KB] out, 31.4 KB to 34.3 KB distinct in, 0.5 ["));
	assert_null(strstr(text.data, "KB] in, 15.8 KB to 16.2 KB distinct in")); /* told once */
	assert_true(isnan(c->unique_out.low)); /* it hands out bytes, and no edge leaves it */
	end(&m);
}

/* The rest of the program moves as many bytes of its data as it copies: what copies save, reaching over costs. */
TEST(data_placed_on_the_device)
{
	const double per_s = 5e3, bytes = 16 * KB;
	const struct advise_option *o;
	struct made m;

	begin(&m);
	device(&m, "board", 1000, 0.2, 10);
	function(&m, "hash", 1e5, per_s, bytes, 0);
	edge(&m, ADVISE_ELSEWHERE, 0, bytes * per_s);
	judge(&m);
	o = first(&m, "hash");
	assert_float_equal(o->p.rest_loses.value, .5 * .2 * bytes / 1e5, 1e-6);
	assert_true(o->p.rest_loses.low < o->p.rest_loses.value && o->p.rest_loses.value < o->p.rest_loses.high);
	assert_float_equal(o->p.process_placed.value, 1 / (.5 + .5 * (1e3 + 1e4) / 1e5 + .5 * .2 * bytes / 1e5), 1e-3);
	assert_float_equal(o->p.process_placed.value, o->p.process_speedup.value, 1e-3);
	end(&m);
	begin(&m);
	device(&m, "board", 1000, 0.2, 10);
	function(&m, "hash", 1e5, per_s, bytes, 0);
	edge(&m, ADVISE_ELSEWHERE, 0, bytes * per_s);
	m.in.edge[0].before = true; /* nobody else has it */
	judge(&m);
	o = first(&m, "hash");
	assert_float_equal(o->p.rest_loses.value, 0, 1e-9);
	assert_float_equal(o->p.process_placed.value, 1 / (.5 + .5 * (1e3 + 1e4) / 1e5), 1e-3);
	assert_true(o->p.process_placed.value > 1.02 * o->p.process_speedup.value);
	end(&m);
}

/* A tenth of its calls' time are page faults: should they stay, no device makes it more than ten times faster. */
TEST(faults_that_stay)
{
	struct advise_function *f;
	struct figure s;
	struct made m;

	begin(&m);
	device(&m, "board", 500, 0.01, 100);
	f = function(&m, "hash", 1e5, 5e3, 16 * KB, 0);
	sizes(f, 16 * KB, 1e5, .5, 16 * KB, 1e5);
	f->fault_share = .1;
	judge(&m);
	s = advise_faulting(named(&m, "hash"), &first(&m, "hash")->p.speedup);
	assert_true(first(&m, "hash")->p.speedup.value > 40);
	assert_float_equal(1 / s.value, 1 / first(&m, "hash")->p.speedup.value + .1, 1e-9);
	assert_true(s.low < s.value && s.value < s.high && s.high < 10);
	m.in.function[0].fault_share = NAN; /* not counted */
	s = advise_faulting(named(&m, "hash"), &first(&m, "hash")->p.speedup);
	assert_true(isnan(s.value));
	end(&m);
}

/* Figures that no stored profile has: whole ones in JSON, and what is known of one in part apart from them. */
TEST(figures_in_json)
{
	const double per_s = 1e4, bytes = 16 * KB;
	struct advise_function *f;
	struct advise_view v;
	struct made m;
	AUTO_BUF(json);

	begin(&m);
	device(&m, "board", 1000, 0.2, 10);
	f = function(&m, "hash", 5e4, per_s, bytes, 0);
	f->compute = 40 * bytes * per_s;
	sizes(f, 64, 200, .5, 64 * KB, 1e5);
	f->beta = FIGURE_EXACT(1);
	f->C = FIGURE_EXACT(1.5);
	edge(&m, ADVISE_ELSEWHERE, 0, bytes * per_s);
	m.in.edge[0].before = true;
	judge(&m);
	v = (struct advise_view){ .file = "x", .input = &m.in, .candidates = &m.candidates, .advice = &m.advice };
	advise_json(&v, &json);
	assert_non_null(strstr(json.data, "\"resident\":{\"value\":"));
	assert_non_null(strstr(json.data, "\"ops_per_byte\":{\"value\":"));
	assert_non_null(strstr(json.data, "\"g1\":{\"value\":"));
	assert_non_null(strstr(json.data, "\"g_half\":{\"value\":"));
	assert_non_null(strstr(json.data, "\"speedup\":{\"value\":"));
	assert_non_null(strstr(json.data, "\"C\":{\"value\":1.5,"));
	assert_non_null(strstr(json.data, "\"limit_bound\":\"communication\""));
	end(&m);
}

/* Copies of .2 ns a byte, or of .05, before work that grows faster than its bytes, more slowly, or as they do. */
TEST(bound_in_the_limit)
{
	static const struct {
		const char *name;
		double beta, C;
		const char *far, *near;
	} all[] = {
		{ "sort", 1.2, 1, "computation", "computation" },
		{ "search", .3, 1, "communication", "communication" },
		{ "hash", 1, 1, "communication", "computation" }, /* a tenth of a ns a byte there */
		{ "told", NAN, NAN, NULL, NULL },
	};
	struct advise_view v;
	struct made m;
	AUTO_BUF(text);

	begin(&m);
	device(&m, "far", 1000, 0.2, 10);
	device(&m, "near", 1000, 0.05, 10);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct advise_function *f = function(&m, all[i].name, 1e4, 1e4, 16 * KB, 0);

		sizes(f, KB, 1e3, .5, 64 * KB, 1.9e4);
		f->beta = FIGURE_EXACT(all[i].beta);
		f->C = FIGURE_EXACT(all[i].C);
	}
	judge(&m);
	for (size_t i = 0; i < m.advice.count; i++)
		for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++)
			for (int o = 0; o < 2 && !strcmp(m.advice.at[i].candidate->name, all[k].name); o++) {
				const struct advise_option *to = &m.advice.at[i].option[o];
				const char *is = to->in_the_limit,
					   *want = strcmp(to->accelerator, "far") ? all[k].near : all[k].far;

				if ((is && want) ? strcmp(is, want) : is != want)
					fail_msg("%s to %s: %s", all[k].name, to->accelerator, is ? is : "nothing");
			}
	v = (struct advise_view){ .file = "x", .input = &m.in, .candidates = &m.candidates, .advice = &m.advice };
	advise_text(&v, &(struct text_style){ .width = 0 }, &text);
	assert_non_null(strstr(text.data, "a call of g bytes takes the host 1 ns x g^1.2"));
	assert_non_null(strstr(text.data, "ever larger calls bound by computation"));
	end(&m);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What advise tells somebody to do next can be done, and what it does not know it does not show. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "offload/points.h"
#include "util/buf.h"
#include "util/suggest.h"
#include "view/advise.h"

#include "made_program.h"
#include "unit/unit.h"

static void says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' does not say '%s'", text, part);
}

static void says_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' says '%s'", text, part);
}

/* No package holds the symbols of code that was made at run time. */
TEST(code_without_a_file)
{
	static const char *const objects[] = { "[anon]", "[jit]", "[vdso]", "app" };
	struct made m;
	(void)state;

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++) {
		struct advise_function *f = function(&m, objects[i], 1e4, 1e4, NAN, NAN);

		f->unnamed = true;
		f->object = objects[i];
	}
	judge(&m);
	for (size_t i = 0; i < 2; i++) {
		says_not(named(&m, objects[i])->reason, "debug symbols");
		says(named(&m, objects[i])->reason, "perf map");
	}
	says_not(named(&m, "[vdso]")->reason, "debug symbols");
	says(named(&m, "app")->reason, "install the debug symbols of app");
	end(&m);
}

/* Hardly a burst met it: how long a call takes at least, and what counts it. Code without a name does not do what its
 * object is called by. */
TEST(calls_that_are_seldom)
{
	struct made m;
	struct advise_function *f;
	(void)state;

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	f = function(&m, "sort", 1e4, 1e4, 4 * KB, KB);
	f->calls_per_s = (struct figure){ NAN, 0, 1e4 };
	f->share = FIGURE_EXACT(.5);
	f->object = "libbz2.so.1";
	m.in.cpu_per_s = 1e9;
	judge(&m);
	says(named(&m, "sort")->reason, "unknown count: a call takes 50 us or more, too seldom to be counted without "
					"breakpoints; record with --offload-probe 'libbz2.so.1:sort'");
	end(&m);
	assert_int_equal(advise_function_unknown("zstd+0x3a0c0", "zstd").kinds, 0);
	assert_int_not_equal(advise_function_unknown("memmove", "libc.so.6").kinds, 0);
}

/* `--offload-probe libc.so.6:___pthread_mutex_lock` finds nothing: the file has the function as pthread_mutex_lock. */
TEST(names_that_are_a_librarys_own)
{
	struct made m;
	struct advise_function *f;
	(void)state;

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	m.in.uncountable = true;
	f = function(&m, "___pthread_mutex_lock", 1e4, 1e4, 4 * KB, KB);
	f->calls_per_s = FIGURE_UNKNOWN;
	f->object = "libc.so.6";
	judge(&m);
	says_not(named(&m, f->name)->reason, "--offload-probe");
	says(named(&m, f->name)->reason, "unknown count: probe it by the name that `nm -D` has for it in libc.so.6");
	end(&m);
}

/* Of names that begin as what was typed does, the one with least behind it. */
TEST(nearest_of_several)
{
	struct suggestion s = { 0 };
	(void)state;

	suggest(&s, "deflat", 6, "deflateResetKeep");
	suggest(&s, "deflat", 6, "deflate");
	suggest(&s, "deflat", 6, "deflateInit2_");
	assert_string_equal(s.name, "deflate");
	s = (struct suggestion){ 0 };
	suggest(&s, "rec", 3, "record");
	assert_string_equal(s.name, "record");
}

static const char *meant_among(const char *typed, const char *const *names)
{
	struct meant m = { .typed = typed };

	for (; *names; names++)
		meant_add(&m, *names);
	return meant_name(&m);
}

/* A C++ function is found by what views show of it, where that is one alone. */
TEST(a_name_without_its_parameters)
{
	static const char *const names[] = { "bit(int)", "bits(int)", "of(int)",     "of(char)",        "of", "to(int)",
					     "to(char)", "bit(int)",  "N::bit(int)", "operator()(int)", NULL };
	(void)state;

	assert_string_equal(meant_among("bit", names), "bit(int)");
	assert_string_equal(meant_among("bit(int)", names), "bit(int)");
	assert_string_equal(meant_among("of", names), "of");
	assert_string_equal(meant_among("to", names), "to");
	assert_string_equal(meant_among("bi", names), "bi");
	assert_string_equal(meant_among("", names), "");
}

/* Of sizes at which the device was never measured nothing is predicted, beside the sentence neither. */
TEST(sizes_never_seen)
{
	static const double at[] = { 8, 16, 32, 64, 128, 256 };
	struct advise_view v = { .file = "p" };
	struct made m;
	AUTO_BUF(text);
	(void)state;

	begin(&m);
	device(&m, "small", 10, 0.01, 10);
	m.devices.entries[0].has_terms = false;
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		for (int k = 0; k < 5; k++) {
			struct err e = { 0 };

			assert_int_equal(points_add(&m.devices.entries[0].pts, RUN_HOST, at[i], 100 + 4 * at[i], false,
						    &e),
					 0);
			assert_int_equal(points_add(&m.devices.entries[0].pts, RUN_ACCEL, at[i], 60 + at[i], false, &e),
					 0);
		}
	sizes(function(&m, "encode", 4e5, 1e3, 64 * KB, 64 * KB), 32 * KB, 2e5, .5, 96 * KB, 6e5);
	judge(&m);
	v.input = &m.in;
	v.candidates = &m.candidates;
	v.advice = &m.advice;
	advise_text(&v, &(struct text_style){ 0 }, &text);
	says(text.data, "100% of the calls are of sizes at which the device was not measured");
	says_not(text.data, "a call there");
	end(&m);
}

/* Stages that hand on to each other are called equally often, which none of them knows closely. */
TEST(stages_that_are_called_equally_often)
{
	static const struct figure rates[] = { { 9900, 3900, 25000 }, { 17500, 9400, 32700 }, { 25300, 14000, 45700 } };
	const double per_s = 16700, bytes = 16 * KB;
	const struct candidate *c;
	struct made m;
	(void)state;

	for (int apart = 0; apart < 2; apart++) {
		begin(&m);
		device(&m, "board", 5000, 0.5, 10);
		for (int i = 0; i < 3; i++) {
			static const char *const name[] = { "decode", "filter", "encode" };

			function(&m, name[i], 1.9e4, per_s, bytes, bytes)->calls_per_s = rates[i];
			edge(&m, i ? (uint32_t)i - 1 : ADVISE_ELSEWHERE, (uint32_t)i, bytes * per_s);
		}
		/* or one of them is called by others as well */
		if (apart)
			m.in.function[2].calls_per_s = (struct figure){ 50000, 40000, 60000 };
		judge(&m);
		c = named(&m, "decode > filter > encode");
		if (apart) {
			assert_float_equal(c->calls_per_s.value, 9900, 1);
		} else {
			assert_true(fabs(c->calls_per_s.value / per_s - 1) < .15);
			assert_true(c->calls_per_s.low < per_s && per_s < c->calls_per_s.high);
			assert_true(c->calls_per_s.high / c->calls_per_s.low > 3.2);
		}
		end(&m);
	}
}

/* Whether a call of such an interface is a piece of a stream, or a stream of its own, nobody recorded. */
TEST(pieces_of_a_stream)
{
	struct made m;

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	m.devices.entries[0].no_streams = true;
	function(&m, "deflate", 1e5, 1e3, 16 * KB, 4 * KB)->stream = true;
	judge(&m);
	assert_int_equal(first(&m, "deflate")->verdict, VERDICT_KEEP);
	says(first(&m, "deflate")->text, "keep, unless each call ends a stream of its own");
	end(&m);
}

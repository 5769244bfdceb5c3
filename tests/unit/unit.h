/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a unit test is made of: cmocka, and tests that list themselves. Included by tests/unit. To add a test:
 * TEST(name) and its body; where something must stand before it and go after it, TEST_WITH(name, before, after). They
 * run in the order in which they stand. A file needs no main() but to prepare something: then that ends with
 * RUN_TESTS().
 */
#ifndef ACCPERF_TESTS_UNIT_H
#define ACCPERF_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* no_reorder: without it the compiler may turn their order round */
#define TEST_WITH(name, before, after)                                                                                 \
	static void name(void **state);                                                                                \
	__attribute__((used, no_reorder, section("unit_tests"),                                                        \
		       aligned(8))) static const struct CMUnitTest row_of_##name = { #name, name, before, after,       \
										     NULL };                           \
	static void name(void **state __attribute__((unused)))

#define TEST(name) TEST_WITH(name, NULL, NULL)

extern const struct CMUnitTest __start_unit_tests[], __stop_unit_tests[]; /* the linker's */

/* All of the file, between two functions of their own or NULL; how many failed. */
#define RUN_TESTS(before, after)                                                                                       \
	_cmocka_run_group_tests("tests", __start_unit_tests, (size_t)(__stop_unit_tests - __start_unit_tests), before, \
				after)

#endif

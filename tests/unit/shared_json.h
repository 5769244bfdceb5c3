/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test data that lie beside the checkout, shared/logca/NAME, or where $ACCPERF_SHARED says. Included by tests that read
 * them; a test whose file is not there is skipped and says so.
 */
#ifndef TESTS_SHARED_JSON_H
#define TESTS_SHARED_JSON_H

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "unit/unit.h"

static inline json_t *load(const char *name)
{
	const char *try[] = { getenv("ACCPERF_SHARED"), "../shared", "../../shared" };

	for (size_t i = 0; i < sizeof(try) / sizeof(try[0]); i++) {
		char path[1024];
		json_t *j;

		if (!try[i])
			continue;
		snprintf(path, sizeof(path), "%s/logca/%s", try[i], name);
		j = json_load_file(path, 0, NULL);
		if (j)
			return j;
	}
	print_message("# SKIP shared/logca/%s is not beside this checkout; set ACCPERF_SHARED\n", name);
	return NULL;
}

static inline double num(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	assert_true(json_is_number(v));
	return json_number_value(v);
}

#endif

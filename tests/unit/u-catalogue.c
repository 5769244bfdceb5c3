// SPDX-License-Identifier: GPL-2.0-or-later
/* A catalogue's text: what is read comes back as written; what is wrong is said with its line and column. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "model/catalogue.h"
#include "unit/unit.h"

#define HEAD "{\"schema\":\"accperf.accelerators/1\",\"accelerators\":[\n"
#define FULL                                                                                                           \
	"{\"name\":\"d\",\"host\":\"This CPU, 2 cores\",\"unit\":\"us\",\"kinds\":[\"hash\",\"cipher\"],"              \
	"\"designs\":[\"sync\",\"async\"],\"engines\":4,\"uncertain\":1.5,\"no_streams\":true,\"source\":\"page 3\","  \
	"\"offload\":{\"o\":[3,2,5],\"L\":0.5,\"latency\":\"dep\",\"A\":[null,null,26.8],\"beta\":1.1},"               \
	"\"thresholds\":[{\"from\":64,\"call\":\"f\",\"source\":\"s\"},{\"to\":8192}]}"

TEST(read_and_written)
{
	struct catalogue c[2] = { 0 };
	struct err e = { 0 };
	AUTO_BUF(one);
	AUTO_BUF(two);
	const struct catalogue_entry *a;

	assert_int_equal(catalogue_parse(&c[0], HEAD FULL "]}", strlen(HEAD FULL "]}"), &e), 0);
	a = catalogue_find(&c[0], "d");
	assert_non_null(a);
	assert_int_equal(a->kinds, 1u << CATALOGUE_HASH | 1u << CATALOGUE_CIPHER);
	assert_int_equal(a->designs, 1u << CATALOGUE_SYNC | 1u << CATALOGUE_ASYNC);
	assert_true(a->engines == 4 && a->uncertain == 1.5 && a->no_streams && a->has_terms && !a->has_params);
	assert_true(a->terms.o.v == 3 && a->terms.o.low == 2 && a->terms.o.high == 5 && a->terms.L.high == 0.5);
	assert_true(isnan(a->terms.A.v) && a->terms.A.high == 26.8 && isnan(a->terms.B.v));
	assert_int_equal(a->thresholds, 2);
	assert_true(a->threshold[0].from == 64 && isnan(a->threshold[0].to) && a->threshold[1].to == 8192);
	assert_false(catalogue_elsewhere(a, "This CPU, 8 cores"));
	assert_true(catalogue_elsewhere(a, "This CPU II, 2 cores"));
	assert_true(catalogue_elsewhere(a, NULL));
	assert_int_equal(catalogue_write(&c[0], &one, &e), 0);
	assert_int_equal(catalogue_parse(&c[1], one.data, one.len, &e), 0);
	assert_int_equal(catalogue_write(&c[1], &two, &e), 0);
	buf_addch(&one, 0);
	buf_addch(&two, 0);
	assert_string_equal(one.data, two.data);
	assert_non_null(strstr(one.data, "page 3"));
	/* the same name from elsewhere is a contradiction, not a silent winner */
	assert_int_equal(catalogue_merge(&c[0], &c[1], &e), -EINVAL);
	assert_non_null(strstr(e.text, "'d' contradicts"));
	catalogue_release(&c[0]);
	catalogue_release(&c[1]);
}

TEST(wrong)
{
	static const struct {
		const char *entry, *where, *why;
	} row[] = {
		{ "{\"name\":5}", "line 2, column 9:", "name" },
		{ "{}", "line 2, column 1:", "name" },
		{ "7", "line 2, column 1:", "object" },
		{ "{\"name\":\"a\",\n \"kinds\":[\"hash\",\"warp\"]}", "line 3, column 18:", "'warp' is none" },
		{ "{\"name\":\"a\",\"designs\":\"sync\"}", "line 2, column 23:", "list of words" },
		{ "{\"name\":\"a\",\"uncertain\":0.5}", "line 2, column 25:", "uncertain" },
		{ "{\"name\":\"a\",\"device\":[\"x\"]}", "line 2, column 22:", "text" },
		{ "{\"name\":\"a\",\"engines\":0}", "line 2, column 23:", "engines" },
		{ "{\"name\":\"a\",\"offload\":{\"o\":-1,\"latency\":\"dep\"}}", "line 2, column 28:", "0 or more" },
		{ "{\"name\":\"a\",\"offload\":{\"o\":[5,6,7],\"latency\":\"dep\"}}",
		  "line 2, column 28:", "contradicts" },
		{ "{\"name\":\"a\",\"offload\":{\"o\":1}}", "line 2, column 23:", "latency" },
		{ "{\"name\":\"a\",\"offload\":{\"A\":2,\"B\":1,\"latency\":\"dep\"}}",
		  "line 2, column 28:", "contradicts" },
		{ "{\"name\":\"a\",\"offload\":{\"A\":0,\"latency\":\"dep\"}}", "line 2, column 28:", "above 0" },
		{ "{\"name\":\"a\",\"offload\":{\"lat\":2,\"latency\":\"dep\"}}",
		  "line 2, column 30:", "'lat' is no member" },
		{ "{\"name\":\"a\",\"offload\":{\"latency\":\"dep\"},\n\"params\":{}}",
		  "line 2, column 23:", "give one" },
		{ "{\"name\":\"a\",\"thresholds\":[{\"from\":9,\"to\":3}]}", "line 2, column 27:", "from 9 to 3" },
		{ "{\"name\":\"a\",\"thresholds\":[{}]}", "line 2, column 27:", "wants from, to" },
		{ "{\"name\":\"a\",\"params\":{\"L\":1,\"o\":\"2\"}}", "line 2, column 33:", "no number for o" },
		{ "{\"name\":\"a\",\"points\":{\"host\":[[16,1],[-1,2]]}}", "line 2, column 38:", "above 0" },
		{ "{\"name\":\"a\"},\n {\"name\":\"a\"}", "line 3, column 10:", "second time" },
		/* braces and quotes within a text are no structure */
		{ "{\"name\":\"a\",\"driver\":\"}\\\"],{\",\"uncertain\":0}", "line 2, column 43:", "uncertain" },
		{ "{\"name\":\"a\",", "line 2, column", "" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char text[512];
		struct catalogue c;
		struct err e = { 0 };

		snprintf(text, sizeof(text), "%s%s]}", HEAD, row[i].entry);
		if (catalogue_parse(&c, text, strlen(text), &e) != -EINVAL)
			fail_msg("accepted: %s", row[i].entry);
		if (!strstr(e.text, row[i].where) || !strstr(e.text, row[i].why))
			fail_msg("%s: \"%s\", wanted \"%s\" and \"%s\"", row[i].entry, e.text, row[i].where,
				 row[i].why);
		assert_null(c.entries);
	}
}

/* Every figure that comes with the program has a source, and a machine or the word that none is stated. */
TEST(built_in)
{
	struct catalogue c = { 0 };
	struct err e = { 0 };
	unsigned kinds = 0, thresholds = 0;

	if (catalogue_paper(&c, &e))
		fail_msg("%s", e.text);
	assert_true(c.count > 25);
	for (size_t i = 0; i < c.count; i++) {
		const struct catalogue_entry *a = &c.entries[i];

		assert_non_null(a->device);
		assert_non_null(a->host);
		assert_true(a->source || !strncmp(a->family, "LogCA, ISCA 2017", 16));
		assert_true(a->has_params || a->has_terms);
		kinds |= a->kinds;
		thresholds += a->thresholds;
	}
	assert_true(kinds & 1u << CATALOGUE_COPY && kinds & 1u << CATALOGUE_MATRIX && kinds & 1u << CATALOGUE_COMPRESS);
	assert_true(thresholds >= 9);
	catalogue_release(&c);
}

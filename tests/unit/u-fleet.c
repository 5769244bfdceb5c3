// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of a profile for ClickHouse, what its server answers, and what changed between two times of a fleet. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clickhouse.h"
#include "daemon/fleet.h"
#include "unit/unit.h"

TEST(urls_are_read_or_refused)
{
	static const char *const wrong[] = { "",
					     "https://a:1",
					     "http://a",
					     "http://:1",
					     "http://a:",
					     "http://a:1/b-c",
					     "http://a:1/b?c=d",
					     "http://a:123456",
					     "http://a b:1/",
					     "http://a\r\nX:1" };
	struct clickhouse c;
	struct err e = { 0 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (!clickhouse_read(&c, wrong[i], NULL, &e))
			fail_msg("'%s' was taken", wrong[i]);
	e = (struct err){ 0 };
	assert_int_equal(clickhouse_read(&c, "http://db.example:8123/accperf", NULL, &e), 0);
	assert_string_equal(c.server.host, "db.example");
	assert_string_equal(c.server.port, "8123");
	assert_string_equal(c.database, "accperf");
	assert_int_equal(clickhouse_read(&c, "http://127.0.0.1:1", NULL, &e), 0);
	assert_string_equal(c.database, "default");
}

static unsigned status_of(const char *text, char *body)
{
	char copy[400];
	size_t at = 0, len = 0;
	unsigned status;

	snprintf(copy, sizeof(copy), "%s", text);
	status = post_status(copy, strlen(copy), &at, &len);
	memcpy(body, copy + at, len);
	body[len] = 0;
	return status;
}

TEST(answers_are_taken_apart)
{
	char body[400];

	assert_int_equal(status_of("HTTP/1.1 200 OK\r\nX: y\r\n\r\nabc", body), 200);
	assert_string_equal(body, "abc");
	assert_int_equal(
		status_of(
			"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n",
			body),
		500);
	assert_string_equal(body, "abc0123456789");
	assert_int_equal(status_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nabc", body), 200);
	assert_string_equal(body, "abc"); /* cut off */
	assert_int_equal(status_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc", body), 200);
	assert_int_equal(status_of("HTTP/1.1 200 OK", body), 0);
	assert_int_equal(status_of("SSH-2.0\r\n\r\n", body), 0);
}

static void rows_of(const char *report, const char *flow, const char *offload, const char *segment,
		    struct buf rows[FLEET_TABLES])
{
	struct fleet_segment s = { "h1", "web", segment, 1000 };
	struct err e = { 0 };

	const char *const text[FLEET_TEXTS] = { report, flow, offload, "", "" };

	assert_int_equal(fleet_rows(&s, text, rows, &e), 0);
	for (unsigned t = 0; t < FLEET_TABLES; t++)
		buf_addch(&rows[t], 0);
}

TEST(a_profile_becomes_rows)
{
	static const char report[] =
		"{\"duration_ns\": 100000000000, \"samples\": 500, \"lost\": null, "
		"\"labels\": {\"pod\": \"a/b\", \"rested\": \"300\"}, \"functions\": ["
		"{\"name\": \"f\\t\\\\\", \"object\": \"o\", \"self\": 0.5}, {\"name\": \"g\", \"self\": 0}]}";
	struct buf rows[FLEET_TABLES] = { { 0 } };
	struct fleet_segment s = { "h", "s", "x", 1 };
	struct err e = { 0 };

	rows_of(report, "{\"edges\": [{\"producer\": \"p\", \"consumer\": \"c\", \"bytes\": null, \"share\": 0.25}]}",
		"{\"calls\": [{\"api\": \"zlib\", \"name\": \"deflate\", \"calls\": 7, \"time_ns\": {\"mean\": 9}}]}",
		"20260101T000000Z-1.000001", rows);
	assert_string_equal(rows[FLEET_FUNCTIONS].data,
			    "h1\tweb\t20260101T000000Z-1.000001\t900\t4\tf?\\\\\to\t0.5\t250\n");
	assert_string_equal(rows[FLEET_EDGES].data,
			    "h1\tweb\t20260101T000000Z-1.000001\t900\t4\tp\tc\t\\N\t\\N\t\\N\t0.25\n");
	assert_string_equal(rows[FLEET_CALLS].data,
			    "h1\tweb\t20260101T000000Z-1.000001\t900\t4\tzlib\tdeflate\t\t\t7\t\\N\t\\N\t9\t\\N\n");
	assert_string_equal(rows[FLEET_SEGMENTS].data,
			    "h1\tweb\t20260101T000000Z-1.000001\t900\t1000\t4\t500\t\\N\t\t\ta/b\n");
	for (unsigned t = 0; t < FLEET_TABLES; t++)
		buf_release(&rows[t]);
	rows_of(report, "", "", "20260101T000000Z-1.000002", rows); /* only the first stands for the rest */
	assert_non_null(strstr(rows[FLEET_SEGMENTS].data, "\t1000\t1\t500"));
	assert_int_equal(rows[FLEET_EDGES].len, 1);
	for (unsigned t = 0; t < FLEET_TABLES; t++)
		buf_release(&rows[t]);
	assert_true(fleet_rows(&s, (const char *const[]){ "{}", "", "", "", "" }, rows, &e) < 0);
}

/* Of a candidate its best option, as what would be saved; of stacks the largest, and the rest as one. */
TEST(rows_are_inserted_by_names_of_columns)
{
	AUTO_BUF(all);

	(void)state;
	for (unsigned t = 0; t < FLEET_TABLES; t++) {
		AUTO_BUF(insert);

		fleet_insert(t, &insert);
		buf_addch(&insert, '\n');
		buf_add(&all, insert.data, insert.len);
	}
	buf_addch(&all, 0);
	assert_false(buf_failed(&all));
	assert_non_null(strstr(all.data,
			       "INSERT INTO accperf_stacks (host, service, segment, began, weight, stack, ns) "
			       "FORMAT TabSeparated\n"));
	assert_non_null(strstr(all.data,
			       "(host, service, segment, began, ended, weight, samples, lost, unit, container, pod) "));
	assert_non_null(strstr(all.data, "producer, consumer, bytes, low, high, share) "));
}

TEST(advice_and_stacks_become_rows)
{
	static const char advice[] =
		"{\"candidates\": [{\"name\": \"f\", \"options\": [{\"accelerator\": \"soc/f\", \"verdict\": \"offload\", "
		"\"process_speedup\": {\"value\": 2, \"low\": 1, \"high\": 4}}, {\"accelerator\": \"b\"}]}, "
		"{\"name\": \"g\", \"options\": []}, {\"name\": \"h\", \"options\": [{\"process_speedup\": {\"value\": 0}}]}]}";
	struct buf rows[FLEET_TABLES] = { { 0 } };
	struct fleet_segment s = { "h1", "web", "20260101T000000Z-1.000001", 1000 };
	struct err e = { 0 };
	AUTO_BUF(stacks);
	const char *text[FLEET_TEXTS] = { "{\"samples\": 10, \"functions\": []}", "", "", advice };
	unsigned lines = 0;

	for (unsigned i = 1; i <= 310; i++)
		buf_addf(&stacks, "main;f%u %u\n", i, i);
	buf_addstr(&stacks, "nonsense\nmain;-1 -1\nmain;cut off 7"); /* without its end it is none */
	buf_addch(&stacks, 0);
	text[FLEET_OF_STACKS] = stacks.data;
	assert_int_equal(fleet_rows(&s, text, rows, &e), 0);
	buf_addch(&rows[FLEET_CANDIDATES], 0);
	buf_addch(&rows[FLEET_STACKS], 0);
	assert_string_equal(rows[FLEET_CANDIDATES].data,
			    "h1\tweb\t20260101T000000Z-1.000001\t1000\t1\tf\tsoc/f\toffload\t10\t0.5\t0\t0.75\n");
	for (const char *at = rows[FLEET_STACKS].data; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 301);
	assert_non_null(strstr(rows[FLEET_STACKS].data, "\t1\tmain;f310\t310\n"));
	assert_non_null(strstr(rows[FLEET_STACKS].data, "\t1\t[other]\t55\n")); /* 1 + 2 + ... + 10 */
	for (unsigned t = 0; t < FLEET_TABLES; t++)
		buf_release(&rows[t]);
}

/* Nine hosts alike but for one; a function that one host alone has; one that all have differently. */
TEST(hosts_that_differ_are_found)
{
	struct fleet_function at[] = {
		{ .function = "f", .object = "o", .host = "a", .share = 0.10 },
		{ .function = "f", .object = "o", .host = "b", .share = 0.11 },
		{ .function = "f", .object = "o", .host = "c", .share = 0.11 },
		{ .function = "f", .object = "o", .host = "d", .share = 0.115 },
		{ .function = "f", .object = "o", .host = "e", .share = 0.12 },
		{ .function = "f", .object = "o", .host = "z", .share = 0.40 },
		{ .function = "g", .object = "o", .host = "b", .share = 0.05 },
		{ .function = "h", .object = "o", .host = "a", .share = 0.1 },
		{ .function = "h", .object = "o", .host = "b", .share = 0.2 },
		{ .function = "h", .object = "o", .host = "c", .share = 0.3 },
		{ .function = "h", .object = "o", .host = "d", .share = 0.4 },
		{ .function = "h", .object = "o", .host = "e", .share = 0.5 },
		{ .function = "i", .object = "o", .host = "a", .share = 0.015 }, /* too little to be a reason */
	};
	struct fleet_functions all = { .at = at, .count = sizeof(at) / sizeof(at[0]) }, far = { .hosts = 6 };

	assert_int_equal(fleet_far_hosts(&all, &far), 0);
	assert_int_equal(far.count, 2);
	assert_string_equal(far.at[0].host, "z");
	assert_true(fabs(far.at[0].before - 0.1125) < 1e-9);
	assert_string_equal(far.at[1].function, "g");
	assert_true(far.at[1].before == 0);
	fleet_release(&far);
}

/* ---- a fleet */

#define HOSTS 50
#define FUNCTIONS 40
#define SAMPLES 60000.0 /* of a host in ten minutes: a CPU at 100 Hz */

static double normal(void)
{
	double u = (random() + 1.0) / 2147483649.0, v = (double)random() / 2147483648.0;

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* Shares that differ by a fifth from host to host, each with the noise of its samples; grown: what function 3 costs
 * more; moved: what function 5 gives function 6; drift: by how much of itself each changes on each host by itself. */
static struct fleet_functions compare(double grown, double moved, double drift)
{
	struct fleet_functions f = { .hosts = HOSTS, .count = FUNCTIONS };

	f.at = calloc(FUNCTIONS, sizeof(*f.at));
	assert_non_null(f.at);
	for (unsigned k = 0; k < FUNCTIONS; k++) {
		struct fleet_function *o = &f.at[k];
		double sum = 0, squares = 0;

		snprintf(o->function, sizeof(o->function), "f%u", k);
		snprintf(o->object, sizeof(o->object), "o%u", k / 20);
		for (unsigned h = 0; h < HOSTS; h++) {
			double share = (k == 3 ? 0.1 : 0.9 / (FUNCTIONS - 1)) * exp(0.2 * normal()), after = share, d;

			after *= exp(sqrt(2) * drift * normal());
			after *= k == 3 ? (1 + grown) / (1 + 0.1 * grown) : 1 / (1 + 0.1 * grown);
			after += k == 5 ? -moved : k == 6 ? moved : 0;
			d = after + sqrt(after / SAMPLES) * normal() - share - sqrt(share / SAMPLES) * normal();
			o->before += share / HOSTS;
			sum += d;
			squares += d * d;
		}
		o->change = sum / HOSTS;
		o->error = sqrt((squares - HOSTS * o->change * o->change) / (HOSTS - 1) / HOSTS);
	}
	fleet_judge(&f);
	return f;
}

static unsigned found(const struct fleet_functions *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->at[i].function, name))
			return f->at[i].verdict;
	return FLEET_NOISE;
}

static void regressions_found(double drift, unsigned *alarms_cnt, unsigned *finds_cnt)
{
	unsigned alarms = 0, finds = 0;

	srandom(1);
	for (int i = 0; i < 200; i++) {
		struct fleet_functions f = compare(0, 0, drift);
		bool any = false;

		for (size_t k = 0; k < f.count; k++)
			any |= f.at[k].verdict != FLEET_NOISE;
		alarms += any;
		fleet_release(&f);
		f = compare(0.02, 0, drift);
		finds += found(&f, "f3") == FLEET_REAL;
		fleet_release(&f);
	}
	print_message("2 %% more in one function, drift %g: found in %u of 200; equal fleets: %u of 200 had an alarm\n",
		      drift, finds, alarms);
	*alarms_cnt = alarms;
	*finds_cnt = finds;
}

TEST(a_regression_is_found_and_equal_fleets_are_equal)
{
	unsigned alarms, finds;

	regressions_found(0, &alarms, &finds);
	assert_true(alarms <= 10);
	assert_true(finds >= 198);
	/* a function of a tenth of the time has more than one of forty parts of the error that is allowed */
	regressions_found(0.02, &alarms, &finds);
	assert_true(alarms <= 10);
	assert_true(finds >= 130);
}

TEST(time_that_moved_within_an_object_is_no_gain)
{
	struct fleet_functions f = compare(0, 0.004, 0);

	assert_int_equal(found(&f, "f5"), FLEET_MOVED);
	assert_int_equal(found(&f, "f6"), FLEET_MOVED);
	fleet_release(&f);
	f = compare(0.2, 0, 0); /* all others lose by that, in the other object as well */
	assert_int_equal(found(&f, "f3"), FLEET_REAL);
	fleet_release(&f);
}

TEST(one_host_tells_no_change)
{
	struct fleet_functions f = { .hosts = 1, .count = 1 };

	f.at = calloc(1, sizeof(*f.at));
	assert_non_null(f.at);
	f.at->change = 0.5;
	f.at->error = NAN;
	fleet_judge(&f);
	assert_int_equal(f.at->verdict, FLEET_NOISE);
	fleet_release(&f);
}

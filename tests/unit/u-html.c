// SPDX-License-Identifier: GPL-2.0-or-later
/* The page of `report --html`: how its data is packed, and what a build without its script says. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "html/bundle.h"
#include "html/pack.h"
#include "html/page.h"
#include "html/stack_diff.h"
#include "unit/unit.h"

/* As in a build without the packages; the one of this build stays in the library. */
const struct html_bundle html_bundle = { (const unsigned char *)"", (const unsigned char *)"", 0, 0, "", "" };

static const char *packed(const char *text, struct buf *out)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

	assert_non_null(v);
	assert_true(html_pack(v, out));
	json_decref(v);
	return out->data;
}

static void expect(const char *text, const char *want)
{
	AUTO_BUF(out);

	assert_string_equal(packed(text, &out), want);
}

TEST(values_stay)
{
	expect("[1,-2,0.25,0.123456789012,true,false,null,\"x\",{}]",
	       "[1,-2,0.25,0.123456789012,true,false,null,\"x\",{}]");
	expect("{\"a\":{\"b\":[9007199254740991]}}", "{\"a\":{\"b\":[9007199254740991]}}");
}

TEST(lists_become_columns)
{
	expect("[{\"n\":\"f\",\"v\":1},{\"n\":\"g\",\"v\":null},{\"n\":\"f\",\"v\":1}]",
	       "{\"$keys\":[\"n\",\"v\"],\"$rows\":3,\"$columns\":[{\"$texts\":[\"f\",\"g\"],\"$at\":[0,1,0]},[1,null,1]]}");
	expect("[{\"v\":0},{\"v\":0},{\"v\":0}]", "{\"$keys\":[\"v\"],\"$rows\":3,\"$columns\":[{\"$same\":0}]}");
	/* other keys, or no objects: as they are */
	expect("[{\"v\":0},{\"w\":0},{\"v\":0}]", "[{\"v\":0},{\"w\":0},{\"v\":0}]");
	expect("[{\"v\":0},1,{\"v\":0}]", "[{\"v\":0},1,{\"v\":0}]");
	expect("[{},{},{}]", "[{},{},{}]");
}

TEST(no_text_ends_the_element)
{
	expect("[\"</script><!--\",\"\\u202e\\u0007\"]", "[\"\\u003c/script>\\u003c!--\",\"\\u202e\\u0007\"]");
	expect("{\"<\":1}", "{\"\\u003c\":1}");
	expect("[{\"n\":\"<\"},{\"n\":\"<<\"},{\"n\":\"\"}]",
	       "{\"$keys\":[\"n\"],\"$rows\":3,\"$columns\":[{\"$texts\":[\"\\u003c\",\"\\u003c\\u003c\",\"\"],\"$at\":[0,1,2]}]}");
}

TEST(bottomless_is_refused)
{
	AUTO_BUF(out);
	json_t *v = json_array();

	for (int i = 0; i < 100; i++) {
		json_t *up = json_array();

		json_array_append_new(up, v);
		v = up;
	}
	assert_false(html_pack(v, &out));
	json_decref(v);
}

TEST(without_a_script_it_says_so)
{
	struct html_part part = { .name = "report", .json = "{}", .len = 2, .note = "" };
	struct err e = { 0 };
	AUTO_BUF(out);

	assert_false(html_bundled());
	assert_int_equal(html_page("x.data", &part, 1, &out, &e), -ENOSYS);
	assert_non_null(strstr(e.text, "apt-get install esbuild node-d3"));
	assert_int_equal(out.len, 0);
}

/* main calls a, b and a third function, so many samples of each; or what was too small to draw, "(small)". */
static json_t *stacks_of(const char *unit, int a, int b, const char *third, int c)
{
	return json_pack(
		"{s:s,s:i,s:f,s:{s:[s,s,s,s],s:[s,s,s,s]},s:{s:[i,i,i,i],s:[i,i,i,i],s:[i,i,i,i],s:[i,i,i,i]}}", "unit",
		unit, "samples", a + b + c, "weight", (double)(a + b + c), "functions", "name", "main", "a", "b", third,
		"object", "app", "app", "app", strcmp(third, "(small)") ? "app" : "", "nodes", "parent", -1, 0, 0, 0,
		"function", 0, 1, 2, 3, "weight", 0, a, b, c, "samples", 0, a, b, c);
}

static const char *verdict_of(const json_t *diff, const char *name, double *base, double *now)
{
	const json_t *functions = json_object_get(diff, "functions"), *nodes = json_object_get(diff, "nodes");
	size_t i, k;
	json_t *f, *n;

	json_array_foreach(json_object_get(functions, "name"), i, n)
	{
		if (strcmp(json_string_value(n), name))
			continue;
		json_array_foreach(json_object_get(nodes, "function"), k, f)
		{
			if ((size_t)json_integer_value(f) != i)
				continue;
			*base = json_real_value(json_array_get(json_object_get(nodes, "base"), k));
			*now = json_real_value(json_array_get(json_object_get(nodes, "share"), k));
			return json_string_value(json_array_get(json_object_get(nodes, "verdict"), k));
		}
	}
	return "absent";
}

TEST(stacks_are_laid_over_each_other)
{
	json_t *x = stacks_of("ns", 600, 380, "c", 20), *y = stacks_of("ns", 300, 685, "d", 15), *d;
	json_t *small = stacks_of("ns", 300, 685, "(small)", 15), *other = stacks_of("instructions", 1, 1, "c", 1);
	struct err e = { 0 };
	double base, now;

	d = html_stack_diff(x, y, &e);
	assert_non_null(d);
	assert_string_equal(verdict_of(d, "main", &base, &now), "noise");
	assert_true(base == 1 && now == 1);
	assert_string_equal(verdict_of(d, "a", &base, &now), "real");
	assert_true(fabs(base - 0.6) < 1e-9 && fabs(now - 0.3) < 1e-9);
	assert_string_equal(verdict_of(d, "d", &base, &now), "real");
	assert_true(base == 0 && fabs(now - 0.015) < 1e-9);
	json_decref(d);
	/* the same shares: noise */
	d = html_stack_diff(x, x, &e);
	assert_string_equal(verdict_of(d, "a", &base, &now), "noise");
	json_decref(d);
	/* c may be among what was too small to draw */
	d = html_stack_diff(x, small, &e);
	assert_string_equal(verdict_of(d, "c", &base, &now), "unknown");
	assert_string_equal(verdict_of(d, "(small)", &base, &now), "unknown");
	assert_string_equal(verdict_of(d, "a", &base, &now), "real");
	json_decref(d);
	assert_null(html_stack_diff(x, other, &e));
	assert_int_equal(e.code, -EDOM);
	assert_non_null(strstr(e.text, "ns and the other's by instructions"));
	json_decref(x);
	json_decref(y);
	json_decref(small);
	json_decref(other);
}

static json_int_t left_out(const json_t *parts, const char *part, const char *list)
{
	return json_integer_value(json_object_get(json_object_get(json_object_get(parts, part), "left_out"), list));
}

TEST(the_longest_lists_end)
{
	json_t *parts = json_pack("{s:{s:{s:[],s:[],s:{s:i}}},s:{s:{s:[]}},s:{s:n}}", "flow", "data", "edges",
				  "functions", "left_out", "edges", 5, "objects", "data", "objects", "diff", "data");
	json_t *flow = json_object_get(json_object_get(parts, "flow"), "data"), *edges = json_object_get(flow, "edges");
	json_t *functions = json_object_get(flow, "functions");

	for (int i = 0; i < 4000; i++)
		json_array_append_new(edges, json_integer(1000000 + i));
	for (int i = 0; i < 1000; i++)
		json_array_append_new(functions, json_integer(1000000 + i));
	/* eight bytes each: 40 KB, then 24, 16 */
	assert_int_equal(html_cut_lists(parts, 50000), 0);
	assert_int_equal(json_array_size(edges), 4000);
	assert_int_equal(left_out(parts, "flow", "edges"), 5);
	assert_null(json_object_get(flow, "left_out"));
	assert_int_equal(html_cut_lists(parts, 17000), 0);
	assert_int_equal(json_array_size(edges), 1000);
	assert_int_equal(json_integer_value(json_array_get(edges, 0)), 1000000);
	assert_int_equal(left_out(parts, "flow", "edges"), 3005);
	assert_int_equal(json_array_size(functions), 1000);
	assert_int_equal(left_out(parts, "flow", "functions"), 0);
	assert_null(json_object_get(json_object_get(parts, "objects"), "left_out"));
	json_decref(parts);
}

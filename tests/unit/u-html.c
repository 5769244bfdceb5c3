// SPDX-License-Identifier: GPL-2.0-or-later
/* The page of `report --html`: how its data is packed, and what a build without its script says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "html/bundle.h"
#include "html/pack.h"
#include "html/page.h"

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

static void values_stay(void **state)
{
	expect("[1,-2,0.25,0.123456789012,true,false,null,\"x\",{}]",
	       "[1,-2,0.25,0.123456789012,true,false,null,\"x\",{}]");
	expect("{\"a\":{\"b\":[9007199254740991]}}", "{\"a\":{\"b\":[9007199254740991]}}");
}

static void lists_become_columns(void **state)
{
	expect("[{\"n\":\"f\",\"v\":1},{\"n\":\"g\",\"v\":null},{\"n\":\"f\",\"v\":1}]",
	       "{\"$keys\":[\"n\",\"v\"],\"$rows\":3,\"$columns\":[{\"$texts\":[\"f\",\"g\"],\"$at\":[0,1,0]},[1,null,1]]}");
	expect("[{\"v\":0},{\"v\":0},{\"v\":0}]", "{\"$keys\":[\"v\"],\"$rows\":3,\"$columns\":[{\"$same\":0}]}");
	/* other keys, or no objects: as they are */
	expect("[{\"v\":0},{\"w\":0},{\"v\":0}]", "[{\"v\":0},{\"w\":0},{\"v\":0}]");
	expect("[{\"v\":0},1,{\"v\":0}]", "[{\"v\":0},1,{\"v\":0}]");
	expect("[{},{},{}]", "[{},{},{}]");
}

static void no_text_ends_the_element(void **state)
{
	expect("[\"</script><!--\",\"\\u202e\\u0007\"]", "[\"\\u003c/script>\\u003c!--\",\"\\u202e\\u0007\"]");
	expect("{\"<\":1}", "{\"\\u003c\":1}");
	expect("[{\"n\":\"<\"},{\"n\":\"<<\"},{\"n\":\"\"}]",
	       "{\"$keys\":[\"n\"],\"$rows\":3,\"$columns\":[{\"$texts\":[\"\\u003c\",\"\\u003c\\u003c\",\"\"],\"$at\":[0,1,2]}]}");
}

static void bottomless_is_refused(void **state)
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

static void without_a_script_it_says_so(void **state)
{
	struct html_part part = { .name = "report", .json = "{}", .len = 2, .note = "" };
	struct err e = { 0 };
	AUTO_BUF(out);

	assert_false(html_bundled());
	assert_int_equal(html_page("x.data", &part, 1, &out, &e), -ENOSYS);
	assert_non_null(strstr(e.text, "apt-get install esbuild node-d3"));
	assert_int_equal(out.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_stay),
		cmocka_unit_test(lists_become_columns),
		cmocka_unit_test(no_text_ends_the_element),
		cmocka_unit_test(bottomless_is_refused),
		cmocka_unit_test(without_a_script_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

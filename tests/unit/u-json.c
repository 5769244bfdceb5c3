// SPDX-License-Identifier: GPL-2.0-or-later
/* The writer of JSON: lists that end after so many items. */

#include "unit/unit.h"
#include "util/json.h"

TEST(lists_end_as_they_are_written)
{
	AUTO_BUF(out);
	struct json j = { .out = &out };

	json_limit_rows(2);
	json_obj(&j, NULL);
	json_arr(&j, "rows");
	for (int i = 0; i < 5; i++) {
		json_obj(&j, NULL);
		json_arr(&j, "inner");
		for (int k = 0; k < 3; k++)
			json_i64(&j, NULL, k);
		json_end(&j);
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "few");
	json_str(&j, NULL, "a");
	json_str(&j, NULL, "b");
	json_end(&j);
	json_u64(&j, "n", 1);
	json_end(&j);
	json_limit_rows(0);
	assert_false(buf_failed(&out));
	buf_addch(&out, 0);
	assert_string_equal(out.data,
			    "{\"rows\":[{\"inner\":[0,1,2]},{\"inner\":[0,1,2]}],\"few\":[\"a\",\"b\"],\"n\":1,"
			    "\"left_out\":{\"rows\":3}}");
}

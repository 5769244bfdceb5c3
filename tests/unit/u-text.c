// SPDX-License-Identifier: GPL-2.0-or-later
/* Names in columns: made safe, cut in the middle, padded. */
#include <string.h>

#include "unit/unit.h"
#include "view/text.h"

static void is(const char *name, unsigned max, unsigned columns, const char *want)
{
	AUTO_BUF(b);

	text_name(&b, name, max, columns);
	buf_addch(&b, 0);
	assert_false(buf_failed(&b));
	assert_string_equal(b.data, want);
}

TEST(what_fits_is_whole)
{
	is("deflate", 0, 0, "deflate");
	is("deflate", 7, 0, "deflate");
	is("deflate", 20, 10, "deflate   ");
}

TEST(the_middle_is_left_out)
{
	is("libz.so.1.2.13+0x1234", 12, 0, "libz...x1234");
	is("libz.so.1.2.13+0x1238", 12, 0, "libz...x1238"); /* told apart from the one before */
	is("compress/flate.(*compressor).deflate", 14, 16, "flate...eflate  ");
	is("abcdef", 3, 0, "..f");
	is("abcdef", 2, 0, "ab");
}

TEST(characters_of_many_bytes_count_once)
{
	is("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc", 4, 0, "\xc3\xa4..\xc3\xbc");
	is("a\033[31mb", 0, 0, "a?[31mb");
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Names in few columns: what is left of them, and that two are never one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/shortname.h"
#include "unit/unit.h"
#include "unit/xorshift.h"
#include "view/text.h"

static void is_short(const char *name, unsigned most, const char *want)
{
	char out[SHORT_NAME_MOST];
	size_t n = short_name(name, most, out);

	assert_string_equal(n ? out : "", want);
	assert_true(n <= most);
}

TEST(languages_names)
{
	static const char window[] =
		"double a::store::detail::window<double, 12>(std::vector<double, std::allocator<double> > const&)";
	static const char tree[] =
		"std::_Rb_tree<std::string, std::pair<std::string const, long> >::find(std::string const&) const";

	is_short(window, 40, "a::store::detail::window<double, 12>");
	is_short(window, 30, "..detail::window<double, 12>");
	is_short(window, 20, "..window<double, 12>");
	is_short(window, 12, "..window<..>");
	is_short(tree, 24, "std::_Rb_tree<..>::find");
	is_short(tree, 20, ".._Rb_tree<..>::find");
	is_short(tree, 8, "..find");
	is_short("ns::Foo::operator()(int, std::map<int, int> const&) const", 20, "ns::Foo::operator()");
	is_short("std::ostream& operator<< <char>(std::ostream&, char const*)", 20, "operator<< <char>");
	is_short("walk(gimple*, bool (*)(gimple*, void*), void*)", 10, "walk");
	is_short("alloc::vec::Vec<u8>::push::h0123456789abcdef", 21, "..vec::Vec<u8>::push");
	is_short("<r::Longish<u8> as r::Shape>::measure", 20, "<..>::measure");
	is_short("compress/flate.(*compressor).deflate", 30, "flate.(*compressor).deflate");
	is_short("compress/flate.(*compressor).deflate", 22, "(*compressor).deflate");
	is_short("libMagickCore-6.Q16.so.6.0.0+0x123400", 32, "libMagickC..16.so.6.0.0+0x123400");
	is_short("\"double\" 'single' \\back\\", 8, "");
	is_short("a_function_of_c_that_has_a_long_name", 20, "");
	is_short("n\303\244me::of::something::that::is::long", 12, "");
}

TEST(any_bytes_are_harmless)
{
	static const char pieces[] = "<>(){}[]:: .*&-/+0xabAB_~operator";
	uint64_t x = 88172645463325252ull;
	char name[64], out[SHORT_NAME_MOST];

	for (int i = 0; i < 100000; i++) {
		unsigned len = 0, most;

		xorshift(&x);
		for (; len < x % sizeof(name); len++)
			name[len] = pieces[(x >> len % 48) % (sizeof(pieces) - 1)];
		name[len < sizeof(name) ? len : sizeof(name) - 1] = 0;
		most = x >> 40 & 31;
		assert_true(short_name(name, most, out) <= most);
	}
}

/* A thousand names that differ in one place, wherever that is. */
TEST(labels_differ)
{
	static const char *const form[] = {
		"libz.so.1.2.13.which.is.long+0x@",       "std::vector<std::pair<int, x@> >::push_back(int const&)",
		"@::a::b::c::some_function_name(int)",    "void f(std::string const&, t@, std::string const&)",
		"a_function_of_c_@_that_has_a_long_name", "github.com/a/b@/c.(*Thing).Do",
		"z\303\244h_@_names_with_umlauts",
	};
	static char label[7 * 150][64];
	size_t count = 0;

	for (size_t f = 0; f < 7; f++)
		for (unsigned i = 0; i < 150; i++) {
			char name[128];
			const char *at;
			AUTO_BUF(b);
			struct buf again = { 0 };

			at = strchr(form[f], '@');
			snprintf(name, sizeof(name), "%.*s%04x%s", (int)(at - form[f]), form[f], i * 37, at + 1);
			text_name(&b, name, 16, 16);
			text_name(&again, name, 16, 16);
			buf_addch(&b, 0), buf_addch(&again, 0);
			assert_string_equal(b.data, again.data);
			assert_int_equal(text_columns(b.data), 16);
			snprintf(label[count++], 64, "%s", b.data);
			buf_release(&again);
		}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(label[i], label[k]);
	text_names_forget();
}

TEST(wide_lines_are_broken)
{
	AUTO_BUF(b);

	text_fit(&b, "short\n# a comment that is wide\n  a row\n\nwithoutanyblankatall\n", 12);
	buf_addch(&b, 0);
	assert_string_equal(b.data,
			    "short\n# a comment\n#   that is\n#   wide\n  a row\n\nwithoutanybl\n    ankatall\n");
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a function of a file begins, as asked of places that a target names: of this program's own file. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/elfsym.h"
#include "offload/exits.h"
#include "unit/unit.h"

int planted_function(int x);
__attribute__((noinline)) int planted_function(int x)
{
	return x > 3 ? x * 7 : x + 1;
}

static int on_symbol(void *ctx, const struct elfsym *s)
{
	if (!strcmp(s->name, "planted_function"))
		*(uint64_t *)ctx = s->offset;
	return 0;
}

TEST(only_its_first_byte_begins_a_function)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct exits_file *f = exits_open(fd, NULL);
	struct err e = { 0 };
	uint64_t at = 0;

	assert_int_equal(planted_function(2), 3);
	assert_non_null(f);
	assert_true(elfsym_walk(fd, on_symbol, &at, NULL, &e) >= 0);
	assert_true(at);
	assert_true(exits_begins(f, at));
	for (uint64_t off = 1; off < 4; off++)
		assert_false(exits_begins(f, at + off));
	/* the file's head, and what is not in it */
	assert_false(exits_begins(f, 0));
	assert_false(exits_begins(f, UINT64_MAX));
	assert_false(exits_begins(f, 1ull << 40));
	exits_close(f);
	close(fd);
}

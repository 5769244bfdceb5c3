// SPDX-License-Identifier: GPL-2.0-or-later
/* Code by pages: the same bytes as if each instruction had been read, and hardly any reads. */
#include <string.h>

#include "record/code_pieces.h"
#include "unit/unit.h"
#include "util/random.h"

#define BEGIN 0x400000ull
#define PAGES 40
#define END (BEGIN + PAGES * CODE_PIECE - 1000) /* within a page */

struct file {
	uint8_t salt; /* another one: another file */
	unsigned reads;
};

static uint8_t byte_at(const struct file *f, uint64_t addr)
{
	return (uint8_t)(addr * 0x9e3779b97f4a7c15ull >> 53) ^ f->salt;
}

static size_t of_file(const void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct file *f = (struct file *)(uintptr_t)ctx;
	size_t n = 0;

	f->reads++;
	for (; n < len && addr + n >= BEGIN && addr + n < END; n++)
		((uint8_t *)buf)[n] = byte_at(f, addr + n);
	return n;
}

static void is_as_read(struct code_copies *c, struct file *f, uint64_t addr, size_t len)
{
	uint8_t got[32], want[32];
	unsigned reads = f->reads;
	size_t n = of_file(f, addr, want, len);

	f->reads = reads;
	assert_int_equal(code_pieces_read(c, of_file, f, addr, got, len), n);
	assert_memory_equal(got, want, n);
}

TEST(anywhere)
{
	struct code_copies c = { 0 };
	struct file f = { .salt = 1 };
	uint64_t random = 42;

	for (int i = 0; i < 100000; i++)
		is_as_read(&c, &f, BEGIN - 64 + random_next(&random) % (END - BEGIN + 128),
			   1 + random_next(&random) % 15);
}

TEST(one_after_another)
{
	struct code_copies c = { 0 };
	struct file f = { .salt = 1 };

	for (uint64_t at = BEGIN; at < BEGIN + CODE_PIECES * CODE_PIECE; at += 3)
		is_as_read(&c, &f, at, 15);
	/* each page, and at its end what reaches into the next one */
	assert_in_range(f.reads, CODE_PIECES, 6 * CODE_PIECES);
}

TEST(forgotten)
{
	struct code_copies c = { 0 };
	struct file f = { .salt = 1 }, g = { .salt = 2 };

	is_as_read(&c, &f, BEGIN + 100, 15);
	code_pieces_forget(&c);
	is_as_read(&c, &g, BEGIN + 100, 15);
}

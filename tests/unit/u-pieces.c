// SPDX-License-Identifier: GPL-2.0-or-later
/* Code that no table divides: where a piece of it begins and ends, and that what is no code does no harm. */
#include <stdlib.h>
#include <string.h>

#include "code/pieces.h"
#include "unit/unit.h"

#define BASE 0x4000u

struct image {
	const uint8_t *byte;
	size_t size;
	unsigned reads;
};

static size_t read_image(void *ctx, uint64_t vaddr, void *out, size_t size)
{
	struct image *m = ctx;
	size_t at = (size_t)(vaddr - BASE);

	m->reads++;
	if (at >= m->size)
		return 0;
	/* not all at once */
	size = size > 7 ? 7 : size;
	size = size > m->size - at ? m->size - at : size;
	memcpy(out, m->byte + at, size);
	return size;
}

static struct code_pieces over(struct image *m)
{
	return (struct code_pieces){ .read = read_image, .ctx = m, .from = BASE, .to = BASE + m->size };
}

static void expect(struct code_pieces *p, uint64_t addr, uint64_t start, uint64_t end)
{
	uint64_t from = 0, to = 0;

	assert_true(code_piece(p, BASE + addr, &from, &to));
	assert_int_equal(from, BASE + start);
	assert_int_equal(to, BASE + end);
}

static const uint8_t three[] = {
	0x31, 0xc0,                               /* 0: xor eax, eax */
	0x74, 0x03,                               /* 2: je 7 */
	0xff, 0xc0,                               /* 4: inc eax */
	0xc3,                                     /* 6: ret; 7 is reached from above */
	0xff, 0xc8,                               /* 7: dec eax */
	0xeb, 0x02,                               /* 9: jmp 13, short: the same function */
	0xff, 0xc0,                               /* 11 */
	0xc3,                                     /* 13: ret */
	0x66, 0x90,                               /* 14: padding */
	0xff, 0xc0,                               /* 16: the second */
	0xe9, 0x09, 0x00, 0x00, 0x00,             /* 18: jmp 32: another function's */
	0x66, 0x0f, 0x1f, 0x84, 0,    0, 0, 0, 0, /* 23: padding */
	0x75, 0xfe,                               /* 32: the third: a loop */
	0xe8, 0,    0,    0,    0,                /* 34: a call comes back */
	0xf3, 0xc3,                               /* 39: rep ret */
	0xcc, 0xcc,                               /* 41: padding */
	0xc3,                                     /* 43: the fourth */
};

TEST(pieces_end_where_nothing_leads_on)
{
	struct image m = { three, sizeof(three), 0 };
	struct code_pieces p = over(&m);
	uint64_t from, to;
	unsigned reads;

	expect(&p, 0, 0, 14);
	reads = m.reads;
	expect(&p, 7, 0, 14);
	expect(&p, 13, 0, 14);
	assert_false(code_piece(&p, BASE + 14, &from, &to));
	expect(&p, 16, 16, 23);
	expect(&p, 32, 32, 41);
	expect(&p, 40, 32, 41);
	expect(&p, 43, 43, 44);
	assert_int_equal(m.reads, reads); /* in ascending order it is read once */
	expect(&p, 0, 0, 14);
	assert_false(code_piece(&p, BASE + 44, &from, &to));
	assert_false(code_piece(&p, BASE - 1, &from, &to));
	code_pieces_release(&p);
}

/* From another place on, as a table has it, with the same reader. */
TEST(other_bounds_begin_anew)
{
	struct image m = { three, sizeof(three), 0 };
	struct code_pieces p = over(&m);

	expect(&p, 0, 0, 14);
	p.from = BASE + 18;
	p.to = BASE + 41;
	expect(&p, 20, 18, 23);
	expect(&p, 34, 32, 41);
	code_pieces_release(&p);
}

TEST(what_is_no_code_is_passed)
{
	uint8_t byte[4096];
	struct image m = { byte, sizeof(byte), 0 };
	uint64_t random = 1, from, to, last = 0;

	for (unsigned run = 0; run < 200; run++) {
		struct code_pieces p = over(&m);

		for (size_t i = 0; i < sizeof(byte); i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			byte[i] = (uint8_t)(random >> 56);
		}
		for (uint64_t at = last = BASE; at < BASE + sizeof(byte); at++)
			if (code_piece(&p, at, &from, &to)) {
				assert_true(from <= at && at < to && from >= last && to <= BASE + sizeof(byte));
				last = from;
			}
		code_pieces_release(&p);
	}
}

TEST(too_much_is_left_undivided)
{
	struct image m = { three, sizeof(three), 0 };
	struct code_pieces p = over(&m);
	uint64_t from, to;

	p.to = p.from + PIECES_MOST + 1;
	assert_false(code_piece(&p, BASE, &from, &to));
	p.to = p.from;
	assert_false(code_piece(&p, BASE, &from, &to));
	/* more than there is */
	p.to = p.from + PIECES_MOST;
	expect(&p, 43, 43, 44);
	m.size = 0;
	p.from--;
	assert_false(code_piece(&p, BASE, &from, &to));
	code_pieces_release(&p);
}

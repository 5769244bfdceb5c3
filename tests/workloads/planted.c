// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Data objects with known numbers of accesses, which the program prints as "KIND NAME ACCESSES":
 * globals of three sizes, an array in a frame, one that is lent to a callee, one large heap block,
 * two hundred small ones, one that realloc() moves, and blocks that live for a moment only. Every
 * counted access is one load or store; SIZE = accesses of one unit of weight. All else the program
 * does is less than a thousandth of it.
 */
#include "work.h"

#define NODES 200

static volatile uint64_t large[4096];
static volatile uint32_t small[4];
static volatile uint8_t letters[96];
static volatile uint64_t *nodes[NODES];
static volatile uint64_t sink;

/* Keeps a call from becoming a jump: who allocates must be on the stack. */
static void *kept(void *p)
{
	__asm__ volatile("" : "+r"(p));
	return p;
}

STEP static uint64_t read_large(unsigned long n)
{
	uint64_t x = 0;

	for (unsigned long i = 0; i < n; i++)
		x += large[i * 7 % 4096];
	return x;
}

STEP static void count_small(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		small[i & 3] = (uint32_t)i;
}

STEP static uint64_t read_letters(unsigned long n)
{
	uint64_t x = 0;

	for (unsigned long i = 0; i < n; i++)
		x += letters[i % 96];
	return x;
}

STEP static uint64_t use_frame(unsigned long n)
{
	volatile uint32_t table[64], other[64];
	uint64_t x = 0;

	for (unsigned long i = 0; i < n; i++)
		table[i & 63] = (uint32_t)i;
	for (unsigned long i = 0; i < n; i++)
		x += table[i & 63];
	other[n & 63] = (uint32_t)x;
	return other[n & 63];
}

STEP static uint64_t borrow(const volatile uint16_t *lent, unsigned long n)
{
	uint64_t x = 0;

	for (unsigned long i = 0; i < n; i++)
		x += lent[i % 50];
	return x;
}

STEP static uint64_t lend(unsigned long n)
{
	volatile uint16_t lent[50];

	for (unsigned i = 0; i < 50; i++)
		lent[i] = (uint16_t)i;
	return borrow(lent, n);
}

STEP static volatile uint32_t *make_block(void)
{
	return kept(malloc(65536));
}

STEP static void write_block(volatile uint32_t *b, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		b[i * 5 % 16384] = (uint32_t)i;
}

STEP static volatile uint64_t *make_node(void)
{
	return kept(malloc(40));
}

/* The pointers to the nodes are a global that is read as often as the nodes are written. */
STEP static uint64_t walk_nodes(unsigned long n)
{
	uint64_t x = 0;

	for (unsigned long i = 0; i < n / NODES; i++)
		for (unsigned k = 0; k < NODES; k++) {
			volatile uint64_t *p = nodes[k];

			p[i % 5] = i;
			x += k;
		}
	return x;
}

STEP static volatile uint8_t *grow(volatile uint8_t *old, size_t size)
{
	return kept(realloc((void *)(uintptr_t)old, size));
}

STEP static void write_grown(volatile uint8_t *p, size_t size, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		p[i % size] = (uint8_t)i;
}

STEP static volatile uint32_t *make_brief(void)
{
	return kept(malloc(1000));
}

STEP static void use_brief(unsigned long n)
{
	for (unsigned k = 0; k < 20; k++) {
		volatile uint32_t *b = make_brief();

		if (!b)
			return;
		for (unsigned long i = 0; i < n / 20; i++)
			b[i % 250] = (uint32_t)i;
		free((void *)(uintptr_t)b);
	}
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 20000);
	volatile uint32_t *block = make_block();
	volatile uint8_t *grown = NULL;
	unsigned long u = w.size / 1000 * 1000;
	uint64_t digest;

	if (!u || !block)
		work_die(&w, "SIZE is 1000 or more");
	for (unsigned i = 0; i < NODES; i++)
		if (!(nodes[i] = make_node()))
			work_die(&w, "out of memory");
	do {
		digest = read_large(10 * u);
		count_small(8 * u);
		digest += read_letters(3 * u) + use_frame(4 * u) + lend(5 * u);
		write_block(block, 8 * u);
		digest += walk_nodes(6 * u);
		grown = grow(malloc(16), 3000);
		write_grown(grown, 3000, 2 * u);
		grown = grow(grown, 50000);
		write_grown(grown, 50000, 2 * u);
		free((void *)(uintptr_t)grown);
		use_brief(5 * u);
		sink = digest;
	} while (work_more(&w, digest));
	for (unsigned i = 0; i < 10; i++) {
		static const struct {
			const char *kind, *name;
			unsigned weight;
		} planted[] = {
			{ "global", "large", 10 },
			{ "global", "small", 8 },
			{ "global", "letters", 3 },
			{ "global", "nodes", 6 },
			{ "local", "table in use_frame", 8 },
			{ "local", "lent in lend", 5 },
			{ "heap", "malloc in make_block", 8 },
			{ "heap", "malloc in make_node", 6 },
			{ "heap", "realloc in grow", 4 },
			{ "heap", "malloc in make_brief", 5 },
		};

		printf("%s %s %lu\n", planted[i].kind, planted[i].name, planted[i].weight * u * w.done);
	}
	return work_done(&w);
}

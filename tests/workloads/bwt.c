// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A block-sorting compressor of its own format: blocks of text and of records are sorted as all their
 * rotations (by two bytes, then a ternary quicksort by depth with insertion sorts below, and, where that
 * takes too long, by doubling), moved to front, and coded with several Huffman tables. Few large functions
 * with much inlined into them, each entered once or twice a block and busy for tens of ms. SIZE = bytes of
 * the first block; a second one holds records, a third one repeats itself.
 */
#include "work.h"

#define AROUND 64 /* the block's begin again behind its end, so that comparisons need not look */
#define SMALL 14
#define DEEP 20000
#define PATIENCE 24 /* comparisons of eight bytes for each byte of a block, before it is sorted by doubling */
#define SYMBOLS 258
#define END 257
#define TABLES 6
#define GROUP 50
#define ROUNDS 4
#define LONGEST 17

static uint8_t *block, *packed;
static uint32_t *rotation, *rank, *tentative, size;
static uint16_t *moved;
static uint8_t *chosen;
static size_t symbols;
static int64_t patience;
static uint32_t frequency[SYMBOLS];
static uint8_t length[TABLES][SYMBOLS];
static uint32_t code[TABLES][SYMBOLS];
static uint64_t held;
static unsigned int held_bits;
static size_t packed_size;

/* ---- what is compressed ---- */

static void make_text(void)
{
	static const char letters[] = "etaoinshrdlucmfwypvbgk";
	uint64_t seed = 11;
	uint32_t at = 0;

	while (at < size) {
		uint64_t word = work_random(&seed) >> 52, odd = work_random(&seed);
		uint32_t chars = 2 + (uint32_t)(word % 9), state = (uint32_t)(word * word >> 10);

		/* the seldom words are spelt at random */
		if (odd >> 62)
			state = (uint32_t)odd;
		for (uint32_t i = 0; i < chars && at < size; i++) {
			state = state * 1103515245u + 12345u;
			block[at++] =
				(uint8_t)letters[(state >> 16 & 31) * (state >> 24 & 15) / 16 % (sizeof(letters) - 1)];
		}
		if (at < size)
			block[at++] = word % 13 ? ' ' : word % 39 ? ',' : '\n';
	}
}

static void make_records(void)
{
	uint64_t seed = 17;

	for (uint32_t at = 0; at < size; at++) {
		uint32_t field = at % 24;

		block[at] = field < 4    ? (uint8_t)(at / 24 >> 8 * (3 - field))
			    : field < 14 ? (uint8_t)(work_random(&seed) >> 60)
			    : field < 18 ? (uint8_t)(work_random(&seed) >> 56)
					 : (uint8_t)(field * (at / 24 % 5));
	}
}

static void make_repeats(void)
{
	for (uint32_t at = 0; at < size; at++)
		block[at] = (uint8_t)("abcabcabd"[at % 9] + (at % 7001 == 7000));
}

/* ---- sorting ---- */

#define DIFFER(k)                                                                                                      \
	do {                                                                                                           \
		if (a[k] != b[k])                                                                                      \
			return a[k] > b[k];                                                                            \
	} while (0)

#define DIFFER_8                                                                                                       \
	DIFFER(0);                                                                                                     \
	DIFFER(1);                                                                                                     \
	DIFFER(2);                                                                                                     \
	DIFFER(3);                                                                                                     \
	DIFFER(4);                                                                                                     \
	DIFFER(5);                                                                                                     \
	DIFFER(6);                                                                                                     \
	DIFFER(7)

static inline bool is_later(uint32_t i, uint32_t j)
{
	const uint8_t *a = block + i, *b = block + j;

	DIFFER_8;
	for (uint32_t left = size + 8; left > 8; left -= left < 16 ? left - 8 : 8) {
		i = i + 8 >= size ? i + 8 - size : i + 8;
		j = j + 8 >= size ? j + 8 - size : j + 8;
		a = block + i;
		b = block + j;
		DIFFER_8;
		patience--;
	}
	return false;
}

static inline uint32_t advance(uint32_t i, uint32_t by)
{
	i += by;
	return i >= size ? i - size : i;
}

/* What all have in common is `depth` bytes long. */
static inline void insert_each(uint32_t from, uint32_t to, uint32_t depth)
{
	static const uint32_t steps[] = { 7, 3, 1 };

	for (int s = to - from > SMALL ? 0 : 2; s < 3; s++) {
		uint32_t step = steps[s];

		for (uint32_t i = from + step; i < to; i++) {
			uint32_t v = rotation[i], k = i;

			while (k >= from + step && is_later(advance(rotation[k - step], depth), advance(v, depth))) {
				rotation[k] = rotation[k - step];
				k -= step;
			}
			rotation[k] = v;
			if (patience < 0)
				return;
		}
	}
}

static inline uint8_t byte_of(uint32_t i, uint32_t depth)
{
	return block[advance(rotation[i], depth)];
}

static inline uint8_t middle(uint8_t a, uint8_t b, uint8_t c)
{
	return a < b ? b < c ? b : a < c ? c : a : a < c ? a : b < c ? c : b;
}

static inline void swap(uint32_t i, uint32_t j)
{
	uint32_t v = rotation[i];

	rotation[i] = rotation[j];
	rotation[j] = v;
}

static void sort_range(uint32_t from, uint32_t to, uint32_t depth)
{
	struct {
		uint32_t from, to, depth;
	} stack[128];
	unsigned int top = 0;

	stack[top].from = from;
	stack[top].to = to;
	stack[top++].depth = depth;
	while (top) {
		uint32_t less, at, more;
		uint8_t pivot;

		from = stack[--top].from;
		to = stack[top].to;
		depth = stack[top].depth;
		if (to - from <= SMALL || depth > DEEP || depth + AROUND > size || top > 120) {
			insert_each(from, to, depth);
			if (patience < 0)
				return;
			continue;
		}
		pivot = middle(byte_of(from, depth), byte_of(from + (to - from) / 2, depth), byte_of(to - 1, depth));
		for (less = at = from, more = to; at < more;) {
			uint8_t c = byte_of(at, depth);

			if (c < pivot)
				swap(less++, at++);
			else if (c > pivot)
				swap(at, --more);
			else
				at++;
		}
		if (more - less > 1) {
			stack[top].from = less;
			stack[top].to = more;
			stack[top++].depth = depth + 1;
		}
		if (less - from > 1) {
			stack[top].from = from;
			stack[top].to = less;
			stack[top++].depth = depth;
		}
		if (to - more > 1) {
			stack[top].from = more;
			stack[top].to = to;
			stack[top++].depth = depth;
		}
	}
}

/* Buckets by two bytes; false: it takes too long. */
STEP static bool sort_by_bytes(void)
{
	static uint32_t begin[65537];

	memset(begin, 0, sizeof(begin));
	for (uint32_t i = 0; i < size; i++)
		begin[(block[i] << 8 | block[i + 1]) + 1]++;
	for (uint32_t b = 0; b < 65536; b++)
		begin[b + 1] += begin[b];
	for (uint32_t i = size; i-- > 0;)
		rotation[--begin[(block[i] << 8 | block[i + 1]) + 1]] = i;
	/* each begin[b + 1] is now where bucket b begins */
	for (uint32_t b = 0; b < 65536; b++) {
		uint32_t from = begin[b + 1], to = b < 65535 ? begin[b + 2] : size;

		if (to - from > 1)
			sort_range(from, to, 2);
		if (patience < 0)
			return false;
	}
	return true;
}

static void by_rank(uint32_t from, uint32_t to, uint32_t h)
{
	while (to - from > 1) {
		uint32_t pivot = rank[advance(rotation[from + (to - from) / 2], h)], less = from, at = from, more = to;

		while (at < more) {
			uint32_t r = rank[advance(rotation[at], h)];

			if (r < pivot)
				swap(less++, at++);
			else if (r > pivot)
				swap(at, --more);
			else
				at++;
		}
		by_rank(from, less, h);
		from = more;
	}
}

/* By twice as many bytes in each round, whatever the block holds. */
STEP static void sort_by_doubling(void)
{
	uint32_t count[257] = { 0 }, groups = 1;

	for (uint32_t i = 0; i < size; i++)
		count[block[i] + 1]++;
	for (int c = 0; c < 256; c++)
		count[c + 1] += count[c];
	for (uint32_t i = 0; i < size; i++)
		rank[i] = count[block[i]];
	for (uint32_t i = 0; i < size; i++)
		rotation[count[block[i]]++] = i;
	for (uint32_t h = 1; h < size && groups; h *= 2) {
		groups = 0;
		for (uint32_t from = 0, to; from < size; from = to) {
			for (to = from + 1; to < size && rank[rotation[to]] == rank[rotation[from]];)
				to++;
			if (to - from < 2) {
				tentative[rotation[from]] = from;
				continue;
			}
			groups++;
			by_rank(from, to, h);
			tentative[rotation[from]] = from;
			for (uint32_t i = from + 1; i < to; i++)
				tentative[rotation[i]] =
					rank[advance(rotation[i], h)] == rank[advance(rotation[i - 1], h)]
						? tentative[rotation[i - 1]]
						: i;
		}
		memcpy(rank, tentative, size * sizeof(*rank));
	}
}

/* ---- coding ---- */

STEP static uint32_t move_to_front(void)
{
	uint8_t order[256];
	uint32_t run = 0, origin = 0;

	for (int c = 0; c < 256; c++)
		order[c] = (uint8_t)c;
	memset(frequency, 0, sizeof(frequency));
	symbols = 0;
	for (uint32_t i = 0; i <= size; i++) {
		uint8_t c = 0;

		if (i < size) {
			if (!rotation[i])
				origin = i;
			c = block[rotation[i] ? rotation[i] - 1 : size - 1];
			if (c == order[0]) {
				run++;
				continue;
			}
		}
		/* runs of what is in front: digits one and two */
		for (; run; run = (run - 1) / 2) {
			moved[symbols] = run & 1 ? 0 : 1;
			frequency[moved[symbols++]]++;
		}
		if (i < size) {
			uint8_t last = order[0], next;
			unsigned int at = 0;

			do {
				next = order[++at];
				order[at] = last;
				last = next;
			} while (next != c);
			order[0] = c;
			moved[symbols] = (uint16_t)(at + 1);
			frequency[moved[symbols++]]++;
		}
	}
	moved[symbols++] = END;
	frequency[END]++;
	return origin;
}

static void make_lengths(uint8_t *to, const uint32_t *wanted)
{
	uint32_t weight[2 * SYMBOLS];
	uint16_t heap[SYMBOLS + 1], above[2 * SYMBOLS];

	for (int i = 0; i < SYMBOLS; i++)
		weight[i] = (wanted[i] ? wanted[i] : 1) << 8;
	for (;;) {
		unsigned int count = 0, nodes = SYMBOLS, longest = 0;

		for (unsigned int i = 0; i < SYMBOLS; i++) {
			unsigned int at = ++count;

			for (; at > 1 && weight[heap[at / 2]] > weight[i]; at /= 2)
				heap[at] = heap[at / 2];
			heap[at] = (uint16_t)i;
		}
		while (count > 1) {
			uint16_t least[2];

			for (int k = 0; k < 2; k++) {
				uint16_t v = heap[count--];
				unsigned int at = 1, down;

				least[k] = heap[1];
				while ((down = 2 * at) <= count) {
					if (down < count && weight[heap[down + 1]] < weight[heap[down]])
						down++;
					if (weight[heap[down]] >= weight[v])
						break;
					heap[at] = heap[down];
					at = down;
				}
				heap[at] = v;
				above[least[k]] = (uint16_t)nodes;
			}
			weight[nodes] =
				((weight[least[0]] & ~255u) + (weight[least[1]] & ~255u)) |
				(1 + ((weight[least[0]] & 255) > (weight[least[1]] & 255) ? weight[least[0]] & 255
											  : weight[least[1]] & 255));
			{
				unsigned int at = ++count;

				for (; at > 1 && weight[heap[at / 2]] > weight[nodes]; at /= 2)
					heap[at] = heap[at / 2];
				heap[at] = (uint16_t)nodes++;
			}
		}
		for (unsigned int i = 0; i < SYMBOLS; i++) {
			unsigned int bits = 0;

			for (unsigned int at = i; at != nodes - 1; at = above[at])
				bits++;
			to[i] = (uint8_t)bits;
			longest = bits > longest ? bits : longest;
		}
		if (longest <= LONGEST)
			return;
		for (int i = 0; i < SYMBOLS; i++)
			weight[i] = (1 + (weight[i] >> 9)) << 8;
	}
}

static inline void put_bits(uint32_t value, unsigned int bits)
{
	while (held_bits >= 32) {
		packed[packed_size++] = (uint8_t)(held >> (held_bits - 8));
		held_bits -= 8;
	}
	held = held << bits | value;
	held_bits += bits;
}

STEP static void code_symbols(uint32_t origin)
{
	uint32_t used[TABLES][SYMBOLS];
	uint32_t total = 0, first = 0;

	for (size_t i = 0; i < symbols; i++)
		total += 1;
	/* to begin with, each table is for a part of the symbols */
	for (unsigned int t = 0; t < TABLES; t++) {
		uint32_t sum = 0, end = first;

		while (end < SYMBOLS && (sum < total / (TABLES - t) || t == TABLES - 1))
			sum += frequency[end++];
		for (uint32_t v = 0; v < SYMBOLS; v++)
			length[t][v] = v >= first && v < end ? 1 : 15;
		total -= sum;
		first = end;
	}
	for (int round = 0; round < ROUNDS; round++) {
		memset(used, 0, sizeof(used));
		for (size_t from = 0; from < symbols; from += GROUP) {
			size_t to = from + GROUP < symbols ? from + GROUP : symbols;
			uint16_t cost[TABLES] = { 0 };
			unsigned int best = 0;

			for (size_t i = from; i < to; i++)
				for (unsigned int t = 0; t < TABLES; t++)
					cost[t] = (uint16_t)(cost[t] + length[t][moved[i]]);
			for (unsigned int t = 1; t < TABLES; t++)
				best = cost[t] < cost[best] ? t : best;
			chosen[from / GROUP] = (uint8_t)best;
			for (size_t i = from; i < to; i++)
				used[best][moved[i]]++;
		}
		for (unsigned int t = 0; t < TABLES; t++)
			make_lengths(length[t], used[t]);
	}
	for (unsigned int t = 0; t < TABLES; t++) {
		uint32_t next = 0;

		for (unsigned int bits = 1; bits <= LONGEST; bits++, next *= 2)
			for (unsigned int v = 0; v < SYMBOLS; v++)
				if (length[t][v] == bits)
					code[t][v] = next++;
	}
	put_bits(origin, 24);
	for (unsigned int t = 0; t < TABLES; t++)
		for (unsigned int v = 0; v < SYMBOLS; v++)
			put_bits(length[t][v], 5);
	for (size_t from = 0; from < symbols; from += GROUP) {
		unsigned int t = chosen[from / GROUP];

		put_bits((1u << t) - 1, t + 1);
		for (size_t i = from; i < symbols && i < from + GROUP; i++)
			put_bits(code[t][moved[i]], length[t][moved[i]]);
	}
}

STEP static uint64_t checksum(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < packed_size; i++)
		sum = (sum << 5 | sum >> 59) ^ packed[i] * 0x9e3779b97f4a7c15ull;
	return sum;
}

/* Now and then, not in every round. */
static void check_order(const struct work *w)
{
	for (uint32_t i = 1; i < size; i += 1 + size / 997) {
		const uint32_t a = rotation[i - 1], b = rotation[i];

		for (uint32_t k = 0; k < size; k++) {
			uint8_t x = block[advance(a, k)], y = block[advance(b, k)];

			if (x > y)
				work_die(w, "rotations are out of order");
			if (x < y)
				break;
		}
	}
}

static void compress(const struct work *w)
{
	for (uint32_t i = 0; i < AROUND; i++)
		block[size + i] = block[i];
	patience = (int64_t)PATIENCE * size;
	if (!sort_by_bytes())
		sort_by_doubling();
	if (!w->done)
		check_order(w);
	code_symbols(move_to_front());
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 450000);
	uint64_t digest;

	if (w.size < 1000 || w.size > 8000000)
		work_die(&w, "SIZE must be 1000 to 8000000");
	block = malloc(w.size + AROUND);
	packed = malloc(8 * w.size + 65536);
	rotation = malloc(w.size * sizeof(*rotation));
	rank = malloc(w.size * sizeof(*rank));
	tentative = malloc(w.size * sizeof(*tentative));
	moved = malloc((w.size + 2) * sizeof(*moved));
	chosen = malloc(w.size / GROUP + 2);
	if (!block || !packed || !rotation || !rank || !tentative || !moved || !chosen)
		work_die(&w, "out of memory");
	do {
		packed_size = held = held_bits = 0;
		size = (uint32_t)w.size;
		make_text();
		compress(&w);
		size = (uint32_t)w.size / 2;
		make_records();
		compress(&w);
		size = (uint32_t)w.size / 5;
		make_repeats();
		compress(&w);
		put_bits(0, 31);
		put_bits(0, 31);
		digest = work_mix(packed_size, checksum());
	} while (work_more(&w, digest));
	free(block);
	free(packed);
	free(rotation);
	free(rank);
	free(tentative);
	free(moved);
	free(chosen);
	return work_done(&w);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Motion search of a video coder: blocks of 16x16 of each frame are looked for in the frame before,
 * first by sums of absolute differences over a diamond that shrinks, then refined at half pixels by
 * Hadamard sums (SATD); the motion-compensated residue is kept and the reconstruction becomes the next
 * reference, so buffers are rewritten by several functions per cycle. SIZE = side, multiple of 16.
 */
#include "work.h"

#define FRAMES 4

static uint8_t *frame, *reference, *predicted;
static int16_t *residue;
static int32_t grid[64];
static int side;

struct vector {
	int x, y, cost;
};

STEP static void make_frame(int t)
{
	for (int y = 0; y < side; y++)
		for (int x = 0; x < side; x++) {
			int u = x + 3 * t, v = y - 2 * t;

			frame[y * side + x] = (uint8_t)((u * u / 32 + v * v / 48 + (u & 31) * (v & 15) / 4) & 255);
		}
}

static int clamp(int v)
{
	return v < 0 ? 0 : v >= side ? side - 1 : v;
}

STEP static int sad_16x16(int bx, int by, int mx, int my)
{
	int sum = 0;

	for (int y = 0; y < 16; y++) {
		const uint8_t *a = frame + (by + y) * side + bx, *row = reference + clamp(by + my + y) * side;

		for (int x = 0; x < 16; x++) {
			int d = a[x] - row[clamp(bx + mx + x)];

			sum += d < 0 ? -d : d;
		}
	}
	return sum;
}

STEP static void search_diamond(int bx, int by, struct vector *best)
{
	best->x = best->y = 0;
	best->cost = sad_16x16(bx, by, 0, 0);
	for (int step = 8; step; step /= 2) {
		for (;;) {
			static const int8_t dx[4] = { 1, -1, 0, 0 }, dy[4] = { 0, 0, 1, -1 };
			struct vector from = *best;

			for (int i = 0; i < 4; i++) {
				int x = from.x + dx[i] * step, y = from.y + dy[i] * step, cost;

				if (x < -24 || x > 24 || y < -24 || y > 24)
					continue;
				cost = sad_16x16(bx, by, x, y);
				if (cost < best->cost)
					*best = (struct vector){ x, y, cost };
			}
			if (best->x == from.x && best->y == from.y)
				break;
		}
	}
}

/* Half-pixel positions are means of two or four neighbours. */
STEP static void predict_block(int bx, int by, int hx, int hy)
{
	int mx = hx >> 1, my = hy >> 1;

	for (int y = 0; y < 16; y++) {
		const uint8_t *r0 = reference + clamp(by + my + y) * side,
			      *r1 = reference + clamp(by + my + y + (hy & 1)) * side;
		uint8_t *to = predicted + (by + y) * side + bx;

		for (int x = 0; x < 16; x++) {
			int x0 = clamp(bx + mx + x), x1 = clamp(bx + mx + x + (hx & 1));

			to[x] = (uint8_t)((r0[x0] + r0[x1] + r1[x0] + r1[x1] + 2) >> 2);
		}
	}
}

STEP static int satd_8x8(int bx, int by)
{
	int sum = 0;

	for (int i = 0; i < 64; i++)
		grid[i] = frame[(by + i / 8) * side + bx + i % 8] - predicted[(by + i / 8) * side + bx + i % 8];
	for (int pass = 0; pass < 2; pass++) {
		int along = pass ? 8 : 1, across = pass ? 1 : 8;

		for (int line = 0; line < 8; line++)
			for (int width = 1; width < 8; width *= 2)
				for (int i = 0; i < 8; i++)
					if (!(i & width)) {
						int32_t *a = &grid[line * across + i * along];
						int32_t *b = a + width * along, d = *a - *b;

						*a += *b;
						*b = d;
					}
	}
	for (int i = 0; i < 64; i++)
		sum += grid[i] < 0 ? -grid[i] : grid[i];
	return sum;
}

STEP static void refine_half(int bx, int by, struct vector *best)
{
	int cx = best->x * 2, cy = best->y * 2, bestx = cx, besty = cy, least = 1 << 30;

	for (int y = cy - 1; y <= cy + 1; y++)
		for (int x = cx - 1; x <= cx + 1; x++) {
			int cost = 0;

			predict_block(bx, by, x, y);
			for (int q = 0; q < 4; q++)
				cost += satd_8x8(bx + q % 2 * 8, by + q / 2 * 8);
			if (cost < least) {
				least = cost;
				bestx = x;
				besty = y;
			}
		}
	predict_block(bx, by, bestx, besty);
	*best = (struct vector){ bestx, besty, least };
}

STEP static void take_residue(int bx, int by)
{
	for (int i = 0; i < 256; i++) {
		int at = (by + i / 16) * side + bx + i % 16, d = frame[at] - predicted[at];

		residue[at] = (int16_t)(d / 4 * 4); /* quantised */
	}
}

STEP static void rebuild(void)
{
	for (int i = 0; i < side * side; i++) {
		int v = predicted[i] + residue[i];

		reference[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
	}
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 128);
	size_t area = w.size * w.size;
	uint64_t digest;

	if (w.size < 16 || w.size > 4096 || w.size % 16)
		work_die(&w, "SIZE must be a multiple of 16 up to 4096");
	side = (int)w.size;
	frame = malloc(area);
	reference = malloc(area);
	predicted = malloc(area);
	residue = malloc(area * sizeof(*residue));
	if (!frame || !reference || !predicted || !residue)
		work_die(&w, "out of memory");
	do {
		static struct vector best;

		digest = 0;
		memset(reference, 128, area);
		for (int t = 0; t < FRAMES; t++) {
			make_frame(t);
			for (int by = 0; by < side; by += 16)
				for (int bx = 0; bx < side; bx += 16) {
					search_diamond(bx, by, &best);
					refine_half(bx, by, &best);
					take_residue(bx, by);
					digest = work_mix(digest, (uint64_t)best.cost);
				}
			rebuild();
		}
	} while (work_more(&w, digest));
	free(frame);
	free(reference);
	free(predicted);
	free(residue);
	return work_done(&w);
}

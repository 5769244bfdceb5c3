// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The example of Kim & Edwards (2010): a PPM image, 4-byte pixels in memory, rotated by a quarter
 * turn from one image into another: by iter_rot, two loops, and by rec_rot, which hands each quadrant
 * to itself, down to the pixel. swap_rot, which is not theirs, works in place: swap the quadrants in a
 * circle, then rotate each; its words travel log2(side) times. SIZE = the side, a power of two.
 *
 * Planted, chunks of 4 bytes, `ke`, each named function with its callees, N = SIZE * SIZE:
 *   iter_rot <- read_ppm N + 4 (width, height and the two halves of the pointer),
 *   write_ppm <- iter_rot N, write_ppm <- rec_rot N, rec_rot <- read_ppm N.
 * Modes: both (read, iter, write, rec, write), iter, rec, swap.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

struct image {
	int width, height;
	uint32_t *pixels; /* 0x00bbggrr */
};

static struct image a, b; /* not on main's stack, where they would count as stack */

static void image_new(struct image *m, int side)
{
	/* made by main, so that no allocator's book-keeping travels between the steps */
	m->pixels = malloc((size_t)side * (size_t)side * sizeof(*m->pixels));
	if (!m->pixels)
		abort();
}

STEP static void read_ppm(FILE *f, struct image *m, uint32_t *pixels)
{
	int width, height, max;

	rewind(f);
	if (fscanf(f, "P6 %d %d %d", &width, &height, &max) != 3 || max != 255)
		abort();
	getc(f);
	for (int i = 0; i < width * height; i++) {
		uint32_t red = (uint32_t)getc(f), green = (uint32_t)getc(f), blue = (uint32_t)getc(f);

		pixels[i] = red | green << 8 | blue << 16;
	}
	m->width = width;
	m->height = height;
	m->pixels = pixels;
}

STEP static void write_ppm(FILE *f, const struct image *m)
{
	rewind(f);
	fprintf(f, "P6\n%d %d\n255\n", m->width, m->height);
	for (int i = 0; i < m->width * m->height; i++) {
		uint32_t p = m->pixels[i];

		putc((int)(p & 255), f);
		putc((int)(p >> 8 & 255), f);
		putc((int)(p >> 16 & 255), f);
	}
	fflush(f);
}

STEP static void iter_rot(const struct image *from, struct image *to)
{
	int w = from->width, h = from->height;
	const uint32_t *src = from->pixels;
	uint32_t *dst = to->pixels;

	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++)
			dst[x * h + (h - 1 - y)] = src[y * w + x];
}

STEP static void rec_rot(const uint32_t *from, uint32_t *to, int stride, int n)
{
	int half = n / 2, below = half * stride;

	if (n == 1) {
		*to = *from;
		return;
	}
	rec_rot(from, to + half, stride, half);
	rec_rot(from + half, to + below + half, stride, half);
	rec_rot(from + below + half, to + below, stride, half);
	rec_rot(from + below, to, stride, half);
}

STEP static void swap_rot(uint32_t *pixels, int stride, int n)
{
	int half = n / 2;
	uint32_t *nw = pixels, *ne = pixels + half, *sw = pixels + half * stride, *se = sw + half;

	for (int y = 0; y < half; y++)
		for (int x = 0; x < half; x++) {
			int i = y * stride + x;
			uint32_t keep = nw[i];

			nw[i] = sw[i];
			sw[i] = se[i];
			se[i] = ne[i];
			ne[i] = keep;
		}
	if (half > 1) {
		swap_rot(nw, stride, half);
		swap_rot(ne, stride, half);
		swap_rot(sw, stride, half);
		swap_rot(se, stride, half);
	}
}

static void make_ppm(FILE *f, int side)
{
	uint64_t seed = 7;

	fprintf(f, "P6\n%d %d\n255\n", side, side);
	for (int i = 0; i < side * side * 3; i++)
		putc((int)(work_random(&seed) >> 40 & 255), f);
	fflush(f);
}

static FILE *memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!f)
		abort();
	return f;
}

static uint64_t image_digest(const struct image *m, int side)
{
	uint64_t digest = 0;

	for (int i = 0; i < side * side; i += 61)
		digest = work_mix(digest, m->pixels[i]);
	return digest;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, "both|iter|rec|swap", 128);
	bool both = !strcmp(w.mode, "both"), iter = both || !strcmp(w.mode, "iter"),
	     rec = both || !strcmp(w.mode, "rec");
	int side = (int)w.size;
	uint64_t digest;
	FILE *in, *out;

	if (w.size < 2 || w.size > 8192 || (w.size & (w.size - 1)))
		work_die(&w, "SIZE must be a power of two from 2 to 8192");
	in = memory_file("in");
	out = memory_file("out");
	image_new(&a, side);
	image_new(&b, side);
	make_ppm(in, side);
	do {
		read_ppm(in, &a, a.pixels);
		b.width = b.height = side;
		digest = 0;
		if (iter) {
			iter_rot(&a, &b);
			write_ppm(out, &b);
			digest = image_digest(&b, side);
		}
		if (rec) {
			rec_rot(a.pixels, b.pixels, side, side);
			write_ppm(out, &b);
			if (iter && image_digest(&b, side) != digest)
				work_die(&w, "the two rotations differ");
			digest = image_digest(&b, side);
		}
		if (!iter && !rec) {
			swap_rot(a.pixels, side, side);
			write_ppm(out, &a);
			digest = image_digest(&a, side);
		}
	} while (work_more(&w, digest));
	free(a.pixels);
	free(b.pixels);
	fclose(in);
	fclose(out);
	return work_done(&w);
}

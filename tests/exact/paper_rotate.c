// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program of Kim & Edwards (2010), figure 2, as it is printed there, but for marks that the print lost: rotates the
 * square PPM image on its input by a quarter turn, r by quadrants that are swapped and rotated in turn, i by four
 * pixels at a time. Built and measured by scripts/exact-paper.
 */
#include <stdio.h>
#include <stdlib.h>

/* On the paper's machine a pointer was one word of 4 bytes: here, too, as what malloc gives without
 * randomisation in a program at fixed addresses lies low. */
#define raster ((unsigned *)(unsigned long)image)
#define PIX(x, y) raster[(x) + (y)*wd]

unsigned wd, ht, maxval, image;

void rec_rot(int x, int y, int s)
{
	int i, j;

	s >>= 1;
	for (i = 0; i < s; ++i)
		for (j = 0; j < s; ++j) {
			int rgb = PIX(x + i, y + j);

			PIX(x + i, y + j) = PIX(x + i, y + j + s);
			PIX(x + i, y + j + s) = PIX(x + i + s, y + j + s);
			PIX(x + i + s, y + j + s) = PIX(x + i + s, y + j);
			PIX(x + i + s, y + j) = rgb;
		}
	if (s <= 1)
		return;
	rec_rot(x, y + s, s);
	rec_rot(x + s, y + s, s);
	rec_rot(x + s, y, s);
	rec_rot(x, y, s);
}

void iter_rot(void)
{
	int x, y, s;

	s = wd >> 1;
	for (y = 0; y < s; ++y)
		for (x = 0; x < s; ++x) {
			int rgb = PIX(x, y);

			PIX(x, y) = PIX(y, ht - x - 1);
			PIX(y, ht - x - 1) = PIX(wd - x - 1, ht - y - 1);
			PIX(wd - x - 1, ht - y - 1) = PIX(wd - y - 1, x);
			PIX(wd - y - 1, x) = rgb;
		}
}

void read_ppm(void)
{
	int x, y;

	if (scanf("P6 %d %d %d ", (int *)&wd, (int *)&ht, (int *)&maxval) != 3)
		exit(1);
	image = (unsigned)(unsigned long)malloc(wd * ht * sizeof(int));
	for (y = 0; y < (int)ht; ++y)
		for (x = 0; x < (int)wd; ++x) {
			int rgb = getchar() << 16;

			rgb |= getchar() << 8;
			rgb |= getchar();
			PIX(x, y) = rgb;
		}
}

void write_ppm(void)
{
	int x, y;

	printf("P6\n%d %d\n%d\n", wd, ht, maxval);
	for (y = 0; y < (int)ht; ++y)
		for (x = 0; x < (int)wd; ++x) {
			int rgb = PIX(x, y);

			putchar(rgb >> 16);
			putchar((rgb >> 8) & 0xff);
			putchar(rgb & 0xff);
		}
}

int main(int argc, char **argv)
{
	if (argc != 2 || (argv[1][0] != 'r' && argv[1][0] != 'i')) {
		printf("USAGE: rotate [ir]\n");
		exit(0);
	}
	read_ppm();
	if (argv[1][0] == 'r')
		rec_rot(0, 0, wd);
	else
		iter_rot();
	write_ppm();
	return 0;
}

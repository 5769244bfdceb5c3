// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/roofline.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

#define HEAD "accperf.peaks/2"
#define PASSES 5                /* the fastest is the roof: other programs only slow it down; by hand, odd */
#define TURNS 4000000u          /* of the loop; by hand */
#define CHAINS 8                /* independent, so that no latency is waited for; by hand */
#define PASS_BYTES (64ul << 20) /* bytes read in one pass; by hand */

static const size_t level_bytes[ROOFLINE_LEVELS] = { 16 << 10, 256 << 10, 4 << 20, 64 << 20 };

typedef uint64_t wide __attribute__((vector_size(16))); /* of any x86-64 machine */

/* Independent chains, each instruction of which the compiler must keep: as many as the core has units for. */
static double ops_once(void)
{
	uint64_t x[CHAINS] = { 1, 2, 3, 4, 5, 6, 7, 8 }, began = clock_now();

	for (uint32_t i = 0; i < TURNS; i++) {
		__asm__ volatile("add $3, %0\n\txor $5, %1\n\tadd $7, %2\n\txor $9, %3\n\t"
				 "add $11, %4\n\txor $13, %5\n\tadd $15, %6\n\txor $17, %7"
				 : "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3]), "+r"(x[4]), "+r"(x[5]), "+r"(x[6]),
				   "+r"(x[7])
				 :
				 : "cc");
	}
	return (double)TURNS * CHAINS / ((double)(clock_now() - began) / 1e9);
}

static double bytes_once(const wide *at, size_t bytes)
{
	size_t n = bytes / sizeof(*at), times = PASS_BYTES / bytes;
	wide sum[4] = { { 0 } };
	uint64_t began = clock_now();

	for (size_t t = 0; t < times; t++) {
		for (size_t i = 0; i < n; i += 4) {
			sum[0] ^= at[i];
			sum[1] ^= at[i + 1];
			sum[2] ^= at[i + 2];
			sum[3] ^= at[i + 3];
		}
		__asm__ volatile("" : "+x"(sum[0]), "+x"(sum[1]), "+x"(sum[2]), "+x"(sum[3]) : : "memory");
	}
	return (double)(times * bytes) / ((double)(clock_now() - began) / 1e9);
}

static void fastest_and_usual(double pass[PASSES], double *fastest, double *usual)
{
	qsort(pass, PASSES, sizeof(*pass), by_double);
	*fastest = pass[PASSES - 1];
	*usual = pass[PASSES / 2];
}

bool roofline_measure(const char *machine, struct roofline *out)
{
	wide *at = aligned_alloc(64, level_bytes[ROOFLINE_LEVELS - 1]);
	double pass[PASSES];

	*out = (struct roofline){ .ops_per_s = 0 };
	snprintf(out->machine, sizeof(out->machine), "%s", machine);
	if (!at)
		return false;
	memset(at, 1, level_bytes[ROOFLINE_LEVELS - 1]);
	for (int k = 0; k < PASSES; k++)
		pass[k] = ops_once();
	fastest_and_usual(pass, &out->ops_per_s, &out->usual_ops);
	for (int l = 0; l < ROOFLINE_LEVELS; l++) {
		struct roofline_level *to = &out->level[l];

		to->bytes = (double)level_bytes[l];
		for (int k = 0; k < PASSES; k++)
			pass[k] = bytes_once(at, level_bytes[l]);
		fastest_and_usual(pass, &to->bytes_per_s, &to->usual_bytes);
	}
	free(at);
	return true;
}

void roofline_write(const struct roofline *r, struct buf *out)
{
	buf_addf(out, HEAD "\n%s\nops %.6g %.6g\n", r->machine, r->ops_per_s, r->usual_ops);
	for (int l = 0; l < ROOFLINE_LEVELS; l++)
		buf_addf(out, "level %.0f %.6g %.6g\n", r->level[l].bytes, r->level[l].bytes_per_s,
			 r->level[l].usual_bytes);
}

static bool sane(double fastest, double usual)
{
	return isfinite(fastest) && usual > 0 && usual <= fastest;
}

bool roofline_read(const char *text, struct roofline *out)
{
	int n = 0;

	*out = (struct roofline){ .ops_per_s = NAN };
	if (sscanf(text, HEAD "\n%255[^\n]\nops %lf %lf\n%n", out->machine, &out->ops_per_s, &out->usual_ops, &n) !=
		    3 ||
	    !n || !sane(out->ops_per_s, out->usual_ops))
		return false;
	for (int l = 0; l < ROOFLINE_LEVELS; l++) {
		struct roofline_level *at = &out->level[l];
		int more = 0;

		if (sscanf(text + n, "level %lf %lf %lf\n%n", &at->bytes, &at->bytes_per_s, &at->usual_bytes, &more) !=
			    3 ||
		    !more || !sane(at->bytes, at->bytes) || !sane(at->bytes_per_s, at->usual_bytes))
			return false;
		n += more;
	}
	return !text[n];
}

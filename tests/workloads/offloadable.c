// cflags: -O2 -fno-omit-frame-pointer
// libs: -ldl -lm
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Eight kernels with a host's and an accelerated way, called with sizes as services have them (six of ten calls
 * below 1 KB, one above 16 KB): `offloadable KERNEL host|accelerated CALLS PHASE [BYTES [O L]]`. Prints CPU time per
 * call in ns: of the kernel and the program's rest (PHASE whole), of the rest alone (rest), of the kernel alone
 * (kernel) or of the loop alone (draw), which all of them hold. aes and sha take the way that OPENSSL_ia32cap
 * says; crc and deflate a byte table and zlib or ISA-L; slices and zcrc eight tables and zlib's CRC, or ISA-L; matrix
 * three loops or OpenBLAS; copy the C library's, or nothing. BYTES: all calls are of that size; 0: as services have
 * them. O, L: the accelerated way waits, busily, O ns and L ns for each byte of a call, too. Prints, too, what getting
 * ready took, in ns. With frame pointers, as distributions build today: a function then begins with what the kernel
 * emulates, and a probe is cheap.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#define POOL (1u << 20) /* as calibrate: inputs come from the second-level cache */
#define ALIGNED 16      /* bytes: as malloc() hands out buffers */
#define MOST (128u << 10)
#define LEVEL_BUFFER (512u << 10)
#define DRAWN 8192u /* calls whose sizes and places are drawn beforehand and come again: too many to be foretold */

static uint8_t *pool, *out;
static volatile uint64_t sink;
static int accelerated;

static uint64_t seed = 88172645463325252u;
static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static double uniform(void)
{
	return (double)(next() >> 11) / 9007199254740992.;
}

/* Log-uniform within three bands. */
static size_t draw_size(void)
{
	double u = uniform(), lo = u < .6 ? 64 : u < .9 ? 1024 : 16384, hi = u < .6 ? 1024 : u < .9 ? 16384 : MOST;

	return (size_t)(lo * pow(hi / lo, uniform()));
}

static struct {
	uint32_t size, at;
} drawn[DRAWN];

/* Beforehand, as drawing one takes as long as a short call, half of it in the shadow of what comes before. */
static void draw(size_t fixed)
{
	for (size_t i = 0; i < DRAWN; i++) {
		drawn[i].size = (uint32_t)(fixed ? fixed : draw_size());
		drawn[i].at = (uint32_t)(next() % (POOL / ALIGNED) * ALIGNED);
	}
}

/* Words of uneven frequency, as `accperf calibrate` hands them over. */
static void fill(uint8_t *p, size_t n)
{
	static const char letters[] = "etaoinshrdlucmfwypvbgkjqxz";
	size_t at = 0;

	while (at < n) {
		uint64_t x = next(), word = (x & 1023) * ((x >> 10) & 1023) >> 10, len = 2 + word % 9;

		word *= 0x9e3779b97f4a7c15ull;
		for (uint64_t k = 0; k < len && at < n;
		     k++, word = word * 6364136223846793005ull + 1442695040888963407ull)
			p[at++] = (uint8_t)letters[(word >> 33) % 26 * ((word >> 48) % 26) / 26];
		if (at < n)
			p[at++] = (x >> 60) ? ' ' : '\n';
	}
}

static void *library(const char *name)
{
	void *l = dlopen(name, RTLD_NOW);

	if (!l) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	return l;
}

static struct {
	void *ctx;
	int (*update)(void *, unsigned char *, int *, const unsigned char *, int);
	int (*md_init)(void *, const void *, void *), (*md_update)(void *, const void *, size_t);
	int (*md_final)(void *, unsigned char *, unsigned *);
	const void *md;
} ssl;

static void aes(const uint8_t *in, size_t g)
{
	int n;

	ssl.update(ssl.ctx, out, &n, in, (int)g);
}

static void sha(const uint8_t *in, size_t g)
{
	unsigned n;

	ssl.md_init(ssl.ctx, ssl.md, NULL);
	ssl.md_update(ssl.ctx, in, g);
	ssl.md_final(ssl.ctx, out, &n);
}

static uint32_t tables[8][256], *table = tables[0], (*isal_crc)(uint32_t, const unsigned char *, uint64_t);
static unsigned long (*z_crc)(unsigned long, const unsigned char *, unsigned);

static void crc(const uint8_t *in, size_t g)
{
	uint32_t c = ~0u;

	if (accelerated) {
		sink += isal_crc(0, in, g);
		return;
	}
	for (size_t i = 0; i < g; i++)
		c = c >> 8 ^ table[(c ^ in[i]) & 255];
	sink += ~c;
}

/* Eight bytes at a time. */
static void slices(const uint8_t *in, size_t g)
{
	uint32_t c = ~0u, w[2];

	if (accelerated) {
		sink += isal_crc(0, in, g);
		return;
	}
	for (; g >= 8; g -= 8, in += 8) {
		memcpy(w, in, sizeof(w));
		w[0] ^= c;
		c = 0;
		for (int k = 0; k < 8; k++)
			c ^= tables[7 - k][w[k / 4] >> 8 * (k % 4) & 255];
	}
	for (size_t i = 0; i < g; i++)
		c = c >> 8 ^ table[(c ^ in[i]) & 255];
	sink += ~c;
}

static void zcrc(const uint8_t *in, size_t g)
{
	sink += accelerated ? isal_crc(0, in, g) : z_crc(0, in, (unsigned)g);
}

static struct isal {
	uint8_t *next_in;
	uint32_t avail_in, total_in;
	uint8_t *next_out;
	uint32_t avail_out, total_out;
	void *hufftables;
	uint32_t level, level_buf_size;
	uint8_t *level_buf;
	uint16_t end_of_stream, flush, gzip_flag, hist_bits;
	uint8_t own[1 << 20];
} isal;
static void (*isal_init)(struct isal *);
static int (*isal_deflate)(struct isal *);
static uint8_t *level;
static z_stream z;
static int (*z_reset)(z_stream *), (*z_deflate)(z_stream *, int);

static void squeeze(const uint8_t *in, size_t g)
{
	if (accelerated) {
		isal_init(&isal);
		isal.level = 1;
		isal.level_buf = level;
		isal.level_buf_size = LEVEL_BUFFER;
		isal.end_of_stream = 1;
		isal.next_in = (uint8_t *)(uintptr_t)in;
		isal.avail_in = (uint32_t)g;
		isal.next_out = out;
		isal.avail_out = 2 * MOST;
		sink += (uint64_t)isal_deflate(&isal);
		return;
	}
	z_reset(&z);
	z.next_in = (uint8_t *)(uintptr_t)in;
	z.avail_in = (unsigned)g;
	z.next_out = out;
	z.avail_out = 2 * MOST;
	sink += (uint64_t)z_deflate(&z, Z_FINISH);
}

static void (*gemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);

static void matrix(const uint8_t *in, size_t g)
{
	size_t n = (size_t)sqrt((double)g / 12);
	const float *a = (const float *)(const void *)in, *b = a + n * n;
	float *c = (float *)(void *)out;

	if (accelerated) {
		gemm(101, 111, 111, (int)n, (int)n, (int)n, 1, a, (int)n, b, (int)n, 0, c, (int)n);
		return;
	}
	memset(c, 0, n * n * sizeof(*c));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			for (size_t j = 0; j < n; j++)
				c[i * n + j] += a[i * n + k] * b[k * n + j];
}

/* Accelerated it takes what the device waits, no more. */
static void copy(const uint8_t *in, size_t g)
{
	if (!accelerated)
		memcpy(out, in, g);
}

static const struct kernel {
	const char *name;
	void (*run)(const uint8_t *in, size_t g);
} kernels[] = { { "aes", aes },       { "sha", sha },   { "crc", crc },       { "deflate", squeeze },
		{ "matrix", matrix }, { "copy", copy }, { "slices", slices }, { "zcrc", zcrc } };

static void prepare(const char *name)
{
	if (!strcmp(name, "aes") || !strcmp(name, "sha")) {
		void *l = library("libcrypto.so.3");
		void *(*cipher_new)(void) = (void *(*)(void))dlsym(l, "EVP_CIPHER_CTX_new"),
		     *(*md_new)(void) = (void *(*)(void))dlsym(l, "EVP_MD_CTX_new");
		const void *(*cbc)(void) = (const void *(*)(void))dlsym(l, "EVP_aes_128_cbc"),
			   *(*sha256)(void) = (const void *(*)(void))dlsym(l, "EVP_sha256");
		int (*init)(void *, const void *, void *, const unsigned char *, const unsigned char *) =
			(int (*)(void *, const void *, void *, const unsigned char *,
				 const unsigned char *))dlsym(l, "EVP_EncryptInit_ex");

		*(void **)&ssl.update = dlsym(l, "EVP_EncryptUpdate");
		*(void **)&ssl.md_init = dlsym(l, "EVP_DigestInit_ex");
		*(void **)&ssl.md_update = dlsym(l, "EVP_DigestUpdate");
		*(void **)&ssl.md_final = dlsym(l, "EVP_DigestFinal_ex");
		ssl.md = sha256();
		ssl.ctx = *name == 'a' ? cipher_new() : md_new();
		if (*name == 'a')
			init(ssl.ctx, cbc(), NULL, (const unsigned char *)"accperf key 0123",
			     (const unsigned char *)"accperf iv 01234");
	} else if (!strcmp(name, "matrix")) {
		if (accelerated)
			*(void **)&gemm = dlsym(library("libopenblas.so.0"), "cblas_sgemm");
	} else if (strcmp(name, "copy") != 0) {
		void *l = accelerated ? library("libisal.so.2") : library("libz.so.1");

		for (uint32_t i = 0; i < 256; i++) {
			table[i] = i;
			for (int k = 0; k < 8; k++)
				table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
		}
		for (int k = 1; k < 8; k++)
			for (uint32_t i = 0; i < 256; i++)
				tables[k][i] = tables[k - 1][i] >> 8 ^ table[tables[k - 1][i] & 255];
		*(void **)&isal_crc = dlsym(l, "crc32_gzip_refl");
		*(void **)&isal_init = dlsym(l, "isal_deflate_stateless_init");
		*(void **)&isal_deflate = dlsym(l, "isal_deflate_stateless");
		level = calloc(1, LEVEL_BUFFER);
		if (!accelerated) {
			int (*init)(z_stream *, int, int, int, int, int, const char *, int) =
				(int (*)(z_stream *, int, int, int, int, int, const char *, int))dlsym(l,
												       "deflateInit2_");

			*(void **)&z_crc = dlsym(l, "crc32");
			*(void **)&z_reset = dlsym(l, "deflateReset");
			*(void **)&z_deflate = dlsym(l, "deflate");
			init(&z, 1, 8, -15, 8, 0, ZLIB_VERSION, sizeof(z));
		}
	}
}

/* What the probe sees: one call of a kernel. */
__attribute__((noinline)) void job(const struct kernel *k, const uint8_t *in, size_t bytes);
void job(const struct kernel *k, const uint8_t *in, size_t bytes)
{
	k->run(in, bytes);
	sink++;
}

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double elapsed(const struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - since->tv_sec) * 1e9 + (double)(now.tv_nsec - since->tv_nsec);
}

/* By the clock, as reading CPU time takes as long as a short call; what a reading takes itself is part of the wait. */
static void wait_busily(double ns)
{
	static double reading;
	struct timespec began;

	for (int i = 0; i < 1000 && !(reading > 0); i++) {
		clock_gettime(CLOCK_MONOTONIC, &began);
		for (int k = 0; k < 1000; k++)
			elapsed(&began);
		reading = elapsed(&began) / 1000;
	}
	clock_gettime(CLOCK_MONOTONIC, &began);
	while (elapsed(&began) + 2 * reading < ns)
		;
}

int main(int argc, char **argv)
{
	double o = argc > 6 ? atof(argv[6]) : 0, L = argc > 7 ? atof(argv[7]) : 0;
	const struct kernel *k = NULL;
	long calls = argc > 3 ? atol(argv[3]) : 0;
	size_t fixed = argc > 5 ? (size_t)atol(argv[5]) : 0;
	const char *phase = argc > 4 ? argv[4] : "";
	int whole = !strcmp(phase, "whole") || !strcmp(phase, "kernel"),
	    rest = !strcmp(phase, "whole") || !strcmp(phase, "rest");
	/* the loop holds no floating point: what follows a call that leaves wide registers dirty may take 165 ns */
	int waits = whole && !strcmp(argv[2], "accelerated") && o + L > 0;
	double begin;

	for (size_t i = 0; argc > 4 && i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (!strcmp(kernels[i].name, argv[1]))
			k = &kernels[i];
	if (!k || calls < 1)
		return 2;
	accelerated = !strcmp(argv[2], "accelerated");
	pool = malloc(POOL + (32u << 20));
	out = malloc(64u << 20);
	if (!pool || !out)
		return 1;
	memset(out, 1, 2 * MOST);
	fill(pool, POOL + (fixed > MOST ? fixed : MOST));
	if (k->run == matrix)
		for (size_t i = 0; i < (POOL + MOST) / 4; i++)
			((float *)(void *)pool)[i] = (float)(i % 61) / 61;
	draw(fixed);
	prepare(k->name);
	for (long i = 0; i < 20 && whole; i++)
		job(k, pool, fixed ? fixed : 4096);
	begin = cpu();
	for (long i = 0; i < calls; i++) {
		size_t g = drawn[(size_t)i % DRAWN].size, at = drawn[(size_t)i % DRAWN].at;
		uint64_t x = g;

		if (whole)
			job(k, pool + at, g);
		if (waits)
			wait_busily(o + L * (double)g);
		for (int n = 0; n < 2000 && rest; n++) /* the program's rest */
			x = x * 6364136223846793005u + 1442695040888963407u;
		sink += x;
	}
	printf("%.1f %.0f\n", (cpu() - begin) / (double)calls, begin);
	return 0;
}

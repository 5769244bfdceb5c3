// cflags: -O2
// libs: -lcrypto -lz -lzstd -ldl
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls every probed function of libcrypto, libz, libzstd and libisal, once or more, and says what it
 * handed over and got: `off_real KEY.pem` (an RSA key). What these libraries do within such a call is
 * nested; what they do besides (a MAC's key, a stream's first checksum) is not told here.
 */
#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define NEED(x)                                                                                                        \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "off_real: line %d: %s\n", __LINE__, #x);                                      \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#define N 50000
static uint8_t text[N], back[N] __attribute__((aligned(64))), out[2 * N];
static const char *comma = "";

static void did(const char *api, const char *name, unsigned long calls, unsigned long in, unsigned long got)
{
	printf("%s\"%s %s\":{\"calls\":%lu,\"in\":%lu,\"out\":%lu}", comma, api, name, calls, in, got);
	comma = ",";
}

static void ciphers(void)
{
	static const struct {
		const char *name;
		int (*init)(EVP_CIPHER_CTX *, const EVP_CIPHER *, ENGINE *, const unsigned char *,
			    const unsigned char *);
		int (*update)(EVP_CIPHER_CTX *, unsigned char *, int *, const unsigned char *, int);
	} ways[] = {
		{ "EVP_EncryptUpdate", EVP_EncryptInit_ex, EVP_EncryptUpdate },
		{ "EVP_DecryptUpdate", EVP_DecryptInit_ex, EVP_DecryptUpdate },
	};
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	unsigned long in, got;
	int n;

	for (unsigned w = 0; w < 2; w++) {
		NEED(ways[w].init(c, EVP_aes_128_cbc(), NULL, text, text + 16));
		in = got = 0;
		for (int size = 10; size < 3000; size += 100, in += (unsigned)size - 100, got += (unsigned)n)
			NEED(ways[w].update(c, out, &n, text, size));
		did("openssl", ways[w].name, 30, in, got);
	}
	NEED(EVP_CipherInit_ex(c, EVP_aes_128_cbc(), NULL, text, text, 1));
	in = got = 0;
	for (int size = 1; size < 1000; size += 37, in += (unsigned)size - 37, got += (unsigned)n)
		NEED(EVP_CipherUpdate(c, out, &n, text, size));
	did("openssl", "EVP_CipherUpdate", 27, in, got);
	NEED(EVP_Cipher(c, out, text, 160) >= 0);
	NEED(EVP_Cipher(c, out, text, 32) >= 0);
	did("openssl", "EVP_Cipher", 2, 192, 0);
	EVP_CIPHER_CTX_free(c);
}

static void digests(void)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	EVP_MAC_CTX *m = EVP_MAC_CTX_new(mac);
	char sha[] = "SHA256";
	const OSSL_PARAM p[] = { OSSL_PARAM_construct_utf8_string("digest", sha, 0), OSSL_PARAM_construct_end() };
	unsigned got;

	NEED(EVP_DigestInit_ex(c, EVP_sha256(), NULL));
	for (unsigned i = 0; i < 20; i++)
		NEED(EVP_DigestUpdate(c, text, 1000 + i));
	did("openssl", "EVP_DigestUpdate", 20, 20 * 1000 + 190, 0);
	NEED(EVP_Digest(text, 4321, out, &got, EVP_sha256(), NULL));
	did("openssl", "EVP_Digest", 1, 4321, 0);
	NEED(EVP_MAC_init(m, text, 32, p));
	NEED(EVP_MAC_update(m, text, 333) && EVP_MAC_update(m, text, 4444));
	did("openssl", "EVP_MAC_update", 2, 4777, 0);
	EVP_MAC_CTX_free(m);
	EVP_MAC_free(mac);
	EVP_MD_CTX_free(c);
}

static void keys(const char *pem)
{
	FILE *f = fopen(pem, "r");
	EVP_PKEY *rsa = f ? PEM_read_PrivateKey(f, NULL, NULL, NULL) : NULL, *ed, *x, *y;
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	EVP_PKEY_CTX *k;
	uint8_t sig[512], point[32];
	size_t n = sizeof(sig), sum, point_n = sizeof(point);

	NEED(rsa);
	fclose(f);
	k = EVP_PKEY_CTX_new(rsa, NULL);
	NEED(EVP_PKEY_sign_init(k) > 0 && EVP_PKEY_sign(k, sig, &n, text, 32) > 0);
	did("openssl", "EVP_PKEY_sign", 1, 32, n);
	NEED(EVP_PKEY_verify_init(k) > 0 && EVP_PKEY_verify(k, sig, n, text, 32) > 0);
	did("openssl", "EVP_PKEY_verify", 1, 32, 0);
	n = sizeof(sig);
	NEED(EVP_PKEY_encrypt_init(k) > 0 && EVP_PKEY_encrypt(k, sig, &n, text, 77) > 0);
	did("openssl", "EVP_PKEY_encrypt", 1, 77, n);
	sum = sizeof(out);
	NEED(EVP_PKEY_decrypt_init(k) > 0 && EVP_PKEY_decrypt(k, out, &sum, sig, n) > 0 && sum == 77);
	did("openssl", "EVP_PKEY_decrypt", 1, n, 77);
	EVP_PKEY_CTX_free(k);

	n = sizeof(sig);
	NEED(EVP_DigestSignInit(c, NULL, EVP_sha256(), NULL, rsa));
	NEED(EVP_DigestSignUpdate(c, text, 2000) && EVP_DigestSignUpdate(c, text, 30) &&
	     EVP_DigestSignFinal(c, sig, &n));
	did("openssl", "EVP_DigestSignUpdate", 2, 2030, 0);
	did("openssl", "EVP_DigestSignFinal", 1, 0, n);
	EVP_MD_CTX_reset(c);
	NEED(EVP_DigestVerifyInit(c, NULL, EVP_sha256(), NULL, rsa));
	NEED(EVP_DigestVerifyUpdate(c, text, 2000) && EVP_DigestVerifyUpdate(c, text, 30) &&
	     EVP_DigestVerifyFinal(c, sig, n) == 1);
	did("openssl", "EVP_DigestVerifyUpdate", 2, 2030, 0);
	did("openssl", "EVP_DigestVerifyFinal", 1, 0, 0);

	ed = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, text, 32);
	n = sizeof(sig);
	EVP_MD_CTX_reset(c);
	NEED(EVP_DigestSignInit(c, NULL, NULL, NULL, ed) && EVP_DigestSign(c, sig, &n, text, 5000) && n == 64);
	did("openssl", "EVP_DigestSign", 1, 5000, 64);
	EVP_MD_CTX_reset(c);
	NEED(EVP_DigestVerifyInit(c, NULL, NULL, NULL, ed) && EVP_DigestVerify(c, sig, n, text, 5000) == 1);
	did("openssl", "EVP_DigestVerify", 1, 5000, 0);

	x = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, text + 100, 32);
	y = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, text + 200, 32);
	k = EVP_PKEY_CTX_new(x, NULL);
	NEED(EVP_PKEY_derive_init(k) > 0 && EVP_PKEY_derive_set_peer(k, y) > 0 &&
	     EVP_PKEY_derive(k, point, &point_n) > 0);
	did("openssl", "EVP_PKEY_derive", 1, 0, 32);
}

static void zlib(void)
{
	unsigned long n = sizeof(out), got = sizeof(back), took = 0, gave = 0, m;
	z_stream s = { .next_in = text, .next_out = out, .avail_out = sizeof(out) };
	unsigned calls = 0, stuck = 0;

	NEED(deflateInit(&s, 6) == Z_OK);
	for (unsigned size = 1; s.total_in < N; size += 999, calls++) {
		s.avail_in = size < N - s.total_in ? size : (unsigned)(N - s.total_in);
		NEED(deflate(&s, s.avail_in + s.total_in == N ? Z_FINISH : Z_NO_FLUSH) >= 0 && !s.avail_in);
	}
	n = s.total_out;
	did("zlib", "deflate", calls, N, n);
	deflateEnd(&s);
	memset(&s, 0, sizeof(s));
	NEED(inflateInit(&s) == Z_OK);
	s.next_in = out;
	s.avail_in = (unsigned)n;
	for (calls = 0; s.total_out < N; calls++) {
		s.next_out = back + s.total_out;
		s.avail_out = N - s.total_out < 7777 ? (unsigned)(N - s.total_out) : 7777;
		NEED(inflate(&s, Z_NO_FLUSH) >= 0);
		s.avail_out = 0;
		if (s.total_out < N) { /* asked again without room: nothing is done, and nothing fails */
			stuck += inflate(&s, Z_NO_FLUSH) == Z_BUF_ERROR;
			calls++;
		}
	}
	NEED(stuck);
	did("zlib", "inflate", calls, s.total_in, N);
	inflateEnd(&s);
	m = sizeof(out);
	NEED(compress(out, &m, text, 40000) == Z_OK);
	did("zlib", "compress", 1, 40000, m);
	NEED(uncompress(back, &got, out, m) == Z_OK && got == 40000);
	did("zlib", "uncompress", 1, m, got);
	m = sizeof(out);
	NEED(compress2(out, &m, text, 30000, 1) == Z_OK);
	did("zlib", "compress2", 1, 30000, m);
	got = sizeof(back);
	took = m + 5;
	NEED(uncompress2(back, &got, out, &took) == Z_OK && got == 30000 && took == m);
	did("zlib", "uncompress2", 1, took, got);
	gave = crc32(0, text, 1234) + crc32(1, text, 4);
	did("zlib", "crc32", 2, 1238, 0);
	gave += crc32_z(0, text, 999);
	did("zlib", "crc32_z", 1, 999, 0);
	gave += adler32(0, text, 100);
	did("zlib", "adler32", 1, 100, 0);
	gave += adler32_z(0, text, 101);
	did("zlib", "adler32_z", 1, 101, 0);
	NEED(gave);
}

static void zstd(void)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ZSTD_CDict *cd = ZSTD_createCDict(text, 5000, 3);
	ZSTD_DDict *dd = ZSTD_createDDict(text, 5000);
	ZSTD_CStream *cs = ZSTD_createCStream();
	ZSTD_DStream *ds = ZSTD_createDStream();
	ZSTD_inBuffer i = { text, N, 0 };
	ZSTD_outBuffer o = { out, sizeof(out), 0 };
	size_t n, m;

	n = ZSTD_compress(out, sizeof(out), text, 40000, 3);
	did("zstd", "ZSTD_compress", 1, 40000, n);
	NEED(ZSTD_decompress(back, N, out, n) == 40000);
	did("zstd", "ZSTD_decompress", 1, n, 40000);
	n = ZSTD_compressCCtx(c, out, sizeof(out), text, 30000, 3);
	did("zstd", "ZSTD_compressCCtx", 1, 30000, n);
	NEED(ZSTD_decompressDCtx(d, back, N, out, n) == 30000);
	did("zstd", "ZSTD_decompressDCtx", 1, n, 30000);
	n = ZSTD_compress2(c, out, sizeof(out), text, 20000);
	did("zstd", "ZSTD_compress2", 1, 20000, n);
	n = ZSTD_compress_usingDict(c, out, sizeof(out), text, 10000, text, 5000, 3);
	did("zstd", "ZSTD_compress_usingDict", 1, 10000, n);
	NEED(ZSTD_decompress_usingDict(d, back, N, out, n, text, 5000) == 10000);
	did("zstd", "ZSTD_decompress_usingDict", 1, n, 10000);
	n = ZSTD_compress_usingCDict(c, out, sizeof(out), text, 9000, cd);
	did("zstd", "ZSTD_compress_usingCDict", 1, 9000, n);
	NEED(ZSTD_decompress_usingDDict(d, back, N, out, n, dd) == 9000);
	did("zstd", "ZSTD_decompress_usingDDict", 1, n, 9000);

	i.size = 20000;
	NEED(!ZSTD_isError(ZSTD_compressStream(cs, &o, &i)) && i.pos == 20000);
	did("zstd", "ZSTD_compressStream", 1, 20000, n = o.pos);
	i.size = N;
	NEED(!ZSTD_isError(ZSTD_compressStream2(cs, &o, &i, ZSTD_e_flush)) && i.pos == N);
	did("zstd", "ZSTD_compressStream2", 1, N - 20000, o.pos - n);
	n = o.pos;
	NEED(!ZSTD_endStream(cs, &o));
	did("zstd", "ZSTD_endStream", 1, 0, o.pos - n);
	i = (ZSTD_inBuffer){ out, o.pos, 0 };
	o = (ZSTD_outBuffer){ back, N, 0 };
	for (m = 0; o.pos < N; m++)
		NEED(!ZSTD_isError(ZSTD_decompressStream(ds, &o, &i)));
	did("zstd", "ZSTD_decompressStream", m, i.pos, N);
}

/* The public beginnings of libisal.so.2's structs; the rest is the library's own. */
struct igzip {
	uint8_t *next_in;
	uint32_t avail_in, total_in;
	uint8_t *next_out;
	uint32_t avail_out, total_out;
	void *hufftables;
	uint32_t level, level_buf_size;
	uint8_t *level_buf;
	uint16_t end_of_stream, flush, gzip_flag, hist_bits;
	uint8_t own[1 << 20];
};
struct iginflate {
	uint8_t *next_out;
	uint32_t avail_out, total_out;
	uint8_t *next_in;
	uint64_t read_in;
	uint32_t avail_in;
	uint8_t own[1 << 20];
};

#define ISAL(name, ret, params)                                                                                        \
	ret(*name) params;                                                                                             \
	*(void **)&name = dlsym(h, #name);                                                                             \
	NEED(name)

static void isal(void *h)
{
	static struct igzip s;
	static struct iginflate r;
	static uint8_t rows[8][2048], tables[32 * 16], matrix[16 * 16];
	uint8_t *ptrs[8];
	void *arrays[4];
	unsigned n, m, calls = 0;

	ISAL(isal_deflate_init, void, (struct igzip *));
	ISAL(isal_deflate_stateless_init, void, (struct igzip *));
	ISAL(isal_inflate_init, void, (struct iginflate *));
	ISAL(isal_deflate, int, (struct igzip *));
	ISAL(isal_deflate_stateless, int, (struct igzip *));
	ISAL(isal_inflate, int, (struct iginflate *));
	ISAL(isal_inflate_stateless, int, (struct iginflate *));
	ISAL(crc32_gzip_refl, uint32_t, (uint32_t, const uint8_t *, uint64_t));
	ISAL(crc32_ieee, uint32_t, (uint32_t, const uint8_t *, uint64_t));
	ISAL(crc32_iscsi, unsigned, (const uint8_t *, int, unsigned));
	ISAL(gf_gen_cauchy1_matrix, void, (uint8_t *, int, int));
	ISAL(ec_init_tables, void, (int, int, uint8_t *, uint8_t *));
	ISAL(ec_encode_data, void, (int, int, int, uint8_t *, uint8_t **, uint8_t **));
	ISAL(xor_gen, int, (int, int, void **));

	isal_deflate_init(&s);
	s.next_out = out;
	s.avail_out = sizeof(out);
	for (unsigned size = 5000; s.total_in < N; calls++) {
		s.next_in = text + s.total_in;
		s.avail_in = size;
		s.end_of_stream = s.total_in + size == N;
		NEED(!isal_deflate(&s) && !s.avail_in);
	}
	n = s.total_out;
	did("isal", "isal_deflate", calls, N, n);
	isal_inflate_init(&r);
	r.next_in = out;
	r.avail_in = n;
	for (calls = 0; r.total_out < N; calls++) {
		r.next_out = back + r.total_out;
		r.avail_out = N - r.total_out < 9000 ? N - r.total_out : 9000;
		NEED(!isal_inflate(&r));
	}
	NEED(!memcmp(back, text, N));
	did("isal", "isal_inflate", calls, n - r.avail_in, N);
	isal_deflate_stateless_init(&s);
	s.next_in = text;
	s.avail_in = 20000;
	s.next_out = out;
	s.avail_out = sizeof(out);
	s.end_of_stream = 1;
	NEED(!isal_deflate_stateless(&s));
	did("isal", "isal_deflate_stateless", 1, 20000, m = s.total_out);
	isal_inflate_init(&r);
	r.next_in = out;
	r.avail_in = m;
	r.next_out = back;
	r.avail_out = N;
	NEED(!isal_inflate_stateless(&r) && r.total_out == 20000);
	did("isal", "isal_inflate_stateless", 1, m - r.avail_in, 20000);
	n = crc32_gzip_refl(0, text, 3000) + crc32_gzip_refl(0, text, 1);
	did("isal", "crc32_gzip_refl", 2, 3001, 0);
	n += crc32_ieee(0, text, 2222);
	did("isal", "crc32_ieee", 1, 2222, 0);
	n += crc32_iscsi(text, 1111, 0);
	did("isal", "crc32_iscsi", 1, 1111, 0);
	for (unsigned i = 0; i < 8; i++)
		ptrs[i] = rows[i];
	gf_gen_cauchy1_matrix(matrix, 7, 4);
	ec_init_tables(4, 3, matrix + 16, tables);
	ec_encode_data(2048, 4, 3, tables, ptrs, ptrs + 4);
	did("isal", "ec_encode_data", 1, 4 * 2048, 3 * 2048);
	for (unsigned i = 0; i < 4; i++)
		arrays[i] = back + i * 1024; /* the library wants them aligned */
	xor_gen(4, 1024, arrays);
	did("isal", "xor_gen", 1, 4096, 0);
	NEED(n);
}

int main(int argc, char **argv)
{
	void *h = dlopen("libisal.so.2", RTLD_NOW);

	if (argc < 2)
		return 2;
	for (unsigned i = 0; i < N; i++)
		text[i] = (uint8_t)((i * 2654435761u) >> (i % 13 + 11));
	printf("{");
	ciphers();
	digests();
	keys(argv[1]);
	zlib();
	zstd();
	if (h)
		isal(h);
	printf("}\n");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The driver's side of the exact engine: what an instruction is, streams that are damaged, logs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/locals.h"
#include "exact/classify.h"
#include "exact/convert.h"
#include "exact/dumplog.h"
#include "exact/kelog.h"
#include "store/read.h"
#include "unit/unit.h"

TEST(kinds)
{
	static const struct {
		const char *text;
		uint8_t len, code[15];
		uint8_t kind, lanes_int, lanes_fp;
	} t[] = {
		{ "add eax, 1", 3, { 0x83, 0xc0, 1 }, XS_COMPUTE, 1, 0 },
		{ "xor eax, eax", 2, { 0x31, 0xc0 }, XS_COMPUTE, 1, 0 },
		{ "cmp rax, [rdi]", 3, { 0x48, 0x3b, 0x07 }, XS_COMPUTE, 1, 0 },
		{ "shl eax, cl", 2, { 0xd3, 0xe0 }, XS_COMPUTE, 1, 0 },
		{ "mov rax, [rdi]", 3, { 0x48, 0x8b, 0x07 }, XS_TRANSFER, 0, 0 },
		{ "mov eax, ecx", 2, { 0x89, 0xc8 }, XS_TRANSFER, 0, 0 },
		{ "movzx eax, cl", 3, { 0x0f, 0xb6, 0xc1 }, XS_TRANSFER, 0, 0 },
		{ "push rax", 1, { 0x50 }, XS_TRANSFER, 0, 0 },
		{ "movaps xmm0, xmm1", 3, { 0x0f, 0x28, 0xc1 }, XS_TRANSFER, 0, 0 },
		{ "jne", 2, { 0x75, 0x10 }, XS_CONTROL, 0, 0 },
		{ "call", 5, { 0xe8, 0, 0, 0, 0 }, XS_CONTROL, 0, 0 },
		{ "ret", 1, { 0xc3 }, XS_CONTROL, 0, 0 },
		{ "addss xmm0, xmm1", 4, { 0xf3, 0x0f, 0x58, 0xc1 }, XS_COMPUTE, 0, 1 },
		{ "addps xmm0, xmm1", 3, { 0x0f, 0x58, 0xc1 }, XS_COMPUTE, 0, 4 },
		{ "vaddps ymm0, ymm0, ymm1", 4, { 0xc5, 0xfc, 0x58, 0xc1 }, XS_COMPUTE, 0, 8 },
		{ "paddd xmm0, xmm1", 4, { 0x66, 0x0f, 0xfe, 0xc1 }, XS_COMPUTE, 4, 0 },
		{ "vaddps zmm0, zmm0, zmm1", 6, { 0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc1 }, XS_COMPUTE, 0, 16 },
		{ "vaddss xmm0, xmm0, xmm1", 4, { 0xc5, 0xfa, 0x58, 0xc1 }, XS_COMPUTE, 0, 1 },
		{ "vfmadd132sd xmm0, xmm0, xmm1", 5, { 0xc4, 0xe2, 0xf9, 0x99, 0xc1 }, XS_COMPUTE, 0, 1 },
		{ "vucomiss xmm0, xmm1", 4, { 0xc5, 0xf8, 0x2e, 0xc1 }, XS_COMPUTE, 0, 1 },
		{ "vcvttsd2si eax, xmm1", 4, { 0xc5, 0xfb, 0x2c, 0xc1 }, XS_COMPUTE, 0, 1 },
		{ "vcvtsi2sd xmm0, xmm0, eax", 4, { 0xc5, 0xfb, 0x2a, 0xc0 }, XS_COMPUTE, 0, 1 },
		{ "vpmaxsd xmm0, xmm0, xmm1", 5, { 0xc4, 0xe2, 0x79, 0x3d, 0xc1 }, XS_COMPUTE, 4, 0 },
		{ "vaddsd xmm0 {k1}, xmm0, xmm1", 6, { 0x62, 0xf1, 0xff, 0x09, 0x58, 0xc1 }, XS_COMPUTE, 0, 1 },
		{ "vpcmpeqd k1, zmm0, zmm1", 6, { 0x62, 0xf1, 0x7d, 0x48, 0x76, 0xc9 }, XS_COMPUTE, 16, 0 },
		{ "kandq k1, k0, k1", 5, { 0xc4, 0xe1, 0xfc, 0x41, 0xc9 }, XS_COMPUTE, 1, 0 },
		{ "kmovq k1, rax", 5, { 0xc4, 0xe1, 0xfb, 0x92, 0xc8 }, XS_TRANSFER, 0, 0 },
		{ "valignd zmm0, zmm0, zmm1, 1", 7, { 0x62, 0xf3, 0x7d, 0x48, 0x03, 0xc1, 1 }, XS_TRANSFER, 0, 0 },
		{ "pcmpeqb xmm0, xmm1", 4, { 0x66, 0x0f, 0x74, 0xc1 }, XS_COMPUTE, 16, 0 },
		{ "fadd st0, st1", 2, { 0xd8, 0xc1 }, XS_COMPUTE, 0, 1 },
		{ "nop", 1, { 0x90 }, XS_OTHER, 0, 0 },
		/* what names no register moves nothing; a prefix changes neither what is a nop nor what is none */
		{ "nop fs:[rax]", 5, { 0x64, 0x66, 0x0f, 0x1f, 0x00 }, XS_OTHER, 0, 0 },
		{ "cs nop word [rax+rax]", 10, { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, XS_OTHER, 0, 0 },
		{ "xchg r8, rax", 2, { 0x49, 0x90 }, XS_TRANSFER, 0, 0 },
		{ "pause", 2, { 0xf3, 0x90 }, XS_OTHER, 0, 0 },
		{ "clc", 1, { 0xf8 }, XS_OTHER, 0, 0 },
		{ "cs std", 2, { 0x2e, 0xfd }, XS_OTHER, 0, 0 },
		{ "sahf", 1, { 0x9e }, XS_OTHER, 0, 0 },
		{ "cpuid", 2, { 0x0f, 0xa2 }, XS_OTHER, 0, 0 },
		{ "rdtscp", 3, { 0x0f, 0x01, 0xf9 }, XS_OTHER, 0, 0 },
		{ "xgetbv", 3, { 0x0f, 0x01, 0xd0 }, XS_OTHER, 0, 0 },
		{ "sgdt [rax]", 3, { 0x0f, 0x01, 0x00 }, XS_TRANSFER, 0, 0 },
		{ "rdfsbase rax", 5, { 0xf3, 0x48, 0x0f, 0xae, 0xc0 }, XS_TRANSFER, 0, 0 },
		{ "clflush [rax]", 3, { 0x0f, 0xae, 0x38 }, XS_OTHER, 0, 0 },
		{ "mfence", 3, { 0x0f, 0xae, 0xf0 }, XS_OTHER, 0, 0 },
		{ "prefetcht0 cs:[rax]", 4, { 0x2e, 0x0f, 0x18, 0x08 }, XS_OTHER, 0, 0 },
		{ "vzeroupper", 3, { 0xc5, 0xf8, 0x77 }, XS_OTHER, 0, 0 },
		{ "vzeroupper, long prefix", 4, { 0xc4, 0xe1, 0x78, 0x77 }, XS_OTHER, 0, 0 },
		{ "lea rax, [rdi+8]", 4, { 0x48, 0x8d, 0x47, 8 }, XS_TRANSFER, 0, 0 },
		{ "fxsave [rsp]", 4, { 0x0f, 0xae, 0x04, 0x24 }, XS_TRANSFER, 0, 0 },
		{ "fld tbyte [rsp]", 3, { 0xdb, 0x2c, 0x24 }, XS_TRANSFER, 0, 0 },
		{ "fldz", 2, { 0xd9, 0xee }, XS_TRANSFER, 0, 0 },
		{ "fxch st1", 2, { 0xd9, 0xc9 }, XS_TRANSFER, 0, 0 },
		{ "fstp st1", 2, { 0xdd, 0xd9 }, XS_TRANSFER, 0, 0 },
		{ "fnstcw [rsp]", 3, { 0xd9, 0x3c, 0x24 }, XS_TRANSFER, 0, 0 },
		{ "fnclex", 2, { 0xdb, 0xe2 }, XS_OTHER, 0, 0 },
		{ "fild dword [rsp]", 3, { 0xdb, 0x04, 0x24 }, XS_COMPUTE, 0, 1 },
		{ "ftst", 2, { 0xd9, 0xe4 }, XS_COMPUTE, 0, 1 },
		{ "endbr64", 4, { 0xf3, 0x0f, 0x1e, 0xfa }, XS_OTHER, 0, 0 },
		{ "no instruction", 1, { 0x06 }, XS_OTHER, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct xs_class c = exact_classify(t[i].code, t[i].len);

		if (c.kind != t[i].kind || c.lanes_int != t[i].lanes_int || c.lanes_fp != t[i].lanes_fp)
			fail_msg("%s: kind %d lanes %d %d", t[i].text, c.kind, c.lanes_int, c.lanes_fp);
	}
}

static unsigned cost(const char *code, size_t len)
{
	return exact_classify((const uint8_t *)code, len).cost;
}

/* Division and root are what makes code slow, however they are encoded; an approximate root is not. */
TEST(costs)
{
	unsigned add = cost("\x48\x01\xc8", 3), wide = cost("\x48\xf7\xf1", 3), narrow = cost("\xf7\xf1", 2);
	unsigned divps = cost("\x0f\x5e\xc1", 3), addps = cost("\x0f\x58\xc1", 3);

	assert_true(wide > 10 * add && wide > narrow && narrow > 10 * add && divps > 5 * addps);
	assert_int_equal(cost("\x2e\x48\xf7\xf1", 4), wide);              /* a segment prefix */
	assert_int_equal(cost("\x66\xf7\xf1", 3), narrow);                /* div cx */
	assert_int_equal(cost("\xc5\xf8\x5e\xc1", 4), divps);             /* vdivps xmm */
	assert_int_equal(cost("\xc4\xc1\x78\x5e\xc1", 5), divps);         /* vdivps xmm, xmm9 */
	assert_int_equal(cost("\xc5\xfc\x5e\xc1", 4), 2 * divps);         /* vdivps ymm */
	assert_int_equal(cost("\x66\x41\x0f\x51\xc1", 5), divps);         /* sqrtpd xmm9 */
	assert_int_equal(cost("\xd9\xfa", 2), divps);                     /* fsqrt */
	assert_int_equal(cost("\xde\xf9", 2), divps);                     /* fdivp */
	assert_int_equal(cost("\x0f\x52\xc1", 3), addps);                 /* rsqrtps */
	assert_int_equal(cost("\x62\xf1\x7c\x48\x5e\xc1", 6), 4 * divps); /* vdivps zmm */
}

static uint8_t stream[4096];
static size_t stream_len;

static void block(uint32_t section, uint32_t rec_size, uint32_t count, const void *data, uint32_t bytes)
{
	struct xs_block b = { XS_MAGIC, section, rec_size, count, bytes };

	stream_len = (stream_len + 7) & ~7ull;
	memcpy(stream + stream_len, &b, sizeof(b));
	memcpy(stream + stream_len + sizeof(b), data, bytes);
	stream_len += sizeof(b) + bytes;
}

static void var(uint32_t section, const void *data, uint32_t n)
{
	uint8_t rec[512];

	memcpy(rec, &n, 4);
	memcpy(rec + 4, data, n);
	block(section, 0, 1, rec, n + 4);
}

static void snapshot(const char *why, uint64_t bytes)
{
	struct fmt_x_run run = { .instructions = bytes };
	struct fmt_x_edge e = { .producer = 1, .consumer = 1, .bytes = { bytes, 0 } };

	var(XS_SNAP_BEGIN, "", 0);
	block(FMT_X_RUN, sizeof(run), 1, &run, sizeof(run));
	block(FMT_X_EDGE, sizeof(e), 1, &e, sizeof(e));
	var(XS_SNAP_END, why, strlen(why));
}

static void make_stream(void)
{
	struct fmt_function f = { .id = 1, .name = 7 };

	stream_len = 0;
	var(FMT_STRING, "\7\0\0\0hot", 7);
	block(FMT_FUNCTION, sizeof(f), 1, &f, sizeof(f));
	snapshot("a checkpoint", 100);
	snapshot("", 200);
}

static bool damaged;

/* Converts the stream's first n bytes; *bytes = sum over edges in the profile. */
static int convert(size_t n, struct exact_result *res, uint64_t *bytes, char *name)
{
	char in[] = "/tmp/u-exact.XXXXXX", out[64];
	struct err e = { 0 };
	struct store_writer *w;
	struct store_reader *r;
	struct store_chunk c;
	int err, fd = mkstemp(in);
	uint32_t name_id = 0;

	assert_true(fd >= 0 && write(fd, stream, n) == (ssize_t)n);
	snprintf(out, sizeof(out), "%s.data", in);
	w = store_create(out, 0, &e);
	assert_non_null(w);
	err = exact_convert(fd, w, NULL, res, &e);
	close(fd);
	/* records of a size that cannot be are refused by the writer, once and for all */
	assert_true(store_close(w, &e) == 0 || damaged);
	*bytes = 0;
	r = store_open(out, &e);
	assert_true(r || damaged);
	while (r && store_next(r, &c, &e) > 0)
		for (uint32_t i = 0; i < c.count; i++) {
			struct fmt_x_edge x;
			struct fmt_function f;

			if (c.section == FMT_X_EDGE) {
				store_rec(&c, i, &x, sizeof(x));
				*bytes += x.bytes[0];
			} else if (c.section == FMT_FUNCTION) {
				store_rec(&c, i, &f, sizeof(f));
				name_id = f.name;
			}
		}
	snprintf(name, 32, "%s", r && store_str(r, name_id) ? store_str(r, name_id) : "");
	store_reader_free(r);
	unlink(in);
	unlink(out);
	return err;
}

TEST(last_snapshot_counts)
{
	struct exact_result res;
	uint64_t bytes;
	char name[32];

	make_stream();
	assert_int_equal(convert(stream_len, &res, &bytes, name), 0);
	assert_true(res.has_run);
	assert_int_equal(bytes, 200);
	assert_string_equal(res.why, "");
	assert_string_equal(name, "hot");
}

TEST(every_cut)
{
	struct exact_result res;
	uint64_t bytes;
	char name[32];
	bool checkpoint = false;

	make_stream();
	for (size_t n = 1; n < stream_len; n++) {
		convert(n, &res, &bytes, name);
		assert_true(bytes == 0 || bytes == 100);
		assert_true(res.has_run == (bytes != 0));
		if (bytes) {
			assert_string_equal(res.why, "a checkpoint");
			checkpoint = true;
		}
	}
	assert_true(checkpoint);
}

TEST(every_flip)
{
	struct exact_result res;
	uint64_t bytes;
	char name[32];

	damaged = true;
	for (size_t i = 0; i < 400; i++) {
		make_stream();
		stream[i * 7 % stream_len] ^= 1u << i % 8 | 0x80;
		convert(stream_len, &res, &bytes, name); /* an error or figures, no crash: the sanitizers judge */
		exact_result_release(&res);
	}
}

TEST(logs)
{
	struct ke_head h = { KE_MAGIC, KE_VERSION, KE_XFERS, 4, 24 };
	struct ke_xfer x[2] = { { 3, 1, 16384 }, { 3, 2, 7 } };
	char raw[256], *text = NULL;
	size_t size;
	FILE *in, *out;
	struct err e;
	bool cut;

	memcpy(raw, &h, sizeof(h));
	memcpy(raw + sizeof(h), x, sizeof(x));
	for (int less = 0; less < 2; less++) {
		in = fmemopen(raw, sizeof(h) + sizeof(x) - less, "r");
		out = open_memstream(&text, &size);
		assert_int_equal(kelog_text(in, out, &cut, &e), 0);
		fclose(in);
		fclose(out);
		assert_string_equal(text, less ? "3\t1\t16384\n" : "3\t1\t16384\n3\t2\t7\n");
		assert_int_equal(cut, less);
		free(text);
	}
	h.kind = 9;
	memcpy(raw, &h, sizeof(h));
	in = fmemopen(raw, sizeof(h), "r");
	assert_int_equal(kelog_text(in, stdout, &cut, &e), -EINVAL);
	fclose(in);
}

/* Found by name in this very program. */
static __attribute__((noinline)) int with_locals(int n)
{
	volatile char planted_array[200];

	planted_array[n % 200] = (char)n;
	return planted_array[0];
}

TEST(frame_variables)
{
	struct locals *l = locals_open("/proc/self/exe");
	struct frame_local v[16];
	extern char __executable_start[];
	size_t n;
	bool found = false;

	with_locals(3);
	assert_non_null(l);
	n = locals_of(l, (uint64_t)(uintptr_t)with_locals - (uint64_t)(uintptr_t)__executable_start, v, 16);
	for (size_t i = 0; i < n; i++)
		found |= !strcmp(v[i].name, "planted_array") && v[i].size == 200 && v[i].offset < 0;
	locals_close(l);
	assert_null(locals_open("/nonexistent"));
#ifndef __SANITIZE_ADDRESS__ /* which moves arrays away from the frame */
	assert_true(found);
#endif
}

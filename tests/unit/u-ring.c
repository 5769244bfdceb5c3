// SPDX-License-Identifier: GPL-2.0-or-later
/* perf records written by hand, in every combination of fields, read back; a ring that wraps; a ring
 * the kernel fills. */
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi.h"
#include "kmod-free/ring.h"
#include "unit/unit.h"
#include "unit/xorshift.h"

struct rec {
	uint8_t b[4096];
	size_t n;
};

static void p64(struct rec *r, uint64_t v)
{
	memcpy(r->b + r->n, &v, 8);
	r->n += 8;
}

static void p32(struct rec *r, uint32_t v)
{
	memcpy(r->b + r->n, &v, 4);
	r->n += 4;
}

static void pstr(struct rec *r, const char *s)
{
	size_t len = (strlen(s) + 8) & ~7ul;

	memset(r->b + r->n, 0, len);
	memcpy(r->b + r->n, s, strlen(s));
	r->n += len;
}

static void begin(struct rec *r, uint32_t type, uint16_t misc)
{
	r->n = 0;
	p32(r, type);
	p32(r, misc);
}

static void finish(struct rec *r)
{
	uint16_t size = (uint16_t)r->n;

	memcpy(r->b + 6, &size, 2);
}

static void trailer(struct rec *r, uint64_t t)
{
	if (t & PERF_SAMPLE_TID) {
		p32(r, 71);
		p32(r, 72);
	}
	if (t & PERF_SAMPLE_TIME)
		p64(r, 7300);
	if (t & PERF_SAMPLE_ID)
		p64(r, 74);
	if (t & PERF_SAMPLE_STREAM_ID)
		p64(r, 75);
	if (t & PERF_SAMPLE_CPU) {
		p32(r, 76);
		p32(r, 0);
	}
	if (t & PERF_SAMPLE_IDENTIFIER)
		p64(r, 77);
}

/* shape: one record with every field. */
static void full_sample(struct rec *r, const struct perf_event_attr *a)
{
	uint64_t t = a->sample_type;

	begin(r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP);
	if (t & PERF_SAMPLE_IDENTIFIER)
		p64(r, 77);
	if (t & PERF_SAMPLE_IP)
		p64(r, 0x401000);
	if (t & PERF_SAMPLE_TID) {
		p32(r, 71);
		p32(r, 72);
	}
	if (t & PERF_SAMPLE_TIME)
		p64(r, 7300);
	if (t & PERF_SAMPLE_ADDR)
		p64(r, 0x7fff1000);
	if (t & PERF_SAMPLE_ID)
		p64(r, 77);
	if (t & PERF_SAMPLE_STREAM_ID)
		p64(r, 75);
	if (t & PERF_SAMPLE_CPU) {
		p32(r, 76);
		p32(r, 0);
	}
	if (t & PERF_SAMPLE_PERIOD)
		p64(r, 100003);
	if (t & PERF_SAMPLE_READ) {
		if (a->read_format & PERF_FORMAT_GROUP) {
			p64(r, 2);
			if (a->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
				p64(r, 1);
			if (a->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
				p64(r, 1);
			for (int i = 0; i < 2; i++) {
				p64(r, 5);
				if (a->read_format & PERF_FORMAT_ID)
					p64(r, 6);
			}
		} else {
			p64(r, 5);
			if (a->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
				p64(r, 1);
			if (a->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
				p64(r, 1);
			if (a->read_format & PERF_FORMAT_ID)
				p64(r, 6);
		}
	}
	if (t & PERF_SAMPLE_CALLCHAIN) {
		p64(r, 3);
		p64(r, PERF_CONTEXT_USER);
		p64(r, 0x401000);
		p64(r, 0x402000);
	}
	if (t & PERF_SAMPLE_RAW) {
		p32(r, 12);
		p32(r, 1);
		p32(r, 2);
		p32(r, 3);
	}
	if (t & PERF_SAMPLE_BRANCH_STACK) {
		p64(r, 2);
		if (a->branch_sample_type & (1 << 17))
			p64(r, 9);
		for (int i = 0; i < 6; i++)
			p64(r, 1);
	}
	if (t & PERF_SAMPLE_REGS_USER) {
		p64(r, PERF_SAMPLE_REGS_ABI_64);
		for (unsigned i = 0; i < 64; i++)
			if (a->sample_regs_user >> i & 1)
				p64(r, 1000 + i);
	}
	if (t & PERF_SAMPLE_STACK_USER) {
		p64(r, 16);
		p64(r, 0x1111);
		p64(r, 0x2222);
		p64(r, 8);
	}
	if (t & PERF_SAMPLE_WEIGHT)
		p64(r, 321);
	if (t & PERF_SAMPLE_WEIGHT_STRUCT)
		p64(r, 321 | 5ull << 32);
	if (t & PERF_SAMPLE_DATA_SRC)
		p64(r, PERF_MEM_OP_STORE | PERF_MEM_LOCK_LOCKED << PERF_MEM_LOCK_SHIFT);
	if (t & PERF_SAMPLE_TRANSACTION)
		p64(r, 1);
	if (t & PERF_SAMPLE_REGS_INTR) {
		p64(r, PERF_SAMPLE_REGS_ABI_64);
		p64(r, 4);
	}
	if (t & PERF_SAMPLE_PHYS_ADDR)
		p64(r, 0x123456000);
	if (t & PERF_SAMPLE_CGROUP)
		p64(r, 1);
	if (t & PERF_SAMPLE_DATA_PAGE_SIZE)
		p64(r, 4096);
	if (t & PERF_SAMPLE_CODE_PAGE_SIZE)
		p64(r, 2097152);
	if (t & PERF_SAMPLE_AUX) {
		p64(r, 8);
		p64(r, 1);
	}
	finish(r);
}

static void check_full(const struct perf_event_attr *a, const struct sample *s)
{
	uint64_t t = a->sample_type;

	assert_true(s->valid & SV_EXACT_IP);
	assert_int_equal(!!(s->valid & SV_IP), !!(t & PERF_SAMPLE_IP));
	assert_int_equal(s->ip, t & PERF_SAMPLE_IP ? 0x401000 : 0);
	assert_int_equal(s->tid, t & PERF_SAMPLE_TID ? 72 : 0);
	assert_int_equal(s->time, t & PERF_SAMPLE_TIME ? 7300 : 0);
	assert_int_equal(s->addr, t & PERF_SAMPLE_ADDR ? 0x7fff1000 : 0);
	assert_int_equal(s->event_id, t & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 77 : 0);
	assert_int_equal(s->cpu, t & PERF_SAMPLE_CPU ? 76 : 0);
	assert_int_equal(s->period, t & PERF_SAMPLE_PERIOD ? 100003 : a->sample_period);
	assert_int_equal(s->chain_len, t & PERF_SAMPLE_CALLCHAIN ? 3 : 0);
	if (t & PERF_SAMPLE_REGS_USER) {
		assert_true(s->valid & SV_REGS);
		assert_int_equal(s->regs[WREG_AX], 1000);
		assert_int_equal(s->regs[WREG_BX], 1001);
		assert_int_equal(s->regs[WREG_DX], 1003);
		assert_int_equal(s->regs[WREG_SP], 1007);
		assert_int_equal(s->regs[WREG_IP], 1008);
		assert_int_equal(s->regs[WREG_FLAGS], 1009);
		assert_int_equal(s->regs[WREG_R15], 1023);
	}
	assert_int_equal(s->stack_bytes, t & PERF_SAMPLE_STACK_USER ? 8 : 0);
	assert_int_equal(s->latency, t & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT) ? 321 : 0);
	assert_int_equal(!!(s->flags & SF_STORE), !!(t & PERF_SAMPLE_DATA_SRC));
	assert_int_equal(!!(s->flags & SF_ATOMIC), !!(t & PERF_SAMPLE_DATA_SRC));
	assert_int_equal(s->phys, t & PERF_SAMPLE_PHYS_ADDR ? 0x123456000 : 0);
	assert_int_equal(s->page_size, t & PERF_SAMPLE_DATA_PAGE_SIZE ? 4096 : 0);
}

TEST(every_combination)
{
	struct perf_event_attr a = { .type = PERF_TYPE_RAW, .config = 0x1cd, .sample_period = 17 };
	uint64_t x = 88172645463325252ull;
	struct sample s;
	struct rec r;

	a.sample_regs_user = RING_REGS_X86_64;
	a.sample_regs_intr = 1;
	for (int i = 0; i < 20000; i++) {
		xorshift(&x);
		/* first each bit alone, then all pairs' worth of random sets */
		a.sample_type = i < 25 ? 1ull << i : x & ((1ull << 25) - 1);
		if (a.sample_type & PERF_SAMPLE_WEIGHT)
			a.sample_type &= ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT;
		a.read_format = x >> 40 & 15;
		a.branch_sample_type = x >> 50 & 1 ? 1 << 17 : 0;
		full_sample(&r, &a);
		assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), 1);
		check_full(&a, &s);
		if (a.sample_type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER))
			assert_int_equal(ring_record_id(a.sample_type, 1, r.b, r.n), 77);
		/* one byte less than claimed, and a record that claims less than its fields need */
		assert_int_equal(ring_parse_record(&a, r.b, r.n - 1, &s), -EBADMSG);
		if (r.n > 16) {
			r.n -= 8;
			finish(&r);
			assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), -EBADMSG);
		}
	}
}

/* shape: one record of each kind. */
TEST(sideband)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .sample_id_all = 1 };
	struct sample s;
	struct rec r;

	a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	begin(&r, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	p32(&r, 5), p32(&r, 6), p64(&r, 0x400000), p64(&r, 0x1000), p64(&r, 0x2000);
	p32(&r, 8), p32(&r, 1), p64(&r, 4242), p64(&r, 1);
	p32(&r, PROT_READ | PROT_EXEC), p32(&r, 2);
	pstr(&r, "/usr/bin/thing");
	trailer(&r, a.sample_type);
	finish(&r);
	assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), 1);
	assert_int_equal(s.kind, SAMPLE_MMAP);
	assert_int_equal(s.pid, 5);
	assert_int_equal(s.tid, 6);
	assert_int_equal(s.addr, 0x400000);
	assert_int_equal(s.size, 0x1000);
	assert_int_equal(s.pgoff, 0x2000);
	assert_int_equal(s.dev_major, 8);
	assert_int_equal(s.ino, 4242);
	assert_int_equal(s.prot, PROT_READ | PROT_EXEC);
	assert_true(s.flags & SF_EXEC);
	assert_string_equal(s.text, "/usr/bin/thing");
	assert_int_equal(s.time, 7300);
	assert_int_equal(s.cpu, 76);
	assert_int_equal(s.event_id, 77);
	assert_int_equal(ring_record_id(a.sample_type, 1, r.b, r.n), 77);

	begin(&r, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
	p32(&r, 5), p32(&r, 6), p64(&r, 0x400000), p64(&r, 0x1000), p64(&r, 0);
	r.b[r.n] = 20, r.b[r.n + 1] = r.b[r.n + 2] = r.b[r.n + 3] = 0;
	for (int i = 0; i < 20; i++)
		r.b[r.n + 4 + (size_t)i] = (uint8_t)(i + 1);
	r.n += 24;
	p32(&r, PROT_READ), p32(&r, 2);
	pstr(&r, "x");
	trailer(&r, a.sample_type);
	finish(&r);
	/* an event that asked for no build-ids may still carry the bit: it is an inode then */
	assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), 1);
	assert_int_equal(s.build_id.len, 0);
	assert_int_equal(s.dev_major, 20);
	a.build_id = 1;
	assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), 1);
	assert_int_equal(s.build_id.len, 20);
	assert_int_equal(s.build_id.id[19], 20);
	assert_false(s.flags & SF_EXEC);
	r.b[8 + 8 + 24] = 21; /* a build-id longer than the field */
	assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), -EBADMSG);

	begin(&r, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	p32(&r, 5), p32(&r, 6), pstr(&r, "python3"), trailer(&r, a.sample_type), finish(&r);
	assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), 1);
	assert_int_equal(s.kind, SAMPLE_COMM);
	assert_true(s.flags & SF_EXEC);
	assert_string_equal(s.text, "python3");

	begin(&r, PERF_RECORD_COMM, 0);
	p32(&r, 5), p32(&r, 6), p64(&r, 0x4141414141414141ull), trailer(&r, a.sample_type), finish(&r);
	assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), -EBADMSG); /* no NUL before the trailer */

	begin(&r, PERF_RECORD_FORK, 0);
	p32(&r, 15), p32(&r, 5), p32(&r, 16), p32(&r, 6), p64(&r, 999), trailer(&r, a.sample_type), finish(&r);
	assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), 1);
	assert_int_equal(s.kind, SAMPLE_FORK);
	assert_int_equal(s.pid, 15);
	assert_int_equal(s.ppid, 5);
	assert_int_equal(s.tid, 16);
	assert_int_equal(s.ptid, 6);
	assert_int_equal(s.time, 999);
	r.b[0] = PERF_RECORD_EXIT;
	assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), 1);
	assert_int_equal(s.kind, SAMPLE_EXIT);

	begin(&r, PERF_RECORD_LOST, 0);
	p64(&r, 3), p64(&r, 41), trailer(&r, a.sample_type), finish(&r);
	assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), 1);
	assert_int_equal(s.kind, SAMPLE_LOST);
	assert_int_equal(s.period, 41);

	begin(&r, PERF_RECORD_THROTTLE, 0);
	p64(&r, 1234), p64(&r, 9), p64(&r, 9), trailer(&r, a.sample_type), finish(&r);
	assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), 1);
	assert_int_equal(s.kind, SAMPLE_THROTTLE);
	assert_int_equal(s.period, 1);
	assert_int_equal(s.time, 1234);

	begin(&r, 9999, 0);
	finish(&r);
	assert_int_equal(ring_parse_record(&a, r.b, r.n, &s), 0);
}

static int collect(void *ctx, const struct sample *s)
{
	uint64_t *next = ctx;

	if (s->kind == SAMPLE_LOST)
		return 0;
	assert_int_equal(s->kind, SAMPLE_COMM);
	assert_int_equal(s->tid, *next);
	assert_string_equal(s->text, "a name of 25 characters..");
	++*next;
	return 0;
}

TEST(wrap)
{
	const size_t bytes = 4096;
	struct perf_event_attr a = { 0 };
	uint8_t *mem = aligned_alloc(4096, 8192);
	uint64_t next = 0, head = 0, written = 0;
	struct perf_event_mmap_page *page = (void *)mem;
	struct ring ring;
	struct rec r;

	memset(mem, 0, sizeof(*page) + bytes);
	assert_int_equal(ring_from_memory(&ring, mem, bytes, &a), 0);
	for (int round = 0; round < 500; round++) {
		for (int i = 0; i < 7; i++) {
			begin(&r, PERF_RECORD_COMM, 0);
			p32(&r, 1), p32(&r, (uint32_t)written++), pstr(&r, "a name of 25 characters.."), finish(&r);
			for (size_t k = 0; k < r.n; k++)
				mem[sizeof(*page) + ((head + k) & (bytes - 1))] = r.b[k];
			head += r.n;
		}
		page->data_head = head;
		assert_int_equal(ring_read(&ring, collect, &next), 7);
		assert_int_equal(page->data_tail, head);
	}
	assert_int_equal(next, written);
	assert_int_equal(ring.malformed, 0);
	/* a header that claims more than there is: counted, skipped, no loop */
	memset(mem + sizeof(*page), 0xff, bytes);
	page->data_head = head + 64;
	assert_int_equal(ring_read(&ring, collect, &next), 0);
	assert_int_equal(ring.malformed, 1);
	ring_close(&ring);
	free(mem);
}

static int count_kinds(void *ctx, const struct sample *s)
{
	unsigned *kinds = ctx;

	kinds[s->kind]++;
	if (s->kind == SAMPLE_COMM)
		kinds[0] += !strcmp(s->text, "ringtest");
	if (s->kind == SAMPLE_MMAP)
		kinds[20] += s->size == 3 * 4096ul && (s->flags & SF_EXEC);
	return 0;
}

TEST(live)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .size = sizeof(a),
				     .config = PERF_COUNT_SW_DUMMY,
				     .exclude_kernel = 1,
				     .mmap = 1,
				     .mmap2 = 1,
				     .comm = 1,
				     .task = 1,
				     .sample_id_all = 1,
				     .use_clockid = 1,
				     .clockid = 1 };
	unsigned kinds[21] = { 0 };
	struct err e = { 0 };
	struct ring ring;
	pid_t child;
	int fd;

	a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		skip();
	assert_true(ring_open(&ring, fd, 8, &a, &e) > 0);
	prctl(PR_SET_NAME, "ringtest");
	munmap(mmap(NULL, 3 * 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 3 * 4096);
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	assert_true(ring_read(&ring, count_kinds, kinds) > 0);
	assert_int_equal(kinds[0], 1);
	assert_int_equal(kinds[20], 1);
	assert_int_equal(kinds[SAMPLE_FORK], 1);
	assert_int_equal(ring.malformed, 0);
	ring_close(&ring);
	close(fd);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What system calls read and filled, in the estimate of flow: their producers and readers, and what no stretch saw. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit/planted.h"
#include "util/random.h"

TEST(a_read_by_the_kernel_has_its_producer)
{
	struct plant p;
	struct fmt_sysio out = {
		.addr = 0x50000, .len = 4096, .weight = 1, .pid = 1, .tid = 1, .nr = 1, .dir = FMT_IO_KERNEL_READS
	};
	struct fmt_sysio back = {
		.addr = 0x60000, .len = 4096, .weight = 1, .pid = 1, .tid = 1, .nr = 0, .dir = FMT_IO_KERNEL_WRITES
	};

	plant_begin(&p, "1");
	for (uint64_t i = 0; i < 4096; i += 4)
		plant(&p, WRITER_A, 0x50000 + i, FMT_A_STORE | FMT_A_CENSUS, 0);
	out.time = p.now++;
	store_put(p.w, FMT_SYSIO, &out, sizeof(out));
	out.addr = 0x70000;
	out.flags = FMT_IO_STACK; /* the stack is left out */
	store_put(p.w, FMT_SYSIO, &out, sizeof(out));
	back.time = p.now++;
	store_put(p.w, FMT_SYSIO, &back, sizeof(back));
	for (int i = 0; i < 16; i++)
		plant(&p, READER, 0x60000 + 256 * (uint64_t)i, FMT_A_LOAD, 64);
	plant_estimate(&p, "fused");
#ifdef __x86_64__
	assert_true(fabs(share(&p, "writer_a", "(kernel:write)") - 0.5) < 1e-9);
	assert_true(fabs(share(&p, "(kernel:read)", "reader") - 0.5) < 1e-9);
#endif
	plant_release(&p);
}

/* A call filled memory once that a function writes all the time since: each fill is seen, and of its stores a few. */
TEST(what_a_call_filled_long_ago_others_have_written)
{
	struct fmt_sysio fill = {
		.addr = 0x60000, .len = 65536, .weight = 1, .pid = 1, .tid = 1, .nr = 0, .dir = FMT_IO_KERNEL_WRITES
	};
	struct plant p;
	uint64_t x = 88172645463325252ull;

	plant_begin(&p, "0");
	for (uint64_t i = 0; i < 40; i++) /* memory is written ten times in a millisecond */
		plant_window(&p, SETTER, 0x20000000 + 4096 * i, 300000, 100000);
	fill.time = p.now++;
	store_put(p.w, FMT_SYSIO, &fill, sizeof(fill));
	for (int i = 0; i < 400; i++) {
		p.now += 1000000;
		plant(&p, WRITER_A, 0x60000 + random_next(&x) % 16384 * 4, FMT_A_STORE | FMT_A_TIME, 1e6);
		plant(&p, READER, 0x60000 + random_next(&x) % 16384 * 4, FMT_A_LOAD | FMT_A_TIME, 1e6);
	}
	plant_estimate(&p, "fused");
#ifdef __x86_64__
	assert_true(share(&p, "(kernel:read)", "reader") < 0.02);
	assert_true(share(&p, "writer_a", "reader") > 0.9);
#endif
	plant_release(&p);
}

/* Four of eight stretches met calls; the kernel counted ten times what they saw. That nobody was seen to write half
 * of it is not "(outside)". */
TEST(calls_stand_for_what_the_kernel_counted)
{
	struct plant p;
	const struct flow_edge *e;

	plant_begin(&p, "1");
	for (uint64_t i = 0; i < 4096; i += 4)
		plant(&p, WRITER_A, 0x50000 + i, FMT_A_STORE | FMT_A_CENSUS, 0);
	for (int i = 0; i < 8; i++) {
		struct fmt_sysio_stretch b = { .begin = p.now += 1000000,
					       .end = p.now += 1000000,
					       .span_ns = 100000000,
					       .weight = 50,
					       .seen = { 0, i < 4 ? 8192 : 0 },
					       .moved = { 0, 40960 },
					       .flags = FMT_IOB_MOVED };

		for (int k = 0; k < 2 && i < 4; k++) {
			struct fmt_sysio io = { .time = b.begin + 1,
						.addr = k ? 0x70000 : 0x50000,
						.len = 4096,
						.weight = 50,
						.pid = 1,
						.tid = 1,
						.nr = 1,
						.dir = FMT_IO_KERNEL_READS,
						.flags = FMT_IO_WRITTEN };

			store_put(p.w, FMT_SYSIO, &io, sizeof(io));
		}
		store_put(p.w, FMT_SYSIO_STRETCH, &b, sizeof(b));
	}
	plant(&p, READER, 0x50000, FMT_A_LOAD, 64);
	plant_estimate(&p, "fused");
#ifdef __x86_64__
	e = flow_get(&p.f, flow_find(&p.f, "writer_a", NULL), flow_find(&p.f, "(kernel:write)", NULL));
	assert_true(e && fabs(e->bytes - 163840) < 1 && e->low <= e->bytes && e->high >= e->bytes);
	e = flow_get(&p.f, flow_find(&p.f, "(unknown)", NULL), flow_find(&p.f, "(kernel:write)", NULL));
	assert_true(e && fabs(e->bytes - 163840) < 1);
	assert_int_equal(p.f.call_count, 1);
	assert_true(p.f.calls[0].reads && fabs(p.f.calls[0].bytes - 327680) < 1 &&
		    p.f.calls[0].high - p.f.calls[0].low < 10);
#endif
	plant_release(&p);
}

/* Sockets' calls, which the kernel does not count, of a target that ran in half of the stretches and a tenth of the
 * time: what it did for each nanosecond that it ran, a ninth of which went into being observed. */
TEST(calls_of_sockets_stand_for_cpu_time)
{
	const double truth = 4 * 4096 * (8 * 10e6 - 4 * 0.1e6) / (4 * 0.9e6);
	struct plant p;

	plant_begin(&p, "1");
	for (unsigned i = 0; i < 8; i++) {
		uint64_t runs = i % 2 ? 1000000 : 0;
		struct fmt_sysio_stretch b = { .begin = p.now += 1000000,
					       .end = p.now += 1000000,
					       .span_ns = 100000000,
					       .weight = 50,
					       .ran_ns = runs,
					       .ran_all_ns = 10000000,
					       .spent_ns = runs / 10,
					       .flags = FMT_IOB_MOVED | FMT_IOB_RAN };
		struct fmt_sysio io = { .time = b.begin + 1,
					.addr = 0x70000,
					.len = 4096,
					.weight = 50,
					.pid = 1,
					.tid = 1,
					.nr = 44,
					.dir = FMT_IO_KERNEL_READS };

		if (runs)
			store_put(p.w, FMT_SYSIO, &io, sizeof(io));
		store_put(p.w, FMT_SYSIO_STRETCH, &b, sizeof(b));
	}
	plant(&p, READER, 0x50000, FMT_A_LOAD, 64);
	plant_estimate(&p, "fused");
	assert_int_equal(p.f.call_count, 1);
	assert_true(fabs(p.f.calls[0].bytes / truth - 1) < 1e-6);
	assert_true(p.f.calls[0].low < 0.98 * truth && p.f.calls[0].high > 1.02 * truth &&
		    p.f.calls[0].low > 0.9 * truth);
	plant_release(&p);
}

static void put_call(struct plant *p, const struct fmt_sysio_stretch *b, uint32_t nr, uint64_t len, uint32_t flags)
{
	struct fmt_sysio io = { .time = b->begin + 1,
				.addr = 0x70000,
				.len = len,
				.weight = b->weight,
				.pid = 1,
				.tid = 1,
				.nr = (int32_t)nr,
				.dir = FMT_IO_KERNEL_WRITES,
				.flags = flags };

	store_put(p->w, FMT_SYSIO, &io, sizeof(io));
}

/* A server: for each request it receives 64 bytes and reads 4 KB, and waits once in a ms. Stretches of as much CPU time
 * held two to six requests, and as it happened a tenth fewer than the rest: what the kernel counted as read tells. */
TEST(what_comes_with_reads_goes_by_reads)
{
	double requests = 0;
	struct plant p;

	plant_begin(&p, "1");
	for (unsigned i = 0; i < 20; i++) {
		unsigned k = 2 + i * 7 % 5;
		struct fmt_sysio_stretch b = { .begin = p.now += 1000000,
					       .end = p.now += 1000000,
					       .span_ns = 100000000,
					       .weight = 50,
					       .ran_ns = 1000000,
					       .ran_all_ns = 50000000,
					       .seen = { 4096 * k, 0 },
					       .moved = { 4096 * k * 55, 0 },
					       .flags = FMT_IOB_MOVED | FMT_IOB_RAN };

		for (unsigned r = 0; r < k; r++) {
			put_call(&p, &b, 45, 64, 0);
			put_call(&p, &b, 0, 4096, FMT_IO_READ);
		}
		put_call(&p, &b, 232, 12, 0);
		store_put(p.w, FMT_SYSIO_STRETCH, &b, sizeof(b));
		requests += k * 55.;
	}
	plant(&p, READER, 0x50000, FMT_A_LOAD, 64);
	plant_estimate(&p, "fused");
#ifdef __x86_64__
	for (size_t i = 0; i < p.f.call_count; i++) {
		const struct flow_call *c = &p.f.calls[i];
		const char *name = p.f.funcs[c->func].name;
		double truth = !strcmp(name, "(kernel:recvfrom)")     ? 64 * requests
			       : !strcmp(name, "(kernel:epoll_wait)") ? 12 * 20 * 50
								      : 4096 * requests;

		print_message("%s %.0f [%.0f, %.0f], truth %.0f\n", name, c->bytes, c->low, c->high, truth);
		assert_true(fabs(c->bytes / truth - 1) < .01 && c->low <= truth + 1 && c->high >= truth - 1);
	}
	assert_int_equal(p.f.call_count, 3);
#endif
	plant_release(&p);
}

/* The kernel counted, and no stretch met a call: the bytes are there, and nobody is said to have written them. */
TEST(bytes_of_calls_that_nobody_saw_are_there)
{
	struct fmt_sysio_stretch b = { .begin = 1,
				       .end = 3000000,
				       .span_ns = 1000000000,
				       .weight = 1,
				       .moved = { 1000000, 2000000 },
				       .flags = FMT_IOB_MOVED };
	const struct flow_edge *e;
	struct plant p;

	plant_begin(&p, "1");
	plant(&p, READER, 0x50000, FMT_A_LOAD, 64);
	store_put(p.w, FMT_SYSIO_STRETCH, &b, sizeof(b));
	plant_estimate(&p, "fused");
	e = flow_get(&p.f, flow_find(&p.f, "(unknown)", NULL), flow_find(&p.f, "(kernel)", NULL));
	assert_true(e && fabs(e->bytes - 2000000) < 1);
	assert_int_equal(p.f.call_count, 2);
	assert_true(p.f.calls[0].reads && p.f.calls[0].bytes == 2000000 && p.f.calls[1].bytes == 1000000);
	plant_release(&p);
}

static void counted_late(uint64_t ran_ns, double within)
{
	struct fmt_sysio_stretch seen = { .span_ns = 1000000000, .weight = 1, .flags = FMT_IOB_MOVED }, closing;
	struct fmt_sysio io = { .addr = 0x70000,
				.len = 4096,
				.weight = 1,
				.pid = 1,
				.tid = 1,
				.nr = 1,
				.dir = FMT_IO_KERNEL_READS,
				.flags = FMT_IO_WRITTEN };
	struct plant p;

	seen.flags |= ran_ns ? FMT_IOB_RAN : 0u;
	seen.ran_ns = seen.ran_all_ns = ran_ns;
	seen.seen[1] = 4096;
	seen.moved[1] = 1000000;
	plant_begin(&p, "1");
	plant(&p, READER, 0x50000, FMT_A_LOAD, 64);
	seen.begin = p.now + 50000000;
	seen.end = p.now + 1050000000;
	io.time = seen.begin + 1;
	store_put(p.w, FMT_SYSIO, &io, sizeof(io));
	store_put(p.w, FMT_SYSIO_STRETCH, &seen, sizeof(seen));
	closing = (struct fmt_sysio_stretch){ .begin = seen.end, .end = seen.end, .flags = seen.flags };
	store_put(p.w, FMT_SYSIO_STRETCH, &closing, sizeof(closing));
	p.now += 1000000000;
	p.lasted = 1000000000;
	plant_estimate(&p, "fused");
	assert_int_equal(p.f.call_count, 1);
	assert_true(fabs(p.f.calls[0].bytes - 1000000) < 1);
	assert_true(fabs(1000000 - p.f.calls[0].low - within) < within / 40);
	assert_true(fabs(p.f.calls[0].high - 1000000 - within) < within / 40);
	plant_release(&p);
}

/* Bytes were counted from a twentieth after the recording's begin to a twentieth after its end: as long as it lasted,
 * but not in the same time, so what it moved is known within a tenth; within a fifth where it ran for a third of the
 * time only. */
TEST(counted_late_and_for_longer_is_not_exact)
{
	counted_late(0, 100000);
	counted_late(333333333, 200000);
}

/* Of a range of 2 GB one is kept, and the rest is told. */
TEST(what_is_cut_of_ranges_is_counted)
{
	struct plant p;

	for (uint64_t len = 4096; len <= 2ull << 30; len = len == 4096 ? 2ull << 30 : len * 2) {
		struct fmt_sysio back = { .addr = 0x100000000,
					  .len = len,
					  .weight = 1,
					  .pid = 1,
					  .tid = 1,
					  .nr = 0,
					  .dir = FMT_IO_KERNEL_WRITES };

		plant_begin(&p, "1");
		back.time = p.now++;
		store_put(p.w, FMT_SYSIO, &back, sizeof(back));
		plant(&p, READER, 0x100000000, FMT_A_LOAD, 64);
		plant_estimate(&p, "fused");
		assert_true(len == 4096 ? p.f.cut_ranges == 0 : fabs(p.f.cut_ranges - (double)(1 << 30)) < 8192);
		plant_release(&p);
	}
}

int main(void)
{
	return RUN_TESTS(new_path, remove_path);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Hardware sources without the hardware: SPE records made by hand, the plumbing of hw.c over a clock
 * event, and what is said where nothing of the kind is here. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "kmod-free/hw.h"
#include "kmod-free/registry.h"
#include "kmod-free/spe_decode.h"

struct got {
	unsigned n;
	struct sample s[64];
};

static int keep(void *ctx, const struct sample *s)
{
	struct got *g = ctx;

	if (g->n < 64)
		g->s[g->n] = *s;
	g->n++;
	return 0;
}

static size_t put(uint8_t *to, uint8_t header, uint64_t payload, unsigned size)
{
	to[0] = header;
	memcpy(to + 1, &payload, size);
	return 1 + size;
}

/* A record as a Neoverse writes one: PC, context, events, op, latency, address, [phys], timestamp. */
static size_t record(uint8_t *b, uint64_t pc, uint64_t addr, uint8_t op, bool load_store, bool end)
{
	size_t n = 0;

	n += put(b + n, 0xb0, pc | 0x80ull << 56, 8); /* NS bit and EL in the top byte */
	n += put(b + n, 0x64, 1234, 4);
	n += put(b + n, 0x52, 0x0016, 2);
	n += put(b + n, load_store ? 0x49 : 0x4a, op, 1);
	n += put(b + n, 0x98, 77, 2);
	n += put(b + n, 0x99, 5, 2);
	if (addr) {
		n += put(b + n, 0xb2, addr | 0xb4ull << 56, 8); /* with a tag */
		n += put(b + n, 0xb3, 0x80004000, 8);
	}
	n += put(b + n, 0x43, 8, 1);
	if (end)
		b[n++] = 0x01;
	else
		n += put(b + n, 0x71, 555, 8);
	return n;
}

static void spe_records(void **state)
{
	uint8_t b[1024];
	struct sample base = { .pid = 7, .tid = 8 };
	struct spe_stats st = { 0 };
	struct got g = { 0 };
	size_t n = 0, cut;

	memset(b, 0, 5);
	n = 5; /* padding */
	n += record(b + n, 0x401000, 0xaaaae000, 0, true, false);
	n += record(b + n, 0x401004, 0xaaaae008, 1, true, true);
	n += record(b + n, 0x401008, 0, 1, false, false); /* a branch */
	n += record(b + n, 0x40100c, 0xaaaae010, 0x02 | 0x04, true, false); /* an atomic */
	n += record(b + n, 0xffff800008001000, 0xaaaae018, 0, true, false); /* in the kernel */
	assert_int_equal(spe_decode(b, n, &base, &st, keep, &g), n);
	assert_int_equal(st.records, 5);
	assert_int_equal(st.other, 1);
	assert_int_equal(st.skipped_bytes, 0);
	assert_int_equal(g.n, 4);
	assert_int_equal(g.s[0].ip, 0x401000);
	assert_int_equal(g.s[0].addr, 0xaaaae000);
	assert_int_equal(g.s[0].phys, 0x80004000);
	assert_int_equal(g.s[0].latency, 77);
	assert_int_equal(g.s[0].time, 555);
	assert_int_equal(g.s[0].flags, SF_LOAD);
	assert_int_equal(g.s[0].tid, 8);
	assert_int_equal(g.s[1].flags, SF_STORE);
	assert_true(g.s[2].flags & SF_ATOMIC);
	assert_true(g.s[3].flags & SF_KERNEL);
	assert_int_equal(g.s[3].ip >> 48, 0xffff);
	/* cut anywhere: whole records come out, the rest is left */
	for (cut = 0; cut < n; cut++) {
		struct got h = { 0 };
		int64_t used = spe_decode(b, cut, &base, &st, keep, &h);

		assert_true(used >= 0 && (size_t)used <= cut);
		spe_decode(b + used, n - (size_t)used, &base, &st, keep, &h);
		assert_int_equal(h.n, 4);
	}
	/* rubbish is skipped and counted, and the next record is found */
	memset(b, 0xff, 9);
	n = 9 + record(b + 9, 0x401000, 0xaaaae000, 0, true, false);
	memset(&st, 0, sizeof(st));
	g.n = 0;
	assert_int_equal(spe_decode(b, n, &base, &st, keep, &g), n);
	assert_int_equal(st.skipped_bytes, 9);
	assert_int_equal(g.n, 1);
}

static int count(void *ctx, const struct sample *s)
{
	unsigned *n = ctx;

	*n += s->kind == SAMPLE_TICK && s->tid == (uint32_t)syscall(SYS_gettid);
	return 0;
}

static void plumbing(void **state)
{
	struct pmu_event ev = { .pmu = "clock", .what = PMU_INSTRUCTIONS };
	struct hw_filter f = { 0 };
	struct source_config cfg = { .ring_pages = 8 };
	struct source_stats st;
	struct source *s;
	struct err e = { 0 };
	struct timespec t0, t1;
	unsigned n = 0;
	int fds[4];

	ev.attr = (struct perf_event_attr){
		.size = sizeof(ev.attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1000000,
		.disabled = 1, .exclude_kernel = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
	};
	assert_int_equal(hw_new(&s, &ev, 1, &f, &cfg, &e), 0);
	if (hw_add_task(s, 0, &e)) {
		printf("# %s\n", e.text);
		hw_close(s);
		skip();
	}
	assert_int_equal(hw_add_task(s, 4194000, &e), -ESRCH); /* gone: no failure of the source */
	assert_int_equal(hw_fds(s, fds, 4), 1);
	assert_int_equal(hw_start(s, &e), 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t0);
	do {
		for (volatile int i = 0; i < 300000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t1);
		hw_read(s, count, &n);
	} while ((t1.tv_sec - t0.tv_sec) * 1000000000 + t1.tv_nsec - t0.tv_nsec < 100000000);
	hw_stats(s, &st);
	assert_true(n >= 10);
	assert_int_equal(st.samples, n);
	assert_int_equal(st.malformed, 0);
	assert_true(st.counted_loads == ~0ull); /* unknown, not zero */
	hw_close(s);
}

static void sentences(void **state)
{
	struct err e = { 0 };

	assert_int_equal(hw_explain(ENOENT, "x", &e), -ENOENT);
	assert_non_null(strstr(e.text, "no hardware counters"));
	hw_explain(EACCES, "x", &e);
	assert_non_null(strstr(e.text, "perf_event_paranoid is"));
	hw_explain(ENODATA, "x", &e);
	assert_non_null(strstr(e.text, "mem-loads-aux"));
	hw_explain(EOPNOTSUPP, "x", &e);
	assert_non_null(strstr(e.text, "hypervisor"));
	/* every source either works here or says why not */
	for (const struct source_ops *const *s = sources_all(); *s; s++) {
		struct err why = { 0 };

		assert_ptr_equal(source_find((*s)->name), *s);
		if ((*s)->probe(NULL, 0, &why))
			assert_true(strlen(why.text) > 15);
	}
	if (!source_auto(SOURCE_LOADS, &e))
		for (const struct source_ops *const *s = sources_all(); *s; s++)
			assert_non_null(strstr(e.text, (*s)->name));
	assert_null(source_find("nonsense"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spe_records), cmocka_unit_test(plumbing), cmocka_unit_test(sentences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Hardware sources without the hardware: SPE records made by hand, the plumbing of hw.c over a clock
 * event, and what is said where nothing of the kind is here. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kmod-free/hw.h"
#include "record/sources.h"
#include "kmod-free/spe_decode.h"
#include "unit/unit.h"
#include "util/clock.h"

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

TEST(spe_records)
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
	n += record(b + n, 0x401008, 0, 1, false, false);                   /* a branch */
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

TEST(plumbing)
{
	struct pmu_event ev = { .pmu = "clock", .what = PMU_INSTRUCTIONS };
	struct hw_filter f = { 0 };
	struct source_config cfg = { .ring_pages = 8 };
	struct source_stats st;
	struct sampling *s;
	struct err e = { 0 };
	struct timespec t0, t1;
	unsigned n = 0;
	int fds[4];

	ev.attr = (struct perf_event_attr){
		.size = sizeof(ev.attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.disabled = 1,
		.exclude_kernel = 1,
		.sample_type =
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
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

/* ---- weights of loads that the hardware picks at random ---- */

#define RING 8192

struct fake_ring {
	struct perf_event_mmap_page page;
	uint8_t data[RING];
};

/* A record as memory() of pmu.c asks for it. */
static void put_access(struct fake_ring *r, uint64_t ip, uint64_t addr, uint32_t tid, uint64_t period, bool kernel)
{
	const uint64_t body[] = { 1 /* identifier */,
				  ip,
				  (uint64_t)tid << 32 | 7,
				  1000,
				  addr,
				  0 /* cpu */,
				  period,
				  33 /* weight */,
				  PERF_MEM_S(OP, LOAD) | PERF_MEM_S(LVL, HIT) };
	struct perf_event_header h = { .type = PERF_RECORD_SAMPLE,
				       .size = sizeof(h) + sizeof(body),
				       .misc = PERF_RECORD_MISC_EXACT_IP |
					       (kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) };

	for (size_t i = 0; i < h.size; i++)
		r->data[(r->page.data_head + i) % RING] =
			i < sizeof(h) ? ((uint8_t *)&h)[i] : ((const uint8_t *)body)[i - sizeof(h)];
	r->page.data_head += h.size;
}

struct fake_counters {
	uint64_t loads[3], enabled, running;
};

static bool fake_counter(void *ctx, pid_t tid, enum pmu_what what, uint64_t v[3])
{
	struct fake_counters *c = ctx;

	assert_int_equal(what, PMU_COUNT_LOADS);
	v[0] = c->loads[tid - 1];
	v[1] = c->enabled;
	v[2] = c->running;
	return true;
}

static int add_up(void *ctx, const struct sample *s)
{
	uint64_t *sum = ctx;

	assert_int_equal(s->kind, SAMPLE_ACCESS);
	sum[s->tid] += s->period;
	return 0;
}

static int forced(unsigned model, struct pmu_event *ev, uint64_t period)
{
	const struct pmu_cpu cpu = { .arch = PMU_X86_INTEL, .family = 6, .model = model };
	struct pmu_opts o = { .period = period };
	int n = pmu_encode(&cpu, "/nonexistent", PMU_LOADS, &o, ev, 1, NULL);

	assert_int_equal(n, 1);
	return n + pmu_encode(&cpu, "/nonexistent", PMU_COUNT_LOADS, &o, ev + 1, 1, NULL);
}

/* shape: one scenario. */
TEST(random_loads)
{
	static struct fake_ring ring[2];
	struct fake_counters c = { .loads = { 0 }, .enabled = 1000, .running = 1000 };
	struct hw_filter f = { .exact_ip = true };
	struct source_config cfg = { 0 };
	struct pmu_event ev[2];
	struct source_stats st;
	struct sampling *s;
	struct err e = { 0 };
	uint64_t sum[4] = { 0 };

	/* Skylake-SP and Sapphire Rapids: never run on this hardware */
	assert_int_equal(forced(0x55, ev, 0), 2);
	assert_int_equal(forced(0x8f, ev, 100003), 2);
	assert_true(ev[0].random);
	assert_int_equal(ev[1].attr.config, 0x81d0);
	memset(ring, 0, sizeof(ring));
	assert_int_equal(hw_new(&s, ev, 2, &f, &cfg, &e), 0);
	hw_set_counter(s, fake_counter, &c);
	for (int tid = 1; tid <= 2; tid++) {
		assert_int_equal(hw_add_memory(s, 0, tid, &ring[tid - 1], RING), 0);
		assert_int_equal(hw_add_memory(s, 1, tid, NULL, 0), 0);
	}
	/* what was counted is shared out to the last load, thread by thread, whatever the period */
	for (int i = 0; i < 7; i++)
		put_access(&ring[0], 0x401000 + (uint64_t)i, 0x7000 + 8 * (uint64_t)i, 1, 100003, false);
	put_access(&ring[0], 0xffffffff81000000ull, 0x7000, 1, 100003, true); /* of no use: stands for nothing */
	put_access(&ring[1], 0x401000, 0x7000, 2, 100003, false);
	c.loads[0] = 1000003;
	c.loads[1] = 17;
	assert_int_equal(hw_read(s, add_up, sum), 9);
	assert_int_equal(sum[1], 1000003);
	assert_int_equal(sum[2], 17);
	/* loads counted while no sample came go to the next ones */
	memset(sum, 0, sizeof(sum));
	c.loads[0] += 500000, c.enabled += 10, c.running += 10;
	assert_int_equal(hw_read(s, add_up, sum), 0);
	c.loads[0] += 500000, c.enabled += 10, c.running += 10;
	put_access(&ring[0], 0x401000, 0x7000, 1, 100003, false);
	put_access(&ring[0], 0x401000, 0x7000, 1, 100003, false);
	hw_read(s, add_up, sum);
	assert_int_equal(sum[1], 1000000);
	/* the counter had the hardware for half of the time only */
	memset(sum, 0, sizeof(sum));
	c.loads[0] += 1000, c.enabled += 200, c.running += 100;
	put_access(&ring[0], 0x401000, 0x7000, 1, 100003, false);
	hw_read(s, add_up, sum);
	assert_int_equal(sum[1], 2000);
	/* a counter that did not run in between tells nothing */
	memset(sum, 0, sizeof(sum));
	put_access(&ring[0], 0x401000, 0x7000, 1, 100003, false);
	hw_read(s, add_up, sum);
	assert_int_equal(sum[1], 0);
	hw_stats(s, &st);
	assert_in_range(st.counted_loads, (c.loads[0] + c.loads[1]) * c.enabled / c.running - 2,
			(c.loads[0] + c.loads[1]) * c.enabled / c.running + 2);
	hw_close(s);

	/* no counting event: unknown, and never period x samples */
	memset(ring, 0, sizeof(ring));
	assert_int_equal(hw_new(&s, ev, 1, &f, &cfg, &e), 0);
	assert_int_equal(hw_add_memory(s, 0, 1, &ring[0], RING), 0);
	put_access(&ring[0], 0x401000, 0x7000, 1, 100003, false);
	sum[1] = 0;
	assert_int_equal(hw_read(s, add_up, sum), 1);
	assert_int_equal(sum[1], 0);
	hw_close(s);

	/* above a latency threshold the samples are of some loads, and nothing counts those */
	cfg.ldlat = 30;
	memset(ring, 0, sizeof(ring));
	assert_int_equal(hw_new(&s, ev, 2, &f, &cfg, &e), 0);
	hw_set_counter(s, fake_counter, &c);
	assert_int_equal(hw_add_memory(s, 0, 1, &ring[0], RING), 0);
	assert_int_equal(hw_add_memory(s, 1, 1, NULL, 0), 0);
	put_access(&ring[0], 0x401000, 0x7000, 1, 100003, false);
	assert_int_equal(hw_read(s, add_up, sum), 1);
	assert_int_equal(sum[1], 0);
	hw_close(s);

	/* events that count what they sample keep the period of each record (Goldmont: ALL_LOADS) */
	memset(ring, 0, sizeof(ring));
	memset(&cfg, 0, sizeof(cfg));
	forced(0x5c, ev, 1009);
	assert_false(ev[0].random);
	assert_int_equal(hw_new(&s, ev, 2, &f, &cfg, &e), 0);
	hw_set_counter(s, fake_counter, &c);
	assert_int_equal(hw_add_memory(s, 0, 1, &ring[0], RING), 0);
	assert_int_equal(hw_add_memory(s, 1, 1, NULL, 0), 0);
	put_access(&ring[0], 0x401000, 0x7000, 1, 1009, false);
	put_access(&ring[0], 0x401000, 0x7000, 1, 4001, false); /* the rate was changed meanwhile */
	assert_int_equal(hw_read(s, add_up, sum), 2);
	assert_int_equal(sum[1], 5010);
	hw_close(s);
}

/* Batches where nobody waits for a record, prompt ones where somebody does. */
TEST(batches)
{
	const struct pmu_cpu cpu = { .arch = PMU_X86_INTEL, .family = 6, .model = 0x55 };
	struct pmu_opts o = { .batch = true };
	struct pmu_event ev;

	assert_int_equal(pmu_encode(&cpu, "/nonexistent", PMU_LOADS, &o, &ev, 1, NULL), 1);
	/* what the kernel demands of a large PEBS buffer: fixed period, no wake-up per record, its own clock */
	assert_false(ev.attr.freq || ev.attr.wakeup_events || ev.attr.use_clockid);
	o.batch = false;
	o.prompt = true;
	assert_int_equal(pmu_encode(&cpu, "/nonexistent", PMU_LOADS, &o, &ev, 1, NULL), 1);
	assert_int_equal(ev.attr.wakeup_events, 1);
	assert_false(ev.attr.watermark);
	assert_true(ev.attr.use_clockid);
}

struct seen {
	unsigned n;
	uint64_t first, last, period;
};

static int look(void *ctx, const struct sample *s)
{
	struct seen *k = ctx;

	if (!k->n++)
		k->first = s->time;
	k->last = s->time;
	k->period = s->period;
	return 0;
}

static void burn(uint64_t ns)
{
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		for (volatile int i = 0; i < 10000; i++)
			;
}

/* The kernel's clock becomes CLOCK_MONOTONIC, and a new rate takes hold. */
TEST(clocks_and_rates)
{
	struct pmu_event ev = { .pmu = "clock", .what = PMU_INSTRUCTIONS };
	struct hw_filter f = { 0 };
	struct source_config cfg = { .ring_pages = 8 };
	struct seen k = { 0 };
	struct sampling *s;
	struct err e = { 0 };
	uint64_t before, after;
	bool slower = false;

	ev.attr = (struct perf_event_attr){
		.size = sizeof(ev.attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 500000,
		.disabled = 1,
		.exclude_kernel = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_IDENTIFIER,
	};
	assert_int_equal(hw_new(&s, &ev, 1, &f, &cfg, &e), 0);
	if (hw_add_task(s, 0, &e)) {
		printf("# %s\n", e.text);
		hw_close(s);
		skip();
	}
	before = clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(hw_start(s, &e), 0);
	burn(30000000);
	assert_true(hw_read(s, look, &k) > 5);
	after = clock_ns(CLOCK_MONOTONIC);
	/* conversion is good to some microseconds */
	assert_true(k.first + 100000 >= before && k.last <= after + 100000);
	assert_int_equal(k.period, 500000);
	/* a quarter of the samples for the same work; several tries, because a clock also ticks while the
	 * hypervisor runs somebody else */
	for (int i = 0; i < 10 && !slower; i++) {
		struct seen fast = { 0 }, slow = { 0 };

		hw_read(s, look, &k);
		burn(30000000);
		hw_read(s, look, &fast);
		assert_int_equal(hw_set_rate(s, 0.25), 0);
		burn(30000000);
		hw_read(s, look, &slow);
		slower = slow.n > 0 && slow.n < 0.6 * fast.n;
		assert_int_equal(hw_set_rate(s, 4), 0);
	}
	assert_true(slower);
	assert_int_equal(hw_set_rate(s, 0), -EINVAL);
	hw_close(s);
}

TEST(sentences)
{
	const struct source_row *row;
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
	for (unsigned i = 0; (row = sources_row(i)); i++) {
		struct err why = { 0 };

		if (!row->source->driver)
			continue;
		assert_ptr_equal(source_find(row->source->name), row->source);
		if (row->source->driver->probe(NULL, 0, &why))
			assert_true(strlen(why.text) > 15);
	}
	if (!source_auto(SOURCE_LOADS, &e))
		for (unsigned i = 0; (row = sources_row(i)); i++)
			assert_true(!row->source->driver || strstr(e.text, row->source->name));
	assert_null(source_find("nonsense"));
}

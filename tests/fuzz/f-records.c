// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel side sends, of every source: records of BPF rings (sampler, watch windows, system calls, offload
 * calls), the memory of an execution window, and perf rings (process life, PMU). Input: repeated { source, how many
 * bytes (2), bytes }. Whatever they say, what is handed on can be read, and what is not is counted or refused.
 */
/*
 * harm: damaged records of rings
 * harm: damaged records of allocations
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kmod-free/execbp.h"
#include "kmod-free/heap_probes.h"
#include "kmod-free/hw.h"
#include "kmod-free/queue.h"
#include "kmod-free/ring.h"
#include "kmod-free/sampler_record.h"
#include "kmod-free/sysio.h"
#include "kmod-free/uprobe.h"
#include "kmod-free/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 64         /* records of one input */
#define RING_BYTES 4096 /* of a perf ring: small, so that records wrap */

static volatile uint8_t sink;
static uint64_t given;

static int look(void *ctx, const struct sample *s)
{
	if (s->text)
		sink += (uint8_t)strlen(s->text);
	for (uint32_t i = 0; i < s->stack_bytes; i++)
		sink += s->stack[i];
	for (uint32_t i = 0; i < s->chain_len; i++)
		sink += ((const uint8_t *)s->chain)[8 * (size_t)i];
	for (uint32_t i = 0; i < s->pages; i++)
		sink += s->page[i].byte[SAMPLE_PAGE - 1];
	return 0;
}

/* As a session does: looked at, and put into order of time. */
static int take(void *queue, const struct sample *s)
{
	given++;
	look(NULL, s);
	return queue_push(queue, s);
}

static void of_sampler(struct sampler_feed *f, const uint8_t *data, size_t n)
{
	const struct wire_head *h = (const void *)data;
	uint64_t before = given + f->malformed;
	int err;

	f->left = 2;
	err = sampler_record(f, data, n);
	if (err && err != -ENOMEM)
		abort();
	if (given + f->malformed == before && (n != sizeof(struct wire_page) || h->kind != WIRE_PAGE))
		abort();
}

static void on_window(void *ctx, const struct watch_window *w)
{
	if (w->count > WATCH_MAX_HITS)
		abort();
	for (uint32_t i = 0; i < w->count; i++)
		sink += (uint8_t)w->hits[i].ip;
}

static void decide(void *ctx, const struct wire_watch *raw, struct watch_hit *hit)
{
	hit->flags |= (uint32_t)raw->regs[WREG_MAX - 1] & 3;
}

static void of_execbp(const uint8_t *data, size_t n)
{
	struct exec_window out = { .armed = 1000, .ended = 1000000, .cpu_ns = 500000 };
	struct execwin *w = calloc(1, sizeof(*w));
	uint8_t how = n ? data[0] : 0;
	int err;

	if (!w)
		return;
	memcpy(w, data, n < sizeof(*w) ? n : sizeof(*w));
	out.req.on_cpus = how & 1;
	out.req.process = how & 2;
	out.req.within_ns = how & 4;
	out.cpu_ns = how & 8 ? ~0ull : out.cpu_ns;
	out.end = how & 16 ? EXEC_TIME : EXEC_CUT;
	err = execbp_record(w, &out);
	if (out.count > EXECWIN_LOG || out.ended < out.armed || (err && out.count))
		abort();
	for (uint32_t i = 0; i < out.count; i++)
		if (out.hit[i].slot >= EXECWIN_SLOTS)
			abort();
	sink += (uint8_t)execbp_turns(&out).to;
	free(w);
}

static void of_sysio(struct queue *q, const uint8_t *data, size_t n)
{
	int err = sysio_record(data, n, take, q);

	if (err && err != -EBADMSG && err != -ENOMEM)
		abort();
}

static void on_call(void *ctx, const struct offload_event *ev)
{
	given++;
	if (ev->probe >= PROBE_MAX || ev->events_cnt > PROBE_EVENTS)
		abort();
	for (uint32_t i = 0; i < ev->events_cnt; i++)
		sink += (uint8_t)ev->events[i];
}

static void on_stack(void *ctx, const struct sample *s)
{
	given++;
	look(NULL, s);
}

static void of_uprobe(const uint8_t *data, size_t n)
{
	const struct uprobe_sink s = { NULL, on_call, on_stack };
	uint64_t before = given;

	if (!uprobe_record(data, n, &s) == (given == before))
		abort();
}

/* The control page, then the data; the first bytes say where the kernel claims to be. */
static struct perf_event_mmap_page *ring_memory(const uint8_t *data, size_t n)
{
	struct perf_event_mmap_page *m = calloc(1, sizeof(*m) + RING_BYTES);

	if (!m || n < 16)
		return m;
	memcpy(&m->data_tail, data, 2);
	memcpy(&m->data_head, data + 8, 8);
	m->data_tail &= ~7ull;
	if (!(data[2] & 1)) /* plausible */
		m->data_head = m->data_tail + (m->data_head & (RING_BYTES - 8));
	n = n - 16 < RING_BYTES ? n - 16 : RING_BYTES;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)(m + 1))[(m->data_tail + i) % RING_BYTES] = data[16 + i];
	return m;
}

static void of_perf_ring(struct queue *q, const uint8_t *data, size_t n)
{
	const struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
					   .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
							  PERF_SAMPLE_IDENTIFIER,
					   .sample_id_all = 1,
					   .build_id = 1 };
	struct perf_event_mmap_page *m = ring_memory(data, n);
	struct ring r;

	if (m && !ring_from_memory(&r, m, RING_BYTES, &a)) {
		ring_read(&r, take, q);
		if (m->data_tail != m->data_head) /* all of it is dealt with, once */
			abort();
		ring_close(&r);
	}
	free(m);
}

static bool loads_counted(void *ctx, pid_t tid, enum pmu_what what, uint64_t v[3])
{
	static const uint64_t steps[3] = { 1000, 10, 9 };

	for (int i = 0; i < 3; i++)
		v[i] = *(uint64_t *)ctx + steps[i];
	return true;
}

static void of_pmu(struct queue *q, const uint8_t *data, size_t n)
{
	struct pmu_event ev[2] = { { .what = PMU_LOADS, .pmu = "cpu" }, { .what = PMU_COUNT_LOADS, .pmu = "cpu" } };
	const struct hw_filter f = { .need_mem_op = n & 1, .exact_ip = n & 2 };
	const struct source_config cfg = { .kernel = n & 4 };
	struct perf_event_mmap_page *m = ring_memory(data, n);
	struct source_stats st;
	struct sampling *s;
	uint64_t base = n;

	ev[0].random = n & 8;
	ev[0].attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
				 PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_IDENTIFIER;
	ev[0].attr.use_clockid = 1;
	if (m && !hw_new(&s, ev, 2, &f, &cfg, NULL)) {
		hw_set_counter(s, loads_counted, &base);
		if (!hw_add_memory(s, 0, 1, m, RING_BYTES) && !hw_add_memory(s, 1, 1, NULL, 0))
			hw_read(s, take, q);
		hw_stats(s, &st);
		hw_close(s);
	}
	free(m);
}

static int on_block(void *ctx, const struct heap_block *b)
{
	if (b->role < HEAP_ALLOC || b->role >= HEAP_ROLES)
		abort();
	return look(ctx, b->at);
}

static int on_freed(void *ctx, const struct heap_freed *f)
{
	sink += (uint8_t)f->addr;
	return 0;
}

static void of_heap(const uint8_t *data, size_t n)
{
	const struct heap_reader to = { .block = on_block, .freed = on_freed };
	int err = heap_probes_record(data, n, &to);

	if (err && err != -EBADMSG)
		abort();
}

/* In memory of its own size and aligned as rings are, so that a byte too many is noticed. */
static void of_source(uint8_t source, const uint8_t *bytes, size_t n, struct sampler_feed *feed, struct watch *w)
{
	uint8_t *data = malloc(n ? n : 1);

	if (!data)
		return;
	memcpy(data, bytes, n);
	switch (source % 8) {
	case 0: of_sampler(feed, data, n); break;
	case 1:
		if (watch_record(w, data, n))
			abort();
		break;
	case 2: of_execbp(data, n); break;
	case 3: of_sysio(feed->ctx, data, n); break;
	case 4: of_uprobe(data, n); break;
	case 5: of_perf_ring(feed->ctx, data, n); break;
	case 7: of_heap(data, n); break;
	default: of_pmu(feed->ctx, data, n); break;
	}
	free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct watch_opts o = WATCH_DEFAULTS;
	struct sampler_feed feed = { .fn = take, .ctx = queue_new(), .pages = calloc(1, sizeof(*feed.pages)) };
	struct watch *w = watch_without_events(&o, decide, on_window, NULL);

	for (unsigned i = 0; size > 3 && i < MOST && feed.ctx && feed.pages && w; i++) {
		size_t n = data[1] | (size_t)data[2] << 8;

		n = n < size - 3 ? n : size - 3;
		of_source(data[0], data + 3, n, &feed, w);
		data += 3 + n;
		size -= 3 + n;
	}
	if (feed.ctx)
		queue_flush(feed.ctx, UINT64_MAX, look, NULL);
	queue_free(feed.ctx);
	free(feed.pages);
	watch_free(w);
	return 0;
}

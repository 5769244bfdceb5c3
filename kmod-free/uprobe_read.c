// SPDX-License-Identifier: GPL-2.0-or-later
/* What the probes leave: records in a ring, counters in mapped memory, sums and histograms in maps. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kmod-free/uprobe_internal.h"

static int on_sample(const struct uprobe_sink *sink, const struct wire_sample *w, size_t size)
{
	struct sample s;

	if (size < sizeof(*w) || w->stack_bytes > size - sizeof(*w))
		return -EBADMSG;
	s = (struct sample){
		.kind = SAMPLE_TICK,
		.valid = SV_TIME | SV_IP | SV_REGS | SV_STACK | SV_CPU,
		.flags = SF_STACK_CUT,
		.pid = w->h.pid,
		.tid = w->h.tid,
		.cpu = w->h.cpu,
		.time = w->h.time,
		.ip = w->regs[WREG_IP],
		.syscall = -1,
		.stack = (const uint8_t *)(w + 1),
		.stack_bytes = w->stack_bytes,
	};
	memcpy(s.regs, w->regs, sizeof(s.regs) < sizeof(w->regs) ? sizeof(s.regs) : sizeof(w->regs));
	if (sink->stack)
		sink->stack(sink->ctx, &s);
	return 0;
}

int uprobe_record(const void *data, size_t size, const struct uprobe_sink *sink)
{
	const struct wire_head *h = data;
	const struct wire_offload *w = data;
	struct offload_event ev;

	if (size < sizeof(*h))
		return -EBADMSG;
	if (h->kind == WIRE_SAMPLE)
		return on_sample(sink, data, size);
	if (h->kind != WIRE_OFFLOAD || size < sizeof(*w) || w->probe >= PROBE_MAX || w->events_cnt > PROBE_EVENTS)
		return -EBADMSG;
	ev = (struct offload_event){
		.time = w->h.time,
		.entry = w->entry,
		.ret = w->ret,
		.in = w->in,
		.out = w->out,
		.items = w->items,
		.queue = w->queue,
		.cpu = w->cpu,
		.site = w->site,
		.func = w->func,
		.events_cnt = w->events_cnt,
		.pid = w->h.pid,
		.tid = w->h.tid,
		.probe = w->probe,
		.kind = w->kind,
		.weight = w->weight,
		.flags = w->flags,
		.voluntary = w->voluntary,
		.involuntary = w->involuntary,
		.level = w->level,
	};
	memcpy(ev.events, w->events, sizeof(ev.events));
	sink->event(sink->ctx, &ev);
	return 0;
}

static int uprobe_read_on_record(void *ctx, void *data, size_t size)
{
	struct uprobe *u = ctx;

	if (u->sink)
		u->malformed += uprobe_record(data, size, u->sink) != 0;
	return 0;
}

int uprobe_read_open(struct uprobe *u, struct err *e)
{
	u->ring = ring_buffer__new(bpf_map__fd(u->skel->maps.ring), uprobe_read_on_record, u, NULL);
	if (!u->ring)
		return err_set(e, -errno, "cannot map the ring: %s", strerror(errno));
	u->activity_size = PROBE_MAX * sizeof(struct probe_activity);
	u->activity_size = (u->activity_size + 4095) & ~(size_t)4095;
	u->activity = mmap(NULL, u->activity_size, PROT_READ, MAP_SHARED, bpf_map__fd(u->skel->maps.activity), 0);
	if (u->activity == MAP_FAILED) {
		u->activity = NULL;
		return err_set(e, -errno, "cannot map the probes' counters: %s", strerror(errno));
	}
	return 0;
}

void uprobe_read_close(struct uprobe *u)
{
	if (u->activity)
		munmap(u->activity, u->activity_size);
	u->activity = NULL;
	ring_buffer__free(u->ring);
	u->ring = NULL;
}

uint64_t uprobe_malformed(const struct uprobe *u)
{
	return u->malformed;
}

int uprobe_threads_map(const struct uprobe *u)
{
	return bpf_map__fd(u->skel->maps.threads);
}

int uprobe_poll(struct uprobe *u, const struct uprobe_sink *sink)
{
	int n;

	u->sink = sink;
	n = ring_buffer__consume(u->ring);
	u->sink = NULL;
	return n;
}

struct probe_activity uprobe_activity(const struct uprobe *u, uint32_t probe)
{
	return (struct probe_activity){
		.hits = __atomic_load_n(&u->activity[probe].hits, __ATOMIC_RELAXED),
		.calls = __atomic_load_n(&u->activity[probe].calls, __ATOMIC_RELAXED),
	};
}

/* The next key of a map of which there still is a value: both; begun: of the first one false. */
static bool next_cell(int fd, void *key, void *value, bool *begun)
{
	while (!bpf_map_get_next_key(fd, *begun ? key : NULL, key)) {
		*begun = true;
		if (!bpf_map_lookup_elem(fd, key, value))
			return true;
	}
	return false;
}

void uprobe_totals(struct uprobe *u,
		   void (*fn)(void *ctx, const struct probe_total_key *k, const struct probe_total *t), void *ctx)
{
	struct probe_total_key key;
	struct probe_total value;
	bool begun = false;

	while (next_cell(bpf_map__fd(u->skel->maps.totals), &key, &value, &begun))
		fn(ctx, &key, &value);
}

void uprobe_open_calls(const struct uprobe *u, void (*fn)(void *ctx, const struct probe_total_key *k), void *ctx)
{
	struct probe_thread t;
	bool begun = false;
	uint32_t tid;

	while (next_cell(bpf_map__fd(u->skel->maps.threads), &tid, &t, &begun)) {
		for (unsigned i = 0; i < PROBE_SLOTS; i++) {
			const struct probe_slot *s = &t.slots[i];
			struct probe_total_key k = { .pid = s->pid,
						     .probe = s->probe,
						     .site = s->site,
						     .level = probe_level(s->flags, s->level) };

			if (s->used && s->epoch == u->skel->bss->epochs[s->library % PROBE_LIBS])
				fn(ctx, &k);
		}
	}
	uprobe_alg_open(u, fn, ctx);
}

void uprobe_hists(struct uprobe *u, void (*fn)(void *ctx, const struct probe_hist_key *k, const struct probe_hist *h),
		  void *ctx)
{
	struct probe_hist_key key;
	struct probe_hist value;
	bool begun = false;

	while (next_cell(bpf_map__fd(u->skel->maps.hists), &key, &value, &begun))
		fn(ctx, &key, &value);
}

void uprobe_totals_drop(struct uprobe *u,
			bool (*drop)(void *ctx, const struct probe_total_key *k, const struct probe_total *t),
			void *ctx)
{
	int fd = bpf_map__fd(u->skel->maps.totals);
	struct probe_total_key key, next;
	struct probe_total value;
	bool more = !bpf_map_get_next_key(fd, NULL, &key);

	/* of a key that is gone the next one is the first */
	for (; more; key = next) {
		more = !bpf_map_get_next_key(fd, &key, &next);
		if (!bpf_map_lookup_elem(fd, &key, &value) && drop(ctx, &key, &value))
			bpf_map_delete_elem(fd, &key);
	}
}

void uprobe_hists_drop(struct uprobe *u,
		       bool (*drop)(void *ctx, const struct probe_hist_key *k, const struct probe_hist *h), void *ctx)
{
	int fd = bpf_map__fd(u->skel->maps.hists);
	struct probe_hist_key key, next;
	struct probe_hist value;
	bool more = !bpf_map_get_next_key(fd, NULL, &key);

	for (; more; key = next) {
		more = !bpf_map_get_next_key(fd, &key, &next);
		if (!bpf_map_lookup_elem(fd, &key, &value) && drop(ctx, &key, &value))
			bpf_map_delete_elem(fd, &key);
	}
}

uint64_t uprobe_counter(const struct uprobe *u, enum bpf_counter which)
{
	return counter_read(u->skel->bss->counters, which);
}

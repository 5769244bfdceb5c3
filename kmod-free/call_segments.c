// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/call_segments.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi.h"
#include "control.h"
#include "kmod-free/bpf_counters.h"
#include "kmod-free/kernel_btf.h"
#include "kmod-free/sampler_record.h"
#include "kmod-free/targets.h"
#include "kmod-free/wanted_pages.h"
#include "segment.skel.h"
#include "util/clock.h"
#include "util/rights.h"

#define ALL_CHANCES 4294967296.0 /* 2^32: a random __u32 below a part of it is drawn with that chance */

struct call_segments {
	struct segment_bpf *bpf;
	struct ring_buffer *ring;
	struct bpf_link *exits, *entries;
	struct bpf_link *kept[3]; /* what keeps our own set of targets */
	struct sampler_feed feed;
	const struct call_segment_reader *to;
	uint64_t not_added;
	uint64_t given_up; /* segments that did not end */
};

static int call_segments_take_end(struct call_segments *s, const struct wire_entry *w)
{
	uint64_t regs[WREG_MAX];
	struct call_segment_end end = { .pid = w->h.pid,
					.tid = w->h.tid,
					.begun = w->s.begun,
					.ended = w->h.time,
					.ran_ns = w->s.ran,
					.timed = w->s.ran <= w->h.time - w->s.from,
					.faults = w->s.faults,
					.from_nr = w->s.nr,
					.nr = (int32_t)w->nr,
					.carried = w->s.flags & WIRE_F_CARRIED,
					.regs = regs };

	memcpy(regs, w->regs, sizeof(regs));
	return s->to->ended(s->to->ctx, &end);
}

static int call_segments_take_record(void *ctx, void *data, size_t size)
{
	struct call_segments *s = ctx;
	const struct wire_head *h = data;

	if (size >= sizeof(*h) && !h->kind)
		return 0; /* only wakes us */
	if (size == sizeof(struct wire_entry) && h->kind == WIRE_ENTRY)
		return call_segments_take_end(s, data);
	s->feed.fn = s->to->begun;
	s->feed.ctx = s->to->ctx;
	s->feed.left = UINT32_MAX;
	return sampler_record(&s->feed, data, size);
}

static int call_segments_open_program(struct call_segments *s, int targets_fd, uint32_t most)
{
	int err = 0;

	counters_prepare();
	s->bpf = segment_bpf__open_opts(kernel_btf_options());
	if (!s->bpf)
		return -errno;
	s->bpf->bss->follow = FOLLOW_PROCESSES;
	if (targets_fd > 0)
		err = bpf_map__reuse_fd(s->bpf->maps.targets, targets_fd);
	else if (most)
		err = bpf_map__set_max_entries(s->bpf->maps.targets, most);
	err = err ? err : kernel_btf_load(s->bpf->skeleton);
	if (err)
		return err;
	s->feed.pages = calloc(1, sizeof(*s->feed.pages));
	s->ring = ring_buffer__new(bpf_map__fd(s->bpf->maps.ring), call_segments_take_record, s, NULL);
	return s->feed.pages && s->ring ? 0 : -ENOMEM;
}

struct call_segments *call_segments_new(int targets_fd, uint32_t most, struct err *e)
{
	struct call_segments *s;
	int err;

	if (!targets_first_pid_namespace()) {
		err_set(e, -EXDEV,
			"segments cannot be drawn from within a container: there the kernel knows processes by other numbers");
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	err = s ? call_segments_open_program(s, targets_fd, most) : -ENOMEM;
	if (!err)
		return s;
	err_set(e, err,
		"segments cannot be drawn: loading the BPF program failed: %s; it needs CAP_BPF and CAP_PERFMON",
		strerror(-err));
	call_segments_free(s);
	return NULL;
}

void call_segments_free(struct call_segments *s)
{
	if (!s)
		return;
	bpf_link__destroy(s->exits);
	bpf_link__destroy(s->entries);
	for (unsigned i = 0; i < sizeof(s->kept) / sizeof(s->kept[0]); i++)
		bpf_link__destroy(s->kept[i]);
	ring_buffer__free(s->ring);
	segment_bpf__destroy(s->bpf);
	free(s->feed.pages);
	free(s);
}

/* ---- which threads ---- */

int call_segments_add(struct call_segments *s, pid_t pid)
{
	uint64_t now = FOLLOW_NOW;
	int err = bpf_map_update_elem(bpf_map__fd(s->bpf->maps.targets), &pid, &now, BPF_ANY);

	s->not_added += err != 0;
	return err;
}

void call_segments_remove(struct call_segments *s, pid_t pid)
{
	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.targets), &pid);
}

int call_segments_follow(struct call_segments *s, bool children, struct err *e)
{
	struct segment_bpf *b = s->bpf;
	struct bpf_program *const programs[] = { b->progs.on_free, b->progs.on_fork, b->progs.on_exec };

	b->bss->follow_children = children;
	b->bss->lent = targets_lent();
	for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		s->kept[i] = bpf_program__attach(programs[i]);
		if (!s->kept[i])
			return err_set(e, -errno, "processes cannot be followed: %s", strerror(errno));
	}
	return 0;
}

void call_segments_threads(struct call_segments *s)
{
	s->bpf->bss->follow = FOLLOW_THREADS;
}

int call_segments_cgroup(struct call_segments *s, int fd, struct err *e)
{
	uint32_t zero = 0, value = (uint32_t)fd;

	s->bpf->bss->follow = FOLLOW_CGROUP;
	s->bpf->bss->self = (uint32_t)getpid();
	return bpf_map_update_elem(bpf_map__fd(s->bpf->maps.cgroup), &zero, &value, BPF_ANY)
		       ? err_set(e, -errno, "the control group cannot be followed: %s", strerror(errno))
		       : 0;
}

void call_segments_all(struct call_segments *s)
{
	s->bpf->bss->self = (uint32_t)getpid();
	s->bpf->bss->follow = FOLLOW_ALL;
}

/* ---- what is to come with them ---- */

bool call_segments_want(struct call_segments *s, uint32_t pid, const uint64_t *addr, uint32_t count,
			const uint64_t *slot, uint32_t slots)
{
	return want_pages(&s->bpf->bss->wanted, pid, addr, count, slot, slots);
}

static void call_segments_want_none(struct call_segments *s)
{
	__atomic_store_n(&s->bpf->bss->wanted.pid, 0, __ATOMIC_RELEASE);
}

/* ---- a stretch ---- */

int call_segments_attach(struct call_segments *s, struct err *e)
{
	/* first the entries: a return that is drawn has its end seen */
	if (!s->entries)
		s->entries = bpf_program__attach(s->bpf->progs.on_enter);
	if (s->entries && !s->exits)
		s->exits = bpf_program__attach(s->bpf->progs.on_exit);
	return s->exits ? 0 : err_set(e, -errno, "system calls cannot be observed: %s", strerror(errno));
}

static uint32_t below(double chance)
{
	double n = chance * ALL_CHANCES;

	return n >= ALL_CHANCES - 1 ? UINT32_MAX : n > 0 ? (uint32_t)n : 0;
}

void call_segments_open(struct call_segments *s, const struct call_segments_draw *d)
{
	struct segment_bpf *b = s->bpf;

	b->bss->stretch++;
	b->bss->most = d->most;
	b->bss->over_at = 0;
	b->bss->carried_below = below(d->carried);
	for (unsigned i = 0; i < WIRE_CALLS; i++)
		b->bss->kept_below[i] = d->kept && d->kept[i] < 1 ? below(d->kept[i]) : 0;
	b->bss->timed_below = below(d->timed);
	b->bss->until = d->until;
	__atomic_store_n(&b->data->from, d->from, __ATOMIC_SEQ_CST);
}

void call_segments_hush(struct call_segments *s)
{
	__atomic_store_n(&s->bpf->data->from, UINT64_MAX, __ATOMIC_SEQ_CST);
}

uint64_t call_segments_over(const struct call_segments *s)
{
	return s->bpf->bss->over_at;
}

uint64_t call_segments_under_way(const struct call_segments *s)
{
	uint64_t ended = call_segments_counter(s, GC_ENDED) + s->given_up, begun = call_segments_counter(s, GC_TIMED);

	begun += call_segments_counter(s, GC_CARRIED) - call_segments_counter(s, GC_FULL);
	return begun > ended ? begun - ended : 0;
}

int call_segments_read(struct call_segments *s, const struct call_segment_reader *to)
{
	s->to = to;
	return ring_buffer__consume(s->ring);
}

/* Since then, by the kernel's account, which it keeps up to the tick; where there is none (the thread is gone): all the
 * time. Others may have had its CPU meanwhile: what has run for microseconds may not have ended for long. */
static uint64_t ran_since(const struct wire_segment *w, uint32_t tid, uint64_t now)
{
	unsigned long long sum = 0;
	char path[40];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/schedstat", tid);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%llu", &sum) != 1)
			sum = 0;
		fclose(f);
	}
	if (!sum)
		return now - w->from;
	return sum < w->ran ? 0 : sum - w->ran < now - w->from ? sum - w->ran : now - w->from;
}

/* Of what has no end. */
static int take_open(struct call_segments *s, const struct call_segment_reader *to)
{
	int fd = bpf_map__fd(s->bpf->maps.under_way), err = 0;
	uint64_t now = clock_now();
	uint32_t tid;

	while (!err && !bpf_map_get_next_key(fd, NULL, &tid)) {
		struct wire_segment w;
		bool found = !bpf_map_lookup_elem(fd, &tid, &w);

		/* it may have ended just now */
		if (bpf_map_delete_elem(fd, &tid) || !found)
			continue;
		err = to->ended(to->ctx, &(struct call_segment_end){ .tid = tid,
								     .begun = w.begun,
								     .ended = now,
								     .ran_ns = ran_since(&w, tid, now),
								     .timed = true,
								     .from_nr = w.nr,
								     .nr = -1,
								     .carried = w.flags & WIRE_F_CARRIED,
								     .open = true });
		if (err < 0)
			return err;
		s->given_up++;
	}
	return err < 0 ? err : 0;
}

int call_segments_close(struct call_segments *s, const struct call_segment_reader *to)
{
	int err;

	call_segments_hush(s);
	bpf_link__destroy(s->exits);
	bpf_link__destroy(s->entries);
	s->exits = s->entries = NULL;
	call_segments_want_none(s);
	err = call_segments_read(s, to);
	return err < 0 ? err : take_open(s, to);
}

uint64_t call_segments_counter(const struct call_segments *s, enum bpf_counter which)
{
	return counter_read(s->bpf->bss->counters, which);
}

uint64_t call_segments_not_added(const struct call_segments *s)
{
	return s->not_added + call_segments_counter(s, CTR_NOT_FOLLOWED);
}

uint64_t call_segments_malformed(const struct call_segments *s)
{
	return s->feed.malformed;
}

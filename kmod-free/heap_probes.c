// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/heap_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi.h"
#include "control.h"
#include "heap.skel.h"
#include "kmod-free/bpf_counters.h"
#include "kmod-free/kernel_btf.h"
#include "kmod-free/planter.h"
#include "kmod-free/targets.h"
#include "util/clock.h"

struct heap_probes_file {
	int fd; /* -1: free */
	unsigned count;
	unsigned long *offset;
	uint64_t *cookie;
};

enum heap_probes_state { IDLE, ATTACHING, ATTACHED, FAILED, DETACHING };

struct heap_probes {
	struct heap_bpf *bpf;
	struct ring_buffer *ring;
	const struct heap_reader *to;
	uint64_t malformed;
	struct heap_probes_file file[HEAP_FILES_MOST];
	/* of the thread that plants and removes */
	pthread_t thread;
	bool threaded; /* to be joined */
	enum heap_probes_state state;
	int failed;
	pid_t pid;
	int wanted[HEAP_FILES_MOST];
	unsigned wanted_cnt;
	int links[HEAP_FILES_MOST];
	unsigned links_cnt, planted;
	struct heap_turn_counts before;
};

/* ---- life ---- */

static int heap_probes_take_record(void *ctx, void *data, size_t size)
{
	struct heap_probes *h = ctx;
	int err = heap_probes_record(data, size, h->to);

	h->malformed += err == -EBADMSG;
	return err == -EBADMSG ? 0 : err;
}

static int open_programs(struct heap_probes *h)
{
	int err;

	counters_prepare();
	h->bpf = heap_bpf__open_opts(kernel_btf_options());
	if (!h->bpf)
		return -errno;
	bpf_program__set_expected_attach_type(h->bpf->progs.heap_place, (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	h->bpf->bss->lent = targets_lent();
	err = kernel_btf_load(h->bpf->skeleton);
	if (err)
		return err;
	h->ring = ring_buffer__new(bpf_map__fd(h->bpf->maps.ring), heap_probes_take_record, h, NULL);
	return h->ring ? 0 : -ENOMEM;
}

struct heap_probes *heap_probes_new(struct err *e)
{
	struct heap_probes *h;
	int err;

	if (!targets_first_pid_namespace()) {
		err_set(e, -EXDEV,
			"allocations cannot be seen from within a container: there the kernel knows processes by other numbers");
		return NULL;
	}
	h = calloc(1, sizeof(*h));
	if (h)
		planter_begin();
	for (unsigned i = 0; h && i < HEAP_FILES_MOST; i++)
		h->file[i].fd = -1;
	err = h ? open_programs(h) : -ENOMEM;
	if (!err)
		return h;
	err_set(e, err,
		"allocations cannot be seen: loading the BPF program failed: %s; it needs Linux 6.6, CAP_BPF and CAP_PERFMON",
		strerror(-err));
	heap_probes_free(h);
	return NULL;
}

static void join(struct heap_probes *h)
{
	if (h->threaded)
		pthread_join(h->thread, NULL);
	h->threaded = false;
}

void heap_probes_free(struct heap_probes *h)
{
	if (!h)
		return;
	heap_probes_detach(h);
	join(h);
	for (int i = 0; i < HEAP_FILES_MOST; i++)
		heap_probes_file_end(h, i);
	ring_buffer__free(h->ring);
	heap_bpf__destroy(h->bpf);
	planter_end();
	free(h);
}

/* ---- files ---- */

int heap_probes_file(struct heap_probes *h, int fd, const struct heap_place *places, unsigned count)
{
	struct heap_probes_file *f;
	int at = 0;
	unsigned n = 0;

	while (at < HEAP_FILES_MOST && h->file[at].fd >= 0)
		at++;
	if (at == HEAP_FILES_MOST || count > HEAP_PLACES_MOST)
		return -ENOSPC;
	f = &h->file[at];
	*f = (struct heap_probes_file){ .fd = fcntl(fd, F_DUPFD_CLOEXEC, 3) };
	if (f->fd < 0)
		return -errno;
	f->offset = calloc(count + 1, sizeof(*f->offset));
	f->cookie = calloc(count + 1, sizeof(*f->cookie));
	if (!f->offset || !f->cookie) {
		heap_probes_file_end(h, at);
		return -ENOMEM;
	}
	/* exits first: an entry without its exit would be a call that never ends */
	for (int entries = 0; entries < 2; entries++)
		for (unsigned i = 0; i < count; i++) {
			if ((places[i].cookie != 0) != entries)
				continue;
			f->offset[n] = places[i].offset;
			f->cookie[n++] = places[i].cookie;
		}
	f->count = n;
	return at;
}

void heap_probes_file_end(struct heap_probes *h, int file)
{
	struct heap_probes_file *f = &h->file[file];

	free(f->offset);
	free(f->cookie);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct heap_probes_file){ .fd = -1 };
}

/* ---- planting ---- */

static int heap_probes_plant(const struct bpf_program *prog, const struct heap_probes_file *f, pid_t pid)
{
	return planter_multi(&(struct planter_places){ .prog = bpf_program__fd(prog),
						       .file = f->fd,
						       .attach_type = ATTACH_UPROBE_MULTI,
						       .offsets = f->offset,
						       .cookies = f->cookie,
						       .cnt = f->count,
						       .pid = pid });
}

static void close_links(struct heap_probes *h)
{
	planter_close(h->links, h->links_cnt);
	h->links_cnt = 0;
	__atomic_store_n(&h->planted, 0, __ATOMIC_RELAXED);
}

static void *plant_all(void *arg)
{
	struct heap_probes *h = arg;
	unsigned planted = 0;
	int err = 0;

	for (unsigned i = 0; i < h->wanted_cnt && err >= 0; i++) {
		const struct heap_probes_file *f = &h->file[h->wanted[i]];

		err = heap_probes_plant(h->bpf->progs.heap_place, f, h->pid);
		if (err < 0)
			break;
		h->links[h->links_cnt++] = err;
		planted += f->count;
	}
	__atomic_store_n(&h->planted, planted, __ATOMIC_RELAXED);
	if (err < 0)
		close_links(h);
	h->failed = err;
	__atomic_store_n(&h->state, err < 0 ? FAILED : ATTACHED, __ATOMIC_RELEASE);
	return NULL;
}

static void *remove_all(void *arg)
{
	struct heap_probes *h = arg;

	close_links(h);
	__atomic_store_n(&h->state, IDLE, __ATOMIC_RELEASE);
	return NULL;
}

static enum heap_probes_state state_of(struct heap_probes *h)
{
	return __atomic_load_n(&h->state, __ATOMIC_ACQUIRE);
}

int heap_probes_attach(struct heap_probes *h, pid_t pid, const int *files, unsigned count)
{
	int err;

	if (state_of(h) != IDLE)
		return -EBUSY;
	join(h);
	h->pid = pid;
	h->wanted_cnt = count < HEAP_FILES_MOST ? count : HEAP_FILES_MOST;
	memcpy(h->wanted, files, h->wanted_cnt * sizeof(*files));
	h->state = ATTACHING;
	err = pthread_create(&h->thread, NULL, plant_all, h);
	h->threaded = !err;
	if (err)
		h->state = IDLE;
	return -err;
}

int heap_probes_attached(struct heap_probes *h)
{
	enum heap_probes_state s = state_of(h);

	if (s == FAILED) {
		join(h);
		h->state = IDLE;
		return h->failed;
	}
	return s == ATTACHED;
}

void heap_probes_detach(struct heap_probes *h)
{
	enum heap_probes_state s = state_of(h);

	if (s == IDLE || s == DETACHING)
		return;
	join(h); /* of one that plants: until it has */
	s = state_of(h);
	h->state = s == FAILED ? IDLE : DETACHING;
	if (s == FAILED)
		return;
	h->threaded = !pthread_create(&h->thread, NULL, remove_all, h);
	if (!h->threaded)
		remove_all(h);
}

bool heap_probes_idle(struct heap_probes *h)
{
	return state_of(h) == IDLE;
}

void heap_probes_wait(struct heap_probes *h)
{
	join(h);
}

unsigned heap_probes_planted(const struct heap_probes *h)
{
	return __atomic_load_n(&h->planted, __ATOMIC_RELAXED);
}

/* ---- a turn ---- */

static void read_counts(const struct heap_probes *h, struct heap_turn_counts *c)
{
	*c = (struct heap_turn_counts){ .hits = heap_probes_counter(h, HC_HITS),
					.allocs = heap_probes_counter(h, HC_ALLOCS),
					.bytes = heap_probes_counter(h, HC_BYTES),
					.frees = heap_probes_counter(h, HC_FREES),
					.told = heap_probes_counter(h, HC_TOLD) };
}

void heap_probes_open(struct heap_probes *h, uint32_t turn, uint64_t most, double period)
{
	struct heap_bpf__bss *b = h->bpf->bss;

	for (unsigned i = 0; i < HEAP_GAPS; i++)
		b->gaps[i] = (uint32_t)fmin(UINT32_MAX, -log(1 - (i + 0.5) / HEAP_GAPS) * period);
	read_counts(h, &h->before);
	b->limit.hits = b->limit.over_at = 0;
	b->most = most;
	__atomic_store_n(&b->turn, turn, __ATOMIC_SEQ_CST);
}

uint64_t heap_probes_over(const struct heap_probes *h)
{
	return h->bpf->bss->limit.over_at;
}

void heap_probes_close(struct heap_probes *h, struct heap_turn_counts *out)
{
	__atomic_store_n(&h->bpf->bss->turn, 0, __ATOMIC_SEQ_CST);
	read_counts(h, out);
	out->hits -= h->before.hits;
	out->allocs -= h->before.allocs;
	out->bytes -= h->before.bytes;
	out->frees -= h->before.frees;
	out->told -= h->before.told;
	out->over_at = h->bpf->bss->limit.over_at;
}

int heap_probes_fd(const struct heap_probes *h)
{
	return ring_buffer__epoll_fd(h->ring);
}

void heap_probes_forget(struct heap_probes *h, pid_t pid)
{
	int fd = bpf_map__fd(h->bpf->maps.blocks);
	struct {
		uint64_t addr;
		uint32_t pid, pad;
	} key, next;
	bool more = !bpf_map_get_next_key(fd, NULL, &key);

	/* of a key that is gone the next one is the first */
	for (; more; key = next) {
		more = !bpf_map_get_next_key(fd, &key, &next);
		if (key.pid == (uint32_t)pid)
			bpf_map_delete_elem(fd, &key);
	}
}

/* ---- reading ---- */

static int take_block(const struct wire_block *w, size_t size, const struct heap_reader *to)
{
	struct sample s;

	if (size < sizeof(*w) || w->s.stack_bytes > size - sizeof(*w) || !w->role || w->role >= HEAP_ROLES)
		return -EBADMSG;
	s = (struct sample){ .kind = SAMPLE_TICK,
			     .valid = SV_TIME | SV_IP | SV_REGS | SV_STACK | SV_CPU,
			     .flags = SF_STACK_CUT,
			     .pid = w->s.h.pid,
			     .tid = w->s.h.tid,
			     .cpu = w->s.h.cpu,
			     .time = w->s.h.time,
			     .ip = w->s.regs[WREG_IP],
			     .syscall = -1,
			     .stack = (const uint8_t *)(w + 1),
			     .stack_bytes = w->s.stack_bytes };
	_Static_assert(sizeof(s.regs) == sizeof(w->s.regs), "registers");
	memcpy(s.regs, w->s.regs, sizeof(s.regs));
	return to->block(to->ctx, &(struct heap_block){ &s, w->addr, w->bytes, (enum heap_role)w->role });
}

int heap_probes_record(const void *data, size_t size, const struct heap_reader *to)
{
	const struct wire_head *h = data;
	const struct wire_freed *f = data;

	if (size < sizeof(*h))
		return -EBADMSG;
	if (!h->kind)
		return 0; /* only wakes us */
	if (h->kind == WIRE_BLOCK)
		return take_block(data, size, to);
	if (h->kind != WIRE_FREED || size < sizeof(*f))
		return -EBADMSG;
	return to->freed(to->ctx, &(struct heap_freed){ h->time, f->addr, f->born, h->pid, f->again != 0 });
}

int heap_probes_read(struct heap_probes *h, const struct heap_reader *to)
{
	int err;

	h->to = to;
	err = ring_buffer__consume(h->ring);
	return err < 0 ? err : 0;
}

uint64_t heap_probes_malformed(const struct heap_probes *h)
{
	return h->malformed;
}

uint64_t heap_probes_counter(const struct heap_probes *h, enum bpf_counter which)
{
	return counter_read(h->bpf->bss->counters, which);
}

void heap_probes_forget_counts(struct heap_probes *h)
{
	counters_forget(h->bpf->bss->counters);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "control.h"
#include "format.h"
#include "kmod-free/bpf_counters.h"
#include "kmod-free/followed.h"
#include "kmod-free/kernel_btf.h"
#include "kmod-free/sysio.h"
#include "kmod-free/syscalls.h"
#include "kmod-free/targets.h"
#include "sysio.skel.h"
#include "util/rights.h"

struct sysio {
	struct sysio_bpf *bpf;
	struct ring_buffer *ring;
	struct bpf_link *link;
	sample_fn fn;
	void *ctx;
	struct bpf_link *links[3];     /* what keeps our own set of targets */
	struct bpf_link *ends, *lives; /* what adds up what ended, and what lives */
	uint64_t not_added, malformed;
	struct followed_room room;
};

int sysio_record(const void *data, size_t size, sample_fn fn, void *ctx)
{
	const struct wire_sysio *w = data;
	const struct wire_range *range = (const void *)(w + 1);
	const struct sysdir *d;
	struct sample out = { .kind = SAMPLE_SYSIO,
			      .valid = SV_TIME | SV_IP | SV_ADDR | SV_SIZE | SV_SYSCALL | SV_CPU };

	if (size >= sizeof(w->h) && !w->h.kind)
		return 0; /* only wakes us */
	if (size < sizeof(*w) || w->h.kind != WIRE_SYSIO || w->iov_cnt > (size - sizeof(*w)) / sizeof(*range))
		return -EBADMSG;
	d = sysdir_find(w->nr);
	if (!d)
		return -EBADMSG;
	out.pid = w->h.pid;
	out.tid = w->h.tid;
	out.cpu = w->h.cpu;
	out.time = w->h.time;
	out.ip = w->ip;
	out.syscall = (int32_t)w->nr;
	out.period = w->every;
	out.flags = SF_KERNEL | (d->dir == FMT_IO_KERNEL_READS ? SF_LOAD : 0u) |
		    (d->dir == FMT_IO_KERNEL_WRITES ? SF_STORE : 0u);
	for (uint32_t i = 0; i < w->iov_cnt; i++) {
		int err;

		out.addr = range[i].addr;
		out.size = range[i].len;
		if (!out.size)
			continue;
		err = fn(ctx, &out);
		if (err < 0)
			return err;
	}
	return 0;
}

static int sysio_on_record(void *ctx, void *data, size_t size)
{
	struct sysio *s = ctx;
	int err = sysio_record(data, size, s->fn, s->ctx);

	s->malformed += err == -EBADMSG;
	return err == -EBADMSG ? 0 : err;
}

/* Whose calls are reported is told later; nobody's until then. */
static int sysio_prepare(struct sysio_bpf *b, const struct sysio_opts *o)
{
	b->bss->follow = FOLLOW_PROCESSES;
	b->bss->from = UINT64_MAX;
	if (o && o->targets_fd > 0)
		return bpf_map__reuse_fd(b->maps.targets, o->targets_fd);
	return o && o->most ? bpf_map__set_max_entries(b->maps.targets, o->most) : 0;
}

struct sysio *sysio_new(const struct sysio_opts *o, struct err *e)
{
	struct sysio *s;
	int err;

	if (!targets_first_pid_namespace()) {
		err_set(e, -EXDEV,
			"system calls cannot be observed from within a container: there the kernel knows processes by other numbers");
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	counters_prepare();
	s->bpf = sysio_bpf__open_opts(kernel_btf_options());
	err = s->bpf ? sysio_prepare(s->bpf, o) : -errno;
	err = err ? err : kernel_btf_load(s->bpf->skeleton);
	if (err) {
		err_set(e, err,
			"system calls cannot be observed: loading the BPF program failed: %s; it needs CAP_BPF and "
			"CAP_PERFMON",
			strerror(-err));
		sysio_free(s);
		return NULL;
	}
	for (const struct sysdir *d = sysdir_table(); d->name; d++) {
		struct sysio_call c = { d->shape, d->addr, d->len, d->dir, d->fixed, d->counts, 0 };
		uint32_t key = (uint32_t)d->nr;

		bpf_map_update_elem(bpf_map__fd(s->bpf->maps.calls), &key, &c, BPF_ANY);
	}
	s->ring = ring_buffer__new(bpf_map__fd(s->bpf->maps.ring), sysio_on_record, s, NULL);
	if (!s->ring) {
		err_set(e, -errno, "the ring for system calls cannot be mapped: %s", strerror(errno));
		sysio_free(s);
		return NULL;
	}
	return s;
}

int sysio_add(struct sysio *s, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	uint64_t now = FOLLOW_NOW;
	int err = bpf_map_update_elem(bpf_map__fd(s->bpf->maps.targets), &key, &now, BPF_ANY);

	s->not_added += err != 0;
	return err;
}

int sysio_follow(struct sysio *s, bool children, struct err *e)
{
	struct bpf_program *const programs[] = { s->bpf->progs.on_free, s->bpf->progs.on_fork, s->bpf->progs.on_exec };

	s->bpf->bss->follow_children = children;
	s->bpf->bss->lent = targets_lent();
	for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		s->links[i] = bpf_program__attach(programs[i]);
		if (!s->links[i])
			return err_set(e, -errno, "processes cannot be followed: %s", strerror(errno));
	}
	return 0;
}

void sysio_threads(struct sysio *s)
{
	s->bpf->bss->follow = FOLLOW_THREADS;
}

int sysio_cgroup(struct sysio *s, int fd, struct err *e)
{
	uint32_t zero = 0, value = (uint32_t)fd;
	struct stat st;

	s->bpf->bss->follow = FOLLOW_CGROUP;
	s->bpf->bss->group_id = fstat(fd, &st) ? 0 : st.st_ino;
	s->bpf->bss->self = (uint32_t)getpid();
	if (!bpf_map_update_elem(bpf_map__fd(s->bpf->maps.cgroup), &zero, &value, BPF_ANY))
		return 0;
	return err_set(e, -errno,
		       errno == EBADF ? "the control group is of version 1, of which BPF programs know nothing"
				      : "the control group cannot be followed: %s",
		       strerror(errno));
}

void sysio_remove(struct sysio *s, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.targets), &key);
}

void sysio_all(struct sysio *s)
{
	s->bpf->bss->follow = FOLLOW_ALL;
	s->bpf->bss->self = (uint32_t)getpid();
}

void sysio_set_every(struct sysio *s, uint32_t every)
{
	s->bpf->data->every = every ? every : 1;
}

int sysio_attach(struct sysio *s, struct err *e)
{
	if (!s->link)
		s->link = bpf_program__attach(s->bpf->progs.on_exit);
	return s->link ? 0 : err_set(e, -errno, "system calls cannot be observed: %s", strerror(errno));
}

void sysio_open(struct sysio *s, uint64_t from, uint64_t limit_ns)
{
	s->bpf->bss->limit_ns = limit_ns;
	s->bpf->bss->stretch++;
	s->bpf->bss->over_at = 0;
	__atomic_store_n(&s->bpf->bss->from, from, __ATOMIC_SEQ_CST);
}

int sysio_start(struct sysio *s, uint64_t limit_ns, struct err *e)
{
	int err = sysio_attach(s, e);

	if (!err)
		sysio_open(s, 0, limit_ns);
	return err;
}

void sysio_hush(struct sysio *s)
{
	__atomic_store_n(&s->bpf->bss->from, UINT64_MAX, __ATOMIC_SEQ_CST);
}

void sysio_pause(struct sysio *s)
{
	sysio_hush(s);
	bpf_link__destroy(s->link);
	s->link = NULL;
}

bool sysio_paused(const struct sysio *s)
{
	return !s->link;
}

void sysio_set_costs(struct sysio *s, const struct sysio_costs *c)
{
	s->bpf->data->pass_ns = (uint32_t)c->pass_ns;
	s->bpf->data->take_ns = (uint32_t)c->take_ns;
}

uint64_t sysio_over(const struct sysio *s)
{
	return s->bpf->bss->over_at;
}

int sysio_fd(const struct sysio *s)
{
	return ring_buffer__epoll_fd(s->ring);
}

int sysio_read(struct sysio *s, sample_fn fn, void *ctx)
{
	s->fn = fn;
	s->ctx = ctx;
	followed_if_short(bpf_map__fd(s->bpf->maps.targets), s->bpf->bss->counters, &s->room);
	return ring_buffer__consume(s->ring);
}

bool sysio_sums(struct sysio *s, uint64_t sums[SYSIO_SUMS])
{
	struct timespec fresh;
	char nothing[16];
	ssize_t n;
	int fd;

	if (!s->ends)
		s->ends = bpf_program__attach(s->bpf->progs.on_end);
	if (!s->lives)
		s->lives = bpf_program__attach_iter(s->bpf->progs.sum_up, NULL);
	if (!s->ends || !s->lives)
		return false;
	fd = bpf_iter_create(bpf_link__fd(s->lives));
	if (fd < 0)
		return false;
	memset(s->bpf->bss->living, 0, sizeof(s->bpf->bss->living));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &fresh); /* and this CPU's run queue looks at its clock */
	do /* the program writes nothing; to read is to run it, for a million threads at a time */
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && errno == EAGAIN));
	close(fd);
	for (int i = 0; i < SYSIO_SUMS; i++)
		sums[i] = s->bpf->bss->living[i] + s->bpf->bss->ended[i];
	return !n && !s->bpf->bss->uncounted;
}

void sysio_stats(const struct sysio *s, struct sysio_stats *out)
{
	const struct counter_row *rows = s->bpf->bss->counters;

	*out = (struct sysio_stats){ .calls = counter_read(rows, SC_SEEN),
				     .lost = counter_read(rows, SC_LOST),
				     .cut = counter_read(rows, SC_CUT),
				     .uring = counter_read(rows, SC_URING),
				     .passed = counter_read(rows, SC_PASSED),
				     .others = counter_read(rows, SC_OTHERS),
				     .taken = counter_read(rows, SC_TAKEN),
				     .spent_ns = counter_read(rows, SC_SPENT),
				     .moved = { counter_read(rows, SC_READ), counter_read(rows, SC_WRITTEN) },
				     .not_observed = s->not_added + counter_read(rows, CTR_NOT_FOLLOWED),
				     .malformed = s->malformed };
}

void sysio_free(struct sysio *s)
{
	if (!s)
		return;
	sysio_pause(s);
	for (unsigned i = 0; i < sizeof(s->links) / sizeof(s->links[0]); i++)
		bpf_link__destroy(s->links[i]);
	bpf_link__destroy(s->ends);
	bpf_link__destroy(s->lives);
	ring_buffer__free(s->ring);
	sysio_bpf__destroy(s->bpf);
	free(s);
}

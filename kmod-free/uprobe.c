// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cycle: uprobe_alg.c and uprobe_cost.c plant probes with the functions of this file, which opens and measures with
 * theirs; uprobe_read.c asks uprobe_alg.c for open calls, too: four files of one object, struct uprobe.
 */
#include "kmod-free/uprobe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kmod-free/kernel_btf.h"
#include "kmod-free/planter.h"
#include "kmod-free/targets.h"
#include "kmod-free/uprobe_internal.h"
#include "util/clock.h"
#include "util/grow.h"

const char *uprobe_mode_name(enum uprobe_mode m)
{
	switch (m) {
	case UPROBE_SESSION: return "uprobe_session";
	case UPROBE_MULTI: return "uprobe_multi";
	case UPROBE_PERF: return "perf uprobes";
	case UPROBE_AUTO: break;
	}
	return "automatic";
}

enum uprobe_mode uprobe_mode(const struct uprobe *u)
{
	return u->mode;
}

const struct uprobe_cost *uprobe_cost(const struct uprobe *u)
{
	return &u->cost;
}

enum fmt_probe_class uprobe_class(const struct uprobe *u, const uint8_t *bytes, size_t n)
{
	enum self_kind kind = self_kind_of(bytes, n);

	return kind < SELF_KINDS ? u->cost.class_of[kind] : FMT_PROBE_UNKNOWN;
}

/* ---- links ---- */

/* Places in one file and what a hit on each is told. */
struct uprobe_places {
	const unsigned long *offsets;
	const uint64_t *cookies;
	unsigned cnt;
};

/* One program at places of one file. */
struct attachment {
	const struct bpf_program *prog;
	unsigned type; /* ATTACH_*; of perf uprobes: not looked at */
	int file;
	struct uprobe_places at;
	bool ret; /* at returns of the functions that begin there */
};

static void links_close(struct link_group *g)
{
	planter_close(g->fds, g->cnt);
	free(g->fds);
	g->fds = NULL;
	g->cnt = 0;
}

/* Takes over the links of a library, to be closed with others; closes those that there is no memory for. */
static void links_take(struct library *l, struct link_group *all, unsigned *cap)
{
	for (unsigned k = 0; k < l->groups_cnt; k++) {
		struct link_group *g = &l->groups[k];
		unsigned cnt = g->cnt;

		for (unsigned i = 0; i < cnt && PUSH(all->fds, all->cnt, *cap, 64, g->fds[cnt - 1 - i]); i++)
			g->cnt--;
		links_close(g);
	}
}

/* Links for all places; none where there are none. */
static int add_links(struct uprobe *u, struct link_group *g, struct attachment a)
{
	const struct planter_places p = { .prog = bpf_program__fd(a.prog),
					  .file = a.file,
					  .attach_type = a.type,
					  .ret = a.ret,
					  .offsets = a.at.offsets,
					  .cookies = a.at.cookies,
					  .cnt = a.at.cnt,
					  .pid = u->pid_filter_broken ? 0 : g->pid };
	int r = 0;

	if (a.at.cnt && u->mode != UPROBE_PERF) {
		r = planter_multi(&p);
		if (r >= 0)
			g->fds[g->cnt++] = r;
		return r < 0 ? r : 0;
	}
	for (unsigned i = 0; i < a.at.cnt && r >= 0; i++) {
		r = planter_perf(&p, i, u->perf_type, g->fds + g->cnt);
		g->cnt += r >= 0 ? 2 : 0;
	}
	return r < 0 ? r : 0;
}

/*
 * Ends before beginnings: an entry whose end is not seen would look like an open call. Functions without exits end
 * where the kernel's return probe sees it, if this process bears that. Never a session for a marker: wherever the
 * program does not run (a forked child), the kernel would replace what it takes for a return address.
 */
static int links_make(struct uprobe *u, struct library *l, struct link_group *g)
{
	const struct offload_bpf *s = u->skel;
	const struct bpf_program *entry = s->progs.offload_entry;
	struct uprobe_places exits = { l->exit_offsets, l->exit_cookies, l->exits };
	struct uprobe_places plain = { l->offsets + l->without, l->cookies + l->without, l->cnt - l->without };
	struct uprobe_places without = { l->offsets, g->returns ? l->cookies : l->alone, l->without };
	bool session = u->mode == UPROBE_SESSION && g->returns;
	int r;

	/* of each way at most four links, or two descriptors a place */
	g->fds = calloc(u->mode == UPROBE_PERF ? 2 * (l->exits + l->cnt + l->without) + 2 : 4, sizeof(int));
	if (!g->fds)
		return -ENOMEM;
	g->cnt = 0;
	if (l->traced) {
		r = uprobe_alg_links(u, g);
		goto out;
	}
	r = add_links(u, g, (struct attachment){ s->progs.offload_left, ATTACH_UPROBE_MULTI, l->fd, exits, false });
	if (!r && g->returns && !session)
		r = add_links(u, g,
			      (struct attachment){ s->progs.offload_return, ATTACH_UPROBE_MULTI, l->fd, without,
						   true });
	if (!r && session && without.cnt) {
		if (u->later[UPROBE_LATER_SESSION])
			entry = u->later[UPROBE_LATER_SESSION]->progs.offload_session;
		else
			r = -ENODEV;
	}
	if (!r)
		r = add_links(u, g,
			      (struct attachment){ entry, session ? ATTACH_UPROBE_SESSION : ATTACH_UPROBE_MULTI, l->fd,
						   without, false });
	if (!r)
		r = add_links(u, g,
			      (struct attachment){ s->progs.offload_entry, ATTACH_UPROBE_MULTI, l->fd, plain, false });
out:
	if (r < 0)
		links_close(g);
	return r < 0 ? r : 0;
}

static int links_error(const struct uprobe *u, int r, int pid, struct err *e)
{
	if (r == -ESRCH)
		return err_set(e, r, "process %d has ended", pid);
	if (r == -EPERM || r == -EACCES)
		return err_set(e, r, "not allowed to probe: run as root, or with CAP_BPF and CAP_PERFMON%s",
			       u->mode == UPROBE_PERF ? " and CAP_SYS_ADMIN (this kernel has only perf uprobes)" : "");
	if (r == -EMFILE || r == -ENFILE)
		return err_set(e, r, "out of file descriptors for probes: raise `ulimit -n`");
	if (r == -E2BIG)
		return err_set(e, r,
			       "libraries are not probed in all processes: %u pairs of both are the most, so that the "
			       "kernel takes them away in a moment when recording ends",
			       UPROBE_GROUPS_MOST);
	return err_set(e, r, "%s refused: %s", uprobe_mode_name(u->mode), strerror(-r));
}

/* ---- libraries ---- */

static void library_free(struct library *l)
{
	free(l->groups);
	free(l->offsets);
	free(l->cookies);
	free(l->alone);
	free(l->exit_offsets);
	free(l->exit_cookies);
}

/* Its place is free, and so are its probes. */
static void library_end(struct uprobe *u, struct library *l)
{
	memset(&u->taken[l->first], false, l->cnt * sizeof(*u->taken));
	library_free(l);
	if (l->fd >= 0)
		close(l->fd);
	*l = (struct library){ .fd = -1, .ended = true };
}

static bool entry_only(const struct uprobe_point *p)
{
	return probe_entry_only(p->spec.kind);
}

/* 0: a function without exits, 1: with, 2: of its entry alone; the library's order. */
static unsigned sort_of(const struct uprobe_point *p)
{
	return entry_only(p) ? 2 : p->exits_cnt ? 1 : 0;
}

static bool library_alloc(struct library *l, const struct uprobe_point *points, unsigned count)
{
	unsigned exits = 0;

	for (unsigned i = 0; i < count; i++)
		exits += points[i].exits_cnt;
	l->offsets = calloc(count, sizeof(*l->offsets));
	l->cookies = calloc(count, sizeof(*l->cookies));
	l->alone = calloc(count, sizeof(*l->alone));
	l->exit_offsets = calloc(exits + 1, sizeof(*l->exit_offsets));
	l->exit_cookies = calloc(exits + 1, sizeof(*l->exit_cookies));
	return l->offsets && l->cookies && l->alone && l->exit_offsets && l->exit_cookies;
}

/* Functions that hand calls on to the same one share its exits. */
static void add_exits(struct library *l, const struct uprobe_point *p, uint32_t key)
{
	for (unsigned i = 0; i < p->exits_cnt; i++) {
		unsigned k = 0;

		while (k < l->exits && l->exit_offsets[k] != p->exits[i])
			k++;
		if (k < l->exits)
			continue;
		l->exit_offsets[l->exits] = p->exits[i];
		l->exit_cookies[l->exits++] = key;
	}
}

/* Of a pair of hits the exit is single-stepped, as no kernel emulates a return: half of what a pair costs of which
 * both are. */
static double exit_cost(const struct uprobe *u)
{
	double pair = u->cost.of[FMT_PROBE_STEPPED].call_ns;

	return pair > 0 ? pair / 2 : 0;
}

static uint32_t entry_cost(const struct uprobe *u, int fd, uint64_t offset)
{
	uint8_t bytes[UPROBE_INSN_BYTES];
	ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)offset);
	enum fmt_probe_class cls = n > 0 ? uprobe_class(u, bytes, (size_t)n) : FMT_PROBE_UNKNOWN;

	return (uint32_t)fmax(0, u->cost.of[cls].call_ns - exit_cost(u));
}

/* The first of so many in a row that nothing has; PROBE_MAX: there is no such row. */
static uint32_t take_probes(struct uprobe *u, unsigned count)
{
	unsigned row = 0;

	for (uint32_t i = 0; i < PROBE_MAX; i++) {
		row = u->taken[i] ? 0 : row + 1;
		if (row < count)
			continue;
		memset(&u->taken[i + 1 - count], true, count * sizeof(*u->taken));
		return i + 1 - count;
	}
	return PROBE_MAX;
}

int uprobe_place(struct uprobe *u, unsigned count, uint32_t *first, struct err *e)
{
	unsigned at = 0;

	while (at < u->libs_cnt && !u->libs[at].ended)
		at++;
	*first = at < PROBE_LIBS ? take_probes(u, count) : PROBE_MAX;
	if (*first == PROBE_MAX)
		return err_set(e, -ENOSPC,
			       "no room for more than %d probes in %d libraries: name fewer APIs in --offload",
			       PROBE_MAX, PROBE_LIBS);
	if (at == u->libs_cnt)
		u->libs_cnt++;
	return (int)at;
}

static uint64_t bytes_at(int fd, const unsigned long *offsets, unsigned cnt, uint64_t seed)
{
	for (unsigned i = 0; i < cnt; i++) {
		uint8_t bytes[UPROBE_INSN_BYTES] = { 0 };

		if (pread(fd, bytes, sizeof(bytes), (off_t)offsets[i]) > 0)
			seed = XXH3_64bits_withSeed(bytes, sizeof(bytes), seed);
	}
	return seed;
}

/* Of an instruction at each place. */
static uint64_t content_of(const struct library *l)
{
	return bytes_at(l->fd, l->exit_offsets, l->exits, bytes_at(l->fd, l->offsets, l->cnt, 0));
}

int uprobe_library(struct uprobe *u, int fd, const struct uprobe_point *points, unsigned count, uint32_t *first,
		   struct err *e)
{
	unsigned at = 0;
	struct library *l;
	int index;

	pthread_mutex_lock(&u->lock);
	index = uprobe_place(u, count, first, e);
	if (index < 0)
		goto out;
	l = &u->libs[index];
	*l = (struct library){ .fd = fd, .cnt = count, .first = *first };
	if (!library_alloc(l, points, count)) {
		l->fd = -1; /* stays the caller's */
		library_end(u, l);
		index = err_set(e, -ENOMEM, "out of memory");
		goto out;
	}
	for (unsigned sort = 0; sort < 3; sort++)
		for (unsigned i = 0; i < count; i++) {
			const struct uprobe_point *p = &points[i];
			struct probe_spec spec = p->spec;
			uint32_t key = *first + i;

			if (sort_of(p) != sort)
				continue;
			spec.library = (uint32_t)index;
			l->offsets[at] = p->offset;
			l->cookies[at] = key | (sort == 1 ? PROBE_BY_EXITS : 0);
			l->alone[at++] = key | PROBE_ALONE;
			l->without += sort == 0;
			l->functions += sort < 2;
			if (sort == 1)
				add_exits(l, p, key);
			bpf_map_update_elem(bpf_map__fd(u->skel->maps.specs), &key, &spec, BPF_ANY);
			u->skel->bss->entry_ns[key] = entry_cost(u, fd, p->offset);
		}
	u->skel->bss->exit_ns = (uint32_t)exit_cost(u);
	l->content = content_of(l);
	if (l->without && u->mode == UPROBE_SESSION && !uprobe_session_program(u, e)) {
		l->fd = -1;
		library_end(u, l);
		index = -ENODEV;
	}
out:
	pthread_mutex_unlock(&u->lock);
	return index;
}

void uprobe_library_end(struct uprobe *u, int library)
{
	const struct probe_activity none = { 0 };
	struct library *l = &u->libs[library];

	uprobe_disarm(u, &library, 1);
	pthread_mutex_lock(&u->lock);
	/* what began and never ended is no open call of the next library in this place */
	__atomic_add_fetch(&u->skel->bss->epochs[library], 1, __ATOMIC_SEQ_CST);
	for (uint32_t key = l->first; key < l->first + l->cnt; key++)
		bpf_map_update_elem(bpf_map__fd(u->skel->maps.activity), &key, &none, BPF_ANY);
	library_end(u, l);
	pthread_mutex_unlock(&u->lock);
}

static struct link_group *group_of(struct library *l, int pid)
{
	for (unsigned i = 0; i < l->groups_cnt; i++)
		if (l->groups[i].pid == pid)
			return &l->groups[i];
	return NULL;
}

static unsigned groups_of_all(const struct uprobe *u)
{
	unsigned n = 0;

	for (unsigned i = 0; i < u->libs_cnt; i++)
		n += u->libs[i].groups_cnt;
	return n;
}

int uprobe_attach(struct uprobe *u, int library, int pid, bool returns, struct err *e)
{
	struct library *l = &u->libs[library];
	struct link_group *g;
	bool had;
	int r = 0;

	if (u->opts.system_wide)
		pid = 0;
	pthread_mutex_lock(&u->lock);
	had = group_of(l, pid) != NULL;
	if (!had) {
		if (groups_of_all(u) >= UPROBE_GROUPS_MOST) {
			r = -E2BIG;
		} else if (GROW_ONE(l->groups, l->groups_cnt)) {
			g = &l->groups[l->groups_cnt++];
			*g = (struct link_group){ .pid = pid, .returns = returns };
			/* Where the kernel cannot tell processes apart one link serves all. */
			if (l->armed && (!u->pid_filter_broken || l->groups_cnt == 1))
				r = links_make(u, l, g);
			if (r < 0)
				l->groups_cnt--;
		} else {
			r = -ENOMEM;
		}
	}
	pthread_mutex_unlock(&u->lock);
	if (!r && pid)
		uprobe_target(u, pid, true);
	return r < 0 ? links_error(u, r, pid, e) : had;
}

void uprobe_no_returns(struct uprobe *u, int pid)
{
	if (u->opts.system_wide)
		return; /* they never were: uprobe_attach() was told so */
	pthread_mutex_lock(&u->lock);
	for (unsigned i = 0; i < u->libs_cnt; i++) {
		struct library *l = &u->libs[i];
		/* Where the kernel cannot tell processes apart one link serves all. */
		struct link_group *g = u->pid_filter_broken && l->groups_cnt ? &l->groups[0] : group_of(l, pid);

		if (!g || !g->returns || !group_of(l, pid))
			continue;
		g->returns = false;
		if (!l->armed || !l->without)
			continue;
		links_close(g);
		links_make(u, l, g); /* if it fails nothing is probed there: not seen, and no harm */
	}
	pthread_mutex_unlock(&u->lock);
}

void uprobe_forget(struct uprobe *u, int pid)
{
	pthread_mutex_lock(&u->lock);
	for (unsigned i = 0; i < u->libs_cnt; i++) {
		struct library *l = &u->libs[i];
		struct link_group *g = group_of(l, pid);

		if (!g || (u->pid_filter_broken && g == l->groups))
			continue;
		links_close(g);
		*g = l->groups[--l->groups_cnt];
	}
	pthread_mutex_unlock(&u->lock);
	uprobe_target(u, pid, false);
}

int uprobe_arm(struct uprobe *u, int library, uint64_t *when, struct err *e)
{
	struct library *l = &u->libs[library];
	int r = 0, pid = 0;

	pthread_mutex_lock(&u->lock);
	if (!l->armed && !l->traced && content_of(l) != l->content) {
		pthread_mutex_unlock(&u->lock);
		return err_set(e, -ESTALE, "it was rewritten meanwhile: probes would fall between instructions");
	}
	if (!l->armed) {
		u->skel->bss->enabled[library] = 0;
		__atomic_add_fetch(&u->skel->bss->epochs[library], 1, __ATOMIC_SEQ_CST);
		for (unsigned i = 0; i < l->groups_cnt; i++) {
			int one;

			if (u->pid_filter_broken && i)
				break;
			one = links_make(u, l, &l->groups[i]);
			/* A process that ended meanwhile is no reason to lose the others. */
			if (one < 0 && one != -ESRCH) {
				r = one;
				pid = l->groups[i].pid;
			}
		}
		l->armed = true;
	}
	if (when)
		*when = clock_now();
	__atomic_store_n(&u->skel->bss->enabled[library], 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&u->lock);
	return r < 0 ? links_error(u, r, pid, e) : 0;
}

void uprobe_disarm(struct uprobe *u, const int *libraries, unsigned cnt)
{
	struct link_group all = { 0 };
	unsigned cap = 0;

	pthread_mutex_lock(&u->lock);
	for (unsigned i = 0; i < cnt; i++) {
		struct library *l = &u->libs[libraries[i]];

		if (!l->armed)
			continue;
		__atomic_store_n(&u->skel->bss->enabled[libraries[i]], 0, __ATOMIC_SEQ_CST);
		links_take(l, &all, &cap);
		l->armed = false;
	}
	pthread_mutex_unlock(&u->lock);
	links_close(&all);
}

void uprobe_disarm_all(struct uprobe *u)
{
	int all[PROBE_LIBS];

	for (int i = 0; i < PROBE_LIBS; i++)
		all[i] = i;
	uprobe_disarm(u, all, u->libs_cnt);
}

void uprobe_pause(struct uprobe *u, int library, uint64_t *when)
{
	*when = clock_now();
	__atomic_store_n(&u->skel->bss->enabled[library], 0, __ATOMIC_SEQ_CST);
}

int uprobe_uring(struct uprobe *u, const struct uprobe_uring *ops, unsigned count, uint32_t *first, struct err *e)
{
	struct bpf_program *submit, *complete;

	if (!uprobe_uring_programs(u, &submit, &complete, e))
		return e->code;
	pthread_mutex_lock(&u->lock);
	*first = take_probes(u, count);
	pthread_mutex_unlock(&u->lock);
	if (*first == PROBE_MAX)
		return err_set(e, -ENOSPC, "no room for more than %d probes", PROBE_MAX);
	for (unsigned i = 0; i < count; i++)
		if (ops[i].opcode < URING_OPS)
			u->skel->bss->uring_ops[ops[i].opcode] = (*first + i) | ops[i].direction;
	u->skel->bss->uring_everybody = u->opts.system_wide;
	u->uring_links[0] = bpf_program__attach(complete);
	if (u->uring_links[0])
		u->uring_links[1] = bpf_program__attach(submit);
	if (!u->uring_links[1])
		return err_set(e, -errno, "cannot attach to io_uring's tracepoints: %s", strerror(errno));
	return 0;
}

int uprobe_target(struct uprobe *u, int pid, bool wanted)
{
	int fd = bpf_map__fd(u->skel->maps.targets);
	uint32_t key = (uint32_t)pid, one = 1;

	return wanted ? bpf_map_update_elem(fd, &key, &one, BPF_ANY) : bpf_map_delete_elem(fd, &key);
}

/* ---- life ---- */

static unsigned perf_uprobe_type(void)
{
	unsigned type = 0;
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");

	if (f) {
		if (fscanf(f, "%u", &type) != 1)
			type = 0;
		fclose(f);
	}
	return type;
}

static void unload(struct uprobe *u)
{
	uprobe_disarm_all(u);
	for (unsigned i = 0; i < u->libs_cnt; i++) {
		struct library *l = &u->libs[i];

		library_free(l);
		close(l->fd);
	}
	u->libs_cnt = 0;
	memset(u->taken, 0, sizeof(u->taken));
	bpf_link__destroy(u->exit_link);
	u->exit_link = NULL;
	for (int i = 0; i < 2; i++) {
		bpf_link__destroy(u->uring_links[i]);
		u->uring_links[i] = NULL;
	}
	uprobe_read_close(u);
	for (int i = 0; i < UPROBE_LATER; i++) {
		offload_bpf__destroy(u->later[i]);
		u->later[i] = NULL;
	}
	offload_bpf__destroy(u->skel);
	u->skel = NULL;
}

struct uprobe *uprobe_new(const struct uprobe_opts *o, struct err *e)
{
	static const enum uprobe_mode modes[] = { UPROBE_SESSION, UPROBE_MULTI, UPROBE_PERF };
	struct uprobe *u = calloc(1, sizeof(*u));
	int r = -ENODEV;

	if (!u) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&u->lock, NULL);
	u->opts = *o;
	u->perf_type = perf_uprobe_type();
	planter_begin();
	for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes) && r; i++) {
		if (o->mode != UPROBE_AUTO && o->mode != modes[i])
			continue;
		if (modes[i] == UPROBE_PERF && !u->perf_type) {
			err_set(e, -ENODEV, "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)");
			break;
		}
		r = uprobe_load(u, modes[i], e);
		if (r)
			unload(u);
		if (r == -EPERM)
			break;
	}
	u->opts.known = NULL; /* the caller's */
	if (r) {
		planter_end();
		pthread_mutex_destroy(&u->lock);
		free(u);
		u = NULL;
	} else if (o->system_wide) {
		u->skel->bss->skip_pid = (uint32_t)getpid();
	} else if (u->pid_filter_broken) {
		u->skel->bss->filter_pids = 1;
	}
	return u;
}

void uprobe_free(struct uprobe *u)
{
	if (!u)
		return;
	unload(u);
	planter_end();
	pthread_mutex_destroy(&u->lock);
	free(u);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* AF_ALG in the probing engine: a library whose probes are the two tracepoints of system calls. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/uprobe_internal.h"
#include "util/clock.h"

#define ROUNDS 9   /* odd, for a median */
#define CALLS 2000 /* a round; by hand */

int uprobe_alg_links(struct uprobe *u, struct link_group *g)
{
	/* The end first: a begin without its end would wait for nothing. */
	const struct {
		const char *name;
		const struct bpf_program *prog;
	} points[] = {
		{ "sys_exit", u->skel->progs.offload_alg_exit },
		{ "sys_enter", u->skel->progs.offload_alg_enter },
	};

	for (unsigned i = 0; i < 2; i++) {
		int fd = bpf_raw_tracepoint_open(points[i].name, bpf_program__fd(points[i].prog));

		if (fd < 0)
			return fd;
		g->fds[g->cnt++] = fd;
	}
	return 0;
}

/* One system call of the kind that is looked at most closely. */
static double call_ns(int fd)
{
	double took[ROUNDS];
	char byte;

	for (unsigned r = 0; r < ROUNDS; r++) {
		uint64_t began = clock_now();

		for (unsigned i = 0; i < CALLS; i++)
			if (read(fd, &byte, 1) < 0)
				return 0;
		took[r] = (double)(clock_now() - began) / CALLS;
	}
	qsort(took, ROUNDS, sizeof(*took), by_double);
	return took[ROUNDS / 2];
}

static double measure(struct uprobe *u, int library)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uint32_t key = u->libs[library].first, skip = u->skel->bss->skip_pid;
	const struct probe_activity none = { 0 };
	double without, with = 0;

	if (fd < 0)
		return 0;
	without = call_ns(fd);
	u->skel->bss->skip_pid = 0;
	uprobe_target(u, getpid(), true);
	if (!uprobe_arm(u, library, NULL, NULL)) {
		with = call_ns(fd);
		uprobe_disarm(u, &library, 1);
	}
	uprobe_target(u, getpid(), false);
	u->skel->bss->skip_pid = skip;
	close(fd);
	/* ours are nobody's */
	bpf_map_update_elem(bpf_map__fd(u->skel->maps.activity), &key, &none, BPF_ANY);
	return with > without ? with - without : 0;
}

int uprobe_alg(struct uprobe *u, uint16_t family, uint32_t *first, double *cost_ns, struct err *e)
{
	int index, r;

	if (!bpf_program__autoload(u->skel->progs.offload_alg_enter))
		return err_set(
			e, -ENODEV,
			"AF_ALG cannot be watched: this kernel has none (CONFIG_CRYPTO_USER_API, module af_alg)");
	pthread_mutex_lock(&u->lock);
	index = uprobe_place(u, PROBE_ALGS, first, e);
	if (index >= 0)
		u->libs[index] = (struct library){ .fd = -1, .cnt = 0, .first = *first, .traced = true };
	pthread_mutex_unlock(&u->lock);
	if (index < 0)
		return index;
	u->skel->bss->alg_first = *first;
	u->skel->bss->alg_library = (uint32_t)index;
	u->skel->bss->alg_family = family;
	u->skel->bss->alg_everybody = u->opts.system_wide;
	r = uprobe_attach(u, index, 0, true, e);
	if (r < 0)
		return r;
	*cost_ns = measure(u, index);
	u->cost.of[FMT_PROBE_TRACED] =
		(struct uprobe_class_cost){ .call_ns = *cost_ns, .call_low = *cost_ns, .call_high = *cost_ns };
	return index;
}

void uprobe_alg_names(struct uprobe *u, void (*fn)(void *ctx, uint32_t index, const struct probe_alg *name), void *ctx)
{
	int fd = bpf_map__fd(u->skel->maps.alg_names);
	struct probe_alg name, *prev = NULL;
	uint32_t index;

	while (!bpf_map_get_next_key(fd, prev, &name)) {
		if (!bpf_map_lookup_elem(fd, &name, &index) && index < PROBE_ALGS)
			fn(ctx, index, &name);
		prev = &name;
	}
}

void uprobe_alg_open(const struct uprobe *u, void (*fn)(void *ctx, const struct probe_total_key *k), void *ctx)
{
	int fd = bpf_map__fd(u->skel->maps.alg_socks);
	uint64_t ino, *prev = NULL;
	struct probe_alg_sock o;

	while (!bpf_map_get_next_key(fd, prev, &ino)) {
		struct probe_total_key k;

		prev = &ino;
		if (bpf_map_lookup_elem(fd, &ino, &o) || !o.pending ||
		    o.epoch != u->skel->bss->epochs[u->skel->bss->alg_library % PROBE_LIBS])
			continue;
		k = (struct probe_total_key){ .pid = o.pid, .probe = u->skel->bss->alg_first + o.alg, .site = o.site };
		fn(ctx, &k);
	}
}

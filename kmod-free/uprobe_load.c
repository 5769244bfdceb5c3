// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads the programs of the probing engine: at its start those that each recording needs, the others when one does, as
 * to verify one takes up to 45 ms of CPU time.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/kernel_btf.h"
#include "kmod-free/targets.h"
#include "kmod-free/uprobe_internal.h"

/* io_uring's submission was called another name before Linux 6.3. */
static bool has_uring(const char *tracepoint)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/io_uring/%s/id", tracepoint);
	if (!access(path, R_OK))
		return true;
	snprintf(path, sizeof(path), "/sys/kernel/debug/tracing/events/io_uring/%s/id", tracepoint);
	return !access(path, R_OK);
}

/* Those of the programs that choose() names, with the maps of those that are loaded; NULL: errno says why. */
static struct offload_bpf *load_later(struct uprobe *u, void (*choose)(struct offload_bpf *s))
{
	struct offload_bpf *s = offload_bpf__open_opts(kernel_btf_options());
	struct bpf_program *prog;
	struct bpf_map *map;
	int r = s ? 0 : -errno;

	if (!s)
		return NULL;
	bpf_object__for_each_program(prog, s->obj) bpf_program__set_autoload(prog, false);
	choose(s);
	bpf_object__for_each_map(map, s->obj)
	{
		const struct bpf_map *loaded = bpf_object__find_map_by_name(u->skel->obj, bpf_map__name(map));

		if (!r)
			r = loaded ? bpf_map__reuse_fd(map, bpf_map__fd(loaded)) : -ENOENT;
	}
	if (!r)
		r = kernel_btf_load(s->skeleton);
	kernel_btf_release();
	if (r) {
		offload_bpf__destroy(s);
		errno = -r;
		return NULL;
	}
	return s;
}

static void choose_session(struct offload_bpf *s)
{
	bpf_program__set_autoload(s->progs.offload_session, true);
	bpf_program__set_expected_attach_type(s->progs.offload_session, (enum bpf_attach_type)ATTACH_UPROBE_SESSION);
}

bool uprobe_session_program(struct uprobe *u, struct err *e)
{
	struct offload_bpf **s = &u->later[UPROBE_LATER_SESSION];

	if (!*s)
		*s = load_later(u, choose_session);
	if (!*s)
		err_set(e, -errno, "the kernel refused the program for return probes: %s", strerror(errno));
	return *s;
}

static void choose_uring(struct offload_bpf *s)
{
	bool now = has_uring("io_uring_submit_req");

	bpf_program__set_autoload(now ? s->progs.offload_uring_submit : s->progs.offload_uring_submit_sqe, true);
	bpf_program__set_autoload(s->progs.offload_uring_complete, true);
}

bool uprobe_uring_programs(struct uprobe *u, struct bpf_program **submit, struct bpf_program **complete, struct err *e)
{
	struct offload_bpf **s = &u->later[UPROBE_LATER_URING];

	if (!has_uring("io_uring_submit_req") && !has_uring("io_uring_submit_sqe")) {
		err_set(e, -ENODEV,
			access("/sys/kernel/tracing/events", R_OK) && access("/sys/kernel/debug/tracing/events", R_OK)
				? "io_uring cannot be watched: its tracepoints are found by tracefs, which cannot be read here; mount it (sudo mount -t tracefs tracefs /sys/kernel/tracing)"
				: "io_uring cannot be watched: this kernel has no io_uring tracepoints");
		return false;
	}
	if (!*s)
		*s = load_later(u, choose_uring);
	if (!*s) {
		err_set(e, -errno, "the kernel refused the programs for io_uring: %s", strerror(errno));
		return false;
	}
	*submit = bpf_program__autoload((*s)->progs.offload_uring_submit) ? (*s)->progs.offload_uring_submit
									  : (*s)->progs.offload_uring_submit_sqe;
	*complete = (*s)->progs.offload_uring_complete;
	return true;
}

int uprobe_load(struct uprobe *u, enum uprobe_mode mode, struct err *e)
{
	struct offload_bpf *s = offload_bpf__open_opts(kernel_btf_options());
	struct pid_namespace own = targets_pid_namespace();
	int r;

	if (!s)
		return err_set(e, -errno, "cannot open the offload programs: %s", strerror(errno));
	u->skel = s;
	u->mode = mode;
	bpf_program__set_autoload(s->progs.offload_return, mode != UPROBE_SESSION);
	/* Verifying them takes time. */
	bpf_program__set_autoload(s->progs.offload_session, false);
	bpf_program__set_autoload(s->progs.session_known, mode == UPROBE_SESSION);
	bpf_program__set_expected_attach_type(s->progs.session_known, (enum bpf_attach_type)ATTACH_UPROBE_SESSION);
	bpf_program__set_autoload(s->progs.offload_alg_enter, u->opts.alg);
	bpf_program__set_autoload(s->progs.offload_alg_exit, u->opts.alg);
	bpf_program__set_autoload(s->progs.offload_uring_submit, false);
	bpf_program__set_autoload(s->progs.offload_uring_submit_sqe, false);
	bpf_program__set_autoload(s->progs.offload_uring_complete, false);
	if (mode != UPROBE_PERF)
		bpf_program__set_expected_attach_type(s->progs.offload_entry,
						      (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	if (mode != UPROBE_PERF)
		bpf_program__set_expected_attach_type(s->progs.offload_left, (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	if (mode == UPROBE_MULTI)
		bpf_program__set_expected_attach_type(s->progs.offload_return,
						      (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	if (u->opts.ring_bytes)
		bpf_map__set_max_entries(s->maps.ring, u->opts.ring_bytes);
	s->rodata->pidns_dev = own.dev;
	s->rodata->pidns_ino = own.ino;
	s->bss->filter_pids = 0;
	s->bss->lent = targets_lent();
	s->data->limit_per_window = u->opts.records_per_second / 10;
	r = kernel_btf_load(s->skeleton);
	if (r == -EPERM)
		return err_set(e, r, "not allowed to load BPF programs: run as root, or with CAP_BPF and CAP_PERFMON");
	if (r)
		return err_set(e, r, "the kernel refused the offload programs (%s): %s", uprobe_mode_name(mode),
			       strerror(-r));
	u->exit_link = bpf_program__attach(s->progs.offload_exit);
	if (!u->exit_link)
		return err_set(e, -errno, "cannot watch for ending threads: %s", strerror(errno));
	r = uprobe_read_open(u, e);
	return r ? r : uprobe_measure(u, e);
}

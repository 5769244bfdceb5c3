// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes of BPF and uprobes: loads a counting program and sees it count calls of an own function. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/features.h"

/* Newer than Debian 12's headers and libbpf: spelled out. */
enum { ATTACH_UPROBE_MULTI = 48, ATTACH_UPROBE_SESSION = 57 };

struct uprobe_multi_link {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

#define INSN(c, d, s, o, i) ((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })

/* counts[0]++ at each run; -errno on failure. */
static int load_counter(int map, int attach_type)
{
	const struct bpf_insn prog[] = {
		INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = (enum bpf_attach_type)attach_type);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "accperf_try", "GPL", prog, sizeof(prog) / sizeof(prog[0]), &opts);

	return fd < 0 ? -errno : fd;
}

static int make_map(enum bpf_map_type type)
{
	int fd = type == BPF_MAP_TYPE_RINGBUF ? bpf_map_create(type, "accperf_try", 0, 0, 65536, NULL)
					      : bpf_map_create(type, "accperf_try", 4, 8, 1, NULL);

	return fd < 0 ? -errno : fd;
}

static void bpf_refused(struct feature *f, const char *what, int error)
{
	feature_set(f, FEATURE_NO, "%s: %s", what, strerror(error));
	if (error == EPERM || error == EACCES)
		feature_enable_rights(f, "cap_bpf,cap_perfmon");
	else if (error == ENOSYS)
		feature_enable(f, "boot a kernel with CONFIG_BPF_SYSCALL=y");
	else
		feature_enable(
			f,
			"echo deb http://deb.debian.org/debian bookworm-backports main | sudo tee /etc/apt/sources.list.d/backports.list && "
			"sudo apt-get update && sudo apt-get install -t bookworm-backports linux-image-amd64 && sudo reboot   (a kernel of 6.6 or later)");
}

void probe_bpf(struct feature *f)
{
	int map = make_map(BPF_MAP_TYPE_ARRAY), prog = map < 0 ? map : load_counter(map, 0);
	char line[16];

	if (prog >= 0) {
		feature_set(f, FEATURE_YES, "a test program loads");
		if (feature_line("/proc/sys/net/core/bpf_jit_enable", line, sizeof(line)) && !strcmp(line, "0")) {
			feature_set(f, FEATURE_PARTLY, "a test program loads, but is interpreted");
			feature_means(f, "each sample costs several times more");
			feature_enable(f, "sudo sysctl net.core.bpf_jit_enable=1");
		}
		close(prog);
	} else {
		bpf_refused(f, map < 0 ? "bpf() is refused" : "a test program does not load", -prog);
		feature_means(f, "no recording: registers and stacks are collected by a BPF program");
	}
	if (map >= 0)
		close(map);
}

void probe_bpf_ring(struct feature *f)
{
	int map = make_map(BPF_MAP_TYPE_RINGBUF);

	if (map >= 0) {
		feature_set(f, FEATURE_YES, "available");
		close(map);
		return;
	}
	bpf_refused(f, "a ring buffer cannot be made", -map);
	feature_means(f, "no recording: samples travel through it");
}

static volatile int probed_calls;

__attribute__((noinline)) static void probe_me(void)
{
	probed_calls++;
}

struct probe_place {
	uintptr_t addr;
	uint64_t offset; /* in its file; 0: not found */
	char path[512];
};

static int find_place(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct probe_place *p = ctx;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + h->p_vaddr;

		if (h->p_type != PT_LOAD || p->addr < start || p->addr >= start + h->p_memsz)
			continue;
		p->offset = p->addr - start + h->p_offset;
		snprintf(p->path, sizeof(p->path), "%s",
			 info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe");
		return 1;
	}
	return 0;
}

static uint64_t count_of(int map)
{
	uint32_t key = 0;
	uint64_t v = 0;

	return bpf_map_lookup_elem(map, &key, &v) ? 0 : v;
}

static void judge_self_test(struct feature *f, uint64_t seen, unsigned want)
{
	feature_set(f, seen == want ? FEATURE_YES : FEATURE_NO,
		    "self-test: a program on an own function ran %" PRIu64 " of %u times", seen, want);
	if (seen != want)
		feature_enable(
			f,
			"sudo apt-get install --only-upgrade linux-image-amd64 && sudo reboot   (this kernel attaches uprobes and does not run them)");
}

static void try_multi(struct feature *f, int attach_type, unsigned runs_per_call)
{
	struct probe_place at = { .addr = (uintptr_t)probe_me };
	struct uprobe_multi_link link = { .attach_type = (uint32_t)attach_type, .cnt = 1, .pid = (uint32_t)getpid() };
	int map = make_map(BPF_MAP_TYPE_ARRAY), prog = map < 0 ? map : load_counter(map, attach_type), fd = -1;
	const unsigned calls = 7;

	dl_iterate_phdr(find_place, &at);
	if (prog < 0) {
		bpf_refused(f, "the test program is refused", -prog);
	} else if (!at.offset) {
		feature_set(f, FEATURE_UNKNOWN, "the own program file was not found");
	} else {
		link.prog_fd = (uint32_t)prog;
		link.path = (uintptr_t)at.path;
		link.offsets = (uintptr_t)&at.offset;
		fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));
		if (fd < 0) {
			bpf_refused(f, "this kernel does not attach it", errno);
		} else {
			for (unsigned i = 0; i < calls; i++)
				probe_me();
			judge_self_test(f, count_of(map), calls * runs_per_call);
			close(fd);
		}
	}
	if (prog >= 0)
		close(prog);
	if (map >= 0)
		close(map);
}

void probe_uprobe_multi(struct feature *f)
{
	try_multi(f, ATTACH_UPROBE_MULTI, 1);
	if (f->state != FEATURE_YES)
		feature_means(
			f,
			"probes are set one by one, which needs CAP_SYS_ADMIN and is slow to undo (0.1 to 0.3 s each)");
}

void probe_uprobe_session(struct feature *f)
{
	/* once at entry, once at return */
	try_multi(f, ATTACH_UPROBE_SESSION, 2);
	if (strstr(f->enable, "backports"))
		feature_enable(f, "a kernel of 6.13 or later, which neither Debian 12 nor its backports have");
	if (f->state != FEATURE_YES)
		feature_means(
			f,
			"entries and returns of offload calls are paired by accperf instead; calls in flight at attach are dropped and counted");
}

void probe_uprobe_pmu(struct feature *f)
{
	struct probe_place at = { .addr = (uintptr_t)probe_me };
	struct perf_event_attr attr = { .size = sizeof(attr) };
	char type[16];
	uint64_t hits = 0;
	int fd;

	if (!feature_line("/sys/bus/event_source/devices/uprobe/type", type, sizeof(type))) {
		feature_set(f, FEATURE_NO, "this kernel has no uprobe events");
		feature_means(f, "offload calls are followed only where many uprobes can be set at once");
		feature_enable(f, "boot a kernel with CONFIG_UPROBE_EVENTS=y");
		return;
	}
	dl_iterate_phdr(find_place, &at);
	attr.type = (uint32_t)atoi(type);
	attr.uprobe_path = (uintptr_t)at.path;
	attr.probe_offset = at.offset;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		int error = errno;

		feature_set(f, FEATURE_NO, "refused: %s", strerror(error));
		feature_means(f, "no loss where many uprobes can be set at once (above)");
		if (error == EACCES || error == EPERM)
			feature_enable(f, geteuid() ? "sudo accperf doctor   (it needs CAP_SYS_ADMIN)"
						    : "start the container with --cap-add SYS_ADMIN");
		else
			feature_enable(f, "boot a kernel with CONFIG_UPROBE_EVENTS=y");
		return;
	}
	for (unsigned i = 0; i < 3; i++)
		probe_me();
	if (read(fd, &hits, sizeof(hits)) != sizeof(hits))
		hits = 0;
	close(fd);
	judge_self_test(f, hits, 3);
}

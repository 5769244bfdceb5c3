/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program under ptrace, step by step: how the tests that judge by the processor start one, let it run on, read its
 * registers and memory, and find the functions of its files. Included by such tests (u-truth, u-emu).
 *
 *   pid = step_start(argv, true);            stands at its first instruction
 *   step_let_run(pid, 1000000);              1 ms on
 *   ptrace(PTRACE_GETREGS, pid, 0, &u); step_wreg(&u, regs); step_once(pid); ...
 *   step_end(pid);
 */
#ifndef TESTS_STEPPING_H
#define TESTS_STEPPING_H

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "proc/ehframe.h"

/* Bytes that could be read: all, those up to the end of the first page, or none. */
static inline size_t step_read(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec l = { buf, len }, r = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv(pid, &l, 1, &r, 1, 0);

	if (n < 0) { /* the range may end with the mapping */
		size_t to_page = 4096 - (addr & 4095);

		if (to_page >= len)
			return 0;
		l.iov_len = r.iov_len = to_page;
		n = process_vm_readv(pid, &l, 1, &r, 1, 0);
	}
	return n < 0 ? 0 : (size_t)n;
}

/* r: WREG_MAX registers as samples carry them. */
static inline void step_wreg(const struct user_regs_struct *u, uint64_t *r)
{
	const uint64_t v[WREG_MAX] = {
		[WREG_AX] = u->rax,  [WREG_DX] = u->rdx,       [WREG_CX] = u->rcx,         [WREG_BX] = u->rbx,
		[WREG_SI] = u->rsi,  [WREG_DI] = u->rdi,       [WREG_BP] = u->rbp,         [WREG_SP] = u->rsp,
		[WREG_R8] = u->r8,   [WREG_R9] = u->r9,        [WREG_R10] = u->r10,        [WREG_R11] = u->r11,
		[WREG_R12] = u->r12, [WREG_R13] = u->r13,      [WREG_R14] = u->r14,        [WREG_R15] = u->r15,
		[WREG_IP] = u->rip,  [WREG_FLAGS] = u->eflags, [WREG_FSBASE] = u->fs_base,
	};

	memcpy(r, v, sizeof(v));
}

/* One instruction, or one round of a repeated one. -1: the program is gone, or a signal came. */
static inline int step_once(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP ? 0 : -1;
}

/* On one processor only: which one it is, is written into its memory by the kernel. */
static inline void step_stay_here(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET(cpu < 0 ? 0 : cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A program that reads and writes nothing, at the same addresses each time. -1: there is none. */
static inline pid_t step_start(char **argv, bool here)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		if (here)
			step_stay_here();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		personality(ADDR_NO_RANDOMIZE);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) ? pid : -1;
}

/* Where it stands after that time is left to chance. */
static inline int step_let_run(pid_t pid, long ns)
{
	struct timespec pause = { .tv_nsec = ns };
	int status;

	if (ptrace(PTRACE_CONT, pid, 0, 0))
		return -1;
	nanosleep(&pause, NULL);
	kill(pid, SIGSTOP);
	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) ? 0 : -1;
}

static inline void step_end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/* ---- functions of the program's files ---- */

#define STEP_IMAGES 64

struct step_images {
	pid_t pid;
	unsigned count;
	struct step_image {
		uint64_t start, end, bias;
		struct ehframe *functions;
	} image[STEP_IMAGES];
};

/* The mapping around addr: a line of /proc/PID/maps. prot: 8 bytes, path: 512.
 * shape: as mmap(2). */
static inline bool step_mapping(pid_t pid, uint64_t addr, uint64_t *start, uint64_t *end, char *prot, uint64_t *off,
				char *path)
{
	char name[64], line[1024];
	bool found = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	f = fopen(name, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		path[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", start, end, prot, off, path) >= 4)
			found = addr >= *start && addr < *end;
	}
	if (f)
		fclose(f);
	return found;
}

static inline void step_load(struct step_image *im, const char *path, uint64_t file_off)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *scn = NULL;
	size_t n = 0, names;

	if (elf && !elf_getphdrnum(elf, &n) && !elf_getshdrstrndx(elf, &names)) {
		for (size_t i = 0; i < n; i++) {
			GElf_Phdr ph;

			if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && (ph.p_flags & PF_X) &&
			    (ph.p_offset & ~4095ull) == file_off)
				im->bias = im->start - (ph.p_vaddr & ~4095ull);
		}
		while ((scn = elf_nextscn(elf, scn))) {
			struct ehframe_input in = { .address_size = 8 };
			const char *name;
			Elf_Data *data;
			GElf_Shdr sh;

			if (!gelf_getshdr(scn, &sh) || !(name = elf_strptr(elf, names, sh.sh_name)) ||
			    strcmp(name, ".eh_frame") || !(data = elf_getdata(scn, NULL)) || !data->d_buf)
				continue;
			in.data = malloc(data->d_size);
			if (!in.data)
				continue;
			memcpy(in.data, data->d_buf, data->d_size);
			in.size = data->d_size;
			in.vaddr = sh.sh_addr;
			im->functions = ehframe_parse(&in);
			break;
		}
	}
	if (elf)
		elf_end(elf);
	if (fd >= 0)
		close(fd);
}

/* Bounds of the function around addr, from .eh_frame. elf_version() comes first. */
static inline bool step_function(struct step_images *s, uint64_t addr, uint64_t *start, uint64_t *end)
{
	struct step_image *im = NULL;
	char prot[8], path[512];
	uint64_t off;

	for (unsigned i = 0; i < s->count && !im; i++)
		if (addr >= s->image[i].start && addr < s->image[i].end)
			im = &s->image[i];
	if (!im) {
		if (s->count == STEP_IMAGES)
			return false;
		im = &s->image[s->count];
		memset(im, 0, sizeof(*im));
		if (!step_mapping(s->pid, addr, &im->start, &im->end, prot, &off, path) || prot[2] != 'x')
			return false;
		s->count++;
		if (path[0] == '/')
			step_load(im, path, off);
	}
	if (!im->functions || !ehframe_function(im->functions, addr - im->bias, start, end))
		return false;
	*start += im->bias;
	*end += im->bias;
	return true;
}

static inline void step_forget_images(struct step_images *s)
{
	for (unsigned i = 0; i < s->count; i++)
		ehframe_free(s->image[i].functions);
	s->count = 0;
}

#endif

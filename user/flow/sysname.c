// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/sysname.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define ROW(name) { SYS_##name, #name }
static const struct {
	int nr;
	const char *name;
} rows[] = {
	ROW(read), ROW(write), ROW(readv), ROW(writev), ROW(pread64), ROW(pwrite64), ROW(preadv), ROW(pwritev),
	ROW(recvfrom), ROW(recvmsg), ROW(recvmmsg), ROW(sendto), ROW(sendmsg), ROW(sendmmsg), ROW(mmap), ROW(munmap),
	ROW(brk), ROW(ioctl), ROW(fstat), ROW(newfstatat), ROW(getdents64), ROW(futex), ROW(clock_gettime), ROW(nanosleep),
	ROW(clock_nanosleep), ROW(ppoll), ROW(pselect6), ROW(epoll_pwait), ROW(rt_sigaction), ROW(rt_sigprocmask),
	ROW(getrandom), ROW(uname), ROW(readlinkat), ROW(getcwd), ROW(accept), ROW(accept4), ROW(connect), ROW(getsockopt),
	ROW(setsockopt), ROW(getsockname), ROW(getpeername), ROW(pipe2), ROW(socketpair), ROW(wait4), ROW(getrusage),
	ROW(sysinfo), ROW(times), ROW(gettimeofday), ROW(prlimit64), ROW(statx), ROW(copy_file_range), ROW(sendfile),
	ROW(splice), ROW(vmsplice), ROW(io_uring_enter), ROW(io_submit), ROW(io_getevents), ROW(process_vm_readv),
	ROW(process_vm_writev), ROW(mremap), ROW(madvise), ROW(execve), ROW(set_robust_list), ROW(rseq), ROW(clone),
	ROW(getitimer), ROW(timer_gettime), ROW(sched_getaffinity), ROW(getcpu), ROW(capget), ROW(prctl), ROW(statfs),
#ifdef SYS_poll
	ROW(poll), ROW(select), ROW(epoll_wait), ROW(stat), ROW(lstat), ROW(arch_prctl), ROW(readlink), ROW(pipe),
#endif
};

const char *kernel_name(int nr, char *buf, size_t size)
{
	if (nr < 0) {
		snprintf(buf, size, "(kernel)");
		return buf;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].nr == nr) {
			snprintf(buf, size, "(kernel:%s)", rows[i].name);
			return buf;
		}
	}
	snprintf(buf, size, "(kernel:%d)", nr);
	return buf;
}

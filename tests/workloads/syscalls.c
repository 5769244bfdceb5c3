// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls and little else: reads of /dev/zero, writes to /dev/null, getppid, in equal parts. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

STEP static long read_zeros(int fd, char *buf, size_t size)
{
	return read(fd, buf, size);
}

STEP static long write_null(int fd, const char *buf, size_t size)
{
	return write(fd, buf, size);
}

STEP static long ask_parent(void)
{
	return syscall(SYS_getppid) > 0;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 50000);
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char buf[256] = { 1 };
	uint64_t digest;

	if (zero < 0 || null < 0)
		work_die(&w, "cannot open /dev/zero and /dev/null");
	do {
		digest = 0;
		for (unsigned long i = 0; i < w.size; i++) {
			digest += (uint64_t)read_zeros(zero, buf, sizeof(buf));
			digest += (uint64_t)write_null(null, buf, sizeof(buf));
			digest += (uint64_t)ask_parent();
		}
	} while (work_more(&w, digest));
	return work_done(&w);
}

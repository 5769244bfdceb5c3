// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/sysname.h"

#include <stdio.h>

#include "proc/syscalls.h"

const char *kernel_name(int nr, char *buf, size_t size)
{
	const char *name = nr < 0 ? NULL : syscall_name(NULL, nr);

	if (nr < 0)
		snprintf(buf, size, "(kernel)");
	else if (name)
		snprintf(buf, size, "(kernel:%s)", name);
	else
		snprintf(buf, size, "(kernel:%d)", nr);
	return buf;
}

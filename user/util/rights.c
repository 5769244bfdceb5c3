// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif
#define BIT(cap) (1ull << (cap))
/* Events, programs, memory and maps of processes, files that these have mapped, addresses of the kernel, locked rings,
 * and what older kernels want in their place. */
#define RECORDING                                                                                                      \
	(BIT(CAP_PERFMON) | BIT(CAP_BPF) | BIT(CAP_SYS_PTRACE) | BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_SYSLOG) |       \
	 BIT(CAP_IPC_LOCK) | BIT(CAP_SYS_RESOURCE) | BIT(CAP_SYS_ADMIN))

static bool dropped;

bool rights_lent(void)
{
	return !dropped && getauxval(AT_SECURE);
}

static bool in_group(gid_t gid)
{
	gid_t list[1024]; /* of 65,536 that there can be: who is in more is not found, which is the safe side */
	int n = getgroups((int)(sizeof(list) / sizeof(list[0])), list);

	for (int i = 0; i < n; i++)
		if (list[i] == gid)
			return true;
	return getgid() == gid;
}

bool rights_trusted(void)
{
	struct stat st;

	return !stat("/proc/self/exe", &st) && !(st.st_mode & S_IXOTH) && st.st_mode & S_IXGRP && in_group(st.st_gid);
}

/* All four of a line of /proc/PID/status are ours. */
static bool all_ours(const char *line, unsigned id)
{
	unsigned v[4];

	return sscanf(line, "%*s %u %u %u %u", &v[0], &v[1], &v[2], &v[3]) == 4 && v[0] == id && v[1] == id &&
	       v[2] == id && v[3] == id;
}

/* As the kernel decides on /proc/PID/mem, without capabilities: the same user and group by every id, and memory that
 * may be dumped, without which the files of /proc/PID are root's. */
static bool could_read(pid_t pid)
{
	char path[64], line[256];
	unsigned ours = 0;
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	if (stat(path, &st) || st.st_uid != getuid())
		return false;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		ours += !strncmp(line, "Uid:", 4) && all_ours(line, getuid());
		ours += !strncmp(line, "Gid:", 4) && all_ours(line, getgid());
	}
	fclose(f);
	return ours == 2;
}

#define ALLOW                                                                                                          \
	"this accperf has capabilities that its users lack, and everybody may run it; to let a group look into every " \
	"process: `chgrp GROUP accperf; chmod 0750 accperf`, then setcap again"

int rights_check_process(pid_t pid, struct err *e)
{
	if (!rights_lent() || rights_trusted() || could_read(pid))
		return 0;
	return err_set(e, -EPERM, "process %d is not yours to look into: " ALLOW, pid);
}

int rights_check_all(const char *what, struct err *e)
{
	if (!rights_lent() || rights_trusted())
		return 0;
	return err_set(e, -EPERM, "%s is not yours to look into: " ALLOW, what);
}

static void keep_capabilities(uint64_t which)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &h, d))
		return;
	for (int i = 0; i < 2; i++) {
		uint32_t part = (uint32_t)(which >> 32 * i);

		d[i].effective &= part;
		d[i].permitted &= part;
		d[i].inheritable = 0;
	}
	syscall(SYS_capset, &h, d);
}

void rights_drop(void)
{
	if (!rights_lent())
		return;
	/* of a set-user-id file, too; the group first, while there is the right to */
	if ((getgid() != getegid() && setresgid(getgid(), getgid(), getgid())) ||
	    (getuid() != geteuid() && setresuid(getuid(), getuid(), getuid())))
		abort();
	keep_capabilities(0);
	dropped = true;
}

void rights_keep_recording(void)
{
	if (rights_lent())
		keep_capabilities(RECORDING);
}

const char *rights_getenv(const char *name)
{
	return rights_lent() ? NULL : getenv(name);
}
